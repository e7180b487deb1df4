"""Word translation models trained by expectation maximisation: mixtures (IBM 1) and jumps (HMM).

In one direction, each *observed* word of a sentence is drawn from a *state*, a word of the other
sentence, or with probability p0 from the null word. In the mixture all states are alike; in the
HMM the state s that follows s' has a probability that depends on the jump s - s' (Vogel et al.
1996; the null word keeps the place of the last state, Och and Ney 2003). Forward means that source
words are the states and target words are observed, backward the other way round.

`moves` holds the jump probabilities for the numbers of states S that occur: at move_ptr[S] starts a
table (S + 1, S) whose row 0 is the start of a sentence and row s' + 1 the state s'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    SHORTS,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)


class Corpus(NamedTuple):
    """Sentence pairs; pair s has the source words source[source_ptr[s] : source_ptr[s + 1]] ..."""

    source: np.ndarray
    source_ptr: np.ndarray
    target: np.ndarray
    target_ptr: np.ndarray
    cell_of: np.ndarray  # see `word_pairs`
    cell_ptr: np.ndarray


class Tables(NamedTuple):
    """Probabilities of both directions, or the expected counts that they are made from."""

    cells: np.ndarray  # (2 n_cells,): p(target | source), p(source | target) of each cell
    null_target: np.ndarray  # p(target word | null)
    null_source: np.ndarray
    moves: np.ndarray  # forward tables of all lengths, then backward ones
    move_ptr: np.ndarray  # starts of the tables, by length; the same for both directions


CORPUS = tuple_type(
    Corpus,
    dict.fromkeys(Corpus._fields, INTS) | dict.fromkeys(("source", "target", "cell_of"), SHORTS),
)
TABLES = tuple_type(Tables, dict.fromkeys(Tables._fields, FLOATS) | {"move_ptr": INTS})


@compile_internal(
    types.float64(FLOATS, FLOATS, types.int64, types.int64, types.float64, FLOATS, FLOATS)
)
def mixture_posteriors(emit, null_emit, n, states, p0, post, null_post):
    """Posteriors of states under the mixture; returns the log-likelihood. emit, post: (n, S)."""
    value = 0.0
    share = (1.0 - p0) / states
    for o in range(n):
        row = emit[o * states : (o + 1) * states]
        out = post[o * states : (o + 1) * states]
        total = p0 * null_emit[o]
        null_post[o] = total
        for s in range(states):
            out[s] = share * row[s]
            total += out[s]
        for s in range(states):
            out[s] /= total
        null_post[o] /= total
        value += np.log(total)
    return value


@compile_internal(
    types.float64(
        FLOATS, FLOATS, types.int64, types.int64, types.float64, FLOATS, FLOATS, FLOATS, FLOATS,
        FLOATS,
    ),
    reorder=True,
)  # fmt: skip
def forward_backward(emit, null_emit, n, states, p0, moves, post, null_post, counts, work):
    """Posteriors of states under the HMM; returns the log-likelihood.

    emit, post (n, S); moves (S + 1, S), which sum to 1 a row; counts: as moves, the expected
    number of times each was made is added. work: 2 (n + 1) (S + 1) + n + S.
    last[o, r] is the chance that the last state up to o is r (0: none yet), all scaled to sum 1;
    rest[o, r] that of what comes after o, on the same scale.
    """
    rows = states + 1
    last = work[: (n + 1) * rows]
    rest = work[(n + 1) * rows : 2 * (n + 1) * rows]
    scale = work[2 * (n + 1) * rows : 2 * (n + 1) * rows + n]
    ahead = work[2 * (n + 1) * rows + n : 2 * (n + 1) * rows + n + states]
    real = 1.0 - p0
    value = 0.0
    last[:rows] = 0.0
    last[0] = 1.0
    for o in range(n):
        old = last[o * rows : (o + 1) * rows]
        new = last[(o + 1) * rows : (o + 2) * rows]
        drawn = post[o * states : (o + 1) * states]
        row = emit[o * states : (o + 1) * states]
        for s in range(states):
            drawn[s] = 0.0
        for r in range(rows):
            mass = real * old[r]
            if mass > 0.0:
                move = moves[r * states : (r + 1) * states]
                for s in range(states):
                    drawn[s] += mass * move[s]
        null = p0 * null_emit[o]
        new[0] = null * old[0]
        total = new[0]
        for s in range(states):
            drawn[s] *= row[s]
            new[s + 1] = drawn[s] + null * old[s + 1]
            total += new[s + 1]
        inverse = 1.0 / total
        for r in range(rows):
            new[r] *= inverse
        for s in range(states):
            drawn[s] *= inverse
        scale[o] = inverse
        value += np.log(total)
    end = rest[n * rows : (n + 1) * rows]
    for r in range(rows):
        end[r] = 1.0
    for o in range(n - 1, -1, -1):
        after = rest[(o + 1) * rows : (o + 2) * rows]
        before = rest[o * rows : (o + 1) * rows]
        old = last[o * rows : (o + 1) * rows]
        drawn = post[o * states : (o + 1) * states]
        row = emit[o * states : (o + 1) * states]
        null_mass = 0.0
        null = p0 * null_emit[o] * scale[o]
        for s in range(states):
            drawn[s] *= after[s + 1]
            ahead[s] = real * row[s] * after[s + 1] * scale[o]
        for r in range(rows):
            move = moves[r * states : (r + 1) * states]
            count = counts[r * states : (r + 1) * states]
            mass = old[r]
            total = 0.0
            for s in range(states):
                x = move[s] * ahead[s]
                total += x
                count[s] += mass * x
            kept = null * after[r]
            null_mass += mass * kept
            before[r] = total + kept
        null_post[o] = null_mass
    return value


@compile_internal(types.void(CORPUS, TABLES, types.int64, FLOATS, FLOATS, FLOATS, FLOATS))
def copy_emissions(corpus, tables, s, forward, backward, null_forward, null_backward):
    """Copy the probabilities of the words of pair s: forward (K, J), backward (J, K)."""
    first, other = corpus.source_ptr[s], corpus.target_ptr[s]
    n_source, n_target = corpus.source_ptr[s + 1] - first, corpus.target_ptr[s + 1] - other
    at = corpus.cell_ptr[s]
    for i in range(n_source):
        for j in range(n_target):
            c = 2 * np.int64(corpus.cell_of[at + i * n_target + j])
            forward[j * n_source + i] = tables.cells[c]
            backward[i * n_target + j] = tables.cells[c + 1]
    for j in range(n_target):
        null_forward[j] = tables.null_target[corpus.target[other + j]]
    for i in range(n_source):
        null_backward[i] = tables.null_source[corpus.source[first + i]]


@compile_internal(
    types.float64(
        CORPUS, TABLES, FLOATS, types.float64, types.boolean, types.int64, types.int64, FLOATS
    )
)
def both_ways(corpus, tables, move_counts, p0, jumps, s, longest, work):
    """Posteriors of pair s in both directions, left in work; returns the log-likelihood.

    With L = longest, work starts with the posteriors forward (K, J), backward (J, K), each given
    L L numbers, then those of the null word for target and source words, each given L. In all it
    has space_for(longest).
    """
    square = longest * longest
    post_f, post_b = work[:square], work[square : 2 * square]
    off_f = work[2 * square : 2 * square + longest]
    off_b = work[2 * square + longest : 2 * square + 2 * longest]
    rest = work[2 * square + 2 * longest :]
    emit_f, emit_b = rest[:square], rest[square : 2 * square]
    null_f = rest[2 * square : 2 * square + longest]
    null_b = rest[2 * square + longest : 2 * square + 2 * longest]
    inner = rest[2 * square + 2 * longest :]
    n_source = corpus.source_ptr[s + 1] - corpus.source_ptr[s]
    n_target = corpus.target_ptr[s + 1] - corpus.target_ptr[s]
    copy_emissions(corpus, tables, s, emit_f, emit_b, null_f, null_b)
    if not jumps:
        value = mixture_posteriors(emit_f, null_f, n_target, n_source, p0, post_f, off_f)
        return value + mixture_posteriors(emit_b, null_b, n_source, n_target, p0, post_b, off_b)
    half = len(tables.moves) // 2
    a, z = tables.move_ptr[n_source], tables.move_ptr[n_source + 1]
    value = forward_backward(
        emit_f, null_f, n_target, n_source, p0, tables.moves[a:z], post_f, off_f,
        move_counts[a:z], inner,
    )  # fmt: skip
    a, z = half + tables.move_ptr[n_target], half + tables.move_ptr[n_target + 1]
    return value + forward_backward(
        emit_b, null_b, n_source, n_target, p0, tables.moves[a:z], post_b, off_b,
        move_counts[a:z], inner,
    )  # fmt: skip


def space_for(longest: int) -> int:
    """How many numbers of work space sentences of this many words need."""
    return 4 * longest * longest + 4 * longest + 2 * (longest + 1) * (longest + 2)


@compiled_function(
    types.float64(
        CORPUS, TABLES, TABLES, types.float64, types.boolean, types.boolean, types.int64,
        types.int64, types.int64, FLOATS,
    )
)  # fmt: skip
def add_expected_counts(corpus, tables, counts, p0, jumps, agree, begin, end, longest, work):
    """Add the expected counts of sentence pairs begin ... end - 1; return their log-likelihood.

    jumps : HMM, else the mixture. agree : count a link by the product of its posteriors of both
    directions (Liang, Taskar and Klein 2006), so that each model learns from links that the other
    believes in as well. work : space_for(longest).
    """
    square = longest * longest
    post_f, post_b = work[:square], work[square : 2 * square]
    off_f = work[2 * square : 2 * square + longest]
    off_b = work[2 * square + longest : 2 * square + 2 * longest]
    value = 0.0
    for s in range(begin, end):
        value += both_ways(corpus, tables, counts.moves, p0, jumps, s, longest, work)
        first, other = corpus.source_ptr[s], corpus.target_ptr[s]
        n_source, n_target = corpus.source_ptr[s + 1] - first, corpus.target_ptr[s + 1] - other
        at = corpus.cell_ptr[s]
        for i in range(n_source):
            for j in range(n_target):
                c = 2 * np.int64(corpus.cell_of[at + i * n_target + j])
                p, q = post_f[j * n_source + i], post_b[i * n_target + j]
                if agree:
                    p *= q
                    q = p
                counts.cells[c] += p
                counts.cells[c + 1] += q
        for j in range(n_target):
            counts.null_target[corpus.target[other + j]] += off_f[j]
        for i in range(n_source):
            counts.null_source[corpus.source[first + i]] += off_b[i]
    return value


@compiled_function(
    types.float64(
        CORPUS, TABLES, types.float64, types.boolean, types.int64, FLOATS, FLOATS, FLOATS, FLOATS
    )
)
def write_posteriors(corpus, tables, p0, jumps, longest, forward, backward, unused, work):
    """Posteriors of both directions, each at cell_ptr[s] + i K + j; returns the log-likelihood.

    unused : as long as tables.moves.
    """
    square = longest * longest
    post_f, post_b = work[:square], work[square : 2 * square]
    value = 0.0
    for s in range(len(corpus.source_ptr) - 1):
        value += both_ways(corpus, tables, unused, p0, jumps, s, longest, work)
        n_source = corpus.source_ptr[s + 1] - corpus.source_ptr[s]
        n_target = corpus.target_ptr[s + 1] - corpus.target_ptr[s]
        at = corpus.cell_ptr[s]
        for i in range(n_source):
            for j in range(n_target):
                forward[at + i * n_target + j] = post_f[j * n_source + i]
                backward[at + i * n_target + j] = post_b[i * n_target + j]
    return value


@compiled_function(types.void(INTS, SHORTS, FLOATS, FLOATS, types.float64, FLOATS))
def maximize_cells(row_ptr, column, counts, cells, floor, total):
    """Turn counts into probabilities, none of them less than floor.

    counts, cells (2 n_cells); total: scratch, one number per target word.
    """
    total[:] = 0.0
    for e in range(len(row_ptr) - 1):
        mass = 0.0
        for c in range(row_ptr[e], row_ptr[e + 1]):
            mass += counts[2 * c]
            total[column[c]] += counts[2 * c + 1]
        for c in range(row_ptr[e], row_ptr[e + 1]):
            cells[2 * c] = max(floor, counts[2 * c] / mass) if mass > 0.0 else floor
    for c in range(len(column)):
        mass = total[column[c]]
        cells[2 * c + 1] = max(floor, counts[2 * c + 1] / mass) if mass > 0.0 else floor
