"""Sentences with dependency trees, for parsers: public treebanks, and one made here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.datasets._files import Source, find_file, find_local, has_file, read_file
from maxmargin.datasets.dependencies import load_dependencies
from maxmargin.formats.conllu import read_conllu
from maxmargin.validation.brackets import clean_tree, read_trees, write_tree
from maxmargin.validation.options import Seed

#: folder -> the beginning of its files' names, the repository, and the commit that is known
_UD = {
    "ud_english_lines": ("en_lines", "UD_English-LinES", "r2.17"),
    "ud_english_ewt": ("en_ewt", "UD_English-EWT", "15d613d8"),
    "ud_hungarian_szeged": ("hu_szeged", "UD_Hungarian-Szeged", "r2.17"),
    "ud_latin_perseus": ("la_perseus", "UD_Latin-Perseus", "r2.18"),
}
_PENN_TRAIN = 3000  # sentences; the rest are "dev"


class Treebank(NamedTuple):
    """Sentences and their trees, as `DependencyParser` or `ConstituencyParser` takes them.

    Parameters
    ----------
    sentences : list of list of dict or of tuple
        Tokens with CoNLL-U's names of columns, or (form, part of speech).
    trees : list of list of (int, str), or of str
        Heads, from 1, 0 for the root, and relations; or bracketed trees.
    """

    sentences: list[list[Any]]
    trees: list[Any]


def load_treebank(
    name: str = "ud_english_lines",
    subset: str = "train",
    path: str | os.PathLike | None = None,
    *,
    constituents: bool = False,
) -> Treebank:
    """Load a treebank.

    Parameters
    ----------
    name : str, default="ud_english_lines"
        "ud_english_lines", "ud_english_ewt", "ud_hungarian_szeged", "ud_latin_perseus", or
        "nltk_treebank", whose first 3,000 sentences are "train", the other 914 "dev".
    subset : {"train", "dev", "test"}, default="train"
        Part of the treebank.
    path : str, path or None, default=None
        The file (plain or gzip), its folder, or the folder that holds one of that name. None means
        the folder in MAXMARGIN_DATA, then the cache, then the official address.
    constituents : bool, default=False
        Whether trees are those of constituents, without traces; of "nltk_treebank".

    Returns
    -------
    Treebank
        The sentences and their trees; ``sentences, trees = load_treebank(...)``.
    """
    if subset not in ("train", "dev", "test"):
        raise ValueError(f"subset is {subset!r}, expected 'train', 'dev' or 'test'.")
    if name == "nltk_treebank":
        return (_load_brackets if constituents else _load_penn)(subset, path)
    if constituents:
        raise ValueError(f"{name!r} has no constituents, only 'nltk_treebank' does.")
    if name not in _UD:
        known = ", ".join(map(repr, [*_UD, "nltk_treebank"]))
        raise ValueError(f"name is {name!r}, expected one of {known}.")
    found = find_file(_source(name, subset), path)
    return parse_treebank(read_file(found), str(found))


def _source(name: str, subset: str) -> Source:
    start, repository, commit = _UD[name]
    file = f"{start}-ud-{subset}.conllu"
    address = f"https://raw.githubusercontent.com/UniversalDependencies/{repository}/{commit}"
    return Source(name, (file, f"{file}.gz"), f"{address}/{file}", _check)


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    parts = [(name, subset) for name in _UD for subset in ("train", "dev", "test")]
    found = [" ".join(part) for part in parts if has_file(_source(*part), folder)]
    return [f"treebank ({', '.join(found)})"] if found else []


def parse_treebank(raw: bytes, name: str) -> Treebank:
    """The sentences of a CoNLL-U file. name : of it, for errors."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not a text in UTF-8 ({error}).") from None
    read = list(read_conllu(text.split("\n"), name))
    return Treebank([own.tokens for own in read], [own.tree for own in read])


def _check(raw: bytes, name: str) -> None:
    parse_treebank(raw, name)


def _load_penn(subset: str, path: str | os.PathLike | None) -> Treebank:
    data = load_dependencies(source="penn", path=path)
    places = slice(_PENN_TRAIN) if subset == "train" else slice(_PENN_TRAIN, None)
    sentences = [
        [{"form": token.word, "upos": token.tag} for token in own] for own in data.sentences[places]
    ]
    return Treebank(sentences, [[(int(h) + 1, "_") for h in own] for own in data.heads[places]])


def _load_brackets(subset: str, path: str | os.PathLike | None) -> Treebank:
    source = "https://github.com/nltk/nltk_data, packages/corpora/treebank.zip, its files joined"
    names = ("wsj_combined.mrg.gz", "wsj_combined.mrg")
    found = find_local("nltk_treebank", names, path, source)
    lines = read_file(found).decode("utf-8", errors="replace").split("\n")
    trees = [clean_tree(tree) for tree, _ in read_trees(lines, str(found))]
    places = slice(_PENN_TRAIN) if subset == "train" else slice(_PENN_TRAIN, None)
    kept = [tree for tree in trees[places] if tree is not None]
    return Treebank([tree.words() for tree in kept], [write_tree(tree) for tree in kept])


#: words of the treebank made here, by part of speech
_WORDS = {
    "DET": ("the", "a", "every", "this"),
    "ADJ": ("old", "small", "green", "quiet", "clever"),
    "NOUN": ("dog", "cat", "bird", "gardener", "tree", "house", "river", "letter", "child"),
    "ADP": ("in", "near", "with", "behind"),
    "VERB": ("sees", "likes", "follows", "finds", "remembers"),
    "ADV": ("often", "slowly", "today"),
}


def make_treebank(n_samples: int = 100, random_state: Seed = 0) -> Treebank:
    """Make simple English sentences with their trees, for tests and demonstrations.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sentences.
    random_state : int, Generator, RandomState or None, default=0
        Seed; the same integer gives the same sentences.

    Returns
    -------
    Treebank
        Sentences of a subject, a verb, an object, adverbs and phrases with prepositions.
    """
    rng = np.random.default_rng(random_state)
    made = [_make_sentence(rng) for _ in range(n_samples)]
    return Treebank([tokens for tokens, _ in made], [tree for _, tree in made])


def _make_sentence(rng: np.random.Generator) -> tuple[list, list]:
    tokens: list[dict[str, str]] = []
    heads: list[list] = []  # filled when the head's place is known

    def word(tag: str, relation: str) -> int:
        form = "." if tag == "PUNCT" else str(rng.choice(_WORDS[tag]))
        tokens.append({"form": form, "lemma": form, "upos": tag})
        heads.append([0, relation])
        return len(tokens)

    def noun_phrase(relation: str, depth: int = 0, case: bool = False) -> int:
        before = [word("ADP", "case")] if case else []
        before.append(word("DET", "det"))
        before += [word("ADJ", "amod") for _ in range(rng.integers(0, 3 - depth))]
        noun = word("NOUN", relation)
        for place in before:
            heads[place - 1][0] = noun
        if depth < 2 and rng.random() < 0.3:
            heads[noun_phrase("nmod", depth + 1, case=True) - 1][0] = noun
        return noun

    subject = noun_phrase("nsubj")
    adverbs = [word("ADV", "advmod")] if rng.random() < 0.3 else []
    verb = word("VERB", "root")
    rest = [subject, *adverbs, noun_phrase("obj"), word("PUNCT", "punct")]
    for place in rest:
        heads[place - 1][0] = verb
    return tokens, [(head, relation) for head, relation in heads]
