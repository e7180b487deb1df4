"""Which words of two languages occur in one sentence pair, how often, and where to find them.

A *cell* is a pair (source word, target word) that some sentence pair contains. Cells of one source
word stand together; cell_of[(i, j) of a sentence pair] says which cell its i-th source and j-th
target word make, so that later passes look nothing up.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import INTS, SHORTS, compiled_function, types

LONG = types.int64


@compiled_function(
    LONG(SHORTS, INTS, SHORTS, INTS, INTS, INTS, INTS, INTS, SHORTS, SHORTS, SHORTS, INTS),
    allocates=True,
)
def number_cells(
    source, source_ptr, target, target_ptr, place_ptr, places, owner, cell_ptr,
    cell_of, column, together, row_ptr,
):  # fmt: skip
    """Number the cells of a corpus, source word by source word.

    places (n source tokens) : the tokens' places, sorted by word; word e's are places[place_ptr[e]]
    and on. owner : the sentence pair of each source token. Written: cell_of, at cell_ptr[s] + i K +
    j for words i, j of pair s; column, the target word of each cell; together, in how many sentence
    pairs both occur; row_ptr, the first cell of each source word. Returns the number of cells.
    """
    n_target = np.int64(0)
    for t in range(len(target)):
        n_target = max(n_target, np.int64(target[t]) + 1)
    first_seen = np.full(n_target, -1, dtype=np.int64)  # last source word met with this target word
    cell = np.zeros(n_target, dtype=np.int64)
    last_pair = np.full(n_target, -1, dtype=np.int64)
    n = 0
    for e in range(len(place_ptr) - 1):
        row_ptr[e] = n
        for p in range(place_ptr[e], place_ptr[e + 1]):
            s = owner[places[p]]
            width = target_ptr[s + 1] - target_ptr[s]
            at = cell_ptr[s] + (places[p] - source_ptr[s]) * width
            for j in range(width):
                f = target[target_ptr[s] + j]
                if first_seen[f] != e:
                    first_seen[f] = e
                    cell[f] = n
                    column[n] = f
                    together[n] = 0
                    last_pair[f] = -1
                    n += 1
                if last_pair[f] != s:
                    last_pair[f] = s
                    together[cell[f]] += 1
                cell_of[at + j] = cell[f]
    row_ptr[len(place_ptr) - 1] = n
    return n


@compiled_function(types.void(SHORTS, INTS, INTS), allocates=True)
def pairs_with_word(words, ptr, out):
    """out[w] = the number of sentences that contain word w."""
    last = np.full(len(out), -1, dtype=np.int64)
    for s in range(len(ptr) - 1):
        for t in range(ptr[s], ptr[s + 1]):
            w = words[t]
            if last[w] != s:
                last[w] = s
                out[w] += 1


@compiled_function(types.void(INTS, SHORTS, SHORTS, INTS, SHORTS, INTS, INTS, INTS))
def find_cells(row_ptr, column, source, source_ptr, target, target_ptr, cell_ptr, out):
    """The cell of each word pair of each sentence pair, -1 where there is none.

    Columns of a row are sorted. Words that are not in the vocabulary are -1.
    """
    for s in range(len(source_ptr) - 1):
        width = target_ptr[s + 1] - target_ptr[s]
        for i in range(source_ptr[s + 1] - source_ptr[s]):
            e = source[source_ptr[s] + i]
            for j in range(width):
                f = target[target_ptr[s] + j]
                found = np.int64(-1)
                if e >= 0 and f >= 0:
                    low, high = row_ptr[e], row_ptr[e + 1]
                    while low < high:
                        middle = (low + high) // 2
                        if column[middle] < f:
                            low = middle + 1
                        else:
                            high = middle
                    if low < row_ptr[e + 1] and column[low] == f:
                        found = low
                out[cell_ptr[s] + i * width + j] = found
