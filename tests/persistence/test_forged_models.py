"""Forged model files: refused, whatever they hope that compiled code will do with them."""

import time
import tracemalloc
from functools import cached_property
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import maxmargin
from fuzz.zoo import CASES, fitted
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import register, registry
from maxmargin.persistence.model_file import read_model, write_model
from maxmargin.result import State
from maxmargin.tasks import SequenceTagger
from maxmargin.validation.learned import (
    MOST_ALIKE,
    Checked,
    arguments_of,
    check_hashes,
    learned_attributes,
)
from persistence.model_files import round_trip


def objects_of(tree, name):
    """All nodes of a class in a tree."""
    found = [tree] if isinstance(tree, dict) and tree.get("class") == name else []
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, dict | list):
            found += objects_of(value, name)
    return found


class Forger:
    """The tree of a saved model; `array` puts an array into the file."""

    def __init__(self, model, folder):
        self.path = folder / "model.mm"
        model.save(self.path)
        contents = read_model(self.path)
        self.tree = contents.tree
        self.arrays = [contents.arrays[f"a{k}.npy"] for k in range(len(contents.arrays))]

    def array(self, values):
        self.arrays.append(np.asarray(values))
        return {"is": "array", "member": f"a{len(self.arrays) - 1}.npy"}

    def all(self, name):
        return objects_of(self.tree, name)

    def load(self, **options):
        write_model(self.path, self.tree, self.arrays)
        return maxmargin.load(self.path, **options)


@pytest.fixture
def forger(tmp_path):
    return lambda name: Forger(fitted(name), tmp_path)


# -- every class -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", registry.known_names())
def test_every_class_says_what_its_objects_learn_and_validates_them(name):
    cls = registry.class_named(name)
    assert callable(cls.validate)
    learned = learned_attributes(cls)
    assert not learned or cls.validate is not Checked.validate, (
        f"{cls.__name__} learns {sorted(learned)}: write a `validate` that checks them"
    )


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_learned_is_declared_and_comes_back(name, tmp_path):
    model, again = fitted(name), round_trip(fitted(name), tmp_path)
    assert vars(again).keys() == {k for k in vars(model) if k != "_in_coordinates"}


# -- a: shapes without the checks of their constructors --------------------------------------------
@pytest.mark.parametrize("edges", [[[0, 1], [375, 0]], [[0, 1], [-1, 2]], [[0, 0]], [[0, 1, 2]]])
def test_edges_beyond_the_labels(forger, edges):
    forged = forger("labels")
    forged.all("Network")[0]["facts"]["edges"] = forged.array(edges)
    with pytest.raises(ModelFileError, match="edges"):
        forged.load()


def test_networks_of_other_labels_than_weights(forger):
    forged = forger("labels")
    forged.all("Network")[0]["facts"]["edges"] = forged.array([[0, 1], [1, 2]])
    with pytest.raises(ModelFileError, match="network_ is not of as many labels and pairs"):
        forged.load()


# -- b: attributes that hide those of the class ----------------------------------------------------
@pytest.mark.parametrize(
    "name",
    ["compiled", "as_ints", "is_exact", "predict", "validate", "tied", "__class__", "x", "_x"],
)
def test_attributes_that_no_class_declares(forger, name):
    forged = forger("chain")
    value = {"is": "dict", "keys": ["maximize"], "values": ["matching"]}
    for own in forged.all("Chain"):
        own["facts"][name] = value
    with pytest.raises(ModelFileError, match=f"'{name}' is not an attribute that a Chain learns"):
        forged.load()


def test_what_can_be_found_again_is_not_loaded(forger):
    forged = forger("tree warm")
    for own in forged.all("TreeLayout"):
        own["facts"]["order"] = forged.array(np.full((4, 4), 10**6))
    layouts = forged.load()._last_layouts
    assert layouts[0].order.max() < 4


