"""Abilities of a structure by name."""


def ability_of(structure, name):
    """The ability as it is called by hand: of the structure, else of its oracle."""
    return getattr(structure, name, None) or getattr(structure.oracle(), name)
