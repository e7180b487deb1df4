"""What a structure is, what it may be able to do, and what it gets for free."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib import import_module
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._numba.compile import announce_compilation
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures.constraints import Constraints, part_score
from maxmargin.structures.linear_program.maximize import maximize_linear
from maxmargin.structures.min_norm_point import project_by_vertices
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import NJobs, Positive, check_options

#: what tells the polytope of a sample: integers, or an object that can be hashed, such as
#: `Candidates` or a `Network`
Layout = Any


#: products of two sides fit in 64 bits
LONGEST = 2**31 - 1
#: outputs that `k_best` lists at most
MOST_LISTED = 100_000


def check_k(k: Any) -> int:
    """How many outputs are asked for, as an integer."""
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k={k!r} must be an integer, 1 or more.")
    return int(k)


def check_sides(layout: Any, *names: str, least: int = 1, other: str = "") -> tuple[int, ...]:
    """The integers that a layout consists of; a ValueError if it is anything else.

    other : what may be given instead, for the error.
    """
    good = isinstance(layout, tuple | list) and len(layout) == len(names)
    if not good or not all(_is_side(side, least) for side in layout):
        raise ValueError(
            f"layout={layout!r} must be a tuple of integers from {least} to {LONGEST}:"
            f" ({', '.join(names)}{',' * (len(names) == 1)}){other}."
        )
    return tuple(map(int, layout))


def _is_side(side: Any, least: int) -> bool:
    kind: Any = type(side)
    whole = kind is int or (issubclass(kind, Integral) and kind is not bool)
    return whole and least <= side <= LONGEST


class Structure(Checked, BaseEstimator):
    """A family of polytopes Z(layout), the outputs of samples being their vertices.

    A structure has any subset of these abilities; a solver names those that it needs.

    ===================  ======================================================================
    ``maximize``         argmax of theta . z over Z
    ``project``          the point of Z nearest to a given one; else by active sets, from maximize
    ``marginals``        expectation of z under p(z) ~ exp(theta . z) on the vertices
    ``max_marginals``    score of the best vertex with each part switched on
    ``k_best``           the k vertices of highest theta . z; else by `vertices`, if they are few
    ``constraints``      linear inequalities that describe Z; gives `maximize` by linear programming
    ``vertices``         all of them, for tiny layouts
    ===================  ======================================================================

    To add a structure, define `n_parts`, `encode`, `decode` and one of `maximize` and
    `constraints`. An ability with a compiled function is named in `compiled` instead.
    """

    #: ability -> module of maxmargin._numba whose function of that name has that signature
    compiled: ClassVar[dict[str, str]] = {}
    #: False if `maximize` may miss the maximum; results then say that their gap is an estimate.
    is_exact: bool = True
    #: False if `constraints` describe more than the hull of the outputs, a relaxation; an optimum
    #: over them is then an upper bound.
    is_tight: bool = True
    #: False if `marginals` is another entropic projection on Z than the expectation over the
    #: vertices; `log_partition` is then the maximum of theta . z + entropy, of which `marginals`
    #: is the gradient.
    marginals_are_exact: bool = True
    #: True if vertices are of zeros and ones, so that solvers may keep them as bits.
    binary: bool = False
    #: False if scores of some parts beyond the variables must not be positive.
    any_scores: bool = True
    #: True if a call of `maximize` costs far more than a step: solvers then ask less and step more.
    expensive_oracle: bool = False
    #: True if `maximize_many` has processes of its own, so that threads must not call it at once.
    in_processes: bool = False
    #: True if `maximize_many` may give None for an answer that took too long.
    may_time_out: bool = False

    @property
    def is_bounded(self) -> bool:
        """True if `maximize_within` proves how far `maximize` is off at most.

        Objectives are then upper bounds, and certificates are proofs as with exact maxima. So it is
        where `maximize` is a linear program over `constraints`; other structures say so in the
        class (is_bounded = True).
        """
        own = "maximize" in self.compiled or self._overridden("maximize")
        return not own and self._overridden("constraints")

    @property
    def gap_is_proof(self) -> bool:
        """Whether objectives over this structure are upper bounds, so that gaps are proofs."""
        return self.is_exact or self.is_bounded

    def is_exact_for(self, layout: Layout) -> bool:
        """Whether `maximize` finds the maximum for this layout, if not for all (`is_exact`).

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        bool
            `is_exact`, unless that depends on the layout.
        """
        return self.is_exact

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
        )

    # -- what a structure must say ---------------------------------------------------------------
    def n_parts(self, layout: Layout) -> int:
        """Return the number of parts, the length of z.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

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
        layout : Layout
            Layout of the sample's output.

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
        layout : Layout
            Layout of the sample's output.

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

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

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
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        str
            The reason in a few words; empty if z is an output or if that is not known.
        """
        return ""

    def is_fractional(self, z: np.ndarray) -> bool:
        """Tell whether a vertex is fractional, as those of relaxed polytopes may be.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Vertex of the polytope.

        Returns
        -------
        bool
            True if z is a vertex but not an output.
        """
        return False

    def check_layout(self, layout: Layout) -> None:
        """Raise an error if a layout has no outputs, or no best one for some scores.

        Called once before training for each layout.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.
        """

    # -- what compiled code needs
    # -----------------------------------------------------------------------
    def layout_as_ints(self, layout: Layout) -> Sequence[int]:
        """Return the layout as the integers that compiled code reads.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        sequence of int
            The layout in the structure's own encoding.
        """
        return layout

    def scratch(self, layout: Layout) -> tuple[int, int]:
        """Return the size of the work space that compiled code needs.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        tuple of int
            Numbers of floats and of integers.
        """
        return self.n_parts(layout), self.n_parts(layout)

    def warm_size(self, layout: Layout) -> int:
        """Return how many numbers `project` stores for its next call on a point nearby.

        They are the first of its work space. On entry they are zeros or what the last call left
        there, e.g. the duals of the constraints; on return, what the next call may start from.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        int
            Number of floats.
        """
        return 0

    def memory_size(self, layout: Layout) -> int:
        """Return how many numbers a compiled `maximize` stores for its next call on the sample.

        They are the first of its work space: zeros, or what the last call left there, on entry. The
        answer must be right whatever they are.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        int
            Number of floats.
        """
        return 0

    def vertex_size(self, layout: Layout) -> int:
        """Return a bound on the number of non-zeros of a vertex.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        int
            Upper bound.
        """
        return self.n_parts(layout)

    def n_vertices(self, layout: Layout) -> int | None:
        """Return the number of outputs.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        int or None
            Number of outputs; None if it is large.
        """
        return None

    def forbidden(self, layout: Layout) -> np.ndarray:
        """Return the parts that no output may have.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        ndarray of int
            Numbers of the forbidden parts.
        """
        return np.empty(0, dtype=np.int64)

    def compiled_function(self, ability: str) -> Any | None:
        """Return the compiled function of an ability.

        Parameters
        ----------
        ability : str
            Name of the ability, such as `"maximize"`.

        Returns
        -------
        function or None
            The compiled function; None if the ability runs in Python.
        """
        if ability not in self.compiled or self._overridden(ability):
            return None
        return self._compiled(ability)

    def _compiled(self, ability: str) -> Any:
        name = f"maxmargin._numba.{self.compiled[ability]}"
        with nullcontext() if name in sys.modules else announce_compilation():
            return getattr(import_module(name), ability).dispatcher

    # -- abilities -------------------------------------------------------------------------------
    def has(self, ability: str) -> bool:
        """Tell whether the structure has an ability, by itself or by a generic method.

        Parameters
        ----------
        ability : str
            Name of the ability, such as `"maximize"`.

        Returns
        -------
        bool
            True if the ability is available.
        """
        if ability in self.compiled or self._overridden(ability):
            return True
        if ability == "maximize":
            return self._overridden("constraints")
        if ability == "k_best":
            return self._overridden("vertices")
        return ability == "project" and self.has("maximize")

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
        if "maximize" in self.compiled:
            return self._run("maximize", theta, layout)[0]
        return self._by_constraints(theta, layout)[0]

    def _by_constraints(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        """`maximize_within` by linear programming."""
        if not self._overridden("constraints"):
            raise self._missing("maximize")
        return maximize_linear(self.constraints(layout), self._allowed(theta, layout))

    def maximize_within(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        """Return a vertex of high score and an upper bound on the maximum of theta . z.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        z : ndarray of shape (n_parts,)
            Vertex.
        bound : float
            Upper bound; the score of z if `maximize` is exact.
        """
        if not self._overridden("maximize"):
            if "maximize" in self.compiled:
                return self._run("maximize", theta, layout)
            return self._by_constraints(theta, layout)
        z = np.asarray(self.maximize(theta, layout), dtype=float)
        return z, part_score(np.asarray(theta, dtype=float), z)

    def maximize_many(
        self, thetas: Sequence[np.ndarray], layouts: Sequence[Layout]
    ) -> Iterator[tuple[np.ndarray | None, float]]:
        """Maximise for many samples, in order; see `maximize_within`.

        The results are yielded one by one, so that an error can be attributed to its sample.

        Parameters
        ----------
        thetas : sequence of ndarray
            Scores of the parts of each sample.
        layouts : sequence of Layout
            Layout of each sample's output.

        Yields
        ------
        z : ndarray of shape (n_parts,) or None
            Vertex; None if the call was given up (`may_time_out`).
        bound : float
            Upper bound on the score; NaN if none is proven (not `is_bounded`).
        """
        for theta, layout in zip(thetas, layouts, strict=True):
            if self.is_bounded:
                yield self.maximize_within(theta, layout)
            else:
                yield self.maximize(theta, layout), np.nan

    @property
    def jobs(self) -> int:
        """How many answers `maximize_many` looks for at a time."""
        return 1

    def release(self) -> None:
        """End the structure's processes, if any; the next call starts them again."""

    def project(self, point: np.ndarray, layout: Layout) -> np.ndarray:
        """Return the Euclidean projection of a point on Z(layout).

        Parameters
        ----------
        point : ndarray of shape (n_parts,)
            Point to project.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        ndarray of shape (n_parts,)
            The z of Z(layout) with the least `|z - point|`.
        """
        if "project" in self.compiled:
            return self._run("project", point, layout)[0]
        if not self.has("maximize"):
            raise self._missing("project")
        allowed = self._allowed(point, layout)
        return project_by_vertices(lambda theta: self.maximize(theta, layout), allowed)

    def marginals(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """Return the expectation of z if p(z) is proportional to exp(theta . z) on the vertices.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        ndarray of shape (n_parts,)
            Expectations of the parts.
        """
        if "marginals" not in self.compiled:
            raise self._missing("marginals")
        return self._run("marginals", theta, layout)[0]

    def log_partition(self, theta: np.ndarray, layout: Layout) -> float:
        """Return the log of the sum of exp(theta . z) over all vertices.

        `marginals` is its gradient.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        float
            Log-partition function.
        """
        if "marginals" not in self.compiled or self._overridden("marginals"):
            raise self._missing("log_partition")
        return self._run("marginals", theta, layout)[1]

    def max_marginals(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """Return, for each part of the variables, the score of the best output that has it.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        ndarray of shape (n_parts,)
            Scores; 0 for parts that belong to no variable.
        """
        if "max_marginals" not in self.compiled:
            raise self._missing("max_marginals")
        return self._run("max_marginals", theta, layout)[0]

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        """Return the k vertices of highest theta . z.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.
        k : int
            Number of vertices; all are returned if there are fewer.

        Returns
        -------
        list of (ndarray, float)
            Vertices and their scores, best first.
        """
        if not self.has("k_best"):
            raise self._missing("k_best")
        k, theta = check_k(k), self._allowed(theta, layout)
        listed = list(islice(self.vertices(layout), MOST_LISTED + 1))
        if len(listed) > MOST_LISTED:
            raise MissingAbilityError(
                f"{type(self).__name__} finds the k best by listing all outputs, and layout"
                f" {layout}"
                f" has more than {MOST_LISTED}. Define {type(self).__name__}.k_best."
            )
        scored = [(z, float(theta[z != 0] @ z[z != 0])) for z in listed]
        best = sorted((pair for pair in scored if pair[1] > -np.inf), key=lambda pair: -pair[1])
        if not best:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        return best[:k]

    def constraints(self, layout: Layout) -> Constraints:
        """Return linear inequalities whose solutions are Z(layout).

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        Constraints
            The inequalities.
        """
        raise self._missing("constraints")

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        """Iterate over all vertices; for tiny layouts.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        iterator of ndarray
            The vertices.
        """
        raise self._missing("vertices")

    def radius(self, layout: Layout) -> float:
        """Return a bound on `|z - z'|` over Z(layout), for vertices of zeros and ones.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        float
            Upper bound on the diameter.
        """
        return float(np.sqrt(2 * self.vertex_size(layout)))

    # -- inside ----------------------------------------------------------------------------------
    def _overridden(self, ability: str) -> bool:
        return getattr(type(self), ability) is not getattr(Structure, ability)

    def _missing(self, ability: str) -> MissingAbilityError:
        known = ["maximize", "project", "marginals", "max_marginals", "k_best"]
        known += ["constraints", "vertices"]
        have = ", ".join(f"`{a}`" for a in known if self.has(a))
        only = f", only {have}" if have else ""
        return MissingAbilityError(
            f"{type(self).__name__} has no `{ability}`{only}. {self.hint_for(ability)}."
        )

    def hint_for(self, ability: str) -> str:
        """Return advice for users who need an ability that is missing.

        Parameters
        ----------
        ability : str
            Name of the ability, such as `"maximize"`.

        Returns
        -------
        str
            The advice, for error messages.
        """
        return f"Define {type(self).__name__}.{ability}"

    def _allowed(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """Scores as one checked vector, -inf on the parts that are forbidden."""
        check_options(self)
        # functions are compiled for arrays that can be written to
        theta = np.require(theta, np.float64, ["C", "W"]).ravel()
        expected = self.n_parts(layout)
        if len(theta) != expected:
            raise ValueError(
                f"{len(theta)} scores given, but layout {layout} has {expected} parts."
            )
        if np.isnan(theta).any() or (theta == np.inf).any():
            raise ValueError("scores must be finite or -inf (forbidden).")
        forbidden = self.forbidden(layout)
        if len(forbidden):
            theta = theta.copy()
            theta[forbidden] = -np.inf
        return theta

    def _run(self, ability: str, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        theta, function = self._allowed(theta, layout), self._compiled(ability)
        layout_ints = np.require(self.layout_as_ints(layout), np.int64, ["C", "W"])
        out, value = self._call(ability, function, theta, layout_ints, layout)
        if value == -np.inf:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        if np.isnan(value):
            raise FloatingPointError(f"`{ability}` failed; scale the scores down.")
        return out, value

    def _call(
        self,
        ability: str,
        function: Any,
        theta: np.ndarray,
        layout_ints: np.ndarray,
        layout: Layout,
    ) -> tuple[np.ndarray, float]:
        """What a compiled function writes and returns, with scratch of its own."""
        floats, ints = self.scratch(layout)
        out = np.zeros(self.n_parts(layout))
        value = function(theta, layout_ints, out, np.zeros(floats), np.empty(ints, dtype=np.int64))
        return out, value
