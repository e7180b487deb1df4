"""Features of arcs and relations, as numbers of columns: hashes of a few codes of tokens.

A sentence of n words is an array (n + 3, WIDTH) of codes: a row before the root, the root, the
words, a row after the last. Words are numbered from 1, the root is 0: row 1 + word.

Templates are those of McDonald, Crammer and Pereira (2005) for words and parts of speech of head,
dependent, their neighbours and what is between them, and more for lemmas, endings and morphology. A
feature is a template with its codes; with the direction of the arc, and for most templates also
with its length. Features of different templates may share a column, which is rare enough.
"""

from __future__ import annotations

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    SHORTS,
    compile_internal,
    compiled_function,
    types,
)

INT = types.int64
#: places of the codes of a token; LABEL is its relation in the first tree, 0 before there is one
FORM, LEMMA, TAG, FINE, MORPH, CASE, NUMBER = range(7)
GENDER, PERSON, VERB_FORM, ENDING, INDEX, KIND, LABEL = range(7, 14)
WIDTH = 14
#: most features of an arc, and of a relation
MOST, MOST_OF_RELATION = 192, 48
#: kinds of words between head and dependent that are counted
VERB, PUNCTUATION, CONJUNCTION = 1, 2, 3
FACTOR, SECOND = -7046029254386353131, -4417276706812531889


@compile_internal(INT(INT, INT))
def mix(x, code):
    """The hash of what was hashed so far and one more code."""
    x = (x ^ code) * FACTOR
    return x ^ (x >> 32)


@compile_internal(INT(INTS, INT, INT, INT))
def put(ids, count, x, mask):
    """Write the column of a hash; returns how many there are now."""
    ids[count] = ((x * SECOND) >> 24) & mask
    return count + 1


@compile_internal(INT(INT))
def length_class(distance):
    """Lengths of arcs: 1 to 5, 6 to 10, 11 to 20, more."""
    if distance <= 5:
        return distance
    return 6 if distance <= 10 else 7 if distance <= 20 else 8


@compile_internal(types.void(INTS, INT, INTS, INTS))
def write_between(codes, n, masks, counts):
    """For words s < t, at s (n + 1) + t: which parts of speech are between, how many of a kind.

    counts: up to 3 verbs, 3 marks, 3 conjunctions, two bits each.
    """
    size = n + 1
    for s in range(size):
        mask, verbs, marks, joins = 0, 0, 0, 0
        for t in range(s + 1, size):
            at = s * size + t
            masks[at] = mask
            counts[at] = min(verbs, 3) + 4 * min(marks, 3) + 16 * min(joins, 3)
            own = (t + 1) * WIDTH
            mask |= 1 << codes[own + INDEX]
            verbs += codes[own + KIND] == VERB
            marks += codes[own + KIND] == PUNCTUATION
            joins += codes[own + KIND] == CONJUNCTION


