"""Segmentation of point clouds."""
