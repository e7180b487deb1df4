"""Any subset of a set of labels."""