@compile_internal(INT(INTS, INT, INT, INT, INT, INT, INTS))
def write_arc(codes, h, d, between, counts, mask, ids):
    """The columns of an arc from h to d; returns how many there are."""
    head, own = (h + 1) * WIDTH, (d + 1) * WIDTH
    right = 1 if h < d else 2
    way = right * 16 + length_class(abs(h - d))
    hf, hl, hp, hx, hm = (
        codes[head],
        codes[head + 1],
        codes[head + 2],
        codes[head + 3],
        codes[head + 4],
    )
    df, dl, dp, dx, dm = codes[own], codes[own + 1], codes[own + 2], codes[own + 3], codes[own + 4]
    hc, dc = codes[head + CASE], codes[own + CASE]
    he, de = codes[head + ENDING], codes[own + ENDING]
    hv, dv = codes[head + VERB_FORM], codes[own + VERB_FORM]
    h_left, h_right = codes[head - WIDTH + TAG], codes[head + WIDTH + TAG]
    d_left, d_right = codes[own - WIDTH + TAG], codes[own + WIDTH + TAG]
    pair = mix(mix(7, hp), dp)
    count = 0
    # with direction alone
    t = 100
    for x in (
        mix(mix(mix(mix(1, hf), hp), df), dp),
        mix(mix(mix(2, hf), df), dp),
        mix(mix(mix(3, hf), hp), df),
        mix(mix(4, hf), df),
        mix(mix(5, hl), dl),
        mix(mix(pair, hl), dl),
        mix(mix(pair, dc), hl),
        mix(mix(pair, he), de),
        mix(mix(pair, hm), dm),
        mix(mix(pair, hx), dx),
        mix(pair, counts),
        mix(mix(pair, hv), dl),
        mix(mix(pair, hl), d_left),
        mix(mix(pair, dl), h_right),
        mix(mix(pair, codes[own - WIDTH + LEMMA]), 1),
        mix(mix(pair, codes[own + WIDTH + LEMMA]), 2),
        mix(mix(pair, codes[head - WIDTH + LEMMA]), 3),
        mix(mix(pair, codes[head + WIDTH + LEMMA]), 4),
        mix(mix(mix(mix(pair, h_left), h_right), d_left), d_right),
        mix(mix(pair, codes[own - WIDTH + CASE]), codes[own + WIDTH + CASE]),
        mix(mix(6, hl), dm),
        mix(mix(mix(pair, hm), dc), hv),
        mix(mix(mix(pair, hl), dc), dv),
    ):
        t += 1
        count = put(ids, count, mix(mix(x, t), right), mask)
    # with direction and length
    t = 200
    for x in (
        mix(mix(11, hf), hp),
        mix(12, hf),
        mix(13, hp),
        mix(mix(14, df), dp),
        mix(15, df),
        mix(16, dp),
        mix(mix(mix(17, hp), df), dp),
        mix(mix(mix(18, hf), hp), dp),
        pair,
        mix(mix(19, hx), dx),
        mix(mix(pair, hl), 1),
        mix(mix(pair, dl), 2),
        mix(mix(pair, de), 3),
        mix(mix(pair, he), 4),
        mix(mix(pair, dm), 5),
        mix(mix(pair, hm), 6),
        mix(mix(pair, hc), dc),
        mix(mix(pair, hv), dv),
        mix(mix(pair, h_right), d_left),
        mix(mix(pair, h_left), d_left),
        mix(mix(pair, h_right), d_right),
        mix(mix(pair, h_left), d_right),
        mix(mix(pair, h_right), 7),
        mix(mix(pair, h_left), 8),
        mix(mix(pair, d_left), 9),
        mix(mix(pair, d_right), 10),
        mix(mix(20, dl), dp),
        mix(mix(21, hl), hp),
        mix(mix(22, dx), d_left),
        mix(mix(23, hx), d_right),
        mix(mix(mix(pair, d_left), d_right), 11),
        mix(mix(mix(pair, h_left), h_right), 12),
        mix(mix(mix(pair, hv), dc), 13),
        mix(mix(mix(pair, hv), dc), counts),
    ):
        t += 1
        count = put(ids, count, mix(mix(x, t), way), mask)
    agree = 0
    for place in (CASE, NUMBER, GENDER, PERSON):
        a, b = codes[head + place], codes[own + place]
        agree = 3 * agree + (0 if a == 0 or b == 0 else 1 if a == b else 2)
    count = put(ids, count, mix(mix(mix(pair, 300), agree), right), mask)
    count = put(ids, count, mix(mix(mix(mix(pair, 301), counts), way), 1), mask)
    index, rest = 0, between
    while rest != 0:
        if rest & 1:
            count = put(ids, count, mix(mix(mix(pair, 302), index), right), mask)
        rest = (rest >> 1) & 0x7FFFFFFFFFFFFFFF
        index += 1
    return count


@compile_internal(types.void(INTS, INT, INTS))
def write_kin(heads, n, kin):
    """See `write_relation`."""
    kin[: 5 * (n + 1)] = 0
    for d in range(1, n + 1):
        h = heads[d - 1]
        if kin[5 * h] == 0:
            kin[5 * h] = d
        last = kin[5 * h + 1]
        if last > 0:
            kin[5 * last + 3] = d
            kin[5 * d + 2] = last
        kin[5 * h + 1] = d
        kin[5 * h + 4] += 1


