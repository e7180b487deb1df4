"""Structures made of one Python function, called in this process or in others."""
