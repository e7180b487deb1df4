"""Kernels on the command line: the options of tasks that have them, and what reports say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxmargin.features import KernelMap
from maxmargin.tasks.command import Option
from maxmargin.tasks.documents import Table

OPTIONS = (
    Option(
        "kernel",
        ("none", "linear", "poly", "rbf"),
        "none",
        "Compare feature rows by a kernel: poly (gamma a.b + coef0)^degree, rbf"
        " exp(-gamma |a - b|^2). Costs grow with the square of the rows; see --kernel-method.",
    ),
    Option("gamma", float, 0.0, "Of the kernel; 0 means 1 / (features * their variance)."),
    Option("degree", int, 3, "Of --kernel poly."),
    Option("coef0", float, 1.0, "Of --kernel poly."),
    Option(
        "kernel-method",
        ("exact", "nystroem", "random"),
        "exact",
        "exact: all rows. nystroem: --kernel-size rows drawn from them stand for all. random:"
        " --kernel-size random features.",
    ),
    Option(
        "kernel-size",
        int,
        0,
        "Landmarks or random features; with exact, the most support vectors. 0: 100, or all.",
    ),
)


def kernel_of(options: Mapping[str, Any]) -> KernelMap | None:
    """What --kernel and its options stand for; None if there is no kernel."""
    if options["kernel"] == "none":
        default = {option.name: option.default for option in OPTIONS}
        given = [f"--{name}" for name, value in default.items() if options[name] != value]
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


def kernel_table(model: Any) -> Table | None:
    """What a report says of a model's kernel in the place of weights; None if it has none."""
    own = getattr(model, "kernel_", None)
    if own is None:
        return None
    rows = [["kernel", str(own.kernel)], ["method", own.method]]
    if own.kernel != "linear":
        rows.append(["gamma", f"{own.gamma_:.6g}"])
    if own.kernel == "poly":
        rows += [["degree", str(own.degree)], ["coef0", f"{own.coef0:g}"]]
    rows += [["distinct rows", str(own.n_distinct_)], ["coordinates", str(own.n_coordinates_)]]
    if own.method != "random":
        rows.append(["support vectors", str(model.n_support_)])
        rows.append(["share of the kernel left out", f"{own.residual_:.3g}"])
    note = "weights belong to coordinates of the kernel, so single features have none"
    return Table(title="Kernel", columns=["what", "value"], rows=rows, note=note)
