"""Compiled functions on point clouds."""
