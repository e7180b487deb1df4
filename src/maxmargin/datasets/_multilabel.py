"""What the loaders of scene and yeast have in common."""

from __future__ import annotations

import bz2
import io
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, find_file, read_file
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
