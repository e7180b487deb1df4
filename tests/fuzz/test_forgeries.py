"""Forged models and checkpoints: refused, or used in order; no signal, no hang, no other error."""

import sys

import pytest

from fuzz.forgeries import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
#: models whose compiled code is quickly loaded, of each kind of learned parts
SOME = ("chain warm", "labels", "classes", "tagger rules", "tagger dicts", "run of bcfw")


def check(folder, seed, count, names=()):
    counts, wrong = run(folder, seed, count, names)
    assert not wrong, f"{len(wrong)} of {count}, seed {seed}: {dict(list(wrong.items())[:5])}"
    # the forgeries are of both kinds
    assert counts["refused at load"] + counts["refused"] > count / 3
    assert counts["loaded, predicted, fitted"] > count / 50


def test_some_forgeries(tmp_path):
    check(tmp_path, 0, 200, SOME)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
def test_many_forgeries(seed, tmp_path):
    check(tmp_path, seed, 10_000)
