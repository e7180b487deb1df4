"""Synthetic handwritten words: letters drawn by strokes, spelled by a model of English spelling."""

from __future__ import annotations

import string
from itertools import pairwise

import numpy as np
from sklearn.utils import Bunch, check_random_state

LETTERS = np.array(list(string.ascii_lowercase))
HEIGHT, WIDTH = 16, 8
SHORTEST, LONGEST = 3, 12

# Strokes joined by "|", each a line through points xy: x from 0 (left) to 4, y from 0 (top of tall
# letters) over 2 (top of small ones) and 6 (base line) to 8 (bottom of hanging ones).
STROKES = {
    "a": "43 32 12 03 05 16 36 45|42 46",
    "b": "00 06|03 12 32 43 45 36 16 05",
    "c": "43 32 12 03 05 16 36 45",
    "d": "40 46|43 32 12 03 05 16 36 45",
    "e": "04 44 43 32 12 03 05 16 36 45",
    "f": "40 30 21 26|03 43",
    "g": "43 32 12 03 05 16 36 45|42 47 38 18 07",
    "h": "00 06|03 12 32 43 46",
    "i": "22 26|20 20",
    "j": "32 37 28 18 07|30 30",
    "k": "00 06|42 04|14 46",
    "l": "20 25 36",
    "m": "02 06|03 12 23 26|23 32 43 46",
    "n": "02 06|03 12 32 43 46",
    "o": "12 32 43 45 36 16 05 03 12",
    "p": "02 08|03 12 32 43 45 36 16 05",
    "q": "42 48|43 32 12 03 05 16 36 45",
    "r": "12 16|13 22 32 43",
    "s": "43 32 12 03 14 34 45 36 16 05",
    "t": "20 25 36 45|02 42",
    "u": "02 05 16 36 45|42 46",
    "v": "02 26 42",
    "w": "02 16 23 36 42",
    "x": "02 46|42 06",
    "y": "02 24|42 08",
    "z": "02 42 06 46",
}

LEXICON = """
about above across action after again against alone along already also although always among
animal another answer anything appear apple around arrive asked autumn away baby back balance bank
bear beauty because become before begin behind believe below bench beside best better between
beyond bird black blanket blue board body book border both bottle bottom bread break bridge bright
bring broken brother brown build burn busy butter button buy call camera candle captain careful
carry castle catch cause center certain chair chance change chapter charm check cheese child
choice choose church circle citizen city class clean clear climb clock close cloud coast coffee
cold color come common complete control cook copper corner cotton could count country couple
courage cover crazy cream cross crowd current curtain dance danger dark daughter deep degree
depend describe desert detail develop different dinner direct discover distance divide doctor
dollar door double down dream dress drink drive during each early earth east easy edge effect
either electric eleven empty engine enjoy enough enter equal evening event every exact example
except excite exercise expect explain eyes face fact fair fall family famous farm fast father
favor feather feel fever field fifty fight figure final find finger finish fire first fish five
flag flight floor flower fly follow food force forest forget form forward found fourth freedom
fresh friend from front fruit full funny garden gather general gentle giant girl give glass gold
good govern grand grass gray great green ground group grow guess guide habit half hammer hand
happen happy harbor hard have head health hear heart heavy height hello help here hidden high
history hold hole home honest hope horse hospital house human hundred hungry hurry husband idea
image imagine inch include indeed industry inside instead island itself jacket jelly join journey
judge juice jump jungle just keep kettle kind king kitchen knife know labor ladder lake language
large last laugh lazy leader learn leather leave left lemon letter level light like line listen
little live local long look lovely lower lunch machine magic major make many market master matter
maybe mean measure meet member memory metal method middle might million mind minute mirror modern
moment money month moon more morning most mother motion mountain mouth move much music name narrow
nation nature near needle neighbor never night nine noise north nothing notice number object ocean
offer office often only open orange order other outside over owner oxygen page paint pair paper
parent part pattern people perfect perhaps period person picture piece pillow place plain plan
plant play please plenty pocket point police poor popular position possible power practice prepare
present pretty price problem produce promise proper protect proud public purple push puzzle
quality quarter queen question quick quiet quite rabbit radio rain raise rapid reach ready reason
receive record region remember repeat reply rest result return rhythm rich ride right ring river
road rock room rose rough round rule safe sail salt same sand school science season second secret
seem select sentence separate settle seven several shadow shape share sharp shelf shine short
should shoulder shout show side signal silent silver similar simple since single sister size skill
sleep slow small smile smooth snow social soft soldier some song soon sound south space speak
special speed spend spring square stand star start station stay steam still stone story straight
strange stream street strong student study subject succeed such sudden sugar summer sunny supper
sure surface surprise sweet swim system table taken talk teacher temper test than thank that their
them then there these they thick thing think third this thought thousand through ticket tired
today together tomorrow tonight touch toward town track trade train travel tree trouble truck true
trust twelve twenty under until upon useful usual valley value various vegetable very view village
visit voice vowel wagon wait walk wall want warm wash watch water weather week weight welcome west
what wheel when where which while whisper white whole whose wide wild wind window winter wise wish
with within without woman wonder wood word work world worry would write wrong yard year yellow
yesterday young your zebra zero
"""

