"""Every parser of users' files, with whole files to start from: `PARSERS`."""

import io
import struct
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import maxmargin
from fuzz.mutations import damaged, forged_npz
from maxmargin.cli.runs.config import read_config
from maxmargin.formats.alignment import (
    read_naacl,
    read_pairs,
    read_pharaoh,
    read_sentence_numbers,
    read_sentences,
)
from maxmargin.formats.columns import ColumnFormat, read_columns
from maxmargin.formats.images import read_image, read_mask
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.alignment.files import joined_pairs
from maxmargin.tasks.registry import find_task_command
from maxmargin.tasks.segmentation.points.files import read_scans
from maxmargin.tasks.tagging.token_templates import parse_templates

BRACKETS = [b"( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps)) (. .)) )\n\n(X (-NONE- *) (A b))\n"]
STRINGS = [
    b"pairs\nword\nA\tp\ta\t-\nB\tf\ta\ts\n# 0\n\nword\nA\tx\nB\ty\n",
    b">fam\tset\nkKPr-\ndR-rA\n>b\nAC\nAC\n",
]
COLUMNS = [
    b"the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\na DT B-NP\ndog NN I-NP\n# # O\n\n",
    b"-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n",
    b"New York\tB\nis\tO\n\n# comment\nbig\tO\n",
    b"# sent_id = 1\n1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tADP\t_\t_\t2\tcase\t_\t_\n"
    b"1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n2\tel\tel\tDET\t_\t_\t0\troot\t_\t_\n\n",
    b"one\ntwo\n\nthree\n",
]
TABLES = [b"a,b,cost 1\n1,2.5,3\n4,-1e-3,6\n", b"1;2\n3;4\n\n", b'"x"\t"y, z"\n1\t2\n']
SENTENCES = [b"the cat sleeps\na dog\n\n", b"<s snum=1> the cat </s>\n<s snum=2> a </s>\n"]
RNA = [
    b">5s_a\nGGGAAACCC\n(((...)))\n>b\nGGAACCAAGG\n((..[[))]]\n",
    b"# x\n1 G 3\n2 A 0\n3 C 1\n",
    b"3 x\n1 G 0 2 3 1\n2 A 1 3 0 2\n3 C 2 0 1 3\n",
]
NAACL = [b"1 1 1 S\n1 2 2 P 0.5\n2 1 1\n", b"12 1 1\n13 0 2 S\n"]
LABEL_SETS = [b"0,2 1:0.5 3:-1e-3\n 2:1\n# x\n1\nsea,wood 1:.25 2:0\n", b"a 1:1\n\n2:3\n"]
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
SCAN_TEXT = [
    b"1 2 3 0\n4 5 6.5 1\n-7e1 8 9 0\n",
    b"# made by hand\nx,y,z,class\n1,2,3,tree\n4,5,6,road\n",
    b"1\t2\t3\t0.5\t0\n\n4\t5\t6\t0.1\t1\n",
]
PLY_HEAD = (
    b"ply\nformat %s 1.0\ncomment x\nelement face 1\nproperty list uchar int i\n"
    b"element vertex 2\nproperty float x\nproperty float y\nproperty float z\n"
    b"property uchar label\nend_header\n"
)
SCAN_PLY = [
    PLY_HEAD % b"ascii" + b"3 0 1 1\n1 2 3 0\n4 5 6 1\n",
    PLY_HEAD % b"binary_little_endian"
    + struct.pack("<B3i3fB3fB", 3, 0, 1, 1, 1.0, 2.0, 3.0, 0, 4.0, 5.0, 6.0, 1),
    PLY_HEAD % b"binary_big_endian"
    + struct.pack(">B3i3fB3fB", 3, 0, 1, 1, 1.0, 2.0, 3.0, 0, 4.0, 5.0, 6.0, 1),
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


def folding_read(path, rng):
    data = find_task_command("folding").read([path], {})
    assert all(len(x) == len(y) for x, y in zip(data.inputs, data.outputs, strict=True))


def parsing_read(path, rng):
    data = find_task_command("parsing").read([path], {})
    assert [len(x) for x in data.inputs] == [len(y) for y in data.outputs]


def decision_read(path, rng):
    data = find_task_command("decision").read([path], {"costs": one_of(rng, (), [path])})
    assert data.outputs is None or len(data.outputs) == len(data.inputs)


def strings_read(path, rng):
    data = find_task_command("strings").read([path], {})
    for (a, b), links in zip(data.inputs, data.outputs, strict=True):
        assert all(i < len(a) and j < len(b) for i, j in links)


def constituency_read(path, rng):
    data = find_task_command("constituency").read([path], {})
    assert [len(x) for x in data.inputs] == [len(y.words()) for y in data.outputs]


def tagging_read(path, rng):
    options = column_options(rng)
    options["columns"] = one_of(rng, (), (), ("1",), ("word", "pos"), ("form",), ("-2", "9"))
    options["tag-column"] = one_of(rng, "", "", "-1", "2", "tag", "upos")
    data = find_task_command("tagging").read([path], options)
    assert [len(x) for x in data.inputs] == [len(y) for y in data.outputs]


@cache
def tagger():
    model = SequenceTagger(max_epochs=3, tol=1.0)
    return model.fit([[("the", "DT"), ("cat", "NN")], [("a", "DT")]], [["B-NP", "I-NP"], ["B-NP"]])


def tagging_predict(path, rng):
    """Whatever is tagged comes back line by line."""
    options = column_options(rng) | {"write": one_of(rng, "append", "append", "replace", "only")}
    options["probabilities"] = bool(rng.integers(2))
    raw, sink = path.read_bytes().removeprefix(b"\xef\xbb\xbf"), io.BytesIO()
    with path.open("rb") as source:
        find_task_command("tagging").predict(tagger(), [source], sink, options)
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
    find_task_command("alignment").read([*sides, path], {"links-format": one_of(rng, *forms)})


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
    command = find_task_command("chain")
    data = command.read([path], options)
    assert [x.shape[0] for x in data.inputs] == [len(y) for y in data.outputs]
    if len(data.inputs) == 3:
        model = chain_model()
        found = command.evaluate(model, data)
        assert len(found["drawings"]) == 3


@cache
def chain_model():
    rng = np.random.default_rng(0)
    X = [rng.random((4, 3)) for _ in range(5)]
    return maxmargin.ChainSVM(max_epochs=3, tol=1.0).fit(X, [np.arange(4) % 3] * 5)


def chain_predict(path, rng):
    options = {"write": one_of(rng, "text", "npz"), "probabilities": bool(rng.integers(2))}
    with path.open("rb") as source:
        find_task_command("chain").predict(chain_model(), [source], io.BytesIO(), options)


def letters(path, rng):
    data = find_task_command("chain").read([path], {"folds": one_of(rng, (), ("0",))})
    assert data.details["image"] == (16, 8)


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
    data = find_task_command("matching").read([path], {})
    assert data.outputs is None or len(data.inputs) == len(data.outputs)


def graph_arrays(rng):
    arrays = {
        "nodes": rng.random((5, 2)),
        "edges": np.array([[0, 1], [0, 2], [1, 2]]),
        "labels": np.array([0, 1, 1, 0, 1]),
    }
    if rng.random() < 0.5:
        arrays["edge_features"] = rng.random((3, 2))
    parts = one_of(rng, ([0, 2, 5], [0, 1, 3]), ([2, 3], [1, 2]))
    names = ("node_ptr", "edge_ptr") if len(parts[0]) == 3 else ("n_nodes", "n_edges")
    return arrays | {name: np.array(own) for name, own in zip(names, parts, strict=True)}


def graph_read(path, rng):
    data = find_task_command("graph").read([path], {})
    assert [x.network.n_nodes for x in data.inputs] == [len(y) for y in data.outputs]


def network_read(path, rng):
    data = find_task_command("network").read([path], {})
    assert [x.network.n_nodes for x in data.inputs] == [len(y) for y in data.outputs]


def tree_arrays(rng):
    if rng.random() < 0.3:  # told by edges
        arrays = graph_arrays(rng)
        return arrays | {"edges": np.array([[1, 0], [0, 2], [2, 1]])}
    arrays = {
        "nodes": rng.random((5, 2)),
        "parents": np.array([-1, 0, 1, -1, 1]),
        "labels": np.array(["a", "b", "c", "a", "b"]),
    }
    if rng.random() < 0.5:
        arrays["edge_features"] = rng.random((3, 2))
    return arrays | one_of(rng, {"node_ptr": np.array([0, 2, 5])}, {"n_nodes": np.array([2, 3])})


def tree_read(path, rng):
    data = find_task_command("tree").read([path], {"forest": bool(rng.integers(2))})
    assert [x.network.n_nodes for x in data.inputs] == [len(y) for y in data.outputs]
    assert all(x.network.n_edges < x.network.n_nodes for x in data.inputs)


def label_arrays(rng):
    arrays = {"X": rng.random((4, 3)), "Y": rng.integers(2, size=(4, 3))}
    return arrays | one_of(rng, {}, {"labels": np.array(["a", "b", "c"])})


def labels_read(path, rng):
    data = find_task_command("multilabel").read([path], {})
    assert len(data.inputs) == len(data.outputs) > 0
    assert np.isfinite(data.inputs.matrix.data).all()


# -- points ----------------------------------------------------------------------------------------
def scan_read(path, rng):
    options = {"label-column": one_of(rng, "", "", "-1", "4", "class")}
    data = find_task_command("scan").read([path], options)
    assert [len(x) for x in data.inputs] == [len(y) for y in data.outputs]
    assert all(np.isfinite(x).all() for x in data.inputs)


def scan_again(path, rng):
    """What is written is what was read."""
    for cloud in read_scans(path):
        sink = io.BytesIO()
        labels = np.arange(len(cloud.points)) % 2
        cloud.layout.write(sink, cloud.points, labels)
        (again,) = read_scans(io.BytesIO(sink.getvalue()))
        np.testing.assert_array_equal(again.points, cloud.points)
        np.testing.assert_array_equal(again.labels, labels)


def scan_arrays(rng):
    return {
        "points": rng.random((5, 3)),
        "labels": np.array([0, 1, 1, 0, 1]),
        "ptr": np.array([0, 2, 5]),
        "edges": np.array([[0, 1], [2, 4]]),
    }


def scan_array_read(path, rng):
    data = find_task_command("scan").read([path], {})
    assert len(data.inputs) == len(data.outputs)


# -- images ----------------------------------------------------------------------------------------
@cache
def pictures():
    from PIL import Image

    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (6, 9, 3), dtype=np.uint8)
    found = []
    for form in ("PNG", "JPEG", "BMP", "TIFF"):
        for image in (Image.fromarray(colours), Image.fromarray(colours[:, :, 0])):
            file = io.BytesIO()
            image.save(file, form)
            found.append(file.getvalue())
    for mode in ("P", "1"):
        file = io.BytesIO()
        Image.fromarray(colours).convert(mode).save(file, "PNG")
        found.append(file.getvalue())
    return found


