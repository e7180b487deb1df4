"""Seconds and peak memory of labelling large images and point clouds with a trained model.

Each line is a process of its own, which learns from a small drawn sample and labels a large one;
its peak includes Python, the libraries and the compiled code.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from benchmarks.measure import peak_memory

SIZES = (250_000, 1_000_000)


def terrain(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rolling ground with boxes on it, a point a square metre: points and labels (1: box)."""
    rng = np.random.default_rng(seed)
    side = np.sqrt(n)
    flat = rng.uniform(0, side, (n, 2))
    height = 6 * np.sin(flat[:, 0] / 90) + 4 * np.cos(flat[:, 1] / 70)
    boxes, cells = rng.uniform(3, 9, (int(side / 30) + 1,) * 2), (flat / 30).astype(np.int64)
    inside = (np.abs(flat - 30 * cells - 15) < rng.uniform(4, 12, (*boxes.shape, 2))[*cells.T]).all(
        axis=1
    )
    height += np.where(inside, boxes[*cells.T], 0.0) + 0.2 * rng.standard_normal(n)
    return np.column_stack([flat, height]), inside.astype(np.int64)


def picture(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """About n pixels, a few ellipses of one colour on a ground of another, both mottled."""
    rng = np.random.default_rng(seed)
    side = round(np.sqrt(n))
    row, column = np.indices((side, side)) / side
    mask = np.zeros((side, side), dtype=bool)
    for _ in range(4):
        middle, size = rng.uniform(0.2, 0.8, 2), rng.uniform(0.08, 0.2, 2)
        mask |= ((row - middle[0]) / size[0]) ** 2 + ((column - middle[1]) / size[1]) ** 2 < 1
    mottle = ndimage.gaussian_filter(rng.standard_normal((side, side)), 0.02 * side)
    colour = np.where(mask[..., None], [0.6, 0.4, 0.3], [0.4, 0.5, 0.4])
    colour = (
        colour
        + 0.05 * mottle[..., None] / mottle.std()
        + 0.02 * rng.standard_normal((side, side, 3))
    )
    return np.clip(colour, 0, 1).astype(np.float32), mask.astype(np.int64)


def images(graph: str) -> tuple[Any, Callable, int]:
    from maxmargin.tasks import Segmenter
    from maxmargin.tasks.segmentation.images.graphs import ImageGraphs

    return Segmenter(graphs=ImageGraphs(graph), tol=0.1), picture, 10_000


def points(**options: Any) -> tuple[Any, Callable, int]:
    from maxmargin.tasks import PointGraphs, Segmenter

    return Segmenter("points", graphs=PointGraphs(**options), tol=0.1), terrain, 4_000


KINDS: dict[str, Callable[[], tuple[Any, Callable, int]]] = {
    "image, superpixels": lambda: images("superpixels"),
    "image, pixels": lambda: images("pixels"),
    "points": lambda: points(),
    "points, spin images": lambda: points(features=("spin",)),
    "points, triangles": lambda: points(graph="surface"),
}


def measure(kind: str, n: int, use: str = "predict") -> None:
    """What a child process does: one line of figures."""
    warnings.simplefilter("ignore")
    model, draw, small = KINDS[kind]()
    inputs, labels = zip(*(draw(small, seed) for seed in (1, 2)), strict=True)
    model.fit(list(inputs), list(labels))
    x, truth = draw(n, 0)
    before, start = peak_memory(), time.process_time()
    [found] = getattr(model, use)([x])
    seconds = time.process_time() - start
    wrong = float(np.mean((found > 0) != truth))
    print(
        f"  {kind + ', ' + use:38s} {truth.size:9,d}: {seconds:6.1f} CPU s,"
        f" peak {peak_memory():5.0f} MB (before: {before:.0f} MB), {100 * wrong:.2f} % wrong"
    )


def command_line(n: int) -> None:
    """A text file of n points through the program: training on small ones, then labelling."""
    with tempfile.TemporaryDirectory() as folder:
        for name, size, seed in (("a", 10_000, 1), ("b", 10_000, 2), ("new", n, 0)):
            cloud, labels = terrain(size, seed)
            table = np.column_stack([cloud, labels]) if name != "new" else cloud
            text = io.StringIO()
            np.savetxt(text, table, fmt="%.3f")
            Path(folder, name + ".txt").write_text(text.getvalue())
        program = [sys.executable, "-m", "maxmargin.cli"]
        subprocess.run(
            [*program, "train", "scan", "--data", "a.txt", "b.txt", "--out", "run"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        start = time.perf_counter()
        child = subprocess.run(
            [sys.executable, "-c", _RUN, "predict", "run", "new.txt", "--out", "found.txt"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - start
        found = np.loadtxt(Path(folder, "found.txt"), usecols=3)
    wrong = float(np.mean(found != terrain(n, 0)[1]))
    print(
        f"  {'maxmargin predict of a text file':38s} {n:9,d}: {seconds:6.1f} s,"
        f" peak {float(child.stderr.split()[-1]):5.0f} MB, {100 * wrong:.2f} % wrong",
        flush=True,
    )


_RUN = """
import sys
from maxmargin.cli.main import main
from maxmargin.memory import peak_bytes
try:
    sys.exit(main())
finally:
    print(peak_bytes() / 2**20, file=sys.stderr)
"""


def main() -> None:
    for kind in KINDS:
        for use in (
            ("predict", "decision_map") if kind in ("image, pixels", "points") else ("predict",)
        ):
            for n in SIZES:
                subprocess.run([sys.executable, "-m", __name__, kind, str(n), use], check=True)
    for n in SIZES:
        command_line(n)


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
