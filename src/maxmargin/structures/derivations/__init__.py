"""Outputs that a dynamic program derives step by step."""
