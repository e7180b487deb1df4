"""The options of the tasks on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maxmargin.features import KernelMap
from maxmargin.tasks.command import MANY_LABELS, OBJECTIVE, Option
from maxmargin.tasks.probabilities import CALIBRATE, PROBABILITIES

# fmt: off
WRITE = Option(
    "write", ("auto", "text", "npz"), "auto",
    "What predict writes. auto: npz if the output file is called .npz, else text.", of_data=True)
BIAS = Option("bias", bool, True, "Learn a constant for each label.")
ENDS = Option("ends", bool, True, "Learn weights for the labels of roots and of leaves.")
PROBABLE = (OBJECTIVE, CALIBRATE, PROBABILITIES)
KERNEL = (
    Option("kernel", ("none", "linear", "poly", "rbf"), "none",
           "Compare feature rows by a kernel: poly (gamma a.b + coef0)^degree, rbf"
           " exp(-gamma |a - b|^2). Costs grow with the square of the rows; see --kernel-method."),
    Option("gamma", float, 0.0, "Of the kernel; 0 means 1 / (features * their variance)."),
    Option("degree", int, 3, "Of --kernel poly."),
    Option("coef0", float, 1.0, "Of --kernel poly."),
    Option("kernel-method", ("exact", "nystroem", "random"), "exact",
           "exact: all rows. nystroem: --kernel-size rows drawn from them stand for all. random:"
           " --kernel-size random features."),
    Option("kernel-size", int, 0,
           "Landmarks or random features; with exact, the most support vectors. 0: 100, or all."),
)

CHAIN = (
    Option("folds", str, (), "Only sequences of these folds: 0, 1-9, 0,2-4 or all (the default).",
           many=True, of_data=True, kept=False),
    Option("image", str, "", "Draw each row as an image, HEIGHTxWIDTH, e.g. 16x8 (known for"
           " letters).", of_data=True),
    WRITE, MANY_LABELS, OBJECTIVE, *KERNEL, CALIBRATE, PROBABILITIES,
)
GRAPH = (
    Option("tables", bool, False,
           "Learn four weights for each edge feature, one for each pair of labels, instead of"
           " what it costs that labels differ."),
    Option("multiclass", bool, False,
           "Any number of labels; the best ones are then found approximately. Not with --tables."),
    replace(BIAS, help="Learn a constant that every node adds."),
    WRITE,
)
TREE = (
    BIAS, ENDS,
    Option("forest", bool, False, "Samples given by parents may have several roots.", of_data=True),
    WRITE, MANY_LABELS, *PROBABLE,
)
NETWORK = (
    Option("method", ("auto", "exact", "bounded", "relaxed"), "auto",
           "How the best labels are found. exact: by a junction tree, for small or narrow graphs;"
           " bounded: good labels, and a proof of how far off they are at most; relaxed: by linear"
           " programs, rounded, slow. auto: exact where that fits, else bounded."),
    BIAS,
    replace(ENDS, default=False, help="Learn weights for the labels of nodes that no edge leads to"
            " or starts from."),
    Option("transitions", bool, True,
           "Learn weights for pairs of labels; without them nodes are independent."),
    WRITE, MANY_LABELS, *PROBABLE,
)
MATCHING = (
    Option("row-cap", int, 1, "in how many links a row may be"),
    Option("column-cap", int, 1, "in how many links a column may be"),
    Option("complete", bool, False, "every node of the smaller side is in a link"),
    replace(BIAS, help="learn a constant that every link adds"),
    Option("positive", int, (),
           "features whose weights are kept 0 or more, by number, from 0; for the saddle-point"
           " solvers (dual-extragradient)", many=True),
    Option("negative", int, (), "features whose weights are kept 0 or less", many=True),
    WRITE, *KERNEL,
)
MULTI_LABEL = (
    BIAS,
    Option("pairs", ("all", "tree", "none"), "all",
           "Which pairs of labels have weights: all; those of a tree, chosen by mutual"
           " information; or none, so that each label is learned by itself."),
    Option("pair-features", bool, False,
           "Let the weights of pairs depend on the features, not only on the pair."),
    Option("method", ("auto", "exact", "bounded"), "auto",
           "How the best labels are found: exact, for 25 labels at most or pairs without cycles;"
           " bounded, for more, with a proof of how far they are off; auto, exact for 20."),
    WRITE, *PROBABLE,
)
# fmt: on


def make_kernel(options: Mapping[str, Any]) -> KernelMap | None:
    """Make the kernel that --kernel and its options stand for.

    Parameters
    ----------
    options : mapping of str to object
        Values of all options of `KERNEL`.

    Returns
    -------
    KernelMap or None
        None if there is no kernel.
    """
    if options["kernel"] == "none":
        given = [f"--{own.name}" for own in KERNEL if options[own.name] != own.default]
        if given:
            raise ValueError(f"{given[0]} goes with --kernel linear, poly or rbf.")
        return None
    size = options["kernel-size"] or None
    exact = options["kernel-method"] == "exact"
    return KernelMap(
        options["kernel"],
        gamma=options["gamma"] or "scale",
        degree=options["degree"],
        coef0=options["coef0"],
        method=options["kernel-method"],
        n_components=None if exact else size,
        max_support=size if exact else None,
    )
