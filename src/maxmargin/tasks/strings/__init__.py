"""Alignment of strings."""
