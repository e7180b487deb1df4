"""Compiled functions of word alignment: translation models and spelling."""
