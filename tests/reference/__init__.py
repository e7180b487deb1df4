"""Answers found the slow and certain way, by code that shares nothing with the package."""
