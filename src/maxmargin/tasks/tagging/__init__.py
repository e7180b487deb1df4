"""Tagging: labels for the tokens of sentences."""