DESCR = """\
Synthetic handwritten words, one 16 x 8 binary image per letter.

The letters are strokes with a slant and a width of the word's own, moved, stretched and bent letter
by letter, on which single pixels are flipped. The spelling is drawn from letter-trigram frequencies
of common English words: neighbouring letters tell much about each other.
"""


def make_words(
    n_words: int = 1000,
    *,
    noise: float = 0.08,
    random_state: int | np.random.RandomState | None = 0,
) -> Bunch:
    """Draw words as sequences of letter images.

    With the defaults a linear classifier of single letters has an error of roughly 23 %.

    Parameters
    ----------
    n_words : int, default=1000
        Number of words.
    noise : float, default=0.08
        Probability with which each pixel is flipped, in [0, 0.5].
    random_state : int, RandomState or None, default=0
        Seed; the same integer gives bitwise identical data.

    Returns
    -------
    Bunch
        With `X`, list of float64 arrays (length, 128), pixels row by row, 0 or 1; `y`, list of
        arrays of one-letter strings; `fold`, (n_words,), from 0 to 9 in turn; `feature_names`;
        `image_shape`; `DESCR`.
    """
    if n_words < 1:
        raise ValueError(f"n_words is {n_words}, expected at least 1")
    if not 0 <= noise <= 0.5:
        raise ValueError(f"noise is {noise}, expected a probability in [0, 0.5]")
    rng = check_random_state(random_state)
    codes, lengths = _spell(n_words, rng)
    pixels = _draw(codes, lengths, rng)
    pixels ^= rng.random_sample(pixels.shape) < noise
    cuts = np.cumsum(lengths)[:-1]
    return Bunch(
        X=np.split(pixels.astype(np.float64), cuts),
        y=np.split(LETTERS[codes], cuts),
        fold=np.arange(n_words) % 10,
        feature_names=[f"p_{i}_{j}" for i in range(HEIGHT) for j in range(WIDTH)],
        image_shape=(HEIGHT, WIDTH),
        DESCR=DESCR,
    )


def _trigrams() -> np.ndarray:
    """Return the running sums of p(next | last two), code 26 standing before and after a word."""
    counts = np.zeros((27, 27, 27))
    for word in LEXICON.split():
        codes = [26, 26, *(ord(letter) - ord("a") for letter in word), 26]
        for a, b, c in zip(codes, codes[1:], codes[2:], strict=False):
            counts[a, b, c] += 1.0
    pairs = counts.sum(axis=0, keepdims=True)
    # Bigram frequencies fill in for unseen letter pairs; a word never starts with its end.
    counts += 0.5 * pairs / np.maximum(pairs.sum(axis=2, keepdims=True), 1.0)
    counts[26, 26, 26] = 0.0
    return np.cumsum(counts / counts.sum(axis=2, keepdims=True), axis=2)


