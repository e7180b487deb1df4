"""Training of taggers on a corpus in files that need not fit into memory together.

Files are read and features made where a task runs; what is kept there is the state of the solver.
The features are the same as those of the whole corpus in memory: the words of all files are
numbered first, then the features that occur are counted.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4
from zlib import crc32

import numpy as np
from scipy.sparse import csr_array

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import ChainSVM
from maxmargin.estimators.base import Completion
from maxmargin.parallel.engines import Engine, SerialEngine, resolve_engine
from maxmargin.parallel.run import run_on_engine
from maxmargin.parallel.shards import make_folder
from maxmargin.persistence import load_as, save
from maxmargin.problem import Problem
from maxmargin.progress import watch_files
from maxmargin.solvers import Solver
from maxmargin.tasks.tagging.files import read_file, warn_of_long_sentences
from maxmargin.tasks.tagging.token_features import TokenFeatures, check_count
from maxmargin.validation.options import check_option
from maxmargin.validation.samples import Rows, check_labels, check_lengths

log = logging.getLogger("maxmargin")
T = TypeVar("T")

#: how files of columns are read unless something else is asked for, and what may be
READING = {"columns": (), "tag-column": "", "separator": "auto", "comments": "auto"}
READING |= {"encoding": "utf-8"}
_KINDS: dict[str, Any] = {
    "columns": tuple[str | int, ...] | list[str | int],
    "tag-column": str | int,
    "separator": Literal["auto", "tab", "space"],
    "comments": Literal["auto", "yes", "no"],
}


class TextShards(Sequence[Any]):
    """Files of tagged sentences in columns, each of which fits into a worker's memory.

    As a sequence it has the sentences of all files, of which one file at a time is in memory.

    Parameters
    ----------
    paths : sequence of str or path
        The files, or folders of them; `maxmargin shard` makes such a folder from a large file.
        All files of a folder are data, but for hidden ones, and end alike. Workers must find them
        under the same names.
    options : mapping or None, default=None
        How columns are read, by the names that the options of ``maxmargin train tagging`` have.
    skip_bad : bool, default=False
        Leave out files that cannot be read, with a warning in the log; False means an error.
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike],
        options: Mapping[str, Any] | None = None,
        skip_bad: bool = False,
    ):
        found: list[Path] = []
        for path in map(Path, [paths] if isinstance(paths, str | os.PathLike) else paths):
            inside = [path]
            if path.is_dir():
                # links to nowhere are files that are missing
                files = (own for own in path.glob("[!.]*") if own.is_file() or not own.exists())
                if not (inside := sorted(files)):
                    raise ValueError(f"{path}: the folder has no files of sentences.")
                _check_endings(inside)
            found += inside
        self.paths = [str(path) for path in found if not path.name.startswith(".")]
        if not self.paths:
            raise ValueError("no files of sentences were given; name one at least.")
        self.options = {**READING, **(options or {})}
        if unknown := self.options.keys() - READING:
            raise ValueError(f"options: {min(unknown)!r} is not one of {', '.join(READING)}.")
        for name, kind in _KINDS.items():
            check_option(name, self.options[name], kind)
        self.skip_bad = skip_bad
        self._ends = np.empty(0, dtype=np.int64)
        self._last: tuple[int, list[Any]] = -1, []

    def __len__(self) -> int:
        return self.end(-1)

    def __getitem__(self, i: Any) -> Any:
        i = range(len(self))[i]
        if isinstance(i, range):
            return [self[k] for k in i]
        k = int(np.searchsorted(self._ends, i, side="right"))
        if self._last[0] != k:
            self._last = k, self.read(k)[0]
        return self._last[1][i - self.end(k)]  # from the end of the file

    def end(self, k: int) -> int:
        """Return the number of sentences up to the end of a file.

        Parameters
        ----------
        k : int
            Number of the file.

        Returns
        -------
        int
            Sentences of all files up to this one.
        """
        if not len(self._ends):
            self.read_tags()
        return int(self._ends[k])

    def read_tags(self) -> list[list[str]]:
        """Read the tags of all sentences.

        Returns
        -------
        list of list of str
            One tag per token, of one object per distinct tag.
        """
        known: dict[str, str] = {}
        found, ends = [], []
        for k in self.watch(range(len(self.paths)), "reading tags of"):
            found += [[known.setdefault(tag, tag) for tag in own] for own in self.read(k)[1]]
            ends.append(len(found))
        self._ends = np.array(ends)
        return found

    def read(self, k: int) -> tuple[list[Any], list[list[str]]]:
        """Read the sentences and tags of one file.

        Parameters
        ----------
        k : int
            Number of the file.

        Returns
        -------
        sentences : list
            Its sentences.
        tags : list of list of str
            Their tags.
        """
        sentences: list[Any] = []
        tags: list[list[str]] = []
        with open(self.paths[k], "rb") as file:  # opened here, since steps are files
            read_file(file, self.options, sentences, tags)
        return sentences, tags

    def watch(self, items: Iterable[T], activity: str) -> Iterator[T]:
        """What there is of each file, while it is told how many of them are done."""
        return watch_files(items, activity, os.path.dirname(self.paths[0]), len(self.paths))

    def names(self) -> list[str] | None:
        """Return names of the feature columns, as the first file has them.

        Returns
        -------
        list of str or None
            None if two columns have one name.
        """
        return read_file(self.paths[0], self.options, [], [])

    def without(self, bad: Sequence[int]) -> TextShards:
        """The others."""
        found = copy(self)
        found._ends, found._last = self._ends[:0], (-1, [])
        found.paths = [path for k, path in enumerate(self.paths) if k not in bad]
        return found


