"""scikit-learn estimators over structures."""

from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.chain import ChainSVM
from maxmargin.estimators.decision.estimator import DecisionSVM
from maxmargin.estimators.general_matching import GeneralMatchingSVM
from maxmargin.estimators.graph_cut import GraphCutSVM
from maxmargin.estimators.matching import MatchingSVM
from maxmargin.estimators.multi_label import MultiLabelSVM
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.estimators.network import NetworkSVM
from maxmargin.estimators.restrictions import Restriction
from maxmargin.estimators.segment import SegmentSVM
from maxmargin.estimators.tree import TreeSVM

__all__ = [
    "ChainSVM",
    "GeneralMatchingSVM",
    "DecisionSVM",
    "GraphCutSVM",
    "MatchingSVM",
    "MultiLabelSVM",
    "MulticlassSVM",
    "Restriction",
    "NetworkSVM",
    "SegmentSVM",
    "StructuredSVM",
    "TreeSVM",
]
