"""Outputs given by linear inequalities."""
