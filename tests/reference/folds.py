"""Nested pairs, loop by loop, in plain Python: what `NestedPairs` counts."""

from collections import Counter

import numpy as np

#: unpaired positions beyond which a loop with one branch is a multiloop
CAP, LONGEST_HAIRPIN = 16, 30


def are_nested(pairs):
    ends = [end for pair in pairs for end in pair]
    crossing = any(i < p < j < q for i, j in pairs for p, q in pairs)
    return len(set(ends)) == len(ends) and not crossing


def loops(pairs, n):
    """For each pair, and None for what is outside of all: its branches, its unpaired positions."""
    partner = dict(pairs)
    found = []
    for closing in [None, *sorted(pairs)]:
        i, j = closing or (-1, n)
        branches, unpaired, at = [], 0, i + 1
        while at < j:
            if at in partner:
                branches.append((at, partner[at]))
                at = partner[at]
            else:
                unpaired += 1
            at += 1
        found.append((closing, branches, unpaired))
    return found


def names(pairs, s):
    """How often each kind of part occurs; s: the symbols."""
    count = Counter()
    n = len(s)

    def beside(x, y):
        count["end", s[x], s[y]] += 1
        if x + 1 < n:
            count["after", s[x], s[y], s[x + 1]] += 1
        if y > 0:
            count["before", s[x], s[y], s[y - 1]] += 1

    for closing, branches, unpaired in loops(pairs, n):
        if closing is None:
            count["outer unpaired",] += unpaired
            for i, j in branches:
                count["outer branch",] += 1
                beside(j, i)
            continue
        i, j = closing
        count["pair", s[i], s[j]] += 1
        if not branches:
            count["hairpin", min(unpaired, LONGEST_HAIRPIN)] += 1
            if unpaired <= 3:
                count["end", s[i], s[j]] += 1
            else:
                count["hairpin mismatch", s[i], s[j], s[i + 1], s[j - 1]] += 1
            if unpaired == 4:
                count["four", *s[i + 1 : j]] += 1
        elif len(branches) == 1 and unpaired <= CAP:
            ((p, q),) = branches
            a, b = p - i - 1, j - q - 1
            if unpaired < 2:
                count["stack", s[i], s[j], s[p], s[q]] += 1
            else:
                count["end", s[i], s[j]] += 1
                count["end", s[q], s[p]] += 1
            if min(a, b) == 0 and unpaired:
                count["bulge", unpaired] += 1
            if min(a, b) > 0:
                count["interior", unpaired] += 1
                count["sides", abs(a - b)] += 1
                if max(a, b) <= 4:
                    count["small", min(a, b), max(a, b)] += 1
            if a == b == 1:
                count["one by one", s[i + 1], s[j - 1]] += 1
            if min(a, b) > 1:
                count["mismatch", s[i], s[j], s[i + 1], s[j - 1]] += 1
                count["mismatch", s[q], s[p], s[q + 1], s[p - 1]] += 1
        else:
            count["multi",] += 1
            beside(i, j)
            count["multi unpaired",] += unpaired
            for p, q in branches:
                count["multi branch",] += 1
                beside(q, p)
    return count


def place(name, k):
    """The place of a part among those of loops."""
    kind, *values = name
    starts, at = {}, 0
    for key, size in [
        ("stack", k**4), ("hairpin mismatch", k**4), ("mismatch", k**4), ("four", k**4),
        ("after", k**3), ("before", k**3), ("pair", k**2), ("end", k**2), ("one by one", k**2),
        ("hairpin", 31), ("bulge", 17), ("interior", 17), ("sides", 17), ("small", 16),
        ("multi", 1), ("multi branch", 1), ("multi unpaired", 1), ("outer branch", 1),
        ("outer unpaired", 1),
    ]:  # fmt: skip
        starts[key] = at
        at += size
    number = 0
    if kind == "small":
        number = (values[0] - 1) * 4 + values[1] - 1
    elif kind in ("hairpin", "bulge", "interior", "sides"):
        number = values[0]
    else:
        for value in values:
            number = number * k + int(value)
    return starts[kind] + number


def vertex(pairs, layout):
    """The vector of an output, of a `NestedLayout`."""
    listed = [tuple(pair) for pair in layout.pairs.tolist()]
    z = np.zeros(layout.n_parts)
    z[[listed.index(tuple(pair)) for pair in pairs]] = 1.0
    if layout.symbols is not None:
        for name, times in names(pairs, layout.symbols.tolist()).items():
            z[len(listed) + place(name, layout.n_symbols)] += times
    return z