def _checksum(path: str) -> int:
    return crc32(Path(path).read_bytes())


def _check_endings(paths: Sequence[Path]) -> None:
    """Raise a ValueError if most files of a folder end alike and others, such as README.md, do not.

    Those that `split` makes end in numbers, or each in other letters.
    """
    endings = [re.sub(r"\.\d+$", "", path.name.removesuffix(".gz")) for path in paths]
    endings = [Path(name).suffix for name in endings]
    usual, count = Counter(endings).most_common(1)[0]
    if 2 * count < len(paths):
        return
    for path, ending in zip(paths, endings, strict=True):
        if ending != usual:
            raise ValueError(
                f"{path}: all files of a folder are data, and other files of this one end in"
                f" {usual!r}, not {ending!r}. Move the file elsewhere, or let it end as the others"
                " if it holds sentences."
            )


# -- tasks -----------------------------------------------------------------------------------------
def scan_file(shards: TextShards, k: int) -> Any:
    """Distinct values of each column in order, tags, counts of sentences and tokens, checksum.

    An error is told by its text.
    """
    try:
        sentences, tags = shards.read(k)
        first = sentences[0][0]
        columns: Any = [dict.fromkeys(t for own in sentences for t in own)]
        if not isinstance(first, str):
            columns = [
                dict.fromkeys(token[c] for own in sentences for token in own)
                for c in range(len(first))
            ]
        key = _checksum(shards.paths[k])
    except (ValueError, OSError, IndexError) as error:
        return f"{shards.paths[k]}: {error}"
    labels = sorted({tag for own in tags for tag in own})
    return [list(own) for own in columns], labels, len(sentences), sum(map(len, tags)), key


def count_file(shards: TextShards, k: int, features: TokenFeatures) -> Any:
    """The features of a file and how often each occurs."""
    return features.count_keys(shards.read(k)[0])


class _KnownLabels(ChainSVM):
    """A chain over labels that are known before the samples are; targets are their numbers."""

    def _learn_labels(self, y: Any, rows: Any) -> list[np.ndarray]:
        self.structure_ = self._structure_over_labels()
        return np.split(y, np.cumsum(rows.lengths)[:-1])


class TaggedFile:
    """The source of a shard: a file, and what makes a problem of it."""

    def __init__(
        self, shards: TextShards, k: int, model: ChainSVM, place: str, n: int, checksum: int
    ):
        self.shards, self.k, self.model, self.place, self.n = shards, k, model, place, n
        self.checksum = checksum

    def open(self) -> Problem:
        """Return the problem of the file's sentences, whose features are made the first time."""
        path = Path(self.place).with_name(f"{self.k}.npz")
        if not path.exists():
            sentences, tags = self.shards.read(self.k)
            if _checksum(self.shards.paths[self.k]) != self.checksum:
                raise ValueError(
                    f"{self.shards.paths[self.k]}: the file changed since training began; train"
                    " again, and leave it as it is meanwhile."
                )
            rows, labels = self.make_rows(sentences, tags)
            matrix = rows.matrix
            own = path.with_name(f"{uuid4().hex}.npz")  # another worker may do the same
            arrays = matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape)
            np.savez(own, *arrays, rows.lengths, labels)
            os.replace(own, path)
        with np.load(path, allow_pickle=False) as file:
            *parts, shape, lengths, labels = (file[name] for name in file.files)
        rows = Rows(csr_array(tuple(parts), shape=tuple(shape.tolist())), lengths)
        problem = self.make_problem(rows, labels)
        problem.packed = problem.packed._replace(weight=np.full(problem.n, 1.0 / self.n))
        return problem

    def make_rows(self, sentences: list[Any], tags: list[list[str]]) -> tuple[Rows, np.ndarray]:
        """Features of sentences, and the numbers of all their tags."""
        rows = _load_features(self.place).transform_bytes(sentences)
        check_lengths(tags, rows.lengths)
        flat = np.concatenate(check_labels(tags))
        return rows, np.searchsorted(self.model.classes_, flat)

    def make_problem(self, rows: Rows, labels: np.ndarray) -> Problem:
        """The problem of some sentences, with weights as if there were no others."""
        return copy(self.model)._problem(rows, labels, None, None)


