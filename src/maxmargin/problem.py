"""The training problem: samples in flat arrays, and its exact objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np

from maxmargin.exceptions import InfeasibleError
from maxmargin.features.base import PackedFeatures
from maxmargin.structures.base import Shape, Structure


class Samples:
    """n inputs, packed: their structures' shapes, their features, and costs added to the scores.

    The batch oracle works on this; `Problem` adds the truth.
    """

    def __init__(
        self,
        structure: Structure,
        shapes: Sequence[Shape],
        features: PackedFeatures,
        costs: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ):
        from maxmargin.kernels.compile import loading

        with loading():
            from maxmargin.kernels.blocks import Blocks

        self.structure = structure
        self.shapes = list(shapes)
        self.dim = features.dim
        self.part_ptr = features.part_ptr
        self.n_jobs = n_jobs or 1
        codes = [np.asarray(structure.code(shape), dtype=np.int64) for shape in self.shapes]
        weight = np.full(self.n, 1.0 / max(self.n, 1)) if sample_weight is None else sample_weight
        self.blocks = Blocks(
            shape_ptr=np.concatenate([[0], np.cumsum([len(c) for c in codes], dtype=np.int64)]),
            shapes=np.concatenate(codes),
            costs=self._with_forbidden(costs),
            weight=np.ascontiguousarray(weight, dtype=np.float64),
            **{k: v for k, v in features._asdict().items() if k != "dim"},
        )

    @property
    def n(self) -> int:
        return len(self.shapes)

    def parts(self, i: int) -> slice:
        """Where sample i's parts stand in arrays of all samples' parts."""
        return slice(int(self.part_ptr[i]), int(self.part_ptr[i + 1]))

    def _with_forbidden(self, costs: np.ndarray | None) -> np.ndarray:
        banned = [self.structure.forbidden(shape) for shape in self.shapes]
        if not any(len(b) for b in banned):
            return np.empty(0) if costs is None else costs
        total = np.zeros(int(self.part_ptr[-1])) if costs is None else costs.copy()
        for i, b in enumerate(banned):
            total[self.parts(i)][b] = -np.inf
        return total

    def space(self) -> Any:
        """Scratch for one thread."""
        from maxmargin.kernels.blocks import Space

        parts = int(np.diff(self.part_ptr).max())
        work = [self.structure.scratch(shape) for shape in set(self.shapes)]
        blocks = self.blocks
        sizes = np.concatenate([[0], np.cumsum(blocks.block_width, dtype=np.int64)])
        local = int(np.diff(sizes[blocks.block_ptr]).max())
        return Space(
            theta=np.zeros(parts),
            vertex=np.zeros(parts),
            work=np.zeros(max(f for f, _ in work)),
            iwork=np.zeros(max(k for _, k in work), dtype=np.int64),
            local=np.zeros(local),
            change=np.zeros(local),
            spare=np.zeros(parts),
        )

    def scores(self, w: np.ndarray, i: int) -> np.ndarray:
        """theta_i = F_i^T w + c_i."""
        from maxmargin.kernels.blocks import score_block

        space = self.space()
        return space.theta[: score_block(self.blocks, i, w, space)].copy()

    def answer(self, i: int, space: Any, parts: int) -> None:
        """space.vertex = argmax over space.theta, by the structure's Python method."""
        z = np.asarray(self.structure.maximize(space.theta[:parts].copy(), self.shapes[i]))
        if z.shape != (parts,) or not np.isfinite(z).all():
            raise ValueError(
                f"sample {i}: {type(self.structure).__name__}.maximize returned shape {z.shape}"
                f" or numbers that are not finite; expected {parts} finite numbers."
            )
        space.vertex[:parts] = z

    def apply(
        self,
        ability: str,
        w: np.ndarray,
        point: np.ndarray | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """value_i = ability(theta_i) - theta_i . point_i for all i, by `n_jobs` threads.

        What the ability writes (vertices, expectations) goes to `out`, all samples' parts.
        """
        point = np.empty(0) if point is None else point
        out = np.empty(0) if out is None else out
        values = np.empty(self.n)
        kernel = self.structure.kernel(ability)
        run = self._compiled(kernel) if kernel is not None else self._interpreted(ability)
        bounds = np.linspace(0, self.n, self.n_jobs + 1).astype(int)
        ranges = [(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b > a]
        if len(ranges) == 1:
            run(w, point, 0, self.n, values, out)
        else:
            with ThreadPoolExecutor(len(ranges)) as pool:
                list(pool.map(lambda r: run(w, point, r[0], r[1], values, out), ranges))
        self._check(values)
        return values

    def _compiled(self, kernel: Any) -> Callable:
        from maxmargin.kernels.compile import loading

        with loading():
            from maxmargin.kernels.batch import apply_range

        return lambda *args: apply_range(self.blocks, self.space(), kernel, *args)

    def _interpreted(self, ability: str) -> Callable:
        method = getattr(self.structure, ability)

        def run(w, point, first, last, values, out):
            for i in range(first, last):
                theta = self.scores(w, i)
                z = method(theta, self.shapes[i])
                values[i] = _dot(theta, z)
                if len(point):
                    values[i] -= _dot(theta, point[self.parts(i)])
                if len(out):
                    out[self.parts(i)] = z

        return run

    def _check(self, values: np.ndarray) -> None:
        if np.isfinite(values).all():
            return
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        if values[i] == -np.inf:
            raise InfeasibleError(f"sample {i}: every output is forbidden.")
        raise FloatingPointError(f"sample {i}: its scores are not finite; scale the features down.")


class Problem(Samples):
    """min_w P(w) = alpha/2 |w|^2 + sum_i omega_i H_i(w),  H_i(w) = max_z a_i . (z - y_i)

    with a_i = F_i^T w + c_i. Its dual variable is z:

        w(z) = 1/alpha sum_i omega_i F_i (y_i - z_i)
        D(z) = -alpha/2 |w(z)|^2 + sum_i omega_i c_i . (z_i - y_i)
    """

    def __init__(self, *args: Any, truth: np.ndarray, alpha: float, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.truth = truth
        self.alpha = float(alpha)
        self._plain: Samples | None = None
        self._loss_costs = np.where(np.isfinite(self.blocks.costs), self.blocks.costs, 0.0)

    def without_loss(self) -> Samples:
        """The same samples with nothing added to the scores but what is forbidden."""
        if self._plain is None:
            bare = copy(self)
            forbidden = np.where(np.isfinite(self.blocks.costs), 0.0, -np.inf)
            bare.blocks = self.blocks._replace(costs=forbidden)
            self._plain = bare
        return self._plain

    def hinges(self, w: np.ndarray) -> np.ndarray:
        """H_i(w) for each sample."""
        return np.maximum(self.apply("maximize", w, point=self.truth), 0.0)

    def primal(self, w: np.ndarray) -> float:
        """P(w), exact if the structure's oracle is."""
        return float(self.alpha / 2 * (w @ w) + self.blocks.weight @ self.hinges(w))

    def features(self, z: np.ndarray) -> np.ndarray:
        """sum_i omega_i F_i z_i."""
        from maxmargin.kernels.batch import add_features

        total = np.zeros(self.dim)
        add_features(self.blocks, self.space(), z, total)
        return total

    def weights(self, z: np.ndarray) -> np.ndarray:
        """w(z)."""
        return self.features(self.truth - z) / self.alpha

    def loss_at(self, z: np.ndarray) -> np.ndarray:
        """c_i . (z_i - y_i) for each sample: the loss of z_i."""
        products = self._loss_costs * (z - self.truth)
        return np.add.reduceat(products, self.part_ptr[:-1])

    def dual(self, z: np.ndarray, w: np.ndarray | None = None) -> float:
        """D(z); w = w(z) if it is at hand."""
        w = self.weights(z) if w is None else w
        return float(self.blocks.weight @ self.loss_at(z) - self.alpha / 2 * (w @ w))

    def block_gaps(self, w: np.ndarray, z: np.ndarray) -> np.ndarray:
        """max_s a_i . (s - z_i) for each sample; sum_i omega_i of it is the duality gap at w(z)."""
        return self.apply("maximize", w, point=z)


def _dot(theta: np.ndarray, z: np.ndarray) -> float:
    on = z != 0
    return float(theta[on] @ z[on])
