"""Oracles: how the outputs of a structure are found for given scores of their parts."""
