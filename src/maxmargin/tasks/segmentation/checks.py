"""Samples and labels of segmentations as users give them; errors name the sample and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError


def each_sample(inputs: Any, noun: str) -> Iterator[Any]:
    """The samples one after another; an error if it is one sample and not a list of them."""
    if inputs is None or isinstance(inputs, (str, bytes, dict)) or not isinstance(inputs, Iterable):
        kind = "None" if inputs is None else type(inputs).__name__
        raise TypeError(f"inputs is {kind}, expected a list of {noun}s.")
    if _is_bare(inputs, noun):
        raise ValueError(
            f"inputs is one {noun}, expected a list of them: put it in a list, [{noun}]."
        )
    return iter(inputs)


def _is_bare(inputs: Any, noun: str) -> bool:
    if isinstance(inputs, np.ndarray):
        # colours come last, so three or four columns are an image and not rows of grey ones
        colours = inputs.ndim == 3 and noun == "image" and inputs.shape[2] in (1, 3, 4)
        return inputs.ndim == 2 or colours
    if noun == "cloud" and isinstance(inputs, tuple) and len(inputs) == 2:
        shapes = [np.shape(own) if isinstance(own, np.ndarray) else () for own in inputs]
        return len(shapes[0]) == len(shapes[1]) == 2 and shapes[1][1] == 2
    return False


def check_masks(labels: Any, n: int, noun: str) -> list[np.ndarray]:
    """One array of labels per sample, all of one kind of type."""
    if labels is None or isinstance(labels, (str, bytes, dict)) or not hasattr(labels, "__len__"):
        kind = "None" if labels is None else type(labels).__name__
        raise TypeError(f"labels is {kind}, expected a list with one array for each {noun}.")
    if len(labels) != n:
        raise ValueError(f"{n} {noun}s but labels for {len(labels)}.")
    found = [_mask(i, own, noun) for i, own in enumerate(labels)]
    kinds = ["text" if own.dtype.kind in "US" else "numbers" for own in found]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise SampleError.of(
                i, f": labels are {kind}, those of ", 0, f" {kinds[0]}.", noun=noun
            )
    return found


def _mask(i: int, own: Any, noun: str) -> np.ndarray:
    try:
        mask = np.asarray(own)
    except ValueError as error:
        raise SampleError.of(i, f": labels are not an array ({error}).", noun=noun) from None
    if mask.dtype == object:
        kinds = {type(value).__name__ for value in mask.ravel().tolist()}
        if kinds <= {"str"}:
            return mask.astype(str)
        if not kinds <= {"bool", "int"}:
            raise SampleError.of(
                i,
                f": labels are of type {', '.join(sorted(kinds))}, expected str, bool or"
                " numbers, one type for all.",
                noun=noun,
            )
        return mask.astype(np.int64)
    if mask.dtype.kind not in "biufUS":
        raise SampleError.of(
            i, f": labels have dtype {mask.dtype}, expected numbers or str.", noun=noun
        )
    if mask.dtype.kind == "f" and np.isnan(mask).any():
        raise SampleError.of(i, ": labels have NaN; give every pixel or point a label.", noun=noun)
    return mask


def check_shape(i: int, mask: np.ndarray, shape: tuple[int, ...], noun: str) -> None:
    """Fail unless there is one label for each pixel or point."""
    if mask.shape == shape:
        return
    hint = ""
    if mask.ndim == len(shape) + 1 and mask.shape[:-1] == shape:
        hint = " Take one channel: mask[..., 0]."
    elif mask.shape == shape[::-1]:
        hint = " Rows and columns are swapped: mask.T."
    raise SampleError.of(i, f": labels have shape {mask.shape}, expected {shape}.{hint}", noun=noun)


def two_classes(masks: list[np.ndarray], noun: str) -> np.ndarray:
    """The two labels, sorted; an error if there are more or fewer."""
    own = [np.unique(mask) for mask in masks]
    classes = np.unique(np.concatenate(own))
    if len(classes) == 1:
        raise ValueError(
            f"all labels are {classes[0].item()!r}: there is nothing to learn. Give samples with"
            " both labels."
        )
    if len(classes) != 2:
        third = next(i for i in range(len(own)) if len(np.unique(np.concatenate(own[: i + 1]))) > 2)
        shown = ", ".join(repr(value) for value in classes[:5].tolist())
        hint = " Masks with soft borders need a threshold: mask > 127." if noun == "image" else ""
        raise SampleError.of(
            f"labels have {len(classes)} different values ({shown}{', ...' * (len(classes) > 5)}),"
            " expected two; ",
            third,
            f" brings the third.{hint}",
            noun=noun,
        )
    return classes


def check_known(i: int, mask: np.ndarray, classes: np.ndarray, noun: str) -> None:
    """Fail if a mask to compare with has labels that were not learned."""
    odd = np.setdiff1d(np.unique(mask), classes)
    if len(odd):
        raise SampleError.of(
            i,
            f": its labels have {odd[0].item()!r}, but the labels learned are {classes.tolist()}.",
            noun=noun,
        )
