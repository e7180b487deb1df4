"""Costs of decisions, learned for their regret."""
