"""Links between two sides: assignments, alignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.restrictions import Restriction, restrict_links
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
    NonNegative,
    NonNegativeOrInf,
    PositiveOrInf,
    Seed,
    TaskCommands,
    Verbosity,
)
from maxmargin.validation.samples import (
    Rows,
    as_array,
    check_rows,
    check_sample_weight,
    check_targets,
    is_list,
)


class MatchingSVM(StructuredSVM):
    """Which rows to link with which columns, by a large margin.

    A link (j, k) scores w . x[j, k]; the best set of links in which no row and no column is used
    more often than allowed is the prediction. Rows and columns may stay unmatched: a link is worth
    having if its score is positive. -x @ coef_ are learned costs of an assignment.

    x : array (J, K, p), features of every pair; or `Bipartite(shape, edges, features)` where only
    some pairs may be linked. y : array of pairs (m, 2), the links of the sample.

    Parameters
    ----------
    row_cap, column_cap : in how many links a row or a column may be at most.
    bias : learn a constant that every link adds (how eager to link at all).
    loss : "hamming-sum" (links too many or missing), "hamming" (that, divided by the number of
        candidate edges), Hamming(normalize=False, false_positive=1, false_negative=3), or a Loss.
    alpha, solver, tol, max_epochs, random_state, verbose, n_jobs, warm_start, time_limit,
    callbacks, domain : see `StructuredSVM`.
    kernel : compare the features of pairs by a kernel: "linear", "poly", "rbf", a function
        (A, B) -> matrix, or `features.KernelMap` with its options; None for the features as they
        are. coef_ then has weights of the kernel's coordinates in their place, and scores are
        k(x, support_vectors_) @ dual_coef_.

    Attributes
    ----------
    coef_, result_, n_features_in_ : see `StructuredSVM`. coef_ ends with the bias, if there is one.
    With a kernel: kernel_, the fitted KernelMap; support_vectors_ (n_support_, n_features),
    dual_coef_ (n_support_, 1); residual_, the share of the kernel left out; dropped_, what
    support vectors left out could change.

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
        alpha: NonNegative = 1e-2,
        loss: str | Loss = "hamming-sum",
        solver: str | Solver = "bcfw",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        row_cap: Cap = 1,
        column_cap: Cap = 1,
        bias: bool = True,
        n_jobs: TaskCommands = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
    ):
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.row_cap = row_cap
        self.column_cap = column_cap
        self.bias = bias
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.domain = domain
        self.kernel = kernel

    def _make_structure(self) -> Structure:
        return Matching(self.row_cap, self.column_cap)

    def _make_features(self) -> FeatureMap:
        return PartFeatures(self.bias)

    def _check_X(self, X: Any) -> tuple[Rows, list[Layout]]:
        if not is_list(X):
            raise TypeError(
                f"X must be a list of samples, found {type(X).__name__}. One sample alone: [x]."
            )
        samples = [_edges(i, x) for i, x in enumerate(X)]
        layouts = [layout for _, layout in samples]

        def name(i: int, edge: int, column: int) -> str:
            return _entry_name(layouts[i], edge, column)

        return check_rows([features for features, _ in samples], name), layouts

    def _costs(
        self, truth: np.ndarray, layouts: list[Layout], ptr: np.ndarray, node_weight: Any
    ) -> np.ndarray:
        if node_weight is not None and len(node_weight) == len(layouts):
            node_weight = [  # (J, K), as x has it, or one for each edge
                np.ravel(w) if np.shape(w) == layout else w
                for w, layout in zip(node_weight, layouts, strict=True)
            ]
        return super()._costs(truth, layouts, ptr, node_weight)

    def edge_scores(self, X: Any) -> list[np.ndarray]:
        """What each link would score: (J, K), or (E,) for a Bipartite; costs have the other sign.

        A link is worth having by itself if its score is positive. -inf where a cap is 0.
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
        """F1 of the links: twice those predicted rightly, by those predicted and those true."""
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


def _edges(i: int, x: Any) -> tuple[Any, Any]:
    """A feature row for each edge, and the layout."""
    if isinstance(x, Bipartite):
        if len(x.edges) == 0:
            raise ValueError(f"sample {i}: x has no edges: nothing to link. Leave it out.")
        return x.features, x.candidates
    if sparse.issparse(x):
        raise ValueError(f"sample {i}: x is sparse; give Bipartite(shape, edges, features).")
    array = as_array(i, x)
    if array.ndim != 3:
        raise ValueError(
            f"sample {i}: x has {array.ndim} dimension(s), expected 3 (rows, columns, n_features);"
            " a single feature is x[:, :, None], one sample alone [x]. Where only some pairs may be"
            " linked, give Bipartite(shape, edges, features)."
        )
    rows, columns, n_features = array.shape
    if rows * columns == 0:
        raise ValueError(
            f"sample {i}: x has {rows} rows and {columns} columns: nothing to link. Leave it out."
        )
    return array.reshape(rows * columns, n_features), (rows, columns)


def _entry_name(layout: Any, edge: int, column: int) -> str:
    if not isinstance(layout, Candidates):
        return f"x[{edge // layout[1]}, {edge % layout[1]}, {column}]"
    return f"features[{edge}, {column}], of edge {tuple(layout.links[edge].tolist())},"
