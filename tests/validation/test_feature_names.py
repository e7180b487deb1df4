"""Columns of data frames must be those of training, in the same order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from maxmargin import (
    Bipartite,
    ChainSVM,
    Graph,
    GraphCutSVM,
    MatchingSVM,
    MulticlassSVM,
    MultiLabelSVM,
    NetworkSVM,
    TreeSVM,
    load,
)
from maxmargin.callbacks import EarlyStopping
from maxmargin.exceptions import SampleError
from maxmargin.validation.feature_names import learn_names
from maxmargin.validation.samples import LaidOutRows

rng = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
FRAMES = [pd.DataFrame(rng.normal(size=(4, 3)), columns=NAMES) for _ in range(6)]
LABELS = [(x["a"] > 0).tolist() for x in FRAMES]
EDGES = [(0, 1), (1, 2), (2, 3)]


def turned(frame):
    return frame[["b", "a", "c"]]


def renamed(frame):
    return frame.rename(columns={"a": "z"})


def same(frame):
    return frame


def graphs(change=same, change_edges=same):
    edges = pd.DataFrame({"e": [1.0, 2.0, 0.5], "f": [0.0, 1.0, 1.0]})
    return [Graph(change(x), EDGES, change_edges(edges)) for x in FRAMES]


def pairs(change):
    return [Bipartite((2, 2), None, change(x)) for x in FRAMES]


def chains(change):
    return [change(x) for x in FRAMES]


def table(change):
    return change(pd.concat(FRAMES, ignore_index=True))


FLAT = np.concatenate(LABELS)
CASES = {
    "chain": (ChainSVM(max_epochs=3), chains, LABELS),
    "tree": (TreeSVM(max_epochs=3), graphs, LABELS),
    "network": (NetworkSVM(max_epochs=3), graphs, LABELS),
    "cut": (GraphCutSVM(max_epochs=3), graphs, LABELS),
    "matching": (MatchingSVM(max_epochs=3), pairs, [[(0, 0)], [(1, 1)]] * 3),
    "classes": (MulticlassSVM(max_epochs=3), table, FLAT),
    "sets": (MultiLabelSVM(max_epochs=3), table, np.column_stack([FLAT, ~FLAT])),
}
CALLS = ["predict", "decision_function", "predict_marginals", "score", "calibrate"]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=CASES)
def case(request):
    model, make, y = CASES[request.param]
    return clone(model), make, y


@pytest.mark.parametrize("change, text", [(turned, "'b', expected 'a'"), (renamed, "new: 'z'")])
@pytest.mark.parametrize("name", CALLS)
def test_other_columns_are_refused(case, name, change, text):
    model, make, y = case
    model.fit(make(same), y)
    assert model.feature_names_in_.tolist() == NAMES
    call, more = getattr(model, name), [y] if name in ("score", "calibrate") else []
    call(make(same), *more)
    with pytest.raises(ValueError, match=text):
        call(make(change), *more)


def test_names_are_saved_and_not_cloned(case, tmp_path):
    model, make, y = case
    model.fit(make(same), y).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="missing: 'a'"):
        loaded.predict(make(renamed))
    assert not hasattr(clone(model), "feature_names_in_")


def test_held_out_frames_of_callbacks_are_checked(case):
    model, make, y = case
    model.set_params(callbacks=[EarlyStopping(make(turned), y)])
    with pytest.raises(ValueError, match="expected 'a'"):
        model.fit(make(same), y)


def test_the_sample_is_named_also_beside_empty_ones():
    model = ChainSVM(max_epochs=3).fit(FRAMES, LABELS)
    with pytest.raises(SampleError, match="sample 1: its columns differ") as caught:
        model.predict([FRAMES[0].to_numpy(), turned(FRAMES[1]), turned(FRAMES[0][:0])])
    assert caught.value.index == 1
    with pytest.raises(SampleError, match="sample 0"):
        model.score([turned(FRAMES[0]), turned(FRAMES[0][:0])], [LABELS[0], []])


def test_columns_of_edges_count_too():
    model = TreeSVM(max_epochs=3).fit(graphs(), LABELS)
    assert model.edge_feature_names_in_.tolist() == ["e", "f"]
    with pytest.raises(SampleError, match=r"'f', expected 'e'.*edge_feature_names_in_"):
        model.predict(graphs(change_edges=lambda frame: frame[["f", "e"]]))
    mixed = [*graphs()[:3], *graphs(turned)[3:]]
    with pytest.raises(SampleError, match="sample 3: its columns differ from those of the data fr"):
        TreeSVM().fit(mixed, LABELS)


def test_names_are_learned_only_where_all_samples_have_them():
    arrays = [x.to_numpy() for x in FRAMES]
    for X in (arrays, [*FRAMES[:5], arrays[5]], [pd.DataFrame(x) for x in arrays]):
        assert not hasattr(ChainSVM(max_epochs=1).fit(X, LABELS), "feature_names_in_")
    model = ChainSVM(max_epochs=1).fit(FRAMES, LABELS)
    model.predict(arrays)  # by their places
    assert not hasattr(model.fit(arrays, LABELS), "feature_names_in_")


def test_files_with_other_names_are_refused():
    model = ChainSVM(max_epochs=1).fit(FRAMES, LABELS)
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    with pytest.raises(ValueError, match="names of 3 features"):
        model.validate()


def test_rows_made_on_demand_are_not_made_to_look_for_names():
    assert learn_names(LaidOutRows(rows=None, layouts=[(2,), (3,)])) is None
