"""What is known of the output of a sample before it is predicted, in the words of its labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
from maxmargin.structures.restricted.layout import RestrictedLayout
from maxmargin.validation.samples import as_csr, is_number


@dataclass(frozen=True)
class Restriction:
    """Constraints on the output of one sample, for `predict_restricted`.

    Labels that are known or forbidden cost no time. Counts and rules take many calls of the oracle,
    and tens of rules may take long.

    Parameters
    ----------
    known : dict, sequence of pairs or None, default=None
        Partial labels: {node: label} for estimators that label nodes, {token: tag} for
        `SequenceTagger`, {pixel or point: label} for `Segmenter`, {label: 0 or 1} for
        `MultiLabelSVM`, linked pairs (row, column) for `MatchingSVM` and `WordAligner`, and matched
        pairs of nodes for `GeneralMatchingSVM`.
    forbidden : dict, collection or None, default=None
        {node: labels that it must not have}; for `MultiLabelSVM` labels that are off, for
        `MatchingSVM`, `WordAligner` and `GeneralMatchingSVM` pairs that are not linked.
    counts : dict or None, default=None
        {label: number of nodes with that label}, the number being an integer or (minimum, maximum),
        where None means no bound; for `MultiLabelSVM` {1: number of labels that are on}.
    on : iterable of int, default=()
        Indices of parts of the structure that the output must have.
    off : iterable of int, default=()
        Indices of parts that the output must not have.
    rules : tuple (matrix, lower, upper) or None, default=None
        Linear constraints lower <= matrix @ parts <= upper.
    """

    known: Any = None
    forbidden: Any = None
    counts: Mapping[Any, Any] | None = None
    on: Iterable[int] = ()
    off: Iterable[int] = ()
    rules: tuple[Any, Any, Any] | None = None

    def layout(
        self, layout: Layout, on: Any = (), off: Any = (), rows: Any = ()
    ) -> RestrictedLayout:
        """Combine the layout of a sample with these constraints and further ones.

        Parameters
        ----------
        layout : Layout
            Layout of the sample.
        on, off : iterable of int, default=()
            Indices of further parts that are on and off.
        rows : iterable of (vector, minimum, maximum), default=()
            Further linear constraints on the parts.

        Returns
        -------
        RestrictedLayout
            The restricted layout.
        """
        matrix: list[Any] = []
        lower: list[Any] = []
        upper: list[Any] = []
        if self.rules is not None:
            matrix.append(sparse.csr_array(_matrix(self.rules[0]), dtype=float))
            for bounds, found in ((lower, self.rules[1]), (upper, self.rules[2])):
                bounds.append(np.broadcast_to(found, (matrix[0].shape[0],)))
        for row, least, most in rows:
            matrix.append(sparse.csr_array(row[None]))
            lower.append(np.array([least]))
            upper.append(np.array([most]))
        on, off = [*self.on, *on], [*self.off, *off]
        if not matrix:
            return RestrictedLayout(layout, on, off)
        rules = sparse.vstack(matrix, format="csr")
        return RestrictedLayout(
            layout, on, off, rules, np.concatenate(lower), np.concatenate(upper)
        )


def check_restrictions(found: Any, count: int | None = None) -> list[Restriction | None]:
    """A list of restrictions, one for each sample; count : of the samples, if it is known."""
    if isinstance(found, Restriction):
        raise TypeError("restrictions must be a list, one for each sample, or None in its place.")
    restrictions = list(found)
    for own in restrictions:
        if own is not None and not isinstance(own, Restriction):
            raise TypeError(f"restrictions: {own!r} is not a Restriction, and not None.")
    if count is not None and len(restrictions) != count:
        raise ValueError(f"{len(restrictions)} restrictions, but there are {count} samples.")
    return restrictions


def restrict_labels(
    own: Restriction, structure: Structure, layout: Layout, classes: np.ndarray
) -> RestrictedLayout:
    """Labels of nodes as parts: one for each label, or one for the second of two."""
    count, labels = structure.variables(layout)
    number = {label: k for k, label in enumerate(classes.tolist())}
    on: list[int] = []
    off: list[int] = []

    def part(node: Any, label: Any, wanted: bool) -> None:
        if not is_number(node, whole=True) or not 0 <= node < count:
            raise ValueError(f"there is no node {node!r}, only 0 to {count - 1}.")
        if label not in number:
            raise ValueError(f"label {label!r} was not learned; known are {some_labels(classes)}.")
        k = number[label]
        if labels > 1:
            (on if wanted else off).append(int(node) * labels + k)
        else:
            (on if wanted == (k == 1) else off).append(int(node))

    for node, label in labels_by_node("known", own.known):
        part(node, label, True)
    for node, some in labels_by_node("forbidden", own.forbidden):
        for label in some if isinstance(some, list | tuple | set | np.ndarray) else [some]:
            part(node, label, False)
    rows = []
    for label, wanted in labels_by_node("counts", own.counts):
        if label not in number:
            raise ValueError(f"label {label!r} was not learned; known are {some_labels(classes)}.")
        row = np.zeros(structure.n_parts(layout))
        least, most = _range(label, wanted)
        if labels > 1:
            row[number[label] : count * labels : labels] = 1.0
        elif number[label] == 1:
            row[:count] = 1.0
        else:
            row[:count] = 1.0
            least, most = count - most, count - least
        rows.append((row, least, most))
    return own.layout(layout, on, off, rows)


def restrict_links(own: Restriction, structure: Structure, layout: Layout) -> RestrictedLayout:
    """Pairs as parts."""
    return links_as_parts(own, structure, layout).layout(layout)


def links_as_parts(own: Restriction, structure: Structure, layout: Layout) -> Restriction:
    """The same restriction, its links (row, column) told by the numbers of their parts."""
    if own.counts is not None:
        raise ValueError("counts are of labels, which links have not; use rules.")
    known, forbidden = _pairs("known", own.known), _pairs("forbidden", own.forbidden)
    on, off = (
        [int(np.flatnonzero(structure.encode([pair], layout))[0]) for pair in pairs]
        for pairs in (known, forbidden)
    )
    both = [pair for pair, part in zip(known, on, strict=True) if part in set(off)]
    if both:  # also as (column, row) where pairs have no order
        raise InfeasibleError(f"link {both[0]} is known, and forbidden.")
    try:
        structure.encode(known, layout)
    except ValueError as error:
        names = ", ".join(map(str, known[:8])) + (", ..." if len(known) > 8 else "")
        raise InfeasibleError(f"known links {names}: {error}") from error
    return replace(own, known=None, forbidden=None, on=[*own.on, *on], off=[*own.off, *off])


def _pairs(name: str, found: Any) -> list[tuple[int, int]]:
    """Links, none of them twice."""
    if found is None:
        return []
    wrong = f"{name}={found!r} must be a list of links (row, column), such as [(0, 1)]."
    if isinstance(found, Mapping | str) or not hasattr(found, "__iter__"):
        raise TypeError(wrong)
    pairs = [tuple(np.asarray(pair).ravel().tolist()) for pair in found]
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError(wrong)
    return list(dict.fromkeys(pairs))


def restrict_parts(own: Restriction, layout: Layout) -> RestrictedLayout:
    """For structures of which only the parts are known."""
    if own.known is not None or own.forbidden is not None or own.counts is not None:
        raise ValueError(
            "known, forbidden and counts are for estimators of labels and links; use the numbers of"
            " parts, on and off, or rules."
        )
    return own.layout(layout)


def labels_by_node(name: str, found: Any) -> Any:
    """The items of a dictionary with a label, or labels, for some of the nodes."""
    if found is None:
        return ()
    if not isinstance(found, Mapping):
        raise TypeError(f"{name}={found!r} must be a dictionary, such as {{0: 'a'}}.")
    return found.items()


def _range(label: Any, wanted: Any) -> tuple[float, float]:
    least, most = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    least, most = 0 if least is None else least, np.inf if most is None else most
    if not (is_number(least) and is_number(most) and 0 <= least <= most):
        raise ValueError(f"counts: {label!r} cannot be there {wanted!r} times.")
    return float(least), float(most)


def _matrix(found: Any) -> Any:
    return (
        as_csr(found) if sparse.issparse(found) else np.atleast_2d(np.asarray(found, dtype=float))
    )


def some_labels(classes: np.ndarray | list[Any]) -> str:
    """The first labels, for errors."""
    listed = classes[:8] if isinstance(classes, list) else classes[:8].tolist()
    names = ", ".join(map(repr, listed))
    return names + (f", ... ({len(classes)} in all)" if len(classes) > 8 else "")
