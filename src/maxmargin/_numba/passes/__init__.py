"""Compiled passes of the solvers over packed samples."""
