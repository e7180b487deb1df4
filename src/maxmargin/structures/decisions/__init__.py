"""Structures of decisions: which of some parts to choose."""
