import pytest

from maxmargin.cli.comparison import subsets


def test_larger_sizes_contain_the_smaller_ones():
    small, large = subsets.training_samples(50, 10, 3), subsets.training_samples(50, 30, 3)
    assert large[:10] == small
    assert len(set(large)) == 30


def test_seeds_differ_and_repeat():
    assert subsets.training_samples(50, 10, 0) == subsets.training_samples(50, 10, 0)
    assert subsets.training_samples(50, 10, 0) != subsets.training_samples(50, 10, 1)


def test_held_out_samples_are_in_no_training_set_and_the_rest_is_all():
    train, rest = subsets.training_samples(50, 30, 1), subsets.held_out(50, 30, 1)
    assert sorted(train + rest) == list(range(50))
    assert subsets.held_out(50, 30, 1, limit=5) == rest[:5]
    assert subsets.held_out(50, 50, 1) == []


def test_too_large_a_size_is_refused():
    with pytest.raises(ValueError, match="size 51 is more than the 50 samples"):
        subsets.training_samples(50, 51, 0)


def test_as_many_samples_are_wanted_as_are_used():
    config = {"sizes": [5, 10]}
    assert subsets.samples_wanted(config) == 10
    assert subsets.samples_wanted({**config, "test-size": 3}) == 13
    assert subsets.samples_wanted({**config, "test-size": 3, "test": ["a"]}) == 10
