"""Dual extragradient: look ahead, average, and never store more than one must."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.output_geometry import EntropicOutputs, check_tilt
from maxmargin.solvers.saddle import SaddleSolver, entropic_ball, tally
from maxmargin.solvers.tilted_steps import TiltedSteps
from maxmargin.solvers.weight_geometry import EntropicWeights, Weights
from maxmargin.validation import is_number


class DualExtragradient(SaddleSolver):
    """Find the saddle point of L(w, z) by Nesterov's dual extragradient method.

    With s the sum of all gradients so far and T(u, s) the step from u along s (projected, or
    entropic, for w and for z each), each epoch does

        v = T(start, s),   u = T(v, gradient at v),   s += gradient at u

    and the answer is the average of the u's. After t epochs its gap is at most
    (D_w + D_z) L / (t + 1), D being the largest distance from the start: no method that only uses
    such gradients has a better rate.

    Parameters
    ----------
    geometry : "euclidean", or "entropic" for w in an L1Ball (multiplicative steps; w starts at 0).
    z_geometry : "euclidean", or "entropic" for structures that can `tilt`: a step is a pass of
        sum-product in the place of a projection, and z stays inside its polytope. See
        `output_geometry` for norms and for what is promised.
    start : with entropic z, how much the potentials of the first z favour the parts of the truth
        (or of the z of a state that is given); 0 means all outputs alike.
    memory : "plain", or "low": keep no number per part of the samples, only vectors as long as w
        and one sample at a time. The iterates are the same; the average z is not kept, so that
        other solvers cannot go on from it, and projections cannot start from the last one's duals.
    step : "norm" (1 / L, by power iteration), "adaptive" (shorter whenever it was too long; needs
        no L), or a number. "auto" is "norm" for Euclidean z, "adaptive" for entropic z, whose L
        is that of the worst case; there, a step that turns out too long is taken back, and the
        average counts each u as much as its step was long, so that the promise holds.
    past : look ahead by the last gradient instead of a new one: one projection and one gradient an
        epoch instead of two. The step is half as long. Off, because on word alignments it closes
        less of the gap in the same time (`python -m benchmarks alignment`).
    restarts : begin anew from the average whenever the gap has halved; not with memory="low". Off,
        because on word alignments they help with w in a ball and hurt with a penalty.
    ratio : how far w moves for what z moves, see `SaddleSolver`.

    Reference: Taskar, Lacoste-Julien, Jordan, JMLR 2006, figures 2 and 6.
    """

    name: ClassVar[str] = "dual-extragradient"

    def __init__(
        self,
        geometry: Literal["euclidean", "entropic"] = "euclidean",
        memory: Literal["plain", "low"] = "plain",
        step: float | Literal["auto", "norm", "adaptive"] = "auto",
        past: bool = False,
        restarts: bool = False,
        ratio: float | Literal["auto"] = "auto",
        max_epochs: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        check_every: int | None = None,
        z_geometry: Literal["euclidean", "entropic"] = "euclidean",
        start: float = 0.0,
    ):
        self.geometry = geometry
        self.z_geometry = z_geometry
        self.start = start
        self.memory = memory
        self.step = step
        self.past = past
        self.restarts = restarts
        self.ratio = ratio
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    @property
    def requires(self) -> tuple[tuple[str, ...], ...]:  # type: ignore[override]
        """A way to step in z, and `maximize`, for certificates."""
        return (("tilt" if self.entropic else "project",), ("maximize",))

    @property
    def entropic(self) -> bool:
        """Whether steps in z are."""
        return self.z_geometry == "entropic"

    @property
    def step_rule(self) -> Any:
        if self.step != "auto":
            return self.step
        return "adaptive" if self.entropic and not self.past else "norm"

    def kernels(self) -> tuple[str, ...]:
        return (*super().kernels(), "saddle_tilt") if self.entropic else super().kernels()

    def check(self, problem: Problem) -> None:
        if self.z_geometry not in ("euclidean", "entropic"):
            raise ValueError(f'z_geometry={self.z_geometry!r} must be "euclidean" or "entropic".')
        if self.entropic:
            check_tilt(self, problem)
        super().check(problem)
        if not is_number(self.start) or not 0 <= self.start < np.inf:
            raise ValueError(f"start={self.start!r} must be a number, 0 or more.")
        if self.geometry not in ("euclidean", "entropic"):
            raise ValueError(f'geometry={self.geometry!r} must be "euclidean" or "entropic".')
        if self.memory not in ("plain", "low"):
            raise ValueError(f'memory={self.memory!r} must be "plain" or "low".')
        if self.restarts and self.memory == "low":
            raise ValueError('restarts need the average z, which memory="low" does not keep.')
        if self.restarts and "entropic" in (self.geometry, self.z_geometry):
            raise ValueError('restarts go with geometry="euclidean" and such z_geometry only.')
        if self.past and self.step == "adaptive":
            raise ValueError('past=True goes with step="norm" or a number.')
        if self.geometry == "entropic":
            entropic_ball(problem)

    def weight_geometry(self, problem: Problem, ratio: float) -> Weights:
        if self.geometry == "euclidean":
            return super().weight_geometry(problem, ratio)
        return EntropicWeights(entropic_ball(problem), ratio)

    def find_ratio(self, problem: Problem) -> float:
        if self.geometry == "euclidean" or self.ratio != "auto":
            return super().find_ratio(problem)
        return float(np.log(2 * problem.dim + 1)) / max(self.spread(problem), 1e-300)

    def norm(self, problem: Problem, geometry: Weights) -> float:
        if not self.entropic:
            return super().norm(problem, geometry)
        return EntropicOutputs(problem, self.start).operator_norm(geometry, 100)

    def spread(self, problem: Problem) -> float:
        if not self.entropic:
            return super().spread(problem)
        return EntropicOutputs(problem, 0.0).reach(problem.truth)

    # -- state -------------------------------------------------------------------------------------
    def init(self, problem: Problem) -> State:
        z = np.empty(0) if self.memory == "low" else problem.truth.copy()
        state = State(np.zeros(problem.dim), z, self.generator())
        self.begin(problem, state)
        return state

    def begin(self, problem: Problem, state: State) -> None:
        """Start from the state's w and z (from the truth, if memory is low)."""
        low = self.memory == "low"
        extra: dict[str, Any] = {"passed": 0.0, "key": self.key(problem)}
        extra["ratio"] = self.find_ratio(problem)
        geometry = self.weight_geometry(problem, extra["ratio"])
        z = problem.truth if low else state.z.copy()
        point = geometry.start(state.w)
        state.w = geometry.weights(point).copy()
        state.extra = extra
        extra["step"] = self._length(problem, geometry, extra)
        extra["u_w"] = state.w.copy()
        extra["slope"] = np.zeros(problem.dim) if low else problem.slope(z)
        extra["loss"] = 0.0 if low else float(problem.blocks.weight @ problem.loss_at(z))
        extra["last"] = (extra["slope"].copy(), extra["loss"])
        extra["pointers"] = self.warm_pointers(problem)
        state.z = np.empty(0) if low else state.z
        if self.entropic:
            TiltedSteps(self, problem, state).begin(z, point)
            return
        extra["anchor_w"], extra["anchor_z"] = point, z
        extra["s_w"] = np.zeros(problem.dim)
        extra["s_z"] = np.empty(0) if low else np.zeros(len(z))
        extra["gradient"] = problem.alpha * state.w + extra["slope"]
        size = 0 if low else int(extra["pointers"][-1])
        extra["warm_v"], extra["warm_u"] = np.zeros(size), np.zeros(size)

    def _restart(self, problem: Problem, state: State) -> None:
        """Begin anew from the average, with w and z balanced by how far each has come."""
        extra = state.extra
        far = state.w - extra["anchor_w"]
        apart = self.square_distance(problem, state.z, extra["anchor_z"])
        if self.ratio == "auto" and apart > 0 and far.any():
            extra["ratio"] = float(np.sqrt(extra["ratio"] * (far @ far) / apart))
            if self.step_rule == "norm":
                geometry = self.weight_geometry(problem, extra["ratio"])
                extra["step"] = self._length(problem, geometry, extra)
        extra["passed"], extra["restart_gap"] = 0.0, extra["gap"]
        extra["anchor_w"], extra["anchor_z"] = state.w.copy(), state.z.copy()
        extra["s_w"][:], extra["s_z"][:] = 0.0, 0.0
        extra["u_w"] = state.w.copy()
        extra["gradient"] = problem.alpha * state.w + extra["slope"]

    def _length(self, problem: Problem, geometry: Weights, extra: dict[str, Any]) -> float:
        """The step; half as long for `past` (whose own steps the theory wants below 1 / (2 L))."""
        step = self.first_step(problem, geometry, extra)
        return step / 2 if self.past and self.step_rule == "norm" else step

    # -- steps -------------------------------------------------------------------------------------
    def epoch(self, problem: Problem, state: State) -> None:
        extra = state.extra
        if self.restarts and "gap" in extra and extra["gap"] <= extra["restart_gap"] / 2:
            self._restart(problem, state)
        geometry = self.weight_geometry(problem, extra["ratio"])
        if self.entropic:
            TiltedSteps(self, problem, state).epoch(geometry)
            return
        step, t = extra["step"], extra["passed"]
        extra["whole"] = self.memory == "low"  # else s and the average change sample by sample
        if self.past:
            slope = extra["s_w"] - extra["gradient"]
            point = geometry.step(extra["anchor_w"], slope, step)
            w, look = geometry.weights(point), extra["u_w"]
            _, total_u, facts = self._pass(problem, state, look)
        else:
            ahead = geometry.step(extra["anchor_w"], extra["s_w"], step)
            look = geometry.weights(ahead)
            total_v, total_u, facts = self._pass(problem, state, look)
            slope = -(problem.alpha * look + total_v)
            w = geometry.weights(geometry.step(ahead, slope, step))
            if self.step_rule == "adaptive":
                self._adapt(problem, state, geometry, w - look, total_u - total_v, facts[0])
        extra["gradient"] = problem.alpha * w + total_u
        extra["s_w"] -= extra["gradient"]
        extra["u_w"] = w
        share = 1.0 / (t + 1.0)
        state.w += share * (w - state.w)
        extra["slope"] += share * (total_u - extra["slope"])
        extra["loss"] += share * (float(facts[3]) - extra["loss"])
        extra["last"] = (total_u, float(facts[3]))
        extra["residual"] = max(extra.get("residual", 0.0), float(facts[2]))
        extra["passed"], extra["whole"] = t + 1.0, True
        state.n_project += problem.n if self.past or t == 0 else 2 * problem.n

    def _pass(
        self, problem: Problem, state: State, look: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g(v), g(u) and the facts of a pass that looks ahead by the weights `look`."""
        from maxmargin.kernels.saddle import dual_range

        extra, t = state.extra, state.extra["passed"]
        w = state.w if self.memory == "low" else extra["u_w"]
        kernel = problem.structure.kernel("project")
        largest = int(np.diff(problem.part_ptr).max())

        def visit(first: int, last: int, sums: list[np.ndarray], facts: np.ndarray) -> None:
            if kernel is None:
                self._visit_in_python(problem, state, look, range(first, last), sums, facts)
                return
            dual_range(
                problem.blocks, problem.space(), kernel, first, last, w, look, t, extra["step"],
                self.past, extra["anchor_z"], extra["s_z"], state.z, extra["warm_v"],
                extra["warm_u"], extra["pointers"], problem.truth, np.empty(largest), *sums, facts,
            )  # fmt: skip

        (total_v, total_u), facts = self.in_ranges(problem, 2, visit)
        return total_v, total_u, facts

    def _visit_in_python(
        self,
        problem: Problem,
        state: State,
        look: np.ndarray,
        samples: range,
        sums: list[np.ndarray],
        facts: np.ndarray,
    ) -> None:
        """`kernels.saddle.dual_range` for structures that project in Python."""
        extra, t, step = state.extra, state.extra["passed"], state.extra["step"]
        low = self.memory == "low"
        for i in samples:
            part = problem.parts(i)
            s = np.zeros(part.stop - part.start)
            if t > 0:
                theta = problem.scores(state.w if low else extra["u_w"], i)
                s = t * theta if low else extra["s_z"][part] + theta
            if not low:
                extra["s_z"][part] = s
            base, slope = extra["anchor_z"][part], problem.scores(look, i)
            v = base.copy()
            if self.past:
                u = problem.projected(base + step * (s + slope), i)
            else:
                v = v if t == 0 else problem.projected(base + step * s, i)
                u = problem.projected(v + step * slope, i)
                tally(problem, i, v, v, sums[0], np.zeros(len(facts)))
            tally(problem, i, u, v, sums[1], facts)
            if not low:
                state.z[part] += (u - state.z[part]) / (t + 1.0)

    def _adapt(
        self,
        problem: Problem,
        state: State,
        geometry: Weights,
        moved: np.ndarray,
        change: np.ndarray,
        moved_z: float,
    ) -> None:
        """Shorten the next steps if this one was too long for the operator where it went."""
        from maxmargin.kernels.saddle import score_norm

        forward = score_norm(problem.blocks, problem.space(), moved)
        back = geometry.squared_dual(problem.alpha * moved + change)
        whole = geometry.squared(moved) + moved_z
        if whole <= 0:
            return
        r = state.extra["step"] * np.sqrt((back + forward) / whole)
        if r > 1.0:
            state.extra["step"] *= float((2.0 / 3.0) / r)

    # -- certificates ------------------------------------------------------------------------------
    def candidates(self, problem: Problem, state: State) -> list[np.ndarray]:
        """The average, and the last u, which is better once the right vertices are found."""
        return [state.w, state.extra["u_w"]]

    def bound(self, problem: Problem, state: State) -> float:
        """The better one of the average z and of the last u."""
        average = super().bound(problem, state)
        if not np.isfinite(average) and state.extra.get("residual", 0.0) > 0:
            return average
        last, loss = state.extra["last"]
        lowest = problem.domain.lowest(last, problem.alpha)[1]
        return max(average, lowest + loss)

    def facts(self, problem: Problem, state: State, primal: float) -> dict[str, float]:
        known = super().facts(problem, state, primal)
        extra = state.extra
        extra["gap"] = known["restricted_gap"]
        extra.setdefault("restart_gap", extra["gap"])
        geometry = self.weight_geometry(problem, extra["ratio"])
        distance = geometry.reach(self._radius(problem, state), extra["anchor_w"])
        if self.entropic:
            promised = TiltedSteps(self, problem, state).promise(distance)
            known |= {"distance_w": distance, "distance_z": extra["reach_z"]}
            known |= {} if np.isnan(promised) else {"bound": promised}
        elif self.step_rule == "norm" and extra["passed"] > 0:
            promised = (distance + self.spread(problem)) / extra["step"]
            known["bound"] = promised / extra["passed"]
        return known

    def settle(self, problem: Problem, state: State) -> None:
        if len(state.z):  # without z, its slope and loss cannot be computed anew
            super().settle(problem, state)
