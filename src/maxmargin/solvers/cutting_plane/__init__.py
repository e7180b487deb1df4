"""Cutting planes, 1-slack and n-slack."""
