"""Fingerprints: equal for what is equal, in every process, and else not."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from fractions import Fraction
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

from maxmargin.fingerprint import fingerprint
from maxmargin.structures import (
    Candidates,
    Chain,
    Matching,
    Network,
    NetworkLayout,
    Program,
    RestrictedLayout,
    TreeLayout,
)

LIMIT = 3


def capped(cap, *, sign=1.0):
    def best(theta):
        return np.argsort(-sign * theta)[:cap]

    return best


def by_global(theta):
    return theta > LIMIT


def by_module(theta):
    return rules.best(theta)  # noqa: F821


def by_submodule(theta):
    return rules.best.of + theta  # noqa: F821


class Oracle:
    def __init__(self, cap):
        self.cap = cap

    def __call__(self, theta):
        return theta[: self.cap]


NETWORK = Network(3, [(0, 1), (1, 2)])
ROWS = np.ones((1, 9))

#: pairs of things that differ in one respect
PAIRS = {
    "numbers": (1, 1.0),
    "arrays": (np.zeros(3), np.zeros((3, 1))),
    "types": (np.zeros(3), np.zeros(3, dtype=np.float32)),
    "sparse": (sparse.csr_array(np.eye(2)), sparse.csr_array(np.diag([1.0, 2.0]))),
    "nesting": ([[1], 2], [1, [2]]),
    "dicts": ({"a": 1}, {"a": 2}),
    "sets": ({1, 2}, {1, 3}),
    "ranges": (range(3), range(4)),
    "queues": (deque([1]), deque([2])),
    "fractions": (Fraction(1, 3), Fraction(2, 3)),
    "generators": (np.random.default_rng(0), np.random.default_rng(1)),
    "closures": (capped(2), capped(3)),
    "inner defaults": (capped(2), capped(2, sign=-1.0)),
    "partial": (partial(capped, 2), partial(capped, 3)),
    "callables": (Oracle(2), Oracle(3)),
    "methods": (Oracle(2).__call__, Oracle(3).__call__),
    "options": (Chain(), Chain(tied=False)),
    "caps": (Matching(), Matching(row_cap=2)),
    "programs": (Program(ROWS, 1.0), Program(ROWS, 2.0)),
    "part bounds": (Program(ROWS, 1.0), Program(ROWS, 1.0, part_upper=1.0)),
    "rules": (RestrictedLayout((3, 3), matrix=ROWS, upper=1), RestrictedLayout((3, 3))),
    "bounds of rules": (
        RestrictedLayout((3, 3), matrix=ROWS, upper=1),
        RestrictedLayout((3, 3), matrix=ROWS, upper=2),
    ),
    "on": (RestrictedLayout((3, 3), on=[1]), RestrictedLayout((3, 3), on=[2])),
    "off": (RestrictedLayout((3, 3), off=[1]), RestrictedLayout((3, 3), off=[2])),
    "on or off": (RestrictedLayout((3, 3), on=[1]), RestrictedLayout((3, 3), off=[1])),
    "candidates": (Candidates((2, 2)), Candidates((2, 2), edges=[(0, 0), (1, 1)])),
    "caps of candidates": (Candidates((2, 2)), Candidates((2, 2), row_caps=[1, 2])),
    "networks": (NETWORK, Network(3, [(0, 1), (0, 2)])),
    "labels": (NetworkLayout(NETWORK, 2), NetworkLayout(NETWORK, 3)),
    "allowed labels": (
        NetworkLayout(NETWORK, 2),
        NetworkLayout(NETWORK, 2, np.array([[1, 1], [1, 0], [1, 1]], dtype=bool)),
    ),
    "kinds of shapes": (NetworkLayout(NETWORK, 2), TreeLayout(NETWORK, 2)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_one_difference_is_enough(name):
    first, second = PAIRS[name]
    assert fingerprint(first) != fingerprint(second)


@pytest.mark.parametrize(
    "make",
    [
        lambda: capped(2),
        lambda: partial(capped(2), 1),
        lambda: Oracle(3),
        lambda: RestrictedLayout((3, 3), on=[0], matrix=ROWS, upper=1),
        lambda: {"a": [np.arange(3), {"x", "y"}]},
        lambda: NetworkLayout(Network(3, [(0, 1)]), 2),
    ],
)
def test_what_is_equal_has_the_same(make):
    assert fingerprint(make()) == fingerprint(make())


def test_it_does_not_matter_which_parts_are_the_same_object():
    part = [1, 2]
    assert fingerprint([part, part]) == fingerprint([part, list(part)])


def test_what_cannot_be_looked_into_is_never_the_same():
    hidden = memoryview(b"abc")
    assert fingerprint(hidden) != fingerprint(hidden)


def test_globals_of_a_function_count(monkeypatch):
    before = fingerprint(by_global)
    monkeypatch.setitem(by_global.__globals__, "LIMIT", 4)
    assert fingerprint(by_global) != before


def test_what_a_function_takes_from_a_module_counts(monkeypatch):
    rules = ModuleType("rules")
    exec("LIMIT = 3\ndef best(theta):\n    return theta > LIMIT\n", vars(rules))
    monkeypatch.setitem(by_module.__globals__, "rules", rules)
    first = fingerprint(by_module)
    assert first == fingerprint(by_module)
    rules.other = 1
    assert first == fingerprint(by_module)
    rules.LIMIT = 4
    second = fingerprint(by_module)
    rules.best = lambda theta: theta < 3
    assert len({first, second, fingerprint(by_module)}) == 3


def test_modules_within_modules_count(monkeypatch):
    rules, within = ModuleType("rules"), ModuleType("rules.best")
    rules.best, within.of, within.rules = within, 3, rules
    monkeypatch.setitem(by_submodule.__globals__, "rules", rules)
    first = fingerprint(by_submodule)
    assert first == fingerprint(by_submodule)
    within.of = 4
    assert first != fingerprint(by_submodule)


def test_code_counts_not_names():
    def make(text):
        space = {"np": np, "__name__": "own"}
        exec(text, space)
        return space["f"]

    text = "def f(theta):\n    return theta.argmax()\n"
    assert fingerprint(make(text)) == fingerprint(make(text))
    assert fingerprint(make(text)) != fingerprint(make(text.replace("max", "min")))


def test_classes_count_by_their_methods():
    def make(sign):
        class Own(Chain):
            def maximize(self, theta, layout):
                return sign * theta

        return Own

    assert fingerprint(make(1)) == fingerprint(make(1))
    assert fingerprint(make(1)) != fingerprint(make(2))


def test_it_is_the_same_in_another_process():
    code = (
        "import numpy as np; from maxmargin.fingerprint import fingerprint;"
        "from maxmargin.structures import Chain, Program, RestrictedLayout;"
        "shape = RestrictedLayout((3, 3), on=[1], matrix=np.ones((1, 9)), upper=1);"
        "print(fingerprint(Chain(), shape, {'b', 'a'}, Program(np.eye(2), 1.0)))"
    )
    runs = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)}
    layout = RestrictedLayout((3, 3), on=[1], matrix=np.ones((1, 9)), upper=1)
    mine = fingerprint(Chain(), layout, {"a", "b"}, Program(np.eye(2), 1.0))
    assert runs == {f"{mine}\n".encode()}
