"""Solvers with entropic steps: exponentiated gradient, dual coordinate ascent."""