@compile_internal(types.void(INTS, INT, INTS, INTS))
def write_siblings(guide, n, nearest, kin):
    """Of a tree: at h (n + 1) + d the dependent of h that is nearest to d between them, and kin."""
    write_kin(guide, n, kin)
    size = n + 1
    for h in range(size):
        last = 0
        for d in range(h + 1, size):
            nearest[h * size + d] = last
            last = d if guide[d - 1] == h else last
        last = 0
        for d in range(h - 1, 0, -1):
            nearest[h * size + d] = last
            last = d if guide[d - 1] == h else last


@compile_internal(INT(INTS, INT, INT))
def count_crossing(guide, h, d):
    """How many arcs of a tree cross the one from h to d, up to 3."""
    low, high = min(h, d), max(h, d)
    count = 0
    for t in range(1, len(guide) + 1):
        other = guide[t - 1]
        inside = low < t < high
        if inside and (other < low or other > high):
            count += 1
        elif low < other < high and (t < low or t > high):
            count += 1
    return min(count, 3)


@compile_internal(INT(INTS, INTS, INTS, INT, INT, INT, INT, INTS, INT))
def write_guided(codes, guide, kin, sibling, h, d, mask, ids, count):
    """The columns of an arc beside another tree, the guide; returns how many there are now.

    sibling: the guide's dependent of h that is nearest to d between them, 0 if there is none.
    """
    head, own = (h + 1) * WIDTH, (d + 1) * WIDTH
    right = 1 if h < d else 2
    way = right * 16 + length_class(abs(h - d))
    hp, dp, hl, dl = codes[head + TAG], codes[own + TAG], codes[head + LEMMA], codes[own + LEMMA]
    pair = mix(mix(7, hp), dp)
    other = guide[d - 1]
    same = 1 if other == h else 2
    before = (other + 1) * WIDTH
    above = (guide[h - 1] + 1) * WIDTH if h > 0 else 0
    near = (sibling + 1) * WIDTH if sibling > 0 else 0
    first, last = (kin[5 * d] + 1) * WIDTH, (kin[5 * d + 1] + 1) * WIDTH
    crossing = count_crossing(guide, h, d)
    t = 500
    for x in (
        mix(1, way),
        mix(pair, way),
        mix(mix(2, hl), dl),
        mix(mix(pair, codes[above + TAG]), 1),
        mix(mix(pair, codes[above + TAG]), codes[above + LEMMA]),
        mix(mix(pair, codes[near + TAG]), 2),
        mix(mix(pair, codes[near + TAG]), codes[near + LEMMA]),
        mix(mix(mix(3, hl), codes[near + TAG]), dp),
        mix(mix(pair, min(kin[5 * h + 4], 5)), 3),
        mix(mix(mix(4, hl), dp), codes[first + LEMMA]),
        mix(mix(5, dp), codes[before + TAG]),
        mix(mix(mix(pair, codes[before + TAG]), 1 if other < d else 2), 4),
    ):
        t += 1
        count = put(ids, count, mix(mix(mix(x, t), right), same), mask)
    for x in (
        mix(mix(mix(pair, codes[first + TAG]), codes[last + TAG]), 5),
        mix(mix(pair, codes[first + LEMMA]), 6),
        mix(mix(pair, codes[last + LEMMA]), 7),
        mix(mix(mix(pair, codes[near + TAG]), codes[above + TAG]), 8),
        mix(mix(mix(pair, codes[first + TAG]), codes[near + TAG]), 9),
        mix(mix(mix(6, hl), codes[near + LEMMA]), dp),
        mix(mix(mix(7, hl), codes[first + LEMMA]), dl),
        mix(mix(mix(mix(pair, codes[near + TAG]), codes[near + CASE]), codes[own + CASE]), 10),
        mix(mix(8, crossing), way),
        mix(mix(mix(pair, codes[own + LABEL]), same), 13),
        mix(mix(mix(pair, codes[head + LABEL]), same), 14),
        mix(mix(mix(10, hl), codes[own + LABEL]), same),
        mix(mix(mix(pair, codes[near + LABEL]), codes[own + LABEL]), 15),
        mix(mix(mix(pair, codes[near + LABEL]), same), 16),
        mix(mix(mix(pair, codes[first + LABEL]), codes[last + LABEL]), 17),
        mix(mix(mix(11, codes[head + LABEL]), codes[own + LABEL]), same),
        mix(mix(mix(12, codes[head + LABEL]), codes[own + LABEL]), dl),
        mix(mix(pair, crossing), 11),
        mix(mix(mix(9, dl), crossing), dp),
        mix(mix(mix(pair, codes[own + CASE]), crossing), 12),
    ):
        t += 1
        count = put(ids, count, mix(mix(x, t), right), mask)
    return count