def test_what_is_not_declared_is_not_saved(tmp_path):
    model = maxmargin.ChainSVM()
    model.note = "mine"
    with pytest.raises(TypeError, match=r"ChainSVM\.note is nothing .*del model.note"):
        model.save(tmp_path / "model.mm")


# -- c: options ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("case", "cls", "options"),
    [
        ("chain", "LabelConjoined", {"ends": -2003}),
        ("chain", "LabelConjoined", {"bias": -1}),
        ("chain", "LabelConjoined", {"bias": 0.5}),
        ("chain", "ChainSVM", {"bias": -1}),
        ("cut", "GraphFeatures", {"bias": -7}),
        ("tree", "TreeFeatures", {"bias": -7}),
        ("tree", "TreeFeatures", {"n_edge_features": 0}),
        ("cut multiclass", "PottsFeatures", {"n_edge_features": -3}),
        ("matching", "PartFeatures", {"bias": -1}),
        ("labels", "MultiLabelFeatures", {"n_pairs": -1}),
        ("labels", "MultiLabelFeatures", {"n_pairs": 7}),
        ("matching", "Matching", {"row_cap": -1}),
    ],
)
def test_options_that_no_constructor_takes(forger, case, cls, options):
    forged = forger(case)
    for own in forged.all(cls):
        own["options"] |= options
    with pytest.raises(ModelFileError):
        forged.load()


@pytest.mark.parametrize(
    "coef",
    [np.zeros(5), np.zeros(30, np.float32), np.zeros((1, 30)), np.full(30, np.nan), "text", None],
    ids=["short", "single", "matrix", "nan", "text", "none"],
)
def test_weights_that_are_not_as_many_as_features(forger, coef):
    forged = forger("chain")
    assert fitted("chain").coef_.shape == (30,)
    value = forged.array(coef) if isinstance(coef, np.ndarray) else coef
    forged.tree["facts"]["coef_"] = value
    with pytest.raises(ModelFileError, match="coef_"):
        forged.load()


@pytest.mark.parametrize("kind", ["GraphCut", "Matching", "Multiclass"])
def test_structures_of_another_kind(forger, kind):
    forged = forger("chain")
    forged.tree["facts"]["structure_"] = {
        "is": "object", "class": kind, "options": {}, "facts": {},
    }  # fmt: skip
    with pytest.raises(ModelFileError, match="structure_ is not a Chain"):
        forged.load()


# -- d: sizes --------------------------------------------------------------------------------------
@pytest.mark.parametrize("length", [-1, -(10**18), 0.5, True, "9"])
def test_lengths_below_zero_refund_nothing(forger, length):
    forged = forger("chain")
    counts = [{"is": "count", "start": 0, "length": n} for n in (length, 3 * 10**7)]
    forged.tree["options"]["forbidden_first"] = counts
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="impossible"):
            forged.load(max_bytes=20_000)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


# -- e: warm starts --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["extra", "outputs", "average", "memory", "vertex_cache"])
def test_states_of_files_hold_nothing_that_compiled_code_trusts(forger, name):
    forged = forger("chain warm")
    own = forged.all("State")[0]
    own["facts"][name] = {"is": "dict", "keys": [], "values": []}
    with pytest.raises(ModelFileError, match=f"'{name}' is not an attribute that a State learns"):
        forged.load()


@pytest.mark.filterwarnings("ignore:max_epochs")
@pytest.mark.parametrize("case", ["chain warm", "cut warm", "classes warm", "matching warm"])
@pytest.mark.parametrize("change", ["short", "long", "far", "negative"])
def test_dual_points_that_are_not_of_the_samples_start_afresh(forger, case, change):
    forged = forger(case)
    z = fitted(case).result_.state.z
    changed = {"short": z[:-1], "long": np.append(z, 0.0), "far": z + 100.0, "negative": -z - 1}
    forged.all("State")[0]["facts"]["z"] = forged.array(changed[change])
    model = forged.load()
    with pytest.warns(UserWarning, match="warm_start: .*starting afresh"):
        model.fit(*CASES[case]().fit)
    fresh = CASES[case]().model.fit(*CASES[case]().fit)
    assert model.result_.dual == fresh.result_.dual


