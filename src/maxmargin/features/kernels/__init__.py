"""Kernels on the features of nodes, as feature maps."""
