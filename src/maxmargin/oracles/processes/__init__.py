"""Oracles that are called in processes of their own."""
