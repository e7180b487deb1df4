"""Alignments of two strings."""
