"""Compiled functions on minimum cuts of binary networks."""