@compile_internal(types.boolean(INTS, INTS, INT, INT))
def is_pruned(codes, longest, h, d):
    """Whether an arc is longer than any between such words in training."""
    at = (codes[(h + 1) * WIDTH + INDEX] * 64 + codes[(d + 1) * WIDTH + INDEX]) * 2 + (h < d)
    return abs(h - d) > longest[at]


@compile_internal(INT(INTS, INTS, INTS, INT, INT, INT, INTS, SHORTS, INTS))
def write_known(codes, guide, longest, h, d, n, work, numbers, ids):
    """The columns of an arc that have a number; none if it goes from a word to itself.

    guide: heads in another tree, or empty. work: see `prepare`. numbers: of each hash, -1 if it has
    none. An arc that is pruned has a single feature.
    """
    if h == d:
        return 0
    mask, square = len(numbers) - 1, (n + 1) * (n + 1)
    if is_pruned(codes, longest, h, d):
        x = mix(mix(99, length_class(abs(h - d))), codes[(d + 1) * WIDTH + TAG])
        count = put(ids, 0, x, mask)
    else:
        at = h * (n + 1) + d if h < d else d * (n + 1) + h
        count = write_arc(codes, h, d, work[at], work[square + at], mask, ids)
        if len(guide) > 0:
            sibling = work[2 * square + h * (n + 1) + d]
            count = write_guided(codes, guide, work[3 * square :], sibling, h, d, mask, ids, count)
    kept = 0
    for k in range(count):
        number = numbers[ids[k]]
        if number >= 0:
            ids[kept] = number
            kept += 1
    return kept


@compile_internal(types.void(INTS, INTS, INT, INTS))
def prepare(codes, guide, n, work):
    """What is between words, and the kin of each in the guide. work: 3 (n + 1)^2 + 5 (n + 1)."""
    square = (n + 1) * (n + 1)
    write_between(codes, n, work[:square], work[square : 2 * square])
    if len(guide) > 0:
        write_siblings(guide, n, work[2 * square : 3 * square], work[3 * square :])


@compiled_function(INT(INTS, INTS, INTS, INTS, INT, SHORTS, INTS, INTS))
def number_columns(codes, ptr, heads, guides, total, numbers, work, ids):
    """Number the features of true arcs, and those of pruned ones; returns how many there are.

    heads: of all words; guides: the same of other trees, or empty. total: how many are numbered
    already. numbers: of each hash, -1 for none. work: see `prepare`, for the longest sentence.
    """
    word, mask = 0, len(numbers) - 1
    for i in range(len(ptr) - 1):
        n = ptr[i + 1] - ptr[i] - 3
        own = codes[ptr[i] * WIDTH : ptr[i + 1] * WIDTH]
        guide = guides[word : word + n] if len(guides) > 0 else guides
        square = (n + 1) * (n + 1)
        prepare(own, guide, n, work)
        for d in range(1, n + 1):
            h = heads[word + d - 1]
            at = h * (n + 1) + d if h < d else d * (n + 1) + h
            count = write_arc(own, h, d, work[at], work[square + at], mask, ids)
            if len(guide) > 0:
                near = work[2 * square + h * (n + 1) + d]
                count = write_guided(own, guide, work[3 * square :], near, h, d, mask, ids, count)
            for length in range(1, 9):
                x = mix(mix(99, length), own[(d + 1) * WIDTH + TAG])
                count = put(ids, count, x, mask)
            for k in range(count):
                if numbers[ids[k]] < 0:
                    numbers[ids[k]] = total
                    total += 1
        word += n
    return total