#: the features that this process has loaded last, and the file they are from
_loaded: tuple[str, TokenFeatures] | None = None


def _load_features(place: str) -> TokenFeatures:
    global _loaded  # a worker has many shards of one run
    if _loaded is None or _loaded[0] != place:
        _loaded = place, load_as(place, "TokenFeatures")
    return _loaded[1]


class FilesProblem(Problem):
    """A problem whose samples are elsewhere: `sources` are its shards.

    What it has itself is one sample, for checks of structure and solver.
    """

    sources: list[TaggedFile]


# -- training --------------------------------------------------------------------------------------
def fit_shards(
    shards: TextShards,
    features: TokenFeatures,
    make_model: Any,
    engine: str | Engine | None,
    callbacks: Sequence[Callback],
) -> tuple[ChainSVM, Completion]:
    """Learn the features and the weights, and whether that came to its end.

    make_model : number of sentences -> ChainSVM.
    """
    _check_trainable(make_model(1)._resolve_solver(), callbacks)
    found = resolve_engine(engine) or SerialEngine(1)
    try:
        shards, scanned = _scan(shards, found)
        columns = [
            dict.fromkeys(value for own in scanned for value in own[0][c])
            for c in range(len(scanned[0][0]))
        ]
        features.start_parts(columns)
        tasks = [(shards, k, features) for k in range(len(shards.paths))]
        features.finish_parts(shards.watch(found.map(count_file, tasks), "counting features of"))
        check_count(features)
        n = sum(own[2] for own in scanned)
        model = _known_model(
            make_model(n).set_params(engine=None), {tag for own in scanned for tag in own[1]}
        )
        with make_folder(Path(shards.paths[0]).parent, ".fit-") as place:
            path = str(Path(place) / "features.maxmargin")
            save(features, path, level=1)
            keys = [own[4] for own in scanned]
            sources = [TaggedFile(shards, k, model, path, n, own) for k, own in enumerate(keys)]
            problem = _outline(sources)
            problem.source_key = f" {n} {crc32(repr(keys).encode())}"
            solver = model._resolve_solver()
            callbacks = [*callbacks, *model._callbacks(), completion := Completion()]
            model.result_ = run_on_engine(found, solver, problem, None, callbacks)
    finally:
        if isinstance(engine, str):
            found.close()
    model.coef_, model.temperature_, model._last_layouts = model.result_.w, 1.0, None
    model.n_features_in_ = features.n_features_
    model.structure_, model.feature_map_ = problem.structure, model._make_features()
    model.__class__ = ChainSVM
    return model, completion


def _check_trainable(solver: Solver, callbacks: Sequence[Callback]) -> None:
    """Refuse what needs all samples, since the driver has one of them."""
    if solver.requires.shards != "rounds":
        raise ValueError(
            f"{type(solver).__name__} does not learn from a corpus in files; use solver='bcfw' for"
            " margins, 'sdca' for likelihoods, or give all sentences in one file or list."
        )
    if any(isinstance(own, EarlyStopping) for own in callbacks):
        raise ValueError(
            "training on a corpus in files cannot be stopped by held-out samples; leave out"
            " EarlyStopping or --validation, and evaluate the model afterwards."
        )


def _scan(shards: TextShards, engine: Engine) -> tuple[TextShards, list[Any]]:
    """What the files hold, of those that can be read."""
    answers = engine.map(scan_file, [(shards, k) for k in range(len(shards.paths))])
    told = list(shards.watch(answers, "numbering words of"))
    bad = [k for k, own in enumerate(told) if isinstance(own, str)]
    good = [own for own in told if not isinstance(own, str)]
    for k in bad:
        if not shards.skip_bad or not good:
            raise ValueError(
                f"a shard cannot be read: {told[k]}. Mend the file, or leave such files out with"
                " skip_bad=True."
            )
        log.warning("left out: %s", told[k])
    shards, widths = shards.without(bad), [len(own[0]) for own in good]
    usual = Counter(widths).most_common(1)[0][0]
    for path, own, width in zip(shards.paths, good, widths, strict=True):
        warn_of_long_sentences(path, *own[2:4])
        if width != usual:
            raise ValueError(
                f"{path}: found {width} feature column(s), expected {usual} as in other files; mend"
                " the file, or name the columns to use."
            )
    return shards, good


def _known_model(model: ChainSVM, tags: set[str]) -> ChainSVM:
    model.__class__ = _KnownLabels
    model.classes_ = np.array(sorted(tags))
    if len(tags) < 2:
        raise ValueError(f"all tags are {tags}: there is nothing to learn.")
    return model


def _outline(sources: list[TaggedFile]) -> FilesProblem:
    """The problem of all files, as far as the driver knows it."""
    sentences, tags = sources[0].shards.read(sources[0].k)
    found = sources[0].make_problem(*sources[0].make_rows(sentences[:1], tags[:1]))
    found.__class__ = FilesProblem
    assert isinstance(found, FilesProblem)
    found.sources = sources
    return found
