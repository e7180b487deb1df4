"""Feature maps: the linear map F between weights and parts."""

from maxmargin.features.base import FeatureMap, Group, PackedFeatures, pack
from maxmargin.features.conjoined import LabelConjoined
from maxmargin.features.decisions import DecisionFeatures
from maxmargin.features.graph import GraphFeatures
from maxmargin.features.kernels.kernel_map import KernelMap
from maxmargin.features.multi_label import MultiLabelFeatures
from maxmargin.features.parts import PartFeatures
from maxmargin.features.segments import SegmentFeatures
from maxmargin.features.tree import TreeFeatures

__all__ = [
    "DecisionFeatures",
    "FeatureMap",
    "GraphFeatures",
    "Group",
    "KernelMap",
    "LabelConjoined",
    "MultiLabelFeatures",
    "PackedFeatures",
    "PartFeatures",
    "SegmentFeatures",
    "TreeFeatures",
    "pack",
]
