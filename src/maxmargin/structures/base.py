"""What a structure is: which outputs there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.oracles.base import Abilities, Layout, Oracle
from maxmargin.oracles.constraints import Constraints
from maxmargin.oracles.methods import METHODS, LinearOracle, MethodOracle
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import NJobs, Positive

#: products of two sides fit in 64 bits
LONGEST = 2**31 - 1


def check_sides(layout: Any, *names: str, least: int = 1, other: str = "") -> tuple[int, ...]:
    """The integers that a layout consists of; a ValueError if it is anything else.

    other : what may be given instead, for the error.
    """
    good = isinstance(layout, tuple | list) and len(layout) == len(names)
    for side in layout if good else ():
        good = good and _is_side(side, least)
    if not good:
        raise ValueError(
            f"layout={layout!r} must be a tuple of integers from {least} to {LONGEST}:"
            f" ({', '.join(names)}{',' * (len(names) == 1)}){other}."
        )
    return tuple(map(int, layout))


def _is_side(side: Any, least: int) -> bool:
    kind: Any = type(side)
    whole = kind is int or (issubclass(kind, Integral) and kind is not bool)
    return whole and least <= side <= LONGEST


class PerLayout(dict):
    """What a function says of layouts, of equal ones once: samples are many, layouts are few."""

    def __init__(self, function: Callable[[Any], Any]):
        super().__init__()
        self.function = function

    def __missing__(self, layout: Any) -> Any:
        value = self[layout] = self.function(layout)
        return value


class Structure(Abilities, Checked, BaseEstimator):
    """A family of polytopes Z(layout), the outputs of samples being their vertices.

    It says which outputs there are; its `oracle` says how the best ones are found. To add a
    structure, define `n_parts`, `encode`, `decode` and one of these:

    ===============  ===========================================================================
    `maximize`       a method in Python; others of the oracle's abilities (see `Oracle`) may be
                     methods, too
    `constraints`    linear inequalities that describe Z, for a linear program
    `_make_oracle`   returns an `Oracle`, such as a `CompiledOracle`
    ===============  ===========================================================================

    A class whose `maximize` may miss the maximum says `is_exact = False`.
    """

    @property
    def binary(self) -> bool:
        """Whether vertices are of zeros and ones, so that solvers may keep them as bits."""
        return False

    @staticmethod
    def from_oracle(
        maximize: Callable,
        *,
        n_parts: int | Callable | None = None,
        encode: Callable | str | None = None,
        decode: Callable | str | None = None,
        feasible: Callable | None = None,
        constraints: Any = None,
        exact: bool | Literal["bounded"] = True,
        binary: bool = True,
        n_jobs: NJobs = None,
        time_limit: Positive | None = None,
        on_timeout: Literal["raise", "skip"] = "raise",
        scores: Literal["any", "nonpositive", "nonnegative"] = "any",
        probe: bool = True,
    ) -> Structure:
        """Build a structure from one Python function, such as a call of a solver package.

        Parameters
        ----------
        maximize : callable
            `theta -> z` or `(theta, layout) -> z`, the best output for these scores of the parts,
            as a vector or as the numbers of the parts that are 1; with `exact="bounded"`, a pair of
            it and an upper bound on the best score.
        n_parts : int or callable, default=None
            Number of parts, or a function of the layout; `size` of `OracleStructure`.
        encode, decode : callable or str, default=None
            Conversion between outputs and vectors; `encoder` and `decoder` of `OracleStructure`.
        feasible : callable, default=None
            Test whether a vector is an output; see `OracleStructure`.
        constraints : Program, Constraints or callable, default=None
            Constraints that all outputs satisfy; `rows` of `OracleStructure`.
        exact : bool or "bounded", default=True
            Whether answers are maxima; see `OracleStructure`.
        binary : bool, default=True
            Whether outputs consist of zeros and ones.
        n_jobs : int, default=None
            Number of processes, -1 for one per core; None means the calling process.
        time_limit : float, default=None
            Maximum number of seconds per call; None means no limit.
        on_timeout : {"raise", "skip"}, default="raise"
            What happens after `time_limit`; see `OracleStructure`.
        scores : {"any", "nonpositive", "nonnegative"}, default="any"
            Signs of the scores that the function takes; see `OracleStructure`.
        probe : bool, default=True
            Whether to check answers for random scores before training.

        Returns
        -------
        OracleStructure
            The structure.
        """
        # a subclass of this class, so that its module imports this one
        from maxmargin.structures.from_oracle.structure import OracleStructure  # noqa: PLC0415

        return OracleStructure(
            maximize,
            size=n_parts,
            encoder=encode,
            decoder=decode,
            feasible=feasible,
            rows=constraints,
            exact=exact,
            zero_one=binary,
            n_jobs=n_jobs,
            time_limit=time_limit,
            on_timeout=on_timeout,
            scores=scores,
            probe=probe,
        )

    # -- which outputs there are -----------------------------------------------------------------
    def n_parts(self, layout: Layout) -> int:
        """Return the number of parts, the length of z.

        Returns
        -------
        int
            Number of parts.
        """
        raise self._missing("n_parts")

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        """Return the vertex of an output.

        Parameters
        ----------
        y : object
            Output.

        Returns
        -------
        ndarray of shape (n_parts,)
            Vertex of the output.
        """
        raise self._missing("encode")

    def decode(self, z: np.ndarray, layout: Layout) -> Any:
        """Return the output of a vertex.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Vertex of the polytope.

        Returns
        -------
        object
            Output.
        """
        raise self._missing("decode")

    def layout_of(self, n_parts: int) -> Layout:
        """Return the layout that has this number of parts, if it is determined by it.

        Parameters
        ----------
        n_parts : int
            Number of parts.

        Returns
        -------
        Layout
            Layout of the output.
        """
        raise ValueError(
            f"{type(self).__name__} cannot tell its layout from {n_parts} parts; give each sample"
            " as a pair (features, layout), or define layout_of."
        )

    def variables(self, layout: Layout) -> tuple[int, int]:
        """Return the number of variables and of their labels.

        The first count * labels parts encode the label of each variable.

        Returns
        -------
        count : int
            Number of variables.
        labels : int
            Number of labels; 1 means that each part is a 0/1 variable of its own.
        """
        return self.n_parts(layout), 1

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        """Explain why z is not an output.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Vertex of the polytope.

        Returns
        -------
        str
            The reason in a few words; empty if z is an output or if that is not known.
        """
        return ""

    def vertex_size(self, layout: Layout) -> int:
        """Return a bound on the number of non-zeros of a vertex.

        Returns
        -------
        int
            Upper bound.
        """
        return self.n_parts(layout)

    def n_vertices(self, layout: Layout) -> int | None:
        """Return the number of outputs.

        Returns
        -------
        int or None
            Number of outputs; None if it is large.
        """
        return None

    def forbidden(self, layout: Layout) -> np.ndarray:
        """Return the parts that no output may have.

        Returns
        -------
        ndarray of int
            Numbers of the forbidden parts.
        """
        return np.empty(0, dtype=np.int64)

    def constraints(self, layout: Layout) -> Constraints:
        """Return linear inequalities whose solutions are Z(layout).

        Returns
        -------
        Constraints
            The inequalities.
        """
        raise self._missing("constraints")

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        """Iterate over all vertices; for tiny layouts.

        Returns
        -------
        iterator of ndarray
            The vertices.
        """
        raise self._missing("vertices")

    def radius(self, layout: Layout) -> float:
        """Return a bound on `|z - z'|` over Z(layout), for vertices of zeros and ones.

        Returns
        -------
        float
            Upper bound on the diameter.
        """
        return float(np.sqrt(2 * self.vertex_size(layout)))

    # -- how they are found ----------------------------------------------------------------------
    def oracle(self) -> Oracle:
        """Return the object that finds the outputs for given scores, by the present options.

        Returns
        -------
        Oracle
            Methods of the class are used for what they do, in place of its own.
        """
        return self._with_methods({name for name in METHODS if self._defines(name)})

    def _make_oracle(self) -> Oracle:
        """The oracle, but for what is a method of the class."""
        return LinearOracle(self) if self._defines("constraints") else Oracle(self)

    def _with_methods(self, methods: set[str]) -> Oracle:
        found = self._make_oracle()
        return MethodOracle(found, methods) if methods else found

    def _defines(self, name: str) -> bool:
        """Whether the class has a method of its own, and not the one below."""
        return getattr(type(self), name, None) is not getattr(Structure, name, None)

    def _call_oracle(self, ability: str, *args: Any) -> Any:
        """Call the oracle without the method of that name, which may be what calls."""
        methods = {name for name in METHODS if name != ability and self._defines(name)}
        return getattr(self._with_methods(methods), ability)(*args)

    def maximize(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """Return a vertex z of Z(layout) that maximises theta . z.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        ndarray of shape (n_parts,)
            Vertex of maximum score.
        """
        return self._call_oracle("maximize", theta, layout)[0]

    def project(self, point: np.ndarray, layout: Layout) -> np.ndarray:
        return self._call_oracle("project", point, layout)

    def marginals(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        return self._call_oracle("marginals", theta, layout)

    def log_partition(self, theta: np.ndarray, layout: Layout) -> float:
        return self._call_oracle("log_partition", theta, layout)

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        return self._call_oracle("k_best", theta, layout, k)

    # -- inside ----------------------------------------------------------------------------------
    def _missing(self, ability: str) -> Exception:
        return self.oracle().missing(ability)
