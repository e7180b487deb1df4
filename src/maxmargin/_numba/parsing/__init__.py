"""Compiled features of dependency arcs."""
