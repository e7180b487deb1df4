"""Some of the outputs of another structure."""
