"""Point clouds of files: text, PLY or npz, told by the first bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from maxmargin.formats.npz import Arrays, open_seekable, read_npz, write_npz
from maxmargin.formats.ply import read_ply
from maxmargin.formats.point_cloud import Cloud, Wish
from maxmargin.formats.text_lines import Readable, name_of, open_unpacked
from maxmargin.persistence.archive import unpacked_limit
from maxmargin.tasks.segmentation.points.text_files import read_text

POINTS_HINT = "give points (N, 3 + further columns), all scans one after another."
LABELS_HINT = "give labels (N,), a number or a text for each point."
PTR_HINT = "give ptr (n + 1,), where the points of each scan begin and the last ones end."
EDGES_HINT = "give edges (E, 2), pairs of points, numbered from 0 over all scans of the file."


@dataclass(frozen=True)
class NpzLayout:
    """Arrays are written at once, see `ScanCommand.predict`."""

    def write(self, sink: BinaryIO, points: np.ndarray, labels: np.ndarray) -> None:
        """Points and labels of one scan."""
        write_npz(sink, {"points": points, "labels": labels})


def read_scans(source: Readable, wish: Wish | None = None) -> list[Cloud]:
    """The scans of a file: one of text and PLY files, one or more of npz files."""
    name, wish = name_of(source), wish or Wish()
    with open_seekable(source) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        start = file.read(2)
        file.seek(0)
        if start == b"PK":
            return _from_arrays(read_npz(file, name), wish.labelled)
        most = unpacked_limit(size) if start == b"\x1f\x8b" else size + 1
        with open_unpacked(file) as stream:
            begin = stream.readline(16)
            if begin.rstrip() != b"ply":
                return [read_text(_Again(begin, stream), name, wish, most)]
            return [read_ply(_Again(begin, stream), name, wish, most)]


class _Again:
    """A stream with bytes put back at its start."""

    def __init__(self, start: bytes, stream: BinaryIO):
        self.start, self.stream = start, stream

    def read(self, size: int) -> bytes:
        start, self.start = self.start, b""
        return start + self.stream.read(size - len(start)) if start else self.stream.read(size)

    def readline(self, size: int) -> bytes:
        start, self.start = self.start, b""
        return start if start.endswith(b"\n") else start + self.stream.readline(size)


def _from_arrays(arrays: Arrays, labelled: bool) -> list[Cloud]:
    points = arrays.matrix("points", POINTS_HINT)
    if not isinstance(points, np.ndarray) or points.shape[1] < 3 or not len(points):
        raise arrays.wrong("points", f"has shape {points.shape}; {POINTS_HINT}")
    ptr = _ptr(arrays, len(points))
    labels = _labels(arrays, len(points)) if labelled and "labels" in arrays else None
    edges = _edges(arrays, len(points), ptr) if "edges" in arrays else None
    stem, several = Path(arrays.name).name, len(ptr) > 2
    return [
        Cloud(
            points[a:b],
            None if labels is None else labels[a:b],
            f"{stem} [{k}]" if several else arrays.name,
            NpzLayout(),
            None if edges is None else edges[k],
        )
        for k, (a, b) in enumerate(pairwise(ptr))
    ]


def _ptr(arrays: Arrays, total: int) -> list[int]:
    if "ptr" not in arrays:
        return [0, total]
    found = arrays.need("ptr", 1, "iu", PTR_HINT)
    if len(found) < 2 or int(found.min()) < 0 or int(found.max()) > total:
        raise arrays.wrong("ptr", f"expected numbers from 0 to {total}; {PTR_HINT}")
    found = found.astype(np.int64)
    if found[0] != 0 or found[-1] != total or (np.diff(found) < 1).any():
        raise arrays.wrong("ptr", f"expected numbers that rise from 0 to {total}; {PTR_HINT}")
    return found.tolist()


def _labels(arrays: Arrays, total: int) -> np.ndarray:
    labels = arrays.need("labels", 1, "biufU", LABELS_HINT)
    if len(labels) != total:
        raise arrays.wrong("labels", f"has {len(labels)} labels for {total} points.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise arrays.wrong("labels", "has labels that are not finite.")
    return labels


def _edges(arrays: Arrays, total: int, ptr: list[int]) -> list[np.ndarray]:
    """Of each scan, numbered within it."""
    if arrays["edges"].size == 0:
        return [np.zeros((0, 2), dtype=np.int64) for _ in ptr[1:]]
    edges = arrays.need("edges", 2, "iu", EDGES_HINT)
    if edges.shape[1] != 2 or int(edges.min()) < 0 or int(edges.max()) >= total:
        raise arrays.wrong("edges", f"has other columns or numbers out of range; {EDGES_HINT}")
    edges = edges.astype(np.int64)
    owner = np.searchsorted(ptr, edges, side="right") - 1
    if (owner[:, 0] != owner[:, 1]).any():
        row = int(np.flatnonzero(owner[:, 0] != owner[:, 1])[0])
        raise arrays.wrong("edges", f"row {row} joins points of two scans.")
    order = np.argsort(owner[:, 0], kind="stable")
    ends = np.searchsorted(owner[order, 0], np.arange(len(ptr))).tolist()
    return [edges[order[a:b]] - ptr[k] for k, (a, b) in enumerate(pairwise(ends))]
