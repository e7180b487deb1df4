"""Compiled functions on label sequences."""
