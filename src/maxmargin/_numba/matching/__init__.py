"""Compiled functions on bipartite matchings."""
