"""Dependency parsing."""