def _spell(n_words: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Draw words in lockstep, drop those too short or too long, until there are enough."""
    table = _trigrams()[:, :, :-1]
    letters, lengths = [], []
    missing = n_words
    while missing > 0:
        uniform = rng.random_sample((LONGEST + 1, missing + missing // 4 + 8))
        last, now = np.full((2, uniform.shape[1]), 26)
        columns = []
        for draw in uniform:
            last, now = now, (table[last, now] <= draw[:, None]).sum(axis=1)
            columns.append(now)
        steps = np.stack(columns, axis=1)
        length = np.where((steps == 26).any(axis=1), (steps == 26).argmax(axis=1), LONGEST + 1)
        kept = np.flatnonzero((length >= SHORTEST) & (length <= LONGEST))[:missing]
        letters.append(steps[kept][np.arange(LONGEST + 1) < length[kept, None]])
        lengths.append(length[kept])
        missing -= len(kept)
    return np.concatenate(letters), np.concatenate(lengths)


FINE = 8  # points of a distance table per unit of the stroke coordinates
MARGIN = 3  # units around the strokes that the tables cover


def _distance_tables() -> np.ndarray:
    """Return the distance to the strokes of each letter at the points of a fine grid (26, y, x)."""
    y, x = np.meshgrid(
        np.arange((8 + 2 * MARGIN) * FINE + 1) / FINE - MARGIN,
        np.arange((4 + 2 * MARGIN) * FINE + 1) / FINE - MARGIN,
        indexing="ij",
    )
    grid = np.stack([x, y], axis=-1)
    tables = np.full((26, *x.shape), np.inf)
    for table, letter in zip(tables, LETTERS, strict=True):
        for stroke in STROKES[letter].split("|"):
            points = np.array([(int(p[0]), int(p[1])) for p in stroke.split()], dtype=float)
            for start, stop in pairwise(points):
                way = stop - start
                along = (grid - start) @ way / max(way @ way, 1e-12)
                nearest = start + np.clip(along, 0.0, 1.0)[..., None] * way
                np.minimum(table, ((grid - nearest) ** 2).sum(axis=-1), out=table)
    return np.sqrt(tables)


def _draw(codes: np.ndarray, lengths: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return binary images (n_letters, 128): the pixels within half a line width of a stroke."""

    def spread(half_width: float, size: int) -> np.ndarray:
        return half_width * (2.0 * rng.random_sample((size, 1)) - 1.0)

    n_words, n = len(lengths), len(codes)
    slant = np.repeat(spread(0.2, n_words), lengths, axis=0) + spread(0.15, n)
    width = np.repeat(0.6 + spread(0.12, n_words), lengths, axis=0) + spread(0.1, n)
    row, column = (part.ravel() for part in np.indices((HEIGHT, WIDTH)))
    # Pixel centres in stroke coordinates about the middle (2, 4): the image shows half a unit
    # more than the strokes on each side.
    v = (row + 0.5) * (9.0 / HEIGHT) - 0.5 - 4.0
    u = (column + 0.5) * (5.0 / WIDTH) - 0.5 - 2.0
    y = v * (1.0 + spread(0.12, n)) + spread(0.6, n) + spread(0.12, n) * u
    x = u * (1.0 + spread(0.2, n)) + spread(0.5, n) + slant * v + spread(0.04, n) * (v * v - 6.0)
    table = _distance_tables()
    i = np.clip(np.rint((y + 4.0 + MARGIN) * FINE).astype(np.intp), 0, table.shape[1] - 1)
    j = np.clip(np.rint((x + 2.0 + MARGIN) * FINE).astype(np.intp), 0, table.shape[2] - 1)
    return table[codes[:, None], i, j] < width