@compiled_function(INT(INTS, INTS, INTS, INTS, SHORTS, INTS, SHORTS, INTS, INTS))
def write_rows(codes, ptr, guides, longest, numbers, indptr, columns, work, ids):
    """Rows of all arcs of some sentences; returns the number of columns written or needed.

    ptr: first row of each sentence in codes, of n + 3 each. guides: heads of all words in other
    trees, or empty. indptr: one more than there are arcs. columns: empty, to be told how many there
    are. work: see `prepare`, for the longest sentence.
    """
    row, total, word, counting = 0, 0, 0, len(columns) == 0
    indptr[0] = 0
    for i in range(len(ptr) - 1):
        n = ptr[i + 1] - ptr[i] - 3
        own = codes[ptr[i] * WIDTH : ptr[i + 1] * WIDTH]
        guide = guides[word : word + n] if len(guides) > 0 else guides
        word += n
        prepare(own, guide, n, work)
        for d in range(1, n + 1):
            for h in range(n + 1):
                count = write_known(own, guide, longest, h, d, n, work, numbers, ids)
                if not counting:
                    for k in range(count):
                        columns[total + k] = ids[k]
                total += count
                row += 1
                indptr[row] = total
    return total


@compiled_function(types.void(INTS, INTS, SHORTS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, INTS))
def score_arcs(codes, longest, numbers, w, other, theta, more, work, ids):
    """Theta, more = scores of all arcs of one sentence by the weights w and, if any, by others.

    By features without a guide; see `add_guided_scores` for those with one.
    """
    n = len(codes) // WIDTH - 3
    none = work[:0]
    prepare(codes, none, n, work)
    for d in range(1, n + 1):
        for h in range(n + 1):
            count = write_known(codes, none, longest, h, d, n, work, numbers, ids)
            at, total, second = (d - 1) * (n + 1) + h, 0.0, 0.0
            for k in range(count):
                total += w[ids[k]]
            theta[at] = total
            if len(other) > 0:
                for k in range(count):
                    second += other[ids[k]]
                more[at] = second


@compiled_function(types.void(INTS, INTS, INTS, SHORTS, FLOATS, FLOATS, INTS, INTS))
def add_guided_scores(codes, guide, longest, numbers, w, theta, work, ids):
    """Add to theta: the scores of all arcs of one sentence by their features with the guide."""
    n, mask = len(codes) // WIDTH - 3, len(numbers) - 1
    square = (n + 1) * (n + 1)
    kin = work[square : square + 5 * (n + 1)]
    write_siblings(guide, n, work[:square], kin)
    for d in range(1, n + 1):
        for h in range(n + 1):
            if h == d or is_pruned(codes, longest, h, d):
                continue
            near = work[h * (n + 1) + d]
            count = write_guided(codes, guide, kin, near, h, d, mask, ids, 0)
            for k in range(count):
                if numbers[ids[k]] >= 0:
                    theta[(d - 1) * (n + 1) + h] += w[numbers[ids[k]]]


