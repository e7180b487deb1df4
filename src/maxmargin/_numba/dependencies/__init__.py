"""Compiled functions on dependency trees."""
