"""Checks of what users and files give: samples, options, learned attributes."""
