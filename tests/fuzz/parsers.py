"""Every parser of users' files, with whole files to start from: `PARSERS`."""

import io
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import maxmargin
from fuzz.mutations import damaged, forged_npz
from maxmargin.alignment_files import (
    read_naacl,
    read_pairs,
    read_pharaoh,
    read_sentence_numbers,
    read_sentences,
)
from maxmargin.column_files import ColumnFormat, read_columns
from maxmargin.jobs import job_named
from maxmargin.jobs.sentence_pairs import joined_pairs
from maxmargin.runs.config import read_config
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.token_templates import parse_templates

COLUMNS = [
    b"the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\na DT B-NP\ndog NN I-NP\n# # O\n\n",
    b"-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n",
    b"New York\tB\nis\tO\n\n# comment\nbig\tO\n",
    b"# sent_id = 1\n1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tADP\t_\t_\t2\tcase\t_\t_\n"
    b"1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n2\tel\tel\tDET\t_\t_\t0\troot\t_\t_\n\n",
    b"one\ntwo\n\nthree\n",
]
SENTENCES = [b"the cat sleeps\na dog\n\n", b"<s snum=1> the cat </s>\n<s snum=2> a </s>\n"]
NAACL = [b"1 1 1 S\n1 2 2 P 0.5\n2 1 1\n", b"12 1 1\n13 0 2 S\n"]
PHARAOH = [b"0-0 1-2 2?1\n\n0-0\n", b"1-1 2p2\n"]
JOINED = [b"the cat ||| le chat\n\na dog ||| un chien\n"]
LETTERS = [
    b"".join(
        b"%d\t%s\t%d\t1\t%d\t%d\t%s\n"
        % (
            k + 1,
            b"abc"[k : k + 1],
            k + 2 if k < 2 else -1,
            k + 1,
            0,
            b"\t".join([b"01"[:1]] * 128),
        )
        for k in range(3)
    )
]
CONFIG = [
    b'task = "tagging"\ndata = ["a.txt"]\nalpha = 0.1\nseed = 3\n\n[task-options]\nbio = true\n'
    b'columns = ["1"]\n\n[checkpoints]\nseconds = 5\n',
    b'task = "chain"\ndata = ["a.npz"]\nsolver = "bcfw"\ntol = 1e-3\nmax-epochs = 5\n'
    b'time-limit = 3.5\nthreads = 2\n\n[solver-options]\nsampling = "gap"\n',
]
TEMPLATES = [b"0[-1]|0[0]", b"suffix3(lower(0[0]))", b"shape", b"prefix2(word[+1])"]


class Parser(NamedTuple):
    """make(rng) -> the bytes of a file; read(path, rng) -> reads them.

    named : whether errors must name the file.
    """

    make: Callable[[Any], bytes]
    read: Callable[[Path, Any], Any]
    named: bool = True


def text(seeds):
    return lambda rng: damaged(seeds[rng.integers(len(seeds))], rng, seeds)


def one_of(rng, *values):
    return values[rng.integers(len(values))]


# -- text ------------------------------------------------------------------------------------------
def column_options(rng):
    return {
        "separator": one_of(rng, "auto", "auto", "tab", "space"),
        "comments": one_of(rng, "auto", "auto", "yes", "no"),
        "encoding": one_of(rng, "utf-8", "utf-8", "latin-1", "ascii"),
    }


def columns(path, rng):
    for sentence in read_columns(path, ColumnFormat(**column_options(rng))):
        assert len(sentence.rows) == len(sentence.fields)
        assert len({len(token) for token in sentence.fields}) <= 1


def tagging_read(path, rng):
    options = column_options(rng)
    options["columns"] = one_of(rng, (), (), ("1",), ("word", "pos"), ("form",), ("-2", "9"))
    options["tag-column"] = one_of(rng, "", "", "-1", "2", "tag", "upos")
    data = job_named("tagging").read([path], options)
    assert [len(x) for x in data.inputs] == [len(y) for y in data.outputs]


@cache
def tagger():
    model = SequenceTagger(max_epochs=3, tol=1.0)
    return model.fit([[("the", "DT"), ("cat", "NN")], [("a", "DT")]], [["B-NP", "I-NP"], ["B-NP"]])


def tagging_predict(path, rng):
    """Whatever is tagged comes back line by line."""
    options = column_options(rng) | {"write": one_of(rng, "append", "append", "replace", "only")}
    raw, sink = path.read_bytes().removeprefix(b"\xef\xbb\xbf"), io.BytesIO()
    with path.open("rb") as source:
        job_named("tagging").predict(tagger(), [source], sink, options)
    if options["write"] != "only" and raw[:2] != b"\x1f\x8b":
        assert sink.getvalue().count(b"\n") == raw.count(b"\n") + bool(raw and raw[-1:] != b"\n")
    if options["write"] == "append" and raw[:2] != b"\x1f\x8b":
        for old, new in zip(raw.split(b"\n"), sink.getvalue().split(b"\n"), strict=False):
            assert new.startswith(old.rstrip())


def sentences(path, rng):
    encoding = one_of(rng, "utf-8", "latin-1")
    found = read_sentences(path, encoding=encoding)
    assert len(found) == len(read_sentence_numbers(path, encoding=encoding))
    assert len(read_pairs(path, path, encoding=encoding)) == len(found)


def naacl(path, rng):
    options = one_of(rng, {}, {"n_sentences": 3}, {"numbers": [1, 2, 12, 13]}, {"skip_null": True})
    for sure, possible in read_naacl(path, **options):
        assert sure <= possible


