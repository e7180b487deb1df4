"""Nested pairs of positions."""
