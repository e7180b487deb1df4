"""Compiled functions on Markov networks with cycles."""
