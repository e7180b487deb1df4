"""Losses by name, labels of the user's own, and input that no loss can take."""

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import MulticlassSVM
from maxmargin.losses import Hamming, PartCosts, resolve_loss
from maxmargin.structures import Chain, Finite
from reference.user_structures import AtMostTwo

SHAPE = (2, 3)
TRUTH = Chain().encode([0, 2], SHAPE)


def test_a_loss_of_the_wrong_sign_is_noticed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    with pytest.warns(UserWarning, match="sample 0: the loss of some output is negative"):
        MulticlassSVM(loss=PartCosts(lambda truth, layout: truth)).fit(X, y)


def test_short_names():
    assert resolve_loss("hamming").get_params() == Hamming().get_params()
    assert resolve_loss("hamming-sum").get_params() == Hamming(normalize=False).get_params()


def test_objects_pass_unchanged():
    loss = Hamming(normalize=False)
    assert resolve_loss(loss) is loss


@pytest.mark.parametrize("loss", ["haming", "", None, 3, ["hamming"], {"a": 1}, Hamming])
def test_unknown_losses_are_refused_with_the_known_ones(loss):
    with pytest.raises(ValueError, match=r"unknown; use one of \['hamming', 'hamming-sum'\]"):
        resolve_loss(loss)


def test_bind_turns_labels_into_numbers():
    loss = Hamming(class_weight={"b": 2.0, "z": 9.0}, normalize=False, false_positive=3.0)
    with pytest.warns(UserWarning, match="'z'"):
        bound = loss.bind(np.array(["a", "b", "c"]))
    assert bound.class_weight.tolist() == [1.0, 2.0, 1.0]
    assert bound.normalize is False
    assert bound.false_positive == 3.0
    assert loss.class_weight == {"b": 2.0, "z": 9.0}  # the user's object is not changed


def test_bind_finds_labels_of_any_type():
    assert Hamming(class_weight={3: 0.5}).bind(np.array([1, 3])).class_weight.tolist() == [1.0, 0.5]
    assert Hamming(class_weight={True: 4.0}).bind(np.array([False, True])).class_weight[1] == 4.0


def test_bind_without_names_changes_nothing():
    for loss in (
        Hamming(),
        Hamming(class_weight=np.ones(3)),
        PartCosts(lambda truth, layout: truth),
    ):
        assert loss.bind(np.array(["a", "b"])) is loss


def test_class_weights_by_name_must_be_bound():
    with pytest.raises(ValueError, match="call bind"):
        Hamming(class_weight={"a": 1.0}).costs(TRUTH, SHAPE, Chain())


@pytest.mark.parametrize("wrong", [np.ones(2), np.ones((3, 1)), 1.0])
def test_class_weights_of_the_wrong_length_are_refused(wrong):
    with pytest.raises(ValueError, match=r"class_weight has shape .*, expected \(3,\)"):
        Hamming(class_weight=wrong).costs(TRUTH, SHAPE, Chain())


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_weights_must_be_finite_and_not_negative(value):
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        Hamming(class_weight=np.array([1.0, value, 1.0])).costs(TRUTH, SHAPE, Chain())
    with pytest.raises(ValueError, match="class_weight=.* must be .* finite numbers at least 0"):
        Hamming(class_weight={"b": value}).bind(np.array(["a", "b", "c"]))
    with pytest.raises(ValueError, match="node_weight must be finite and not negative"):
        Hamming().costs(TRUTH, SHAPE, Chain(), node_weight=[1.0, value])
    for price in ("false_positive", "false_negative"):
        with pytest.raises(ValueError, match="prices must be finite and not negative"):
            Hamming(**{price: value}).costs(np.zeros(4), (4,), AtMostTwo())


@pytest.mark.parametrize("wrong", [[1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]], 1.0])
def test_node_weights_of_the_wrong_length_are_refused(wrong):
    with pytest.raises(ValueError, match=r"node_weight has shape .*, expected \(2,\)"):
        Hamming().costs(TRUTH, SHAPE, Chain(), node_weight=wrong)


def test_part_costs_must_fit():
    with pytest.raises(ValueError, match=r"part costs have shape \(2,\), expected \(3,\)"):
        PartCosts(lambda truth, layout: np.ones(2)).costs(np.eye(3)[0], (3,), Finite())
    with pytest.raises(ValueError, match="part costs must be finite"):
        PartCosts(lambda truth, layout: np.full(3, np.nan)).costs(np.eye(3)[0], (3,), Finite())


def test_truth_is_not_changed_and_losses_clone():
    before = TRUTH.copy()
    for loss in (Hamming(), Hamming(class_weight=np.array([1.0, 2.0, 3.0]))):
        first = loss.costs(TRUTH, SHAPE, Chain(), node_weight=[1.0, 2.0])
        again = clone(loss).costs(TRUTH, SHAPE, Chain(), node_weight=[1.0, 2.0])
        assert np.array_equal(first, again)
    assert np.array_equal(TRUTH, before)


def test_a_class_weight_without_its_label_is_warned_of():
    with pytest.warns(UserWarning, match=r"names \['x'\].*labels are \['a', 'b'\]"):
        bound = Hamming(class_weight={"a": 2.0, "x": 3.0}).bind(np.array(["a", "b"]))
    assert bound.class_weight.tolist() == [2.0, 1.0]


def test_class_weight_is_no_word():
    with pytest.raises(ValueError, match=r"class_weight='balanced' must be .* \{label: weight\}"):
        Hamming(class_weight="balanced").bind(np.array(["a", "b"]))
