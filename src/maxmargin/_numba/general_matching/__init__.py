"""Best matchings of any graph."""
