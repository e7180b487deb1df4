"""Links between two sides: assignments, alignments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin._numba.packed_samples import Points
from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.restrictions import Restriction, restrict_links
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, KernelMap, PartFeatures
from maxmargin.inputs import Bipartite
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.structures import Matching, Structure
from maxmargin.structures.base import Layout
from maxmargin.structures.matching.candidates import Candidates, check_pairs
from maxmargin.structures.matching.matching import Cap, sides_of
from maxmargin.validation.options import (
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
)
from maxmargin.validation.samples import (
    Rows,
    as_array,
    check_is_list,
    check_rows,
    check_sample_weight,
    check_targets,
    is_list,
)


class MatchingSVM(StructuredSVM):
    """Structural SVM for bipartite matchings: learned costs of an assignment.

    A link (j, k) scores w . x[j, k]; the prediction is the best set of links in which no row and no
    column is used more often than allowed. Rows and columns may remain unmatched, unless matchings
    are complete: a link by itself
    improves the score if its own is positive. -x @ ``coef_`` are the learned costs.

    A sample x is an array of shape (J, K, n_features), the features of every pair, or a
    ``Bipartite(shape, edges, features)`` where only some pairs may be linked. Its target y is an
    array of shape (m, 2), the linked pairs; of a 0/1 matrix that is ``np.argwhere(matrix)``.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming-sum"
        "hamming-sum" is the number of superfluous and missing links, "hamming" that number divided
        by the number of candidate edges. ``Hamming(normalize=False, false_positive=1,
        false_negative=3)`` sets their costs.
    solver : str or Solver, default="bcfw"
        Name of a solver, such as "bcfw" or "cutting-plane", or a `Solver`; see `StructuredSVM`.
    row_cap, column_cap : int, default=1
        Largest number of links of a row, and of a column.
    complete : bool, default=False
        Whether every node of the smaller side is in a link, as in assignments; with caps of 1 only.
    bias : bool, default=True
        Learn a constant that is added to the score of every link.
    kernel : {"linear", "poly", "rbf"}, callable, KernelMap or None, default=None
        Kernel on the features: a name, a function (A, B) -> matrix, or `features.KernelMap` with
        options. None means the features as they are. With a kernel, ``coef_`` has weights of the
        kernel's coordinates, and scores are ``k(x, support_vectors_) @ dual_coef_``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        Weights; the last one is the bias, if there is one.
    kernel_ : KernelMap or None
        The fitted kernel map.
    support_vectors_ : array of shape (n_support, n_features)
        Training rows on which scores depend; only with a kernel.
    dual_coef_ : ndarray of shape (n_support, 1)
        Coefficients of the support vectors; only with a kernel.
    n_support_ : int
        Number of support vectors; only with a kernel.
    residual_ : float
        Fraction of the trace of the kernel matrix that the coordinates leave out.
    dropped_ : float
        Bound on the change of a score by the omitted support vectors, per ``sqrt(k(x, x))``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 3, 3, 2))  # 20 samples, 3 rows, 3 columns, 2 features
    >>> y = [np.argwhere(x[:, :, 0] == x[:, :, 0].max()) for x in X]  # one link in each
    >>> model = MatchingSVM(alpha=0.1).fit(X, y)
    >>> model.predict(X[:1])
    [array([[1, 0]])]
    """

    def __init__(
        self,
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming-sum",
        solver: str | Solver = "bcfw",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        row_cap: Cap = 1,
        column_cap: Cap = 1,
        complete: bool = False,
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
    ):
        self._store_shared(locals())
        self.row_cap = row_cap
        self.column_cap = column_cap
        self.complete = complete
        self.bias = bias
        self.kernel = kernel

    def _make_structure(self) -> Structure:
        return Matching(self.row_cap, self.column_cap, self.complete)

    def _make_features(self) -> FeatureMap:
        return PartFeatures(self.bias)

    def _check_X(self, X: Any) -> tuple[Rows, list[Layout]]:
        check_is_list(X)
        samples = [_edges(i, x) for i, x in enumerate(X)]
        layouts = [layout for _, layout in samples]

        def name(i: int, edge: int, column: int) -> str:
            return _entry_name(layouts[i], edge, column)

        return check_rows([features for features, _ in samples], name), layouts

    def _truth(self, targets: Any, layouts: list[Layout]) -> Points:
        if all(map(self._may_be_matrix, targets, layouts)) and any(
            _as_set(y) != _as_set(np.argwhere(y)) for y in targets
        ):
            warnings.warn(
                "y: all targets have the shapes of their samples and only zeros and ones, and are"
                " read as links (row, column). If they are 0/1 matrices, give np.argwhere(matrix);"
                " if they are links, give tuples, [(1, 0), (0, 1)].",
                UserWarning,
                stacklevel=4,
            )
        return super()._truth(targets, layouts)

    def _may_be_matrix(self, y: Any, layout: Layout) -> bool:
        """Whether a target that is taken for links could be the 0/1 matrix of a matching."""
        if isinstance(y, Set) or (is_list(y) and any(isinstance(pair, tuple) for pair in y)):
            return False
        try:
            found = np.asarray(y)
            if found.shape != layout or found.dtype.kind == "b" or not _is_0_1(found):
                return False
            self.structure_.encode(np.argwhere(found), layout)
        except (ValueError, TypeError):
            return False
        return True

    def _costs(
        self, truth: Points, layouts: list[Layout], ptr: np.ndarray, node_weight: Any
    ) -> Iterator[np.ndarray]:
        if node_weight is not None and len(node_weight) == len(layouts):
            node_weight = [  # (J, K), as x has it, or one for each edge
                np.ravel(w) if np.shape(w) == layout else w
                for w, layout in zip(node_weight, layouts, strict=True)
            ]
        return super()._costs(truth, layouts, ptr, node_weight)

    def edge_scores(self, X: Any) -> list[np.ndarray]:
        """Compute the score of each candidate link; costs are the negative scores.

        Returns
        -------
        list of ndarray of shape (J, K) or (n_edges,)
            Scores, one array per sample; the second shape is that of a `Bipartite`. -inf where a
            cap is 0.
        """
        check_is_fitted(self, "coef_")
        scores = []
        for samples in self._in_chunks(X):
            for i, layout in enumerate(samples.layouts):
                own = samples.scores(self._weights(), i)
                scores.append(own.reshape(layout) if isinstance(layout, tuple) else own)
        return scores

    def _restrict(self, restriction: Restriction, layout: Layout) -> Layout:
        return restrict_links(restriction, self.structure_, layout)

    def _as_marginals(self, p: np.ndarray, layout: Layout) -> np.ndarray:
        """P(link): (J, K), or (E,) for a Bipartite."""
        return p.reshape(layout) if isinstance(layout, tuple) else p[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the F1 score of the predicted links, over all samples.

        Returns
        -------
        float
            2 correct / (predicted + true links), from 0 to 1.
        """
        return super().score(X, y, sample_weight)

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        check_targets(y, len(outputs))
        weight = check_sample_weight(sample_weight, len(outputs)) if outputs else np.empty(0)
        both, all_links = 0.0, 0.0
        for i, (truth, output, layout) in enumerate(zip(y, outputs, layouts, strict=True)):
            found = {tuple(pair) for pair in np.asarray(output).tolist()}
            pairs = check_pairs(f"sample {i}: y", truth, sides_of(layout))
            true = {tuple(pair) for pair in pairs.tolist()}
            both += weight[i] * len(found & true)
            all_links += weight[i] * (len(found) + len(true))
        return 2 * both / all_links if all_links else 1.0


