"""Segmentation of images."""