def image_read(path, rng):
    found = read_image(path)
    assert found.size
    assert found.dtype in (np.uint8, np.uint16, np.float64)


def mask_read(path, rng):
    found, _ = read_mask(path)
    assert found.ndim == 2
    assert found.dtype.kind == "i"


def image_arrays(rng):
    return {
        "shape": np.array([[2, 3], [1, 4]], dtype=np.int32),
        "rgb": rng.integers(0, 256, (10, 3), dtype=np.uint8),
        "mask": rng.integers(0, 2, 10, dtype=np.uint8),
        "ids": np.array([1, 3], dtype=np.int32),
    }


def image_array_read(path, rng):
    data = find_task_command("segmentation").read([path], {})
    assert [x.shape[:2] for x in data.inputs] == [y.shape for y in data.outputs]


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
    "strings": Parser(text(STRINGS), strings_read),
    "constituency": Parser(text(BRACKETS), constituency_read),
    "folding": Parser(text(RNA), folding_read),
    "parsing": Parser(text(COLUMNS[3:4]), parsing_read),
    "decision": Parser(text(TABLES), decision_read),
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
    "graph": Parser(lambda rng: forged_npz(graph_arrays(rng), rng), graph_read, named=False),
    "network": Parser(lambda rng: forged_npz(graph_arrays(rng), rng), network_read, named=False),
    "tree": Parser(lambda rng: forged_npz(tree_arrays(rng), rng), tree_read, named=False),
    "label sets": Parser(text(LABEL_SETS), labels_read),
    "label arrays": Parser(
        lambda rng: forged_npz(label_arrays(rng), rng), labels_read, named=False
    ),
    "scan text": Parser(text(SCAN_TEXT), scan_read),
    "scan PLY": Parser(text(SCAN_PLY), scan_read),
    "scan again": Parser(text(SCAN_TEXT + SCAN_PLY), scan_again),
    "scan arrays": Parser(
        lambda rng: forged_npz(scan_arrays(rng), rng), scan_array_read, named=False
    ),
    "image": Parser(lambda rng: damaged(one_of(rng, *pictures()), rng, pictures()), image_read),
    "mask": Parser(lambda rng: damaged(one_of(rng, *pictures()), rng, pictures()), mask_read),
    "image arrays": Parser(
        lambda rng: forged_npz(image_arrays(rng), rng), image_array_read, named=False
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
            warnings.simplefilter("ignore", maxmargin.exceptions.UncalibratedWarning)
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
