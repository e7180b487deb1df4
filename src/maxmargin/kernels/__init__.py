"""Compiled kernels: flat arrays in, flat arrays out; nothing else of the package is imported here."""