@compile_internal(INT(INTS, INTS, INT, INT, INTS, INTS))
def write_relation(codes, heads, d, mask, ids, kin):
    """The columns of the relation of word d to its head; returns how many there are.

    kin: for each word its first and last dependent, the one before and the one after it below the
    same head, and the number of dependents; 0 for none.
    """
    h = heads[d - 1]
    head, own = (h + 1) * WIDTH, (d + 1) * WIDTH
    right = 1 if h < d else 2
    way = right * 16 + length_class(abs(h - d))
    hf, hl, hp, hx, hm = (
        codes[head],
        codes[head + 1],
        codes[head + 2],
        codes[head + 3],
        codes[head + 4],
    )
    df, dl, dp, dx, dm = codes[own], codes[own + 1], codes[own + 2], codes[own + 3], codes[own + 4]
    dc, de, dv, hv = (
        codes[own + CASE],
        codes[own + ENDING],
        codes[own + VERB_FORM],
        codes[head + VERB_FORM],
    )
    first, last = (kin[5 * d] + 1) * WIDTH, (kin[5 * d + 1] + 1) * WIDTH
    before, after = (kin[5 * d + 2] + 1) * WIDTH, (kin[5 * d + 3] + 1) * WIDTH
    above = (heads[h - 1] + 1) * WIDTH if h > 0 else 0
    pair = mix(mix(7, hp), dp)
    count, t = 0, 400
    for x in (
        mix(1, hf),
        mix(2, hl),
        mix(3, hp),
        mix(4, hx),
        mix(5, df),
        mix(6, dl),
        mix(7, dp),
        mix(8, dx),
        mix(9, dm),
        mix(10, hm),
        pair,
        mix(mix(11, hl), dl),
        mix(mix(12, hl), dp),
        mix(mix(13, hp), dl),
        mix(mix(14, hl), dc),
        mix(mix(pair, dc), hv),
        mix(mix(pair, dv), hv),
        mix(mix(pair, dm), hm),
        mix(pair, de),
        mix(pair, dm),
        mix(mix(pair, hx), dx),
        mix(mix(15, df), dp),
        mix(mix(pair, way), 1),
        mix(mix(16, dl), way),
        mix(mix(pair, codes[first + TAG]), codes[last + TAG]),
        mix(mix(pair, codes[first + LEMMA]), codes[first + TAG]),
        mix(mix(17, dp), codes[first + LEMMA]),
        mix(mix(18, dp), codes[last + LEMMA]),
        mix(mix(mix(19, hl), dp), codes[first + LEMMA]),
        mix(mix(pair, codes[before + TAG]), codes[after + TAG]),
        mix(mix(pair, codes[before + TAG]), codes[before + CASE]),
        mix(mix(pair, codes[after + TAG]), codes[after + CASE]),
        mix(mix(pair, codes[above + TAG]), codes[above + LEMMA]),
        mix(mix(pair, codes[above + TAG]), 2),
        mix(mix(pair, codes[own - WIDTH + TAG]), codes[own + WIDTH + TAG]),
        mix(mix(20, codes[own - WIDTH + LEMMA]), dp),
        mix(mix(21, codes[own + WIDTH + LEMMA]), dp),
        mix(mix(pair, min(kin[5 * d + 4], 3)), min(kin[5 * h + 4], 5)),
        mix(22, de),
        mix(mix(mix(pair, codes[(kin[5 * h] + 1) * WIDTH + TAG]), right), 3),
    ):
        t += 1
        count = put(ids, count, mix(mix(x, t), right), mask)
    return count


@compiled_function(INT(INTS, INTS, INTS, INT, INTS, SHORTS, INTS, INTS))
def write_relation_rows(codes, ptr, heads, mask, indptr, columns, kin, ids):
    """Rows of all words of some sentences, each with its head; returns the columns written."""
    row, total = 0, 0
    indptr[0] = 0
    for i in range(len(ptr) - 1):
        n = ptr[i + 1] - ptr[i] - 3
        own = codes[ptr[i] * WIDTH : ptr[i + 1] * WIDTH]
        below = heads[row : row + n]
        write_kin(below, n, kin)
        for d in range(1, n + 1):
            count = write_relation(own, below, d, mask, ids, kin)
            for k in range(count):
                columns[total + k] = ids[k]
            total += count
            row += 1
            indptr[row] = total
    return total


@compiled_function(types.void(INTS, INTS, INT, FLOATS, INT, INTS, INTS, INTS, FLOATS))
def label_arcs(codes, heads, mask, w, classes, out, kin, ids, scores):
    """Out = the best class of the relation of each word of one sentence to its head."""
    n = len(heads)
    write_kin(heads, n, kin)
    for d in range(1, n + 1):
        count = write_relation(codes, heads, d, mask, ids, kin)
        for c in range(classes):
            scores[c] = 0.0
        for k in range(count):
            start = ids[k] * classes
            for c in range(classes):
                scores[c] += w[start + c]
        best = 0
        for c in range(1, classes):
            if scores[c] > scores[best]:
                best = c
        out[d - 1] = best
