"""Segmentation: foreground and background in images and point clouds."""
