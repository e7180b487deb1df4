"""Oracles around another one, which add something to what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.oracles.base import Oracle

if TYPE_CHECKING:
    _Base = Oracle
else:
    _Base = object  # else what `Oracle` has would hide what the oracle inside has


class Wrapper(_Base):
    """An oracle that hands on to another one what it does not do itself.

    Parameters
    ----------
    inner : Oracle
        The oracle inside.
    """

    inner: Any

    def __init__(self, inner: Oracle):
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "inner" or name.startswith("__"):  # of a copy that is not yet filled
            raise AttributeError(name)
        return getattr(self.inner, name)
