"""How alike words are written."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    SHORTS,
    compile_internal,
    compiled_function,
    types,
)


@compile_internal(types.int64(SHORTS, SHORTS, INTS))
def common_subsequence(a, b, row):
    """The length of the longest common subsequence. row: len(b) + 1."""
    row[: len(b) + 1] = 0
    for i in range(len(a)):
        corner = np.int64(0)
        for j in range(len(b)):
            above = row[j + 1]
            if a[i] == b[j]:
                row[j + 1] = corner + 1
            elif row[j] > above:
                row[j + 1] = row[j]
            corner = above
    return row[len(b)]


@compiled_function(types.void(SHORTS, INTS, SHORTS, INTS, INTS, INTS, FLOATS, FLOATS, INTS))
def compare_words(source, source_ptr, target, target_ptr, left, right, prefix, subsequence, row):
    """Common prefix and longest common subsequence, as shares of the longer word.

    Word w is the letters source[source_ptr[w] : source_ptr[w + 1]]; pair e compares the words
    left[e] and right[e]. row: scratch, longer than any target word.
    """
    for e in range(len(left)):
        a = source[source_ptr[left[e]] : source_ptr[left[e] + 1]]
        b = target[target_ptr[right[e]] : target_ptr[right[e] + 1]]
        longer, shorter = max(len(a), len(b)), min(len(a), len(b))
        same = 0
        while same < shorter and a[same] == b[same]:
            same += 1
        prefix[e] = same / max(longer, 1)
        subsequence[e] = common_subsequence(a, b, row) / max(longer, 1)
