"""Linear and integer programs as oracles."""
