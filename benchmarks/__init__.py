"""Measurements against other programs and against our own other sizes, as ratios in one run."""
