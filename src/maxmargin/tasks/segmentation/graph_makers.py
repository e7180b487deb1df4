"""How samples of the segmentation task become graphs, and labels of nodes labels of the sample."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.inputs import Graph
from maxmargin.validation.learned import Checked


@dataclass(frozen=True)
class Made:
    """The graph of a sample.

    shape : of the sample's labels, (H, W) or (N,). node_of : (their number,), the node of each
    pixel or point; None if each has a node of its own, in order.
    """

    graph: Graph
    shape: tuple[int, ...]
    node_of: np.ndarray | None = None

    @property
    def weight(self) -> np.ndarray:
        """(V,), how many pixels or points a node stands for."""
        if self.node_of is None:
            return np.ones(self.graph.network.n_nodes)
        return np.bincount(self.node_of, minlength=self.graph.network.n_nodes).astype(np.float64)

    def spread(self, nodes: np.ndarray) -> np.ndarray:
        """Values of nodes as values of the pixels or points, in the shape of the labels."""
        return (nodes if self.node_of is None else nodes[self.node_of]).reshape(self.shape)

    def gather(self, labels: np.ndarray) -> np.ndarray:
        """(V,), the share of pixels or points of each node for which labels (0/1) are 1."""
        flat = np.asarray(labels, dtype=np.float64).ravel()
        if self.node_of is None:
            return flat
        n = self.graph.network.n_nodes
        return np.bincount(self.node_of, weights=flat, minlength=n) / self.weight


class GraphMaker(Checked, BaseEstimator):
    """Turns samples into graphs; `fit` learns scales and directions from training samples."""

    #: what a sample is called in errors
    noun: str = "sample"

    def __init_subclass__(cls, **options: Any):
        """A subclass with a `make` of its own does not inherit the `project` of another."""
        super().__init_subclass__(**options)
        if "make" in vars(cls) and "project" not in vars(cls):
            cls.project = GraphMaker.project  # type: ignore[method-assign]

    @abstractmethod
    def check(self, i: int, x: Any) -> Any:
        """Check a sample and convert it to the form that `make` takes.

        Parameters
        ----------
        i : int
            Index of the sample, for error messages.
        x : object
            The sample.

        Returns
        -------
        object
            The checked sample.
        """

    @abstractmethod
    def fit(self, samples: Sequence[Any]) -> GraphMaker:
        """Learn scales and the like from checked samples.

        Parameters
        ----------
        samples : sequence
            Training samples, as `check` returns them.

        Returns
        -------
        GraphMaker
            The fitted object.
        """

    @abstractmethod
    def make(self, x: Any) -> Made:
        """Make the graph of a checked sample.

        Parameters
        ----------
        x : object
            A sample, as `check` returns it.

        Returns
        -------
        Made
            The graph, and the node of each pixel or point.
        """

    def project(self, x: Any, nodes: np.ndarray, edges: np.ndarray | None = None) -> Made:
        """Make the graph of a checked sample, with features multiplied by matrices.

        This is all that a trained model needs. Makers of large graphs compute the products without
        storing all features.

        Parameters
        ----------
        x : object
            A sample, as `check` returns it.
        nodes : ndarray of shape (n_features, r)
            Matrix by which node features are multiplied.
        edges : ndarray of shape (n_edge_features, s) or None, default=None
            Matrix by which edge features are multiplied; None means a graph without edges.

        Returns
        -------
        Made
            The graph, and the node of each pixel or point.
        """
        made = self.make(x)
        if edges is None:
            return replace(made, graph=Graph(made.graph.nodes @ nodes, ()))
        features = made.graph.edge_features @ edges
        return replace(made, graph=Graph(made.graph.nodes @ nodes, made.graph.edges, features))

    @abstractmethod
    def names(self) -> tuple[list[str], list[str]]:
        """Return the names of the features of nodes and of edges.

        Returns
        -------
        tuple of list of str
            Names of the node features, names of the edge features.
        """
