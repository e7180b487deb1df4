"""Compiled functions on sets of labels."""
