"""Genes of yeast, each with several functional classes (Elisseeff and Weston 2001)."""

from __future__ import annotations

import os

from sklearn.utils import Bunch

from maxmargin.datasets._multilabel import Set

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