@pytest.mark.filterwarnings("ignore:max_epochs")
def test_a_warm_start_without_the_shapes_of_its_samples_starts_afresh(forger):
    forged = forger("chain warm")
    del forged.tree["facts"]["_last_layouts"]
    model = forged.load()
    with pytest.warns(UserWarning, match="warm_start: .*starting afresh"):
        model.fit(*CASES["chain warm"]().fit)


# -- f: keys ---------------------------------------------------------------------------------------
def test_keys_with_one_hash(forger):
    forged = forger("chain")
    keys = np.array(list(product((-1, -2), repeat=15)), dtype=np.int8)
    member = forged.array(keys)["member"]
    forged.tree["options"]["loss"] = {
        "is": "dict",
        "keys": {"is": "int_tuples", "member": member},
        "values": {"is": "count", "start": 0, "length": len(keys)},
    }
    begun = time.process_time()
    with pytest.raises(ModelFileError, match="keys have the same hash"):
        forged.load()
    assert time.process_time() - begun < 5.0


def test_honest_keys_differ_in_their_hashes():
    check_hashes(
        [*range(-500, 500), *map(str, range(1000)), 0.5, None, *product(range(30), repeat=2)]
    )
    with pytest.raises(ValueError, match="same hash"):
        check_hashes([k * (2**61 - 1) for k in range(200)])


@pytest.mark.parametrize("n_keys", [0, 1, 50, 51, 75, 99, 100, 101, 102])
def test_any_number_of_keys_is_checked(n_keys):
    check_hashes(range(n_keys))
    alike = [k * (2**61 - 1) for k in range(n_keys)]
    if n_keys <= MOST_ALIKE:
        check_hashes(alike)
    else:
        with pytest.raises(ValueError, match="same hash"):
            check_hashes(alike)


def test_a_model_of_between_fifty_and_a_hundred_labels_is_loaded(tmp_path):
    tags = [[f"T{k}" for k in range(75)]]
    words = [[f"w{k}" for k in range(75)]]
    tagger = SequenceTagger(tol=0.5).fit(words, tags)
    assert round_trip(tagger, tmp_path).predict(words) == tagger.predict(words)


# -- classes of the caller -------------------------------------------------------------------------
class Plain:
    """Not made by its constructor, but asked whether it is right."""

    constant = 3

    def __init__(self, needed):
        self.size = needed

    @cached_property
    def double(self):
        return 2 * self.size

    def validate(self):
        if self.size < 0:
            raise ValueError("size is below 0")


class Learner(BaseEstimator):
    """Made by its constructor."""

    def __init__(self, option=1):
        self.option = option
        self.made = True


def test_own_classes_come_back_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_OWN", {})
    register(Plain)
    register(Learner)
    model = maxmargin.ChainSVM(forbidden_transitions=[(Plain(4), Learner(7))])
    assert model.forbidden_transitions[0][0].double == 8
    plain, learner = round_trip(model, tmp_path).forbidden_transitions[0]
    assert (plain.size, plain.double, learner.option, learner.made) == (4, 8, 7, True)
    forged = Forger(model, tmp_path)
    forged.all("user:Plain")[0]["facts"]["size"] = -1
    with pytest.raises(ModelFileError, match="size is below 0"):
        forged.load()
    for name, value in (("constant", 4), ("validate", None), ("__class__", 0)):
        forged.all("user:Plain")[0]["facts"] = {"size": 1, name: value}
        with pytest.raises(ModelFileError, match=f"'{name}' is not an attribute"):
            forged.load()


def test_states_keep_what_a_warm_start_needs():
    assert {"w", "z", "rng"} <= set(arguments_of(State))
