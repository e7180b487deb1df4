"""The items and steps of a dynamic program."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from maxmargin.structures.frozen import Frozen, read_only

#: integers that describe a program at most: half a gigabyte
LARGEST = 2**26


class DerivationLayout(Frozen):
    """A dynamic program: items, and the steps by which each is concluded from others.

    The last item is the goal, whose derivations are the outputs. A `Deduction` makes layouts from
    items with names.

    Parameters
    ----------
    n_parts : int
        Number of parts.
    heads : array_like of int of shape (n_steps,)
        Item that each step concludes, in rising order. Every item has a step.
    tails : array_like of int of shape (n_steps, 2)
        Antecedents of each step, which come before its head; -1 where there is none.
    part_ptr : array_like of int of shape (n_steps + 1,)
        First part of each step in `parts`.
    parts : array_like of int
        Parts that the steps switch on; a part may be there more than once.
    """

    fields = "n_parts", "heads", "tails", "part_ptr", "parts"

    def __init__(self, n_parts: int, heads: Any, tails: Any, part_ptr: Any, parts: Any):
        (self.n_parts,) = _check_integers("n_parts", [n_parts], (1,)).tolist()
        self.heads = read_only(_check_integers("heads", heads, (-1,)))
        count = len(self.heads)
        self.tails = read_only(_check_integers("tails", tails, (count, 2)))
        self.part_ptr = read_only(_check_integers("part_ptr", part_ptr, (count + 1,)))
        self.parts = read_only(_check_integers("parts", parts, (-1,)))
        self._check()

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.heads[-1]) + 1

    def _check(self) -> None:
        if not 0 <= self.n_parts <= LARGEST:
            raise ValueError(f"n_parts is {self.n_parts}, expected a number from 0 to {LARGEST}.")
        rise = np.diff(self.heads, prepend=-1)
        if not len(rise) or rise.min() < 0 or rise.max() > 1:
            raise ValueError("heads must be 0, 0, ..., 1, ...: every item has a step, in order.")
        if self.tails.min() < -1 or (self.tails >= self.heads[:, np.newaxis]).any():
            raise ValueError("tails must be -1 or items that come before the step's head.")
        size, ptr = len(self.parts), self.part_ptr
        if ptr[0] != 0 or ptr[-1] != size or np.diff(ptr).min() < 0:
            raise ValueError(f"part_ptr must rise from 0 to {size}, the number of parts given.")
        if size and not 0 <= self.parts.min() <= self.parts.max() < self.n_parts:
            raise ValueError(f"parts must be numbers from 0 to {self.n_parts - 1}.")

    def as_ints(self) -> np.ndarray:
        """Return the numbers that compiled code reads.

        Returns
        -------
        ndarray of int
            See `_numba.derivations.recursion`.
        """
        items, steps = self.n_items, len(self.heads)
        starts = np.searchsorted(self.heads, np.arange(items + 1))
        lists = [[items, steps], starts, self.tails.ravel(), self.part_ptr, self.parts]
        return np.concatenate(lists)

    def __repr__(self) -> str:
        return (
            f"DerivationLayout({self.n_parts} parts, {self.n_items} items, {len(self.heads)} steps)"
        )


def _check_integers(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(values)
    if found.size == 0:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu" or found.size > LARGEST:
        raise ValueError(f"{name} must be an array of at most {LARGEST} integers.")
    return found.astype(np.int64).reshape(shape)


class Deduction:
    """Builder of a `DerivationLayout` from items with names.

    Examples
    --------
    The ways to pay 4 with coins of 1 and 2, the coins in falling order; parts count coins:

    >>> program = Deduction()
    >>> program.add((0, 2))
    >>> for paid in range(1, 5):
    ...     for largest, part in ((1, 0), (2, 1)):
    ...         for last in range(1, 3):
    ...             if last >= largest and (paid - largest, last) in program:
    ...                 program.add((paid, largest), [(paid - largest, last)], [part])
    >>> program.add("paid", [(4, 1)])
    >>> program.add("paid", [(4, 2)])
    >>> program.layout("paid")
    DerivationLayout(2 parts, 9 items, 11 steps)
    """

    def __init__(self) -> None:
        self._steps: dict[Hashable, list[tuple[tuple[Hashable, ...], list[int]]]] = {}
        self._used: set[Hashable] = set()
        self._size = 0

    def __contains__(self, item: Hashable) -> bool:
        return item in self._steps

    def add(
        self, item: Hashable, antecedents: Iterable[Hashable] = (), parts: Iterable[int] = ()
    ) -> None:
        """Add a step.

        Parameters
        ----------
        item : hashable
            What the step concludes. All its steps must be added before it is an antecedent.
        antecedents : iterable of hashable, default=()
            At most two items.
        parts : iterable of int, default=()
            Parts that the step switches on.
        """
        if isinstance(antecedents, str) or isinstance(parts, str | int):
            raise ValueError(f"{item!r}: give lists of antecedents and of part numbers.")
        antecedents, own = tuple(antecedents), list(parts)
        wrong = [part for part in own if not isinstance(part, int | np.integer) or part < 0]
        if wrong:
            raise ValueError(f"{item!r}: parts are numbers from 0, found {wrong[0]!r}.")
        if len(antecedents) > 2:
            raise ValueError(
                f"{item!r}: a step has at most two antecedents, found {len(antecedents)};"
                " conclude items between them."
            )
        for other in antecedents:
            if other not in self._steps:
                raise ValueError(f"{item!r}: its antecedent {other!r} has no step so far.")
        if item in self._used:
            raise ValueError(f"{item!r} is an antecedent already: add all of its steps before.")
        self._size += 4 + len(own)
        if self._size > LARGEST:
            raise MemoryError(
                f"the program has more than {LARGEST} numbers: cut it into smaller ones."
            )
        self._used.update(antecedents)
        self._steps.setdefault(item, []).append((antecedents, own))

    def layout(self, goal: Hashable, n_parts: int | None = None) -> DerivationLayout:
        """Return the layout of the outputs that derive an item.

        Parameters
        ----------
        goal : hashable
            The item.
        n_parts : int or None, default=None
            Number of parts; None means one more than the largest that a step has.

        Returns
        -------
        DerivationLayout
            The items that the goal needs, and their steps.
        """
        if goal not in self._steps:
            raise ValueError(f"no step concludes the goal {goal!r}.")
        needed, waiting = {goal}, [goal]
        while waiting:
            for antecedents, _ in self._steps[waiting.pop()]:
                new = {*antecedents} - needed
                needed |= new
                waiting += new
        order = [item for item in self._steps if item in needed and item != goal]
        number = {item: v for v, item in enumerate([*order, goal])}
        steps = [(v, *step) for item, v in number.items() for step in self._steps[item]]
        tails = [[number[item] for item in own] + [-1] * (2 - len(own)) for _, own, _ in steps]
        parts = [part for *_, own in steps for part in own]
        ptr = np.concatenate([[0], np.cumsum([len(own) for *_, own in steps])])
        n_parts = max(parts, default=-1) + 1 if n_parts is None else n_parts
        return DerivationLayout(n_parts, [v for v, *_ in steps], tails, ptr, parts)
