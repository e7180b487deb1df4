"""Photographs of scenes, each with one label or more (Boutell et al. 2004)."""

from __future__ import annotations

import os

from sklearn.utils import Bunch

from maxmargin.datasets._multilabel import Set

SCENE = Set(
    name="scene",
    n_features=294,
    label_names=("beach", "sunset", "fall foliage", "field", "mountain", "urban"),
    downloads={"train": "scene_train.bz2", "test": "scene_test.bz2"},
    rows={"train": 1211, "test": 1196},
    totals={"train": (227, 165, 197, 196, 277, 224), "test": (200, 199, 200, 237, 256, 207)},
    descr="""\
2,407 photographs, 294 numbers from 0 to 1 each (colour moments of 7 x 7 blocks), and six labels:
beach, sunset, fall foliage, field, mountain, urban. Every photograph has one at least, 1.07 on
average. 1,211 are for training, 1,196 for testing.

Source: M. Boutell, J. Luo, X. Shen, C. Brown, Learning multi-label scene classification, Pattern
Recognition 37, 2004; in LIBSVM's text format at
https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html .
""",
)


def load_scene(subset: str = "train", path: str | os.PathLike | None = None) -> Bunch:
    """Load images of scenes with several labels.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Subset to load.
    path : str, path or None, default=None
        The file scene_train.svm.gz (plain, gzip or bzip2), its folder, or the folder that holds
        ``scene/``. None means the folder in MAXMARGIN_DATA, then the cache, then the official
        address. Only a download is compared with the known counts.

    Returns
    -------
    Bunch
        With `X`, float64 (n, 294); `y`, int64 (n, 6), zeros and ones; `part`, (n,), "train" or
        "test"; `label_names`; `DESCR`.
    """
    return SCENE.load(subset, path)
