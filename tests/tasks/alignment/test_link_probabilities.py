"""Probabilities of links and of tags: shapes, calibration, errors."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from maxmargin import load
from maxmargin.exceptions import MissingAbilityError
from maxmargin.tasks import SequenceTagger, WordAligner

FRENCH = {"the": "le", "a": "un", "cat": "chat", "dog": "chien", "sees": "voit", "old": "vieux"}


def pairs_and_links(n, seed, noise=0.2):
    """Word by word, with some words left out and some links that are wrong."""
    rng = np.random.default_rng(seed)
    pairs, links = [], []
    for _ in range(n):
        source = [str(w) for w in rng.choice(list(FRENCH), size=rng.integers(2, 6))]
        kept = [i for i in range(len(source)) if rng.random() < 0.8] or [0]
        sure = {(i, j) for j, i in enumerate(kept) if rng.random() > noise}
        pairs.append((source, [FRENCH[source[i]] for i in kept]))
        links.append((sure, sure | {(kept[0], 0)}))
    return pairs, links


@pytest.fixture(scope="module")
def aligner():
    return WordAligner(alpha=0.3).fit(*pairs_and_links(40, seed=0))


def loss(model, pairs, links):
    p = np.concatenate([own.ravel() for own in model.predict_marginals(pairs)])
    truth = np.concatenate(
        [
            [(i, j) in sure for i in range(len(a)) for j in range(len(b))]
            for (a, b), (sure, _) in zip(pairs, links, strict=True)
        ]
    )
    return -np.log(np.clip(np.where(truth, p, 1 - p), 0.005, 1)).mean()


def test_probabilities_of_links(aligner, tmp_path):
    held, test = pairs_and_links(40, seed=1), pairs_and_links(40, seed=2)
    aligner.model_.temperature_ = 1.0
    before, found = loss(aligner, *test), aligner.predict(test[0])
    assert aligner.calibrate(*held, n_draws=50) is aligner
    assert aligner.temperature_ == aligner.model_.temperature_ != 1.0
    assert loss(aligner, *test) < before
    assert aligner.predict(test[0]) == found
    for (source, target), p in zip(test[0], aligner.predict_marginals(test[0]), strict=True):
        assert p.shape == (len(source), len(target))
        assert (p.sum(axis=0) <= 1 + 1e-12).all()
        assert (p.sum(axis=1) <= 1 + 1e-12).all()
    aligner.save(tmp_path / "aligner.mm")
    assert load(tmp_path / "aligner.mm").temperature_ == aligner.temperature_


def test_methods_are_those_of_estimators(aligner):
    pairs, links = pairs_and_links(6, seed=3)
    options = {"n_draws": 20, "random_state": 4}
    found = [aligner.predict_marginals(pairs, method=m, **options) for m in ("auto", "perturb")]
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    with pytest.raises(MissingAbilityError, match='Matching has no exact .*method="perturb"'):
        aligner.predict_marginals(pairs, method="exact")
    with pytest.raises(MissingAbilityError, match="no exact marginals"):
        aligner.calibrate(pairs, links, method="exact")


def test_empty_sentences_have_no_links(aligner):
    found = aligner.predict_marginals([(["the", "cat"], []), (["the"], ["le"]), ([], [])])
    assert [p.shape for p in found] == [(2, 0), (1, 1), (0, 0)]
    assert aligner.predict_marginals([([], [])])[0].shape == (0, 0)


def test_bad_links(aligner):
    pairs, links = pairs_and_links(3, seed=1)
    with pytest.raises(ValueError, match="3 pairs"):
        aligner.calibrate(pairs, links[:2])
    with pytest.raises(ValueError, match="no pairs: calibrate needs"):
        aligner.calibrate([], [])
    with pytest.raises(NotFittedError):
        WordAligner().calibrate(pairs, links)


def test_tags_fit_held_out_sentences_better_once_calibrated(tmp_path):
    rng = np.random.default_rng(0)
    sentences = [[str(w) for w in rng.choice(list("abcd"), size=5)] for _ in range(90)]
    tags = [
        [("X" if w in "ab" else "Y") if rng.random() < 0.85 else "Z" for w in s] for s in sentences
    ]
    tagger = SequenceTagger().fit(sentences[:30], tags[:30])

    def log_loss():
        p = np.concatenate(tagger.predict_marginals(sentences[60:]))
        truth = np.searchsorted(tagger.classes_, np.concatenate(tags[60:]))
        return -np.log(p[np.arange(len(p)), truth]).mean()

    before = log_loss()
    assert tagger.temperature_ == 1.0
    tagger.calibrate(sentences[30:60], tags[30:60])
    assert tagger.temperature_ != 1.0
    assert log_loss() < before
    tagger.save(tmp_path / "tagger.mm")
    assert load(tmp_path / "tagger.mm").temperature_ == tagger.temperature_
    with pytest.raises(ValueError, match="sample 1: y has 'Q', which is not among the 3 labels"):
        tagger.calibrate(sentences[:2], [tags[0], ["Q"] * 5])
    with pytest.raises(ValueError, match="sentence 1: 4 tags but 5 tokens"):
        tagger.calibrate(sentences[:2], [tags[0], ["X"] * 4])
    with pytest.raises(ValueError, match="X is empty: calibrate needs"):
        tagger.calibrate([], [])
