"""Samples with several labels: photographs of scenes (Boutell et al. 2004), genes of yeast
(Elisseeff and Weston 2001).
"""

from __future__ import annotations

import bz2
import io
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, find_file, has_file, read_file
from maxmargin.formats.multi_label import encode_numbers, read_multilabel

ADDRESS = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel/"


@dataclass(frozen=True)
class Set:
    """A data set in two files. totals : samples that have each label, of the original files."""

    name: str
    n_features: int
    label_names: tuple[str, ...]
    downloads: dict[str, str]
    totals: dict[str, tuple[int, ...]]
    rows: dict[str, int]
    descr: str

    def source(self, subset: str) -> Source:
        name = f"{self.name}_{subset}"
        names = (self.downloads[subset], f"{name}.svm.gz", f"{name}.svm", f"{name}.svm.bz2", name)
        return Source(
            folder=self.name,
            names=tuple(dict.fromkeys(names)),
            url=ADDRESS + self.downloads[subset],
            check=partial(self._check, subset),
        )

    def parse(self, raw: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
        """X and y of the text of a file."""
        if raw[:3] == b"BZh":
            try:
                raw = bz2.decompress(raw)
            except (OSError, ValueError, EOFError) as error:
                raise ValueError(
                    f"{name}: damaged bzip2 file ({error}); delete it and fetch it again"
                ) from error
        found = read_multilabel(io.BytesIO(raw), self.n_features, name)
        if not found.labels:
            raise ValueError(f"{name}: the file is empty, expected lines `labels index:value ...`")
        return found.X.toarray(), encode_numbers(found, len(self.label_names), name)

    def _check(self, subset: str, raw: bytes, name: str) -> None:
        """Fail unless the labels of a download are those of the original."""
        y = self.parse(raw, name)[1]
        if (len(y), tuple(y.sum(axis=0).tolist())) != (self.rows[subset], self.totals[subset]):
            raise ValueError(
                f"{len(y)} samples with label counts {y.sum(axis=0).tolist()}, expected"
                f" {self.rows[subset]} with {list(self.totals[subset])}"
            )

    def load(self, subset: str, path: str | os.PathLike | None) -> Bunch:
        if subset not in ("train", "test", "all"):
            raise ValueError(f'subset={subset!r} must be "train", "test" or "all".')
        wanted = ("train", "test") if subset == "all" else (subset,)
        if subset == "all" and path is not None and Path(path).is_file():
            raise ValueError('subset="all" is of two files: give their folder as path.')
        files = [find_file(self.source(own), path) for own in wanted]
        parts = [self.parse(read_file(file), str(file)) for file in files]
        X, y = (np.concatenate(own) for own in zip(*parts, strict=True))
        part = np.repeat(wanted, [len(own) for _, own in parts])
        return Bunch(X=X, y=y, part=part, label_names=list(self.label_names), DESCR=self.descr)


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


YEAST = Set(
    name="yeast",
    n_features=103,
    label_names=tuple(f"class {k}" for k in range(1, 15)),
    downloads={"train": "yeast_train.svm.bz2", "test": "yeast_test.svm.bz2"},
    rows={"train": 1500, "test": 917},
    totals={
        "train": (476, 645, 598, 532, 441, 378, 261, 289, 98, 161, 198, 1128, 1116, 21),
        "test": (286, 393, 385, 330, 281, 219, 167, 191, 80, 92, 91, 688, 683, 13),
    },
    descr="""\
2,417 genes of yeast, 103 numbers each (expression levels and phylogenetic profiles, rows of unit
norm), and 14 classes of function, of which a gene has 4.24 on average. 1,500 are for training, 917
for testing.

Source: A. Elisseeff, J. Weston, A kernel method for multi-labelled classification, NIPS 2001; in
LIBSVM's text format at https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html .
""",
)


def load_yeast(subset: str = "train", path: str | os.PathLike | None = None) -> Bunch:
    """Load genes with several functional classes.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Subset to load.
    path : str, path or None, default=None
        The file yeast_train.svm.gz (plain, gzip or bzip2), its folder, or the folder that holds
        ``yeast/``. None means the folder in MAXMARGIN_DATA, then the cache, then the official
        address. Only a download is compared with the known counts.

    Returns
    -------
    Bunch
        With `X`, float64 (n, 103); `y`, int64 (n, 14), zeros and ones; `part`, (n,), "train" or
        "test"; `label_names`; `DESCR`.
    """
    return YEAST.load(subset, path)


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    found = {
        own.name: [subset for subset in own.rows if has_file(own.source(subset), folder)]
        for own in (SCENE, YEAST)
    }
    return [f"{name} ({', '.join(subsets)})" for name, subsets in found.items() if subsets]
