"""What an oracle is, what it may be able to do, and what follows from what it can."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.oracles.constraints import Constraints
from maxmargin.oracles.min_norm_point import project_by_vertices
from maxmargin.validation.options import check_options

if TYPE_CHECKING:
    from maxmargin.structures.base import Structure

#: what tells the polytope of a sample: integers, or an object that can be hashed, such as
#: `Candidates` or a `Network`
Layout = Any
#: outputs that `k_best` lists at most
MOST_LISTED = 100_000
#: what oracles and structures may be able to do, as errors list it
_ABILITIES = (
    "maximize",
    "project",
    "marginals",
    "max_marginals",
    "k_best",
    "constraints",
    "vertices",
)


class Call(NamedTuple):
    """A call of `maximize`.

    Parameters
    ----------
    theta : ndarray of shape (n_parts,)
        Scores of the parts.
    layout : Layout
        Layout of the sample's output.
    sample : int, default=-1
        Number of the sample, by which wrappers remember it.
    floor : float, default=-inf
        A score that some output has, such as the true one: no maximum is below it.
    """

    theta: np.ndarray
    layout: Layout
    sample: int = -1
    floor: float = -np.inf


class Abilities(ABC):
    """What structures do by hand and oracles for solvers, in the same words."""

    @abstractmethod
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

    @abstractmethod
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

    @abstractmethod
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

    @abstractmethod
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


class Oracle(Abilities):
    """How the outputs of a structure are found, for given scores of their parts.

    An oracle has any subset of these abilities; a solver names those that it needs. This class has
    those that follow from others.

    ===================  ======================================================================
    ``maximize``         argmax of theta . z over Z, and an upper bound on the maximum
    ``project``          the point of Z nearest to a given one; else by active sets, from maximize
    ``marginals``        expectation of z under p(z) ~ exp(theta . z) on the vertices
    ``max_marginals``    score of the best vertex with each part switched on
    ``k_best``           the k vertices of highest theta . z; else by `vertices`, if they are few
    ``separate``         constraints that a point violates, where they are too many to list
    ===================  ======================================================================

    Parameters
    ----------
    structure : Structure
        Structure whose outputs are found.
    """

    #: ability -> module of maxmargin._numba whose function of that name has that signature
    compiled: ClassVar[dict[str, str]] = {}
    #: False if `maximize` may miss the maximum
    is_exact: bool = True
    #: True if the bound of `maximize` is proven: objectives are then upper bounds, and certificates
    #: are proofs as with exact maxima
    is_bounded: bool = False
    #: False if the structure's `constraints` describe more than the hull of the outputs, a
    #: relaxation; an optimum over them is then an upper bound
    is_tight: bool = True
    #: False if `marginals` is another entropic projection on Z than the expectation over the
    #: vertices; `log_partition` is then the maximum of theta . z + entropy, of which `marginals`
    #: is the gradient
    marginals_are_exact: bool = True
    #: False if scores of some parts beyond the variables must not be positive
    any_scores: bool = True
    #: sign that scores must have or be 0; 0 if they may be any
    sign: int = 0
    #: whether answers for random scores are checked before training, if they come from Python
    is_probed: bool = True
    #: True if a call of `maximize` costs far more than a step: solvers then ask less and step more
    is_expensive: bool = False
    #: True if `maximize_many` may give None for an answer that took too long
    ends_calls: bool = False
    #: and if training goes on then, by a bound
    may_time_out: bool = False
    #: processes that answer; 0 means the calling one, so that its threads may ask at once
    n_processes: int = 0
    #: whether `project` is made of `maximize`, and another one where that is another
    projects_by_maximize: bool = True

    def __init__(self, structure: Structure):
        self.structure = structure

    @property
    def gap_is_proof(self) -> bool:
        """Whether objectives by this oracle are upper bounds, so that gaps are proofs."""
        return self.is_exact or self.is_bounded

    @property
    def has_expectations(self) -> bool:
        """Whether there are `marginals`, and they are expectations over all outputs."""
        return self.has("marginals") and self.marginals_are_exact

    def is_exact_for(self, layout: Layout) -> bool:
        """Whether `maximize` finds the maximum for this layout, if not for all (`is_exact`)."""
        return self.is_exact

    def is_tight_for(self, layout: Layout) -> bool:
        """Whether the constraints describe the hull of this layout's outputs; see `is_tight`."""
        return self.is_tight

    def is_fractional(self, z: np.ndarray) -> bool:
        """Whether z is a vertex but not an output, as those of relaxed polytopes may be."""
        return False

    def check_layout(self, layout: Layout) -> None:
        """Raise an error if a layout has no outputs, or no best one for some scores.

        Called once before training for each layout.
        """

    def close(self) -> None:
        """End the oracle's processes, if any; the next call starts them again."""

    # -- what compiled code needs ----------------------------------------------------------------
    def compiled_function(self, ability: str) -> Any | None:
        """The compiled function of an ability; None if it runs in Python."""
        return None

    def layout_as_ints(self, layout: Layout) -> Sequence[int]:
        """The layout as the integers that compiled code reads."""
        return layout

    def scratch(self, layout: Layout) -> tuple[int, int]:
        """How many floats and integers of work space compiled code needs."""
        return self.structure.n_parts(layout), self.structure.n_parts(layout)

    def warm_size(self, layout: Layout) -> int:
        """How many numbers `project` stores for its next call on a point nearby.

        They are the first of its work space. On entry they are zeros or what the last call left
        there, e.g. the duals of the constraints; on return, what the next call may start from.
        """
        return 0

    def memory_size(self, layout: Layout) -> int:
        """How many numbers a compiled `maximize` stores for its next call on the sample.

        They are the first of its work space: zeros, or what the last call left there, on entry. The
        answer must be right whatever they are.
        """
        return 0

    # -- abilities -------------------------------------------------------------------------------
    def has(self, ability: str) -> bool:
        """Whether the oracle has an ability, by itself or by a generic method.

        So may the structure: `"constraints"` and `"vertices"` are among the abilities.
        """
        if ability in ("constraints", "vertices"):
            return self.structure._defines(ability)
        if getattr(type(self), ability, None) is not getattr(Oracle, ability, None):
            return True
        needed = {"project": "maximize", "k_best": "vertices"}.get(ability)
        return needed is not None and self.has(needed)

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        """Return a vertex z of Z(layout) that maximises theta . z, and a bound on the maximum.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        z : ndarray of shape (n_parts,)
            Vertex of maximum score, or of a high one (not `is_exact`).
        bound : float
            Upper bound on the maximum if `is_bounded`; else the score of z.
        """
        raise self.missing("maximize")

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        """Maximise for many samples, in order.

        The results are yielded one by one, so that an error can be attributed to its sample.

        Parameters
        ----------
        calls : sequence of Call
            Scores and layouts.

        Yields
        ------
        z : ndarray of shape (n_parts,) or None
            Vertex; None if the call was given up (`ends_calls`).
        bound : float
            Upper bound on the score; NaN if none is proven (not `is_bounded`).
        """
        for call in calls:
            z, bound = self.maximize(call.theta, call.layout)
            yield z, bound if self.is_bounded else np.nan

    def project(self, point: np.ndarray, layout: Layout) -> np.ndarray:
        if not self.has("project"):
            raise self.missing("project")
        allowed = check_scores(self.structure, point, layout)
        return project_by_vertices(lambda theta: self.maximize(theta, layout)[0], allowed)

    def marginals(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        raise self.missing("marginals")

    def log_partition(self, theta: np.ndarray, layout: Layout) -> float:
        raise self.missing("log_partition")

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
        raise self.missing("max_marginals")

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        if not self.has("k_best"):
            raise self.missing("k_best")
        k, theta = check_k(k), check_scores(self.structure, theta, layout)
        listed = list(islice(self.structure.vertices(layout), MOST_LISTED + 1))
        if len(listed) > MOST_LISTED:
            name = type(self.structure).__name__
            raise MissingAbilityError(
                f"{name} finds the k best by listing all outputs, and layout {layout} has more than"
                f" {MOST_LISTED}. Define {name}.k_best."
            )
        scored = [(z, float(theta[z != 0] @ z[z != 0])) for z in listed]
        best = sorted((pair for pair in scored if pair[1] > -np.inf), key=lambda pair: -pair[1])
        if not best:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        return best[:k]

    def separate(self, layout: Layout, z: np.ndarray | None = None) -> Constraints:
        """Return some of the structure's constraints, where they are too many to list.

        Parameters
        ----------
        layout : Layout
            Layout of the sample's output.
        z : ndarray of shape (n_parts,) or None, default=None
            A point that satisfies those returned before.

        Returns
        -------
        Constraints
            Some that z violates, none only if it violates none; those to begin with if z is None.
        """
        raise self.missing("separate")

    # -- what is not there -----------------------------------------------------------------------
    def missing(self, ability: str) -> MissingAbilityError:
        """The error that says that an ability is missing, what there is, and what to do."""
        whole = self.structure.oracle()  # with methods of its class
        have = ", ".join(f"`{name}`" for name in _ABILITIES if whole.has(name))
        only = f", only {have}" if have else ""
        return MissingAbilityError(
            f"{type(self.structure).__name__} has no `{ability}`{only}. {self.hint_for(ability)}."
        )

    def hint_for(self, ability: str) -> str:
        """Advice for users who need an ability that is missing."""
        return f"Define {type(self.structure).__name__}.{ability}"


#: what wrappers copy, because it is read at each call
_READ_OFTEN = "is_exact", "is_bounded", "may_time_out", "n_processes"

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
        self.inner, self.structure = inner, inner.structure
        for name in _READ_OFTEN:
            setattr(self, name, getattr(inner, name))

    def __getattr__(self, name: str) -> Any:
        if name == "inner" or name.startswith("__"):  # of a copy that is not yet filled
            raise AttributeError(name)
        return getattr(self.inner, name)


def check_k(k: Any) -> int:
    """How many outputs are asked for, as an integer."""
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k={k!r} must be an integer, 1 or more.")
    return int(k)


def check_scores(structure: Structure, theta: np.ndarray, layout: Layout) -> np.ndarray:
    """Scores as one checked vector, -inf on the parts that are forbidden."""
    check_options(structure)
    if np.ndim(theta) == 2:
        sides = (layout,) if isinstance(layout, tuple) else ()
        _check_sides(np.shape(theta), structure.variables(layout), *sides)
    # functions are compiled for arrays that can be written to
    theta = np.require(theta, np.float64, ["C", "W"]).ravel()
    expected = structure.n_parts(layout)
    if len(theta) != expected:
        raise ValueError(f"{len(theta)} scores given, but layout {layout} has {expected} parts.")
    if np.isnan(theta).any() or (theta == np.inf).any():
        raise ValueError("scores must be finite or -inf (forbidden).")
    forbidden = structure.forbidden(layout)
    if len(forbidden):
        theta = theta.copy()
        theta[forbidden] = -np.inf
    return theta


def _check_sides(found: tuple[int, ...], *known: tuple) -> None:
    """Refuse a matrix of scores whose sides are exchanged."""
    tables = [own for own in known if all(isinstance(n, Integral) for n in own)]
    if found not in tables and found[::-1] in tables:
        raise ValueError(f"scores of shape {found}, expected {found[::-1]}: transpose them.")
