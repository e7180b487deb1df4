"""What a model file must hold of word statistics: compiled code checks no bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.validation.learned import check_array


def check_tables(found: Any) -> None:
    """Raise ValueError unless the tables of fitted `WordStatistics` go together."""
    n_source, n_target = len(found.source_words_), len(found.target_words_)
    _check_rows(found.row_ptr_, found.column_, n_source, n_target)
    _check_counts("source_counts_", found.source_counts_, np.int64, n_source, found.n_pairs_)
    _check_counts("target_counts_", found.target_counts_, np.int64, n_target, found.n_pairs_)
    n = len(found.column_)
    _check_counts("together_", found.together_, np.int32, n, found.n_pairs_)
    for model in ("mixture", "hmm"):
        _check_probabilities(found, f"{model}_", np.float32, (2, n))
        _check_probabilities(found, f"{model}_null_source_", np.float32, (n_source,))
        _check_probabilities(found, f"{model}_null_target_", np.float32, (n_target,))
    _check_probabilities(found, "jumps_", np.float64, (2, 3 * found.far + 2))
    if not (found.jumps_ > 0).all():  # the sum of some is divided by
        raise ValueError("WordStatistics: jumps_ has weights that are not above 0")


def check_stems(words: Any, stems: Any, cls: type[Any]) -> None:
    """Raise ValueError unless the statistics of stems go with those of words."""
    if (stems is None) != (words.stem_length is None):
        raise ValueError("WordStatistics: stems_ does not go with stem_length")
    if stems is None:
        return
    if not isinstance(stems, cls) or not hasattr(stems, "hmm_") or stems.stems_ is not None:
        raise ValueError("WordStatistics: stems_ is not the fitted statistics of stems")
    for own in (stems.source_words_, stems.target_words_):
        if any(len(word) > words.stem_length for word in own):
            raise ValueError(f"WordStatistics: stems of more than {words.stem_length} letters")


def _check_rows(row_ptr: Any, column: Any, n_source: int, n_target: int) -> None:
    """Rows that tile the columns, which rise within each row: they are searched by halving."""
    check_array("WordStatistics: row_ptr_", row_ptr, np.int64, (n_source + 1,))
    n = len(column)
    check_array("WordStatistics: column_", column, np.int32, (n,))
    # compared, not subtracted: differences of forged numbers may overflow
    if row_ptr[0] != 0 or row_ptr[-1] != n or not (row_ptr[:-1] <= row_ptr[1:]).all():
        raise ValueError("WordStatistics: row_ptr_ does not rise from 0 to the number of pairs")
    if not ((column >= 0) & (column < n_target)).all():
        raise ValueError("WordStatistics: column_ has numbers of no target word")
    rises = column[:-1] < column[1:]
    starts = row_ptr[(row_ptr > 0) & (row_ptr < n)]
    rises[starts - 1] = True
    if not rises.all():
        raise ValueError("WordStatistics: column_ is not sorted within its rows")


def _check_counts(name: str, value: Any, dtype: Any, size: int, most: Any) -> None:
    check_array(f"WordStatistics: {name}", value, dtype, (size,))
    if not ((value >= 1) & (value <= most)).all():
        raise ValueError(f"WordStatistics: {name} has counts that are not from 1 to n_pairs_")


def _check_probabilities(found: Any, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    check_array(f"WordStatistics: {name}", getattr(found, name), dtype, shape, 0, 1)