def pharaoh(path, rng):
    for sure, possible in read_pharaoh(path, one_based=bool(rng.integers(2))):
        assert sure <= possible


def alignment_read(path, rng):
    """Links by hand, of sentences that are there."""
    sides = [path.with_name("left.txt"), path.with_name("right.txt")]
    for side in sides:
        side.write_bytes(b"the cat sleeps\na dog\n" * (3 if rng.random() < 0.5 else 1))
    forms = ("auto", "auto", "naacl", "naacl-null", "pharaoh", "pharaoh-1")
    job_named("alignment").read([*sides, path], {"links-format": one_of(rng, *forms)})


def joined(path, rng):
    for numbered in joined_pairs(path):
        assert len(numbered.pair) == 2


def templates(path, rng):
    given = path.read_bytes().decode("utf-8", "replace")
    if rng.random() < 0.02:
        given = "lower(" * 3000 + "0[0]" + ")" * 3000
    parse_templates(given.split("\n"), ["word", "pos"])


# -- arrays ----------------------------------------------------------------------------------------
def chain_arrays(rng):
    X = rng.random((7, 3))
    arrays = {"y": rng.integers(0, 3, 7), "lengths": np.array([2, 4, 1]), "fold": np.arange(3)}
    if rng.random() < 0.5:
        return arrays | {"X": X}
    loose = sparse.csr_array(X * (X > 0.5))
    parts = {"data": loose.data, "indices": loose.indices, "indptr": loose.indptr}
    return arrays | {f"X_{k}": v for k, v in parts.items()} | {"X_shape": np.array(loose.shape)}


def chain_read(path, rng):
    options = {"folds": one_of(rng, (), (), ("0",), ("0-1",)), "image": one_of(rng, "", "", "1x3")}
    job = job_named("chain")
    data = job.read([path], options)
    assert [x.shape[0] for x in data.inputs] == [len(y) for y in data.outputs]
    if len(data.inputs) == 3:
        model = chain_model()
        found = job.evaluate(model, data)
        assert len(found["drawings"]) == 3


@cache
def chain_model():
    rng = np.random.default_rng(0)
    X = [rng.random((4, 3)) for _ in range(5)]
    return maxmargin.ChainSVM(max_epochs=3, tol=1.0).fit(X, [np.arange(4) % 3] * 5)


def chain_predict(path, rng):
    with path.open("rb") as source:
        job_named("chain").predict(
            chain_model(), [source], io.BytesIO(), {"write": one_of(rng, "text", "npz")}
        )


def letters(path, rng):
    data = job_named("chain").read([path], {"folds": one_of(rng, (), ("0",))})
    assert data.extra["image"] == (16, 8)


def matching_arrays(rng):
    pairs = rng.random((6, 2))
    arrays = {
        "X": pairs,
        "shapes": np.array([[2, 2], [1, 2]]),
        "links": np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]]),
    }
    if rng.random() < 0.5:
        edges = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1]])
        arrays |= {"edges": edges, "n_edges": np.array([4, 2])}
    return arrays


def matching_read(path, rng):
    data = job_named("matching").read([path], {})
    assert data.outputs is None or len(data.inputs) == len(data.outputs)


# -- models and configurations ---------------------------------------------------------------------
@cache
def model_bytes():
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("tagger", "chain")]
        tagger().save(paths[0])
        chain_model().save(paths[1])
        return [path.read_bytes() for path in paths]


def model(path, rng):
    maxmargin.load(path)


def config(path, rng):
    read_config(path)


PARSERS = {
    "columns": Parser(text(COLUMNS), columns),
    "tagging": Parser(text(COLUMNS), tagging_read),
    "tagging predict": Parser(text(COLUMNS), tagging_predict),
    "sentences": Parser(text(SENTENCES), sentences),
    "naacl": Parser(text(NAACL), naacl),
    "pharaoh": Parser(text(PHARAOH), pharaoh),
    "alignment": Parser(text(NAACL + PHARAOH), alignment_read, named=False),
    "joined pairs": Parser(text(JOINED), joined),
    "templates": Parser(text(TEMPLATES), templates, named=False),
    "letters": Parser(text(LETTERS), letters),
    "chain": Parser(lambda rng: forged_npz(chain_arrays(rng), rng), chain_read, named=False),
    "chain predict": Parser(
        lambda rng: forged_npz(chain_arrays(rng), rng), chain_predict, named=False
    ),
    "matching": Parser(
        lambda rng: forged_npz(matching_arrays(rng), rng), matching_read, named=False
    ),
    "config": Parser(text(CONFIG), config),
    "model": Parser(lambda rng: damaged(one_of(rng, *model_bytes()), rng), model),
}

#: errors that a user can mend
ALLOWED = (ValueError, OSError, maxmargin.exceptions.ModelFileError)


def attempt(parser, path, rng):
    """Read one damaged file; whether it was accepted. All but an allowed error comes out."""
    path.write_bytes(parser.make(rng))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            parser.read(path, rng)
    except ALLOWED as error:
        check_words(error, path.name if parser.named else "")
        return False
    return True


def check_words(error, name):
    """That an error says something, in our own words, and names the file."""
    said = str(error)
    assert said.strip(), f"{type(error).__name__} without a message"
    assert not isinstance(error, UnicodeError), f"bare {type(error).__name__}: {said}"
    assert name in said, f"the file is not named: {said}"
