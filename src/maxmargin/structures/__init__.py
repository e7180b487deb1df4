"""Structures: families of polytopes, with the algorithms that optimise over them."""

from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.chain import Chain
from maxmargin.structures.constituents import Constituents
from maxmargin.structures.context_free import ContextFree
from maxmargin.structures.decisions.knapsack import Knapsack
from maxmargin.structures.decisions.per_instance import DecisionLayout, PerInstance
from maxmargin.structures.decisions.shortest_path import ShortestPath
from maxmargin.structures.decisions.spanning_tree import SpanningTree
from maxmargin.structures.decisions.top_k import TopK
from maxmargin.structures.dependencies.dependencies import Dependencies
from maxmargin.structures.derivations.derivations import Derivations
from maxmargin.structures.derivations.layout import Deduction, DerivationLayout
from maxmargin.structures.from_oracle.structure import OracleStructure
from maxmargin.structures.general_matching import GeneralMatching
from maxmargin.structures.graph_cut import GraphCut
from maxmargin.structures.linear_program.linear_program import LinearProgram
from maxmargin.structures.linear_program.program import Program
from maxmargin.structures.matching.candidates import Candidates
from maxmargin.structures.matching.matching import Matching
from maxmargin.structures.multi_label.multi_label import MultiLabel
from maxmargin.structures.nested_pairs.layout import NestedLayout
from maxmargin.structures.nested_pairs.nested_pairs import NestedPairs
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.network.markov_network import MarkovNetwork
from maxmargin.structures.network.network import Network
from maxmargin.structures.pair_alignment.pair_alignment import PairAlignment
from maxmargin.structures.potts import Potts
from maxmargin.structures.restricted.layout import RestrictedLayout
from maxmargin.structures.restricted.restricted import Restricted
from maxmargin.structures.segments import Segments
from maxmargin.structures.simplex import Finite, Multiclass
from maxmargin.structures.tree.layout import TreeLayout
from maxmargin.structures.tree.tree import Tree
from maxmargin.structures.treebank_grammar import TreebankGrammar, read_grammar

__all__ = [
    "Candidates",
    "Chain",
    "Constituents",
    "Constraints",
    "ContextFree",
    "DecisionLayout",
    "Deduction",
    "Dependencies",
    "DerivationLayout",
    "Derivations",
    "Finite",
    "GeneralMatching",
    "GraphCut",
    "Knapsack",
    "MarkovNetwork",
    "LinearProgram",
    "Matching",
    "MultiLabel",
    "Multiclass",
    "NestedLayout",
    "NestedPairs",
    "Network",
    "NetworkLayout",
    "OracleStructure",
    "PairAlignment",
    "PerInstance",
    "Potts",
    "Restricted",
    "RestrictedLayout",
    "Program",
    "Segments",
    "ShortestPath",
    "SpanningTree",
    "Structure",
    "TopK",
    "Tree",
    "TreeLayout",
    "TreebankGrammar",
    "read_grammar",
]
