"""Fingerprints: equal for what is equal, in every process, and else not."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from abc import ABC
from collections import defaultdict, deque
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial, update_wrapper
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin import MulticlassSVM
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


class Slotted:
    __slots__ = ("cap",)


class Options(BaseEstimator):
    @cached_property
    def table(self):
        return np.arange(3)


@dataclass
class Rules:
    cap: int


class Table(dict):
    pass


class Wrapped:
    def __init__(self, function, cap):
        update_wrapper(self, function)
        self.cap = cap


def having(made, cap):
    made.cap = cap
    return made


def within(cap):
    rules = ModuleType("rules")
    rules.cap = cap
    return rules


def around(rules):
    return lambda theta: theta[: rules.cap]


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
    "slots": (having(Slotted(), 2), having(Slotted(), 3)),
    "set later": (having(Options(), 2), having(Options(), 3)),
    "set later, or not": (Options(), having(Options(), 3)),
    "set later, within": (having(Options(), having(Options(), 2)), having(Options(), Options())),
    "methods of estimators": (having(Options(), 2).get_params, having(Options(), 3).get_params),
    "dataclasses": (Rules(2), Rules(3)),
    "of functions": (having(capped(2), 2), having(capped(2), 3)),
    "of dicts": (having(Table(), 2), having(Table(), 3)),
    "wrappers": (Wrapped(capped, 2), Wrapped(capped, 3)),
    "factories": (defaultdict(list), defaultdict(set)),
    "methods of dicts": ({"a": 1}.get, {"a": 2}.get),
    "masks": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "modules": (partial(capped, within(2)), partial(capped, within(3))),
    "modules in closures": (around(within(2)), around(within(3))),
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
    environment = os.environ | {"PYTHONHASHSEED": "1"}  # sets are in another order there
    found = subprocess.check_output([sys.executable, "-c", code], env=environment)
    layout = RestrictedLayout((3, 3), on=[1], matrix=np.ones((1, 9)), upper=1)
    mine = fingerprint(Chain(), layout, {"a", "b"}, Program(np.eye(2), 1.0))
    assert found == f"{mine}\n".encode()


def test_the_order_in_which_attributes_were_set_does_not_matter():
    first, second = having(Options(), 2), Options()
    first.more, second.more = 1, 1
    assert fingerprint(first) == fingerprint(having(second, 2))


def test_what_was_found_by_itself_does_not_count():
    @lru_cache
    def known(x):
        return x + 1

    layout, own = NetworkLayout(Network(3, [(0, 1)]), 2), Options()
    before = fingerprint(layout, own, known)
    assert [hash(layout) != 0, len(own.table), known(2)] == [True, 3, 3]
    assert fingerprint(layout, own, known) == before


class Leaving(Options):
    def __getstate__(self):
        return {name: own for name, own in vars(self).items() if name != "cap"}


def test_what_copies_do_not_have_does_not_count():
    assert fingerprint(having(Leaving(), 2)) == fingerprint(having(Leaving(), 3))


def test_attributes_of_classes_count(monkeypatch):
    before = fingerprint(Oracle(3))
    monkeypatch.setattr(Oracle, "sign", -1, raising=False)
    assert fingerprint(Oracle(3)) != before


LOG = logging.getLogger(__name__)


class Abstract(ABC):  # noqa: B024
    def best(self, theta):
        LOG.info("asked")
        return theta


def test_loggers_and_abstract_classes_can_be_looked_into():
    assert fingerprint(Abstract()) == fingerprint(Abstract())


def test_models_count_by_what_they_learned_not_by_the_time_it_took():
    X, y = np.eye(4), [0, 1, 0, 1]
    first, same, other = (MulticlassSVM(alpha).fit(X, y) for alpha in (0.1, 0.1, 0.1))
    assert fingerprint(first) == fingerprint(same)
    other.coef_ = 2 * other.coef_
    assert fingerprint(first) != fingerprint(other)


def test_what_is_too_deep_is_never_the_same():
    deep = []
    for _ in range(10_000):
        deep = [deep]
    assert fingerprint(deep) != fingerprint(deep)


# -- names that are imported within functions ------------------------------------------------------
IMPORTS = {
    "import": "import own_rules\n    return own_rules.best(theta)",
    "as": "import own_rules as r\n    return r.best(theta)",
    "from": "from own_rules import best\n    return best(theta)",
    "dotted": "import own_package.part\n    return own_package.part.best(theta)",
    "submodule": "from own_package import part\n    return part.best(theta)",
    "relative": "from .part import best\n    return best(theta)",
    "nested": "def f():\n        import own_rules\n        return own_rules\n"
    "    return f().best(theta)",
    "literal": "import own_rules\n    return getattr(own_rules, 'best')(theta)",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a module and a package, both with a rule."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "__init__.py").write_text("")
    for name in ("own_rules.py", "own_package/part.py"):
        text = "from own_limits import LIMIT\ndef best(theta):\n    return theta > LIMIT\n"
        (tmp_path / name).write_text(text)
    (tmp_path / "own_limits.py").write_text("LIMIT = 3\n")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def importing(name):
    space = {"__name__": "own_package.oracle", "__package__": "own_package"}
    exec(f"def oracle(theta):\n    {IMPORTS[name]}\n", space)
    return space["oracle"]


@pytest.mark.parametrize("name", IMPORTS)
def test_files_of_what_is_not_loaded_yet_count_and_are_not_run(name, project):
    before = fingerprint(importing(name))
    assert before == fingerprint(importing(name))
    assert not [name for name in sys.modules if name.startswith("own_")]
    (project / "own_limits.py").write_text("LIMIT = 4\n")
    assert fingerprint(importing(name)) != before


@pytest.mark.parametrize("name", IMPORTS)
def test_what_was_imported_counts_by_what_is_in_it(name, project):
    oracle = importing(name)
    assert oracle(4)
    before = fingerprint(oracle)
    assert before == fingerprint(importing(name))
    modules = [sys.modules.get(name) for name in ("own_rules", "own_package.part")]
    for module in filter(None, modules):
        module.other = 1
    assert before == fingerprint(oracle)
    for module in filter(None, modules):
        module.LIMIT = 4
    assert before != fingerprint(oracle)


def test_imports_that_fail_or_are_installed_are_fine():
    def oracle(theta):
        import numpy.linalg
        import scipy.no_such_module
        import yet_another_solver

        return numpy.linalg, scipy.no_such_module, yet_another_solver

    assert fingerprint(oracle) == fingerprint(oracle)
