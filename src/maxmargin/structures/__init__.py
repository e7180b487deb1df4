"""Structures: families of polytopes, with the algorithms that optimise over them."""

from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.candidates import Candidates
from maxmargin.structures.chain import Chain
from maxmargin.structures.graph_cut import GraphCut
from maxmargin.structures.linear_program import LinearProgram
from maxmargin.structures.markov_network import MarkovNetwork
from maxmargin.structures.matching import Matching
from maxmargin.structures.multi_label import MultiLabel
from maxmargin.structures.network_shapes import NetworkShape
from maxmargin.structures.networks import Network
from maxmargin.structures.oracle import OracleStructure
from maxmargin.structures.potts import Potts
from maxmargin.structures.programs import Program
from maxmargin.structures.restricted import Restricted, RestrictedShape
from maxmargin.structures.simplex import Finite, Multiclass
from maxmargin.structures.tree import Tree
from maxmargin.structures.tree_shapes import TreeShape

__all__ = [
    "Candidates",
    "Chain",
    "Constraints",
    "Finite",
    "GraphCut",
    "MarkovNetwork",
    "LinearProgram",
    "Matching",
    "MultiLabel",
    "Multiclass",
    "Network",
    "NetworkShape",
    "OracleStructure",
    "Potts",
    "Restricted",
    "RestrictedShape",
    "Program",
    "Structure",
    "Tree",
    "TreeShape",
]
