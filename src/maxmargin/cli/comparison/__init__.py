"""Studies: solvers side by side at several sizes of the data, each run in a process of its own."""
