"""
Link the words of two languages
===============================

A few sentence pairs linked by hand and much text without links make a word aligner. Here both are
made by a small grammar of English and French, in which adjectives change places and *never* becomes
*ne ... jamais*.
"""

# %%
# Each English piece has French words, and the links between the two; from these, sentences with
# known links.

import numpy as np

from maxmargin.plotting import AlignmentDisplay, has_matplotlib
from maxmargin.tasks import WordAligner, WordStatistics, intersected_links

NOUNS = dict(cat="chat", dog="chien", boat="bateau", letter="billet", minister="ministre")
ADJECTIVES = dict(red="rouge", long="long", important="important", national="national")
VERBS = dict(sees="voit", likes="aime", wants="veut", supports="appuie")


def noun_phrase(rng):
    e, a = rng.choice(list(NOUNS)), rng.choice(list(ADJECTIVES))
    if rng.random() < 0.5:
        return ["the", a, e], ["le", NOUNS[e], ADJECTIVES[a]], [(0, 0), (1, 2), (2, 1)]
    return ["the", e], ["le", NOUNS[e]], [(0, 0), (1, 1)]


def verb_phrase(rng):
    e = rng.choice(list(VERBS))
    if rng.random() < 0.4:
        return ["never", e], ["ne", VERBS[e], "jamais"], [(0, 0), (0, 2), (1, 1)]
    return [e], [VERBS[e]], [(0, 0)]


def sentence(rng):
    """Return an English and a French sentence, and the links between their words."""
    english, french, links = [], [], set()
    for make in (noun_phrase, verb_phrase, noun_phrase, lambda rng: (["."], ["."], [(0, 0)])):
        e, f, own = make(rng)
        links |= {(len(english) + i, len(french) + j) for i, j in own}
        english, french = english + [str(w) for w in e], french + f
    return (english, french), links


rng = np.random.default_rng(0)
pairs, links = zip(*(sentence(rng) for _ in range(500)), strict=True)
print(" ".join(pairs[0][0]), "|", " ".join(pairs[0][1]), "|", sorted(links[0]))

# %%
# Statistics need no links: counts, and translation models in both directions. The links on which
# these agree are a start.

statistics = WordStatistics().fit(pairs)
agreed = intersected_links(statistics, pairs[400:])
right = sum(len(set(a) & b) for a, b in zip(agreed, links[400:], strict=True))
print(f"without any links by hand: {right} of {sum(map(len, links[400:]))} links found")

# %%
# Thirty linked pairs teach how to weigh them. ``max_links=2`` lets *never* be linked to both *ne*
# and *jamais*.

aligner = WordAligner(max_links=2).fit(pairs[:30], links[:30], parallel=statistics)
print(aligner.result_.certificate())
print(aligner.report(pairs[400:], links[400:]))

# %%
# One of the pairs that it has not seen, and the links of its grammar.

if has_matplotlib():
    place = max(range(400, 500), key=lambda s: (len(links[s]), s))
    AlignmentDisplay.from_estimator(aligner, pairs[place], links[place])
