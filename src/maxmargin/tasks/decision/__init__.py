"""Decisions by predicted costs, from tables in files."""
