"""Solvers of the saddle-point problem: extragradient, dual extragradient, projected gradient."""
