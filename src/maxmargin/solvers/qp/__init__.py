"""The training problem as one convex program for library solvers."""
