"""Compiled functions of the structures of decisions."""
