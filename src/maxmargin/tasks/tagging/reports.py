"""What a tagger says about itself: its scores by label and chunk type, its strongest weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.drawing.html_tables import table_html
from maxmargin.drawing.text_tables import align_cells
from maxmargin.metrics import SequenceReport
from maxmargin.optional import import_pandas


@dataclass(frozen=True)
class TaggingReport:
    """Scores by tag, and by chunk type if the tags mark chunks (else None); `print(report)`.

    labels : per token, as `metrics.per_label_scores`. chunks : by the rules of conlleval, as
    `metrics.chunk_scores`; `report.chunks.overall.f1` is its FB1.
    """

    labels: SequenceReport
    chunks: SequenceReport | None

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right tag."""
        return 1.0 - self.labels.token_error

    def __str__(self) -> str:
        if self.chunks is None:
            return str(self.labels)
        return f"chunks\n{self.chunks}\n\ntags\n{self.labels}"

    def _repr_html_(self) -> str:
        """For notebooks: the same as tables."""
        tables = [("chunks", self.chunks)] if self.chunks is not None else []
        tables.append(("tags", self.labels))
        return "".join(f"<h4>{name}</h4>{own._repr_html_()}" for name, own in tables)


@dataclass(frozen=True)
class WeightTable:
    """Rows of names and a weight, strongest first; iterate, index, print, or `to_frame()`."""

    columns: tuple[str, str, str]
    rows: tuple[tuple[str, str, float], ...]

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[str, str, float]:
        return self.rows[index]

    def __str__(self) -> str:
        first, second, weight = self.columns
        rows = [(a, b, f"{own:+.4f}") for a, b, own in self.rows]
        head = (first, second, f"{weight:>9}")
        return "\n".join(align_cells([head, *rows], (False, False, True)))

    def _repr_html_(self) -> str:
        """For notebooks: the same as a table."""
        return table_html(self.columns, self.rows)

    def to_frame(self) -> Any:
        """A pandas DataFrame (needs pandas: `pip install pandas`)."""
        return import_pandas().DataFrame(list(self.rows), columns=list(self.columns))


def strongest_weights(weights: np.ndarray, n: int) -> np.ndarray:
    """Places of the n largest positive weights, then of the n most negative, strongest first."""
    order = np.argsort(-weights, kind="stable")
    above = order[: min(n, int(np.sum(weights > 0)))]
    below = order[::-1][: min(n, int(np.sum(weights < 0)))]
    return np.concatenate([above, below])
