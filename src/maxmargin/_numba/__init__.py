"""Compiled functions: flat arrays in and out; nothing else of the package is imported here."""
