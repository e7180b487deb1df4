"""Small fitted models, and model files with anything inside."""

import hashlib
import json
import zipfile
from functools import cache

import numpy as np

import maxmargin
from contract.problems import AtMostTwo
from maxmargin import Bipartite, ChainSVM, MatchingSVM, MulticlassSVM, StructuredSVM
from maxmargin.datasets import make_sequences
from maxmargin.losses import Hamming
from maxmargin.solvers import BCFW, OracleCache
from maxmargin.structures import Finite
from maxmargin.tasks import (
    AlignmentFeatures,
    SequenceTagger,
    WordAligner,
    WordVectors,
    orthogonal_map,
)

SENTENCES = [["the", "cat", "sees", "Bob"], ["a", "dog", "barks"], ["Bob", "sleeps", "."]]
TAGS = [["B-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP", "O"], ["B-NP", "O", "O"]]


def chains(**options):
    data = make_sequences(20, (1, 5), 3, 4, separation=2.0, random_state=0)
    y = [np.array(["x", "y", "zé"])[labels] for labels in data.y]
    options = {"alpha": 0.05, "forbidden_transitions": [("x", "x")]} | options
    kept = [i for i, labels in enumerate(y) if "x x" not in " ".join(labels)]
    X, y = [data.X[i] for i in kept], [y[i] for i in kept]
    return ChainSVM(**options).fit(X, y), X


def classes(**options):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=40)
    X = rng.normal(size=(40, 3)) + 4.0 * rng.normal(size=(3, 3))[y]
    loss = Hamming(class_weight={10: 2.0, 20: 0.5})
    options = {"alpha": 0.05, "loss": loss, "solver": BCFW(cache=OracleCache(5))} | options
    return MulticlassSVM(**options).fit(X, 10 * y), X


def listed(**options):
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(m, 5)) for m in rng.integers(2, 6, size=30)]
    y = [int(np.argmax(x @ np.arange(5.0))) for x in X]
    return StructuredSVM(Finite(), **({"alpha": 0.05} | options)).fit(X, y), X


def subsets(**options):
    """With a structure of the user's own, which must be registered."""
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(m, 4)) for m in rng.integers(2, 6, size=15)]
    likes = [x @ np.array([2.0, -1.0, 0.5, 0.0]) - 0.3 for x in X]
    y = [tuple(p for p in np.argsort(-v)[:2].tolist() if v[p] > 0) for v in likes]
    return StructuredSVM(AtMostTwo(), **({"alpha": 0.05} | options)).fit(X, y), X


def matchings(**options):
    """Every second sample with candidate edges and caps of its own."""
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(3, 4, 2)) for _ in range(20)]
    y = [np.argwhere(x[:, :, 0] == x[:, :, 0].max()) for x in X]
    X[::2] = [Bipartite((3, 4), None, x.reshape(12, 2), [1, 2, 1]) for x in X[::2]]
    options = {"solver": "dual-extragradient", "tol": 0.05, "max_epochs": 3000} | options
    return MatchingSVM(**({"alpha": 0.05, "loss": Hamming(false_negative=2.0)} | options)).fit(
        X, y
    ), X


def words(**options):
    return SequenceTagger(**({"bio": True} | options)).fit(SENTENCES, TAGS), SENTENCES


def columns(**options):
    X = [[(word, word[0], str(len(word))) for word in own] for own in SENTENCES]
    options = {"columns": ["word", "first", "size"], "templates": ["word[0]|first[1]", "size[0]"]}
    return SequenceTagger(**options).fit(X, TAGS), X


def dicts(**options):
    X = [[{"word": word, "length": len(word) / 7, "up": word[0] == "B"} for word in own]
         for own in SENTENCES]  # fmt: skip
    return SequenceTagger(**options).fit(X, TAGS), X


def aligned(**options):
    """With the statistics of the text, and word vectors of both sides."""
    pairs = [(["a", "b", "c"], ["x", "y", "z"]), (["b", "a"], ["y", "x"])]
    links = [{(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1)}]
    rng = np.random.default_rng(5)
    vectors = [WordVectors(list(words), rng.normal(size=(3, 4))) for words in ("abc", "xyz")]
    seeds = [("a", "x"), ("b", "y"), ("c", "z")] * 2
    features = AlignmentFeatures(frequent=2, vectors=orthogonal_map(*vectors, seeds))
    return WordAligner(**({"features": features} | options)).fit(pairs, links), pairs


MODELS = {
    f.__name__: f
    for f in (chains, classes, listed, subsets, matchings, words, columns, dicts, aligned)
}


@cache
def made(name):
    return MODELS[name]()


def contents(path):
    """The header and the raw members of a model file."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        return header, {name: archive.read(name) for name in header["members"]}


def write_file(path, header, members, comment=None, packing=zipfile.ZIP_DEFLATED):
    """A model file whose checksum of the header is right, whatever the header says."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("header.json", raw)
        digest = hashlib.sha256(raw).hexdigest()
        archive.comment = (comment or f"maxmargin model, sha256 of the header: {digest}").encode()
    return path


def round_trip(model, folder):
    path = folder / "model.mm"
    model.save(path)
    return maxmargin.load(path)


# -- forgeries ------------------------------------------------------------------------------------
def nodes(tree):
    """All places of a tree, as (container, key)."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in pairs:
        yield tree, key
        if isinstance(value, dict | list):
            yield from nodes(value)


ODD = [
    None, True, -1, 0, 1 << 70, 1.5, "", "a0.npy", "|O", "Status", "object", [], [[]], {},
    {"is": "tuple"}, {"is": "array", "member": "a0.npy"}, {"is": "set", "items": [[]]},
]  # fmt: skip


def forge(path, header, members, rng):
    """A file with right checksums and a wrong tree."""
    places = list(nodes(header["model"]))
    container, key = places[rng.integers(len(places))]
    which = rng.integers(3)
    if which == 0:
        container[key] = ODD[rng.integers(len(ODD))]
    elif which == 1:
        del container[key]
    else:
        other, name = places[rng.integers(len(places))]
        container[key], other[name] = other[name], container[key]
    try:
        return write_file(path, header, members)
    except (ValueError, RecursionError):  # a node put inside itself
        return None
