"""Compiled functions on derivations."""
