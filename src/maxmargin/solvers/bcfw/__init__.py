"""Block-coordinate Frank-Wolfe and its caches of oracle outputs."""
