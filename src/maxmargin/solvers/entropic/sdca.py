"""Stochastic dual coordinate ascent for the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin._numba.packed_samples import score_block
from maxmargin._numba.passes.sdca import ascent_pass, ascent_step
from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Pieces, PiecewiseSolver, Requires, cut_order
from maxmargin.solvers.entropic.potentials import check_entropy
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed

_REFRESH = 5  # epochs after which all gaps are looked at again
_EVEN = 0.2  # share of the visits that gap sampling spreads evenly


@dataclass(repr=False)
class SDCAState(State):
    """State of `SDCA`."""

    #: lower bound on the entropy of each sample's distribution
    entropy: np.ndarray = state_field(empty_array, warm="keep")
    #: gap of each sample at its last visit, and their weighted sum after an epoch
    gaps: np.ndarray = state_field(empty_array)
    estimate: float = state_field(np.inf, warm="keep")


class SDCA(PiecewiseSolver[SDCAState]):
    """Maximise the dual of the penalised negative log-likelihood, one sample at a time.

    Each sample has a distribution over its outputs, of which its expectations z_i and a lower bound
    H_i on its entropy are stored. A step mixes it with the distribution of the current weights, by
    the proportion that increases the dual most, where the entropy of a mixture is at least the mean
    of the entropies. Hence the dual never decreases, and the gap is proven; only z_i is stored for
    each sample, and a step costs one call of `marginals` for any structure.

    Parameters
    ----------
    sampling : {"gap", "permutation", "uniform"}, default="gap"
        "gap" draws samples in proportion to their gaps; "uniform" at random; "permutation" in a new
        order each pass.

    References
    ----------
    - Shalev-Shwartz, Zhang, JMLR 2013.
    - Le Priol, Piche, Lacoste-Julien, UAI 2018.
    """

    name: ClassVar[str] = "sdca"
    summary: ClassVar[str] = (
        "Stochastic dual coordinate ascent: a likelihood's bound raised one sample at a time."
    )
    requires: ClassVar[Requires] = Requires(
        abilities=(("marginals",),), expectations=True, objectives=("likelihood",), shards="rounds"
    )
    state_class = SDCAState

    def __init__(
        self,
        sampling: Literal["gap", "permutation", "uniform"] = "gap",
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.sampling = sampling
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "sdca")

    def init(self, problem: Problem) -> SDCAState:
        # all of each distribution on the truth: no entropy, and w = 0
        state = SDCAState(np.zeros(problem.dim), problem.truth_copy(), self.generator())
        state.entropy, state.gaps = np.zeros(problem.n), np.full(problem.n, np.inf)
        return state

    def _warm_start_from(self, problem: Problem, state: State) -> SDCAState:
        w = state.w.copy()
        own = super()._warm_start_from(problem, state)
        own.gaps = np.full(problem.n, np.inf)
        if len(own.entropy) != problem.n:
            # z alone does not tell the entropy; the distribution that belongs to w is known
            problem.apply("marginals", w, out=own.z)
            entropy = problem.apply("marginals", w, point=own.z)
            own.entropy, own.estimate = np.maximum(entropy, 0.0), np.inf
            own.w[:] = problem.weights(own.z)
        return own

    def rounds(self, problem: Problem, state: SDCAState, n_pieces: int | None = None) -> Pieces:
        order = self._order(problem, state)
        for piece in cut_order(order, n_pieces):
            for part in (yield piece) or (piece,):
                self._pass(problem, state, part)
                state.n_oracle += len(part)
        yield order[:0]
        weighty = problem.sample_weight > 0
        state.estimate = float(problem.sample_weight[weighty] @ state.gaps[weighty])

    def _order(self, problem: Problem, state: SDCAState) -> np.ndarray:
        n, gaps = problem.n, state.gaps
        if self.sampling == "uniform":
            return state.rng.integers(n, size=n)
        if self.sampling == "gap" and state.epoch % _REFRESH and np.isfinite(gaps).all():
            chance = np.maximum(gaps, 0.0) * problem.sample_weight
            if chance.sum() > 0:
                chance = (1 - _EVEN) * chance / chance.sum() + _EVEN / n
                return state.rng.choice(n, size=n, p=chance / chance.sum())
        return state.rng.permutation(n)

    def _pass(self, problem: Problem, state: SDCAState, order: np.ndarray) -> None:
        packed, gaps = problem.packed, state.gaps
        rest = (problem.alpha, state.w, state.z, state.entropy)

        def step(i: int, workspace: Any, log_z: float) -> None:
            gaps[i] = ascent_step(packed, i, workspace, log_z, *rest)

        problem.sweep(
            order,
            lambda function, workspace: ascent_pass(
                packed, workspace, function, order, *rest, gaps
            ),
            step,
            lambda i, workspace: score_block(packed, i, state.w, workspace),
            ability="marginals",
        )
        seen = np.zeros(problem.n)
        seen[order] = gaps[order]
        problem.check_values(seen, "marginals", state.w)

    def bound(self, problem: Problem, state: SDCAState) -> float:
        return problem.dual(state.z, state.w, state.entropy)

    def estimate(self, state: SDCAState) -> float:
        return state.estimate

    def check_restored(self, problem: Problem, fresh: SDCAState, state: SDCAState) -> None:
        check_entropy(problem, state.entropy)

    def _finalize(self, problem: Problem, state: SDCAState) -> None:
        state.w[:] = problem.weights(state.z)
