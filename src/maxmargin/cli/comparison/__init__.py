"""Comparisons: solvers side by side at several sizes of the data, each run in its own process."""
