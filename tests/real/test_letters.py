"""Handwritten words, fold 0 (626 words): all solvers, held against plain numpy."""

import warnings

import numpy as np
import pytest

from maxmargin import ChainSVM
from maxmargin.datasets import load_letters
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.result import Status
from maxmargin.solvers import BCFW, FrankWolfe, OracleCache, Subgradient
from reference import letters

ALPHA = 0.01
#: solver, and the relative gap that it reaches in its epochs
SOLVERS = {
    "bcfw": (BCFW(tol=5e-3, max_epochs=100), 5e-3),
    "relaxation": (BCFW(relaxation=1.0, tol=2e-2, max_epochs=100), 2e-2),
    "pairwise": (BCFW("pairwise", tol=3e-2, max_epochs=100), 3e-2),
    "gap": (BCFW(sampling="gap", tol=5e-3, max_epochs=100), 5e-3),
    "plain": (BCFW(sampling="uniform", averaging=False, tol=2e-2, max_epochs=100), 2e-2),
    "small-cache": (BCFW(cache=OracleCache(size=5), tol=4e-2, max_epochs=100), 4e-2),
    "frank-wolfe": (BCFW("frank-wolfe", max_epochs=100), 0.4),
    "fixed-steps": (BCFW("frank-wolfe", line_search=False, max_epochs=100), 0.5),
    "fw": (FrankWolfe(max_epochs=150), 0.99),
    "ssg": (Subgradient(max_epochs=100), 0.5),
    "ssg-half": (Subgradient("half", max_epochs=100), 0.5),
}


@pytest.fixture(scope="module")
def words(data_dir):
    data = load_letters(data_dir)
    kept = np.flatnonzero(data.fold == 0)
    assert len(kept) == 626
    return [data.X[i] for i in kept], [data.y[i] for i in kept]


def fit(words, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ChainSVM(alpha=ALPHA, solver=SOLVERS[name][0]).fit(*words)


@pytest.fixture(scope="module")
def best(words):
    return fit(words, "bcfw")


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.one_in(5)
def test_solvers_agree_within_certificates_that_plain_numpy_confirms(words, best, name):
    X, y = words
    model = best if name == "bcfw" else fit(words, name)
    numbers = [np.searchsorted(model.classes_, labels) for labels in y]
    result, other = model.result_, best.result_
    assert result.primal == pytest.approx(letters.primal(X, numbers, result.w, ALPHA), abs=1e-11)
    bound, w, off = letters.dual(X, numbers, result.state.z, ALPHA)
    assert off < 1e-10
    np.testing.assert_allclose(result.state.w, w, rtol=0, atol=1e-9)
    if isinstance(SOLVERS[name][0], Subgradient):  # its bound may fall; the best one counts
        assert result.dual >= bound - 1e-11
    else:
        assert result.dual == pytest.approx(bound, abs=1e-11)
    assert result.gap == result.primal - result.dual
    assert max(result.dual, other.dual) <= min(result.primal, other.primal)
    assert abs(result.primal - other.primal) <= result.gap + other.gap
    assert result.relative_gap <= SOLVERS[name][1]
    if SOLVERS[name][0].tol is not None:
        assert result.status is Status.CONVERGED


def test_the_model_reads(words, best):
    assert best.score(*words) > 0.9
    margins = np.concatenate(best.margins(words[0]))
    right = np.concatenate([a == b for a, b in zip(best.predict(words[0]), words[1], strict=True)])
    assert margins[right].mean() > 2 * margins[~right].mean()


def test_threads_change_no_bit(words):
    solver = BCFW(max_epochs=3, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (ChainSVM(ALPHA, solver=solver, n_jobs=n).fit(*words) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert (one.result_.primal, one.result_.dual) == (two.result_.primal, two.result_.dual)
