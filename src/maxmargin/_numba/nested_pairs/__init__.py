"""Nested pairs of positions, with scores of the loops between them."""