def _as_set(links: Any) -> set[tuple[int, ...]]:
    return {tuple(pair) for pair in np.asarray(links).tolist()}


def _is_0_1(matrix: np.ndarray) -> bool:
    return bool(((matrix == 0) | (matrix == 1)).all())


def _edges(i: int, x: Any) -> tuple[Any, Any]:
    """A feature row for each edge, and the layout."""
    if isinstance(x, Bipartite):
        if len(x.edges) == 0:
            raise SampleError.of(i, ": x has no edges: nothing to link. Leave it out.")
        return x.features, x.candidates
    if sparse.issparse(x):
        raise SampleError.of(i, ": x is sparse; give Bipartite(shape, edges, features).")
    array = as_array(i, x)
    if array.ndim != 3:
        raise SampleError.of(
            i,
            f": x has {array.ndim} dimension(s), expected 3 (rows, columns, n_features);"
            " a single feature is x[:, :, None], one sample alone [x]. Where only some pairs may be"
            " linked, give Bipartite(shape, edges, features).",
        )
    rows, columns, n_features = array.shape
    if rows * columns == 0:
        raise SampleError.of(
            i, f": x has {rows} rows and {columns} columns: nothing to link. Leave it out."
        )
    return array.reshape(rows * columns, n_features), (rows, columns)


def _entry_name(layout: Any, edge: int, column: int) -> str:
    if not isinstance(layout, Candidates):
        return f"x[{edge // layout[1]}, {edge % layout[1]}, {column}]"
    return f"features[{edge}, {column}], of edge {tuple(layout.links[edge].tolist())},"
