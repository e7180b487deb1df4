"""Point clouds in PLY files, ascii or binary. Read with suspicion: what a head claims is never
allocated, only what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from maxmargin.formats.number_text import parse_numbers, read_blocks, rows_of_text, space_fields
from maxmargin.formats.point_cloud import (
    Cloud,
    Wish,
    free_name,
    label_place,
    order_of,
    whole_if_can,
)

MAX_HEAD_LINES, MAX_LINE, MAX_PROPERTIES = 1000, 4096, 200
#: bytes read at a time
PIECE = 1 << 22
TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
NAMES = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint"}
NAMES |= {"f4": "float", "f8": "double"}
FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


class Property(NamedTuple):
    """A number of that type, or a list of them with its length as type `counted`."""

    name: str
    kind: str
    counted: str = ""


class Element(NamedTuple):
    """A number of things with the same properties."""

    name: str
    size: int
    properties: list[Property]

    @property
    def plain(self) -> list[Property]:
        return [own for own in self.properties if not own.counted]

    @property
    def has_lists(self) -> bool:
        return len(self.plain) < len(self.properties)


@dataclass(frozen=True)
class PlyLayout:
    """format, and the names and types of the columns of points."""

    form: str
    columns: tuple[Property, ...]

    def write(self, sink: BinaryIO, points: np.ndarray, labels: np.ndarray) -> None:
        """A vertex each: its columns, then the label."""
        if labels.dtype.kind not in "biuf":
            raise ValueError(
                "labels that are texts cannot stand in PLY files, which hold numbers; read the"
                " points as text to write them."
            )
        kind = _label_kind(labels)
        name = free_name([prop.name for prop in self.columns])
        own = [*self.columns, Property(name, kind)]
        head = ["ply", f"format {self.form} 1.0", f"element vertex {len(points)}"]
        head += [f"property {NAMES[prop.kind]} {prop.name}" for prop in own]
        sink.write(("\n".join([*head, "end_header"]) + "\n").encode())
        order = FORMATS[self.form]
        if not order:
            texts = [str(label) for label in labels.astype(kind).tolist()]
            sink.write(rows_of_text(points, texts, " "))
            return
        rows = np.empty(len(points), dtype=[(f"p{k}", order + p.kind) for k, p in enumerate(own)])
        for k in range(len(own) - 1):
            rows[f"p{k}"] = points[:, k]
        rows[f"p{len(own) - 1}"] = labels
        sink.write(rows.tobytes())


def _label_kind(labels: np.ndarray) -> str:
    if labels.dtype.kind == "f":
        return "f8"
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    if -(2**31) <= low and high < 2**31:
        return "u1" if 0 <= low and high < 256 else "i4"
    return "f8"


def read_ply(stream: Any, name: str, wish: Wish, most: int) -> Cloud:
    """The vertices of one file: x, y, z, their other numbers, and labels if there are any."""
    head = _Head(stream, name)
    names = [prop.name for prop in head.vertex.plain]
    place = label_place(names, len(names), wish, name)
    kept = [prop for k, prop in enumerate(head.vertex.plain) if k != place]
    order = order_of([prop.name for prop in kept], len(kept), name)
    for element in head.before:
        _Rows(stream, head, element, name, most).skip()
    rows = _Rows(stream, head, head.vertex, name, most).read()
    columns = [k for k in range(len(names)) if k != place]
    points = rows[:, [columns[k] for k in order]]
    if not np.isfinite(rows).all():
        vertex = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise ValueError(f"{name}: vertex {vertex} (from 0) has a number that is not finite.")
    labels = None if place is None else whole_if_can(rows[:, place])
    layout = PlyLayout(head.form, tuple(kept[k] for k in order))
    return Cloud(np.ascontiguousarray(points), labels, name, layout)


class _Head:
    """Format and elements; those before the vertices have to be passed over."""

    def __init__(self, stream: Any, name: str):
        self.name, self.form = name, ""
        self.elements: list[Element] = []
        self.lines = 0
        for self.lines in range(1, MAX_HEAD_LINES + 1):
            raw = stream.readline(MAX_LINE)
            if not raw.endswith(b"\n"):
                raise self._wrong("the head is cut short or no PLY head")
            words = raw.decode("latin-1").split()
            if words == ["end_header"]:
                break
            self._take(words)
        else:
            raise self._wrong(f"the head has more than {MAX_HEAD_LINES} lines")
        places = [k for k, own in enumerate(self.elements) if own.name == "vertex"]
        if not self.form or len(places) != 1:
            raise self._wrong("the head needs one line `format` and one `element vertex`")
        self.vertex, self.before = self.elements[places[0]], self.elements[: places[0]]
        self.after = self.elements[places[0] + 1 :]
        if self.vertex.size == 0:
            raise self._wrong("there are no vertices")
        for own in self.elements:
            if own.size and not own.properties:
                raise self._wrong(f"element {own.name!r} has no properties")

    def _wrong(self, error: str) -> ValueError:
        return ValueError(f"{self.name}, line {self.lines}: {error}.")

    def _take(self, words: list[str]) -> None:
        if self.lines == 1:
            if words != ["ply"]:
                raise self._wrong("a PLY file begins with a line `ply`")
        elif not words or words[0] in ("comment", "obj_info"):
            return
        elif words[0] == "format" and len(words) == 3 and words[1] in FORMATS:
            self.form = words[1]
        elif words[0] == "element" and len(words) == 3 and _is_count(words[2]):
            self.elements.append(Element(words[1][:80], int(words[2]), []))
        elif words[0] == "property" and self.elements:
            self._take_property(words[1:])
        else:
            raise self._wrong(f"{' '.join(words)[:60]!r} is not understood")

    def _take_property(self, words: list[str]) -> None:
        own = self.elements[-1].properties
        if len(words) == 2 and words[0] in TYPES:
            found = Property(words[1][:80], TYPES[words[0]])
        elif len(words) == 4 and words[0] == "list" and TYPES.get(words[1], "f")[0] in "iu":
            if words[2] not in TYPES:
                raise self._wrong(f"the type {words[2][:40]!r} is unknown")
            found = Property(words[3][:80], TYPES[words[2]], TYPES[words[1]])
        else:
            raise self._wrong(f"'property {' '.join(words)[:60]}' is not understood")
        if found.name in [prop.name for prop in own] or len(own) >= MAX_PROPERTIES:
            raise self._wrong(f"property {found.name!r} is there twice, or there are too many")
        own.append(found)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


class _Rows:
    """The numbers of one element."""

    def __init__(self, stream: Any, head: _Head, element: Element, name: str, most: int):
        self.stream, self.head, self.element = stream, head, element
        self.name, self.most = name, most
        self.order = FORMATS[head.form]

    def _short(self, found: int) -> ValueError:
        return ValueError(
            f"{self.name}: the head says {self.element.size} of {self.element.name!r}, but the"
            f" file ends after {found}; it is cut short or damaged."
        )

    def skip(self) -> None:
        """Pass over them."""
        if self.order:
            self._binary(keep=False)
            return
        found = 0
        while found < self.element.size:
            line = self.stream.readline(MAX_LINE * 64)
            if not line:
                raise self._short(found)
            self._count(len(line))
            self.head.lines += line.endswith(b"\n")
            found += not line.isspace()

    def read(self) -> np.ndarray:
        """(count, numbers that are in no list)."""
        return self._binary(keep=True) if self.order else self._ascii()

    def _binary(self, keep: bool) -> np.ndarray:
        if self.element.has_lists:
            return self._one_by_one(keep)
        kinds = [(f"p{k}", self.order + p.kind) for k, p in enumerate(self.element.properties)]
        dtype = np.dtype(kinds)
        parts, found = [], 0
        while found < self.element.size:
            wanted = min(self.element.size - found, max(PIECE // dtype.itemsize, 1))
            raw = self._bytes(wanted * dtype.itemsize)
            rows = np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype=dtype)
            found += len(rows)
            if len(rows) < wanted:
                raise self._short(found)
            if keep:
                parts.append(np.column_stack([rows[key].astype(np.float64) for key, _ in kinds]))
        return np.concatenate(parts) if parts else np.empty((0, len(kinds)))

    def _bytes(self, wanted: int) -> bytes:
        raw = self.stream.read(wanted)
        self._count(len(raw))
        return raw

    def _count(self, size: int) -> None:
        self.most -= size
        if self.most < 0:
            raise ValueError(f"{self.name}: unpacks to too many bytes; split it.")

    def _one_by_one(self, keep: bool) -> np.ndarray:
        found: list[list[float]] = []
        for k in range(self.element.size):
            row = []
            for prop in self.element.properties:
                kind = np.dtype(self.order + (prop.counted or prop.kind))
                raw = self._bytes(kind.itemsize)
                if len(raw) < kind.itemsize:
                    raise self._short(k)
                value = np.frombuffer(raw, dtype=kind)[0]
                if not prop.counted:
                    row.append(float(value))
                else:
                    self._pass(int(value) * np.dtype(prop.kind).itemsize, k)
            if keep:
                found.append(row)
        width = len(self.element.plain)
        return np.array(found, dtype=np.float64).reshape(len(found), width)

    def _pass(self, count: int, k: int) -> None:
        """Pass over this many bytes of a list."""
        if count < 0:
            raise ValueError(f"{self.name}: {self.element.name} {k} has a list of length below 0.")
        while count > 0:
            raw = self._bytes(min(count, PIECE))
            if not raw:
                raise self._short(k)
            count -= len(raw)

    def _ascii(self) -> np.ndarray:
        width, wanted = len(self.element.properties), self.element.size
        parts, found, first = [], 0, self.head.lines + 1
        last = not any(own.size for own in self.head.after)
        for line, block in read_blocks(self.stream, self.name, first, self.most):
            text = _first_lines(block, wanted - found)
            rest = block[len(text) :]
            if self.element.has_lists:
                text = self._without_lists(text, line)
                width = len(self.element.plain)
            rows = parse_numbers(space_fields(text), width, self.name, line)
            parts.append(rows)
            found += len(rows)
            if last and (found > wanted or rest.strip()):
                raise ValueError(
                    f"{self.name}: the head says {wanted} of {self.element.name!r}, but there are"
                    " more rows; correct the count in the head."
                )
            if found >= wanted and not last:
                break
        if found < wanted:
            raise self._short(found)
        return np.concatenate(parts)[:wanted]

    def _without_lists(self, text: bytes, first: int) -> bytes:
        lines = []
        for number, line in enumerate(text.split(b"\n"), start=first):
            fields, kept, at = line.split(), [], 0
            for prop in self.element.properties if fields else ():
                if at >= len(fields) or (prop.counted and not fields[at].isdigit()):
                    raise ValueError(f"{self.name}, line {number}: a list or number is missing.")
                if not prop.counted:
                    kept.append(fields[at])
                at += 1 + (int(fields[at][:9]) if prop.counted else 0)
            lines.append(b" ".join(kept))
        return b"\n".join(lines)


def _first_lines(block: bytes, count: int) -> bytes:
    """At least `count` lines that are not empty; what follows them belongs to other elements."""
    if block.count(b"\n") <= count:
        return block
    end = 0
    while count > 0 and end < len(block):
        begin, end = end, block.find(b"\n", end) + 1 or len(block)
        count -= not block[begin:end].isspace()
    return block[:end]
