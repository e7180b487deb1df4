"""RNA folding: base pairs of sequences."""
