"""Small files to learn from, and a model that was."""

import random

import pytest

WORDS = {"D": ["the", "a", "every"], "N": ["cat", "dog", "漢字", "tree"], "V": ["sees", "likes"]}
SENTENCES = ["DNVDN", "DNV", "NVDN", "NV", "DNVN"]


def conll(count, seed=0):
    """Sentences as columns of words and tags; the words tell the tags but for some noise."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        for tag in draw.choice(SENTENCES):
            word = draw.choice(WORDS[tag] if draw.random() < 0.9 else ["stone", "run"])
            lines.append(f"{word} {tag}\n")
        lines.append("\n")
    return "".join(lines)


@pytest.fixture(autouse=True, scope="session")
def _no_word_of_compiling():
    """On a busy machine it would come up in what tests compare."""
    from maxmargin._numba import compile as compiling

    compiling._told.set()


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """A folder with train.txt, dev.txt and words.txt, which has no tags."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "train.txt").write_text(conll(120), encoding="utf-8")
    (folder / "dev.txt").write_text(conll(30, seed=1), encoding="utf-8")
    words = [" ".join(line.split()[:1]) for line in conll(30, seed=1).splitlines()]
    (folder / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def model_file(texts, tmp_path_factory):
    """A tagger, saved."""
    from maxmargin.tasks.registry import find_task_command

    command = find_task_command("tagging")
    tagger = command.estimator({})
    command.fit(tagger, command.read([texts / "train.txt"], {}))
    path = tmp_path_factory.mktemp("model") / "tagger.maxmargin"
    tagger.save(path)
    return path
