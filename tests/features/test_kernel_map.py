import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from maxmargin import memory
from maxmargin.features import KernelMap
from maxmargin.features.kernels.equal_rows import merge_rows

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 4))
NEW = RNG.normal(size=(15, 4))


def products(fitted, A, B):
    return fitted.transform(A) @ fitted.transform(B).T


@pytest.mark.parametrize("gamma", ["scale", 0.3])
def test_exact_coordinates_have_the_kernel_as_products(gamma):
    own = KernelMap("rbf", gamma=gamma).fit(ROWS)
    number = 1 / (4 * ROWS.var()) if gamma == "scale" else gamma
    assert own.gamma_ == pytest.approx(number, rel=1e-12)
    kernel = rbf_kernel(ROWS, gamma=number)
    np.testing.assert_allclose(products(own, ROWS, ROWS), kernel, atol=1e-9)
    # a new row is represented by its projection on the span, so products with training rows hold
    np.testing.assert_allclose(
        products(own, NEW, ROWS), rbf_kernel(NEW, ROWS, gamma=number), atol=1e-9
    )


def test_polynomials_of_low_degree_have_as_many_coordinates_as_monomials():
    own = KernelMap("poly", degree=2, gamma=0.5).fit(ROWS)
    assert own.n_coordinates_ == 1 + 4 + 10
    kernel = polynomial_kernel(NEW, degree=2, gamma=0.5, coef0=1.0)
    np.testing.assert_allclose(products(own, NEW, NEW), kernel, atol=1e-8)


def test_a_function_is_as_good_as_a_name():
    by_name = KernelMap("rbf", gamma=0.4).fit(ROWS)
    by_function = KernelMap(lambda A, B: rbf_kernel(A, B, gamma=0.4)).fit(sparse.csr_array(ROWS))
    np.testing.assert_array_equal(by_name.transform(NEW), by_function.transform(NEW))


def test_equal_rows_are_merged():
    doubled = np.concatenate([ROWS[:20], ROWS[:20]])
    own = KernelMap("rbf").fit(doubled)
    assert own.n_distinct_ == 20
    assert own.n_coordinates_ == 20
    first, which = merge_rows(sparse.csr_array(doubled))
    assert first.tolist() == list(range(20))
    assert which.tolist() == 2 * list(range(20))


def test_stored_zeros_make_no_row_another():
    with_zero = sparse.csr_array((np.array([1.0, 0.0, 1.0]), [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert merge_rows(with_zero)[1].tolist() == [0, 0]


def test_landmarks_at_all_rows_are_exact():
    exact = KernelMap("rbf", gamma=0.4).fit(ROWS)
    all_rows = KernelMap("rbf", gamma=0.4, method="nystroem", n_components=60).fit(ROWS)
    assert all_rows.residual_ == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(products(exact, NEW, NEW), products(all_rows, NEW, NEW), atol=1e-9)


@pytest.mark.parametrize("landmarks", ["random", "k-means++"])
def test_landmarks_leave_a_residual_that_is_told(landmarks):
    own = KernelMap("rbf", gamma=0.4, method="nystroem", n_components=10, landmarks=landmarks).fit(
        ROWS
    )
    kernel = rbf_kernel(ROWS, gamma=0.4)
    left = kernel - products(own, ROWS, ROWS)
    assert own.n_coordinates_ == 10
    assert own.residual_ == pytest.approx(np.trace(left) / np.trace(kernel), rel=1e-9)
    assert np.linalg.eigvalsh(left).min() > -1e-9  # a projection leaves a kernel


def test_few_pivots_are_chosen_greedily():
    own = KernelMap("rbf", gamma=0.4, max_support=12).fit(ROWS)
    left = rbf_kernel(ROWS, gamma=0.4) - products(own, ROWS, ROWS)
    assert own.n_coordinates_ == 12
    assert own.residual_ == pytest.approx(np.trace(left) / 60, rel=1e-9)
    more = KernelMap("rbf", gamma=0.4, max_support=59).fit(ROWS)
    exact = KernelMap("rbf", gamma=0.4).fit(ROWS)
    np.testing.assert_allclose(
        more.basis_.landmarks, exact.basis_.landmarks[:59], atol=0
    )  # the same pivots as the blocked routine has


def test_random_features_converge_to_the_kernel():
    kernel = rbf_kernel(NEW, gamma=0.4)
    errors = []
    for count in (100, 10000):
        own = KernelMap("rbf", gamma=0.4, method="random", n_components=count).fit(ROWS)
        assert own.transform(NEW).shape == (15, count)
        errors.append(np.abs(products(own, NEW, NEW) - kernel).max())
    assert errors[1] < 0.04 < errors[0]
    poly = KernelMap("poly", gamma=0.2, degree=2, method="random", n_components=5000).fit(ROWS)
    expected = polynomial_kernel(NEW, degree=2, gamma=0.2, coef0=1.0)
    assert np.abs(products(poly, NEW, NEW) - expected).max() < 0.1 * expected.max()


def test_seeds_repeat():
    own = KernelMap("rbf", method="random", n_components=20, random_state=3)
    np.testing.assert_array_equal(
        clone(own).fit(ROWS).transform(NEW), clone(own).fit(ROWS).transform(NEW)
    )


def test_sparse_wide_rows_stay_sparse():
    wide = sparse.random_array((30, 500), density=0.01, rng=np.random.default_rng(1), format="csr")
    own = KernelMap("rbf", gamma=0.5).fit(wide)
    assert sparse.issparse(own.basis_.landmarks)
    np.testing.assert_allclose(
        products(own, wide, wide), rbf_kernel(wide.toarray(), gamma=0.5), atol=1e-9
    )


def test_a_matrix_that_does_not_fit_is_refused_with_a_hint(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000)
    with pytest.raises(MemoryError, match=r"60 distinct rows need about .* GiB.*nystroem"):
        KernelMap("rbf").fit(ROWS)
    assert KernelMap("rbf", max_support=10).fit(ROWS).n_coordinates_ == 10
    with pytest.raises(MemoryError, match="1000 random features of 60 rows"):
        KernelMap("rbf", method="random", n_components=1000).fit(ROWS)


def test_coordinates_need_a_fit():
    with pytest.raises(NotFittedError, match="call fit first"):
        KernelMap().transform(ROWS)
    with pytest.raises(ValueError, match="X has 3 features, but KernelMap is expecting 4"):
        KernelMap().fit(ROWS).transform(ROWS[:, :3])
