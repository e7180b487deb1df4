"""The classes that a model file may name: a fixed list, and those that the caller adds."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from maxmargin.exceptions import ModelFileError

#: name in the file -> where the class is. Names stay for good; places may change.
KNOWN: dict[str, str] = {
    # estimators and tasks
    "StructuredSVM": "maxmargin.estimators.base:StructuredSVM",
    "ChainSVM": "maxmargin.estimators.chain:ChainSVM",
    "GraphCutSVM": "maxmargin.estimators.graph_cut:GraphCutSVM",
    "MatchingSVM": "maxmargin.estimators.matching:MatchingSVM",
    "MultiLabelSVM": "maxmargin.estimators.multi_label:MultiLabelSVM",
    "MulticlassSVM": "maxmargin.estimators.multiclass:MulticlassSVM",
    "NetworkSVM": "maxmargin.estimators.network:NetworkSVM",
    "TreeSVM": "maxmargin.estimators.tree:TreeSVM",
    "WordAligner": "maxmargin.tasks.alignment.word_aligner:WordAligner",
    "WordStatistics": "maxmargin.tasks.alignment.word_statistics:WordStatistics",
    "AlignmentFeatures": "maxmargin.tasks.alignment.features:AlignmentFeatures",
    "WordVectors": "maxmargin.tasks.alignment.word_vectors:WordVectors",
    "BilingualVectors": "maxmargin.tasks.alignment.word_vectors:BilingualVectors",
    "SequenceTagger": "maxmargin.tasks.tagging.sequence_tagger:SequenceTagger",
    "Segmenter": "maxmargin.tasks.segmentation.segmenter:Segmenter",
    "ImageGraphs": "maxmargin.tasks.segmentation.images.graphs:ImageGraphs",
    "PointGraphs": "maxmargin.tasks.segmentation.points.graphs:PointGraphs",
    # what they are made of
    "Chain": "maxmargin.structures.chain:Chain",
    "Finite": "maxmargin.structures.simplex:Finite",
    "Multiclass": "maxmargin.structures.simplex:Multiclass",
    "MultiLabel": "maxmargin.structures.multi_label.multi_label:MultiLabel",
    "Matching": "maxmargin.structures.matching.matching:Matching",
    "GraphCut": "maxmargin.structures.graph_cut:GraphCut",
    "MarkovNetwork": "maxmargin.structures.network.markov_network:MarkovNetwork",
    "Potts": "maxmargin.structures.potts:Potts",
    "Tree": "maxmargin.structures.tree.tree:Tree",
    "NetworkShape": "maxmargin.structures.network.layout:NetworkLayout",
    "Restricted": "maxmargin.structures.restricted.restricted:Restricted",
    "RestrictedShape": "maxmargin.structures.restricted.layout:RestrictedLayout",
    "TreeShape": "maxmargin.structures.tree.layout:TreeLayout",
    "Network": "maxmargin.structures.network.network:Network",
    "LinearProgram": "maxmargin.structures.linear_program.linear_program:LinearProgram",
    "Program": "maxmargin.structures.linear_program.program:Program",
    "OracleStructure": "maxmargin.structures.from_oracle.structure:OracleStructure",
    "AbsentFunction": "maxmargin.structures.from_oracle.structure:Absent",
    "Candidates": "maxmargin.structures.matching.candidates:Candidates",
    "LabelConjoined": "maxmargin.features.conjoined:LabelConjoined",
    "MultiLabelFeatures": "maxmargin.features.multi_label:MultiLabelFeatures",
    "GraphFeatures": "maxmargin.features.graph:GraphFeatures",
    "PottsFeatures": "maxmargin.features.potts:PottsFeatures",
    "TreeFeatures": "maxmargin.features.tree:TreeFeatures",
    "KernelMap": "maxmargin.features.kernels.kernel_map:KernelMap",
    "PartFeatures": "maxmargin.features.parts:PartFeatures",
    "Hamming": "maxmargin.losses.hamming:Hamming",
    "PartCosts": "maxmargin.losses.base:PartCosts",
    "BCFW": "maxmargin.solvers.bcfw.bcfw:BCFW",
    "OracleCache": "maxmargin.solvers.bcfw.bcfw:OracleCache",
    "FrankWolfe": "maxmargin.solvers.frank_wolfe:FrankWolfe",
    "Subgradient": "maxmargin.solvers.subgradient:Subgradient",
    "Perceptron": "maxmargin.solvers.perceptron:Perceptron",
    "Extragradient": "maxmargin.solvers.saddle.extragradient:Extragradient",
    "DualExtragradient": "maxmargin.solvers.saddle.dual_extragradient:DualExtragradient",
    "ProjectedGradient": "maxmargin.solvers.saddle.projected_gradient:ProjectedGradient",
    "ExponentiatedGradient": (
        "maxmargin.solvers.entropic.exponentiated_gradient:ExponentiatedGradient"
    ),
    "SmoothedGradient": "maxmargin.solvers.smoothed_gradient:SmoothedGradient",
    "LBFGS": "maxmargin.solvers.lbfgs:LBFGS",
    "SDCA": "maxmargin.solvers.entropic.sdca:SDCA",
    "ReferenceQP": "maxmargin.solvers.qp.reference_qp:ReferenceQP",
    "CuttingPlane": "maxmargin.solvers.cutting_plane.cutting_plane:CuttingPlane",
    "RealSpace": "maxmargin.domains.base:RealSpace",
    "L1Ball": "maxmargin.domains.balls:L1Ball",
    "L2Ball": "maxmargin.domains.balls:L2Ball",
    "Signs": "maxmargin.domains.signs:Signs",
    "NonNegative": "maxmargin.domains.signs:NonNegative",
    "SubmodularCone": "maxmargin.domains.cones:SubmodularCone",
    "Product": "maxmargin.domains.product:Product",
    # what a fit leaves behind
    "Result": "maxmargin.result:Result",
    "Record": "maxmargin.result:Record",
    "History": "maxmargin.result:History",
    "State": "maxmargin.result:State",
    "Status": "maxmargin.result:Status",
    # what a checkpoint holds
    "Snapshot": "maxmargin.persistence.checkpoints.snapshot:Snapshot",
    "Sparse": "maxmargin.persistence.checkpoints.sparse:Sparse",
    "Cuts": "maxmargin.solvers.cutting_plane.cuts:Cuts",
    "Support": "maxmargin._numba.passes.vertex_cache:VertexCache",
    "Planes": "maxmargin._numba.passes.image_cache:ImageCache",
    # features of tokens
    "TokenFeatures": "maxmargin.tasks.tagging.token_features:TokenFeatures",
    "DictIndex": "maxmargin.tasks.tagging.token_dicts:DictIndex",
    "TemplateIndex": "maxmargin.tasks.tagging.token_templates:TemplateIndex",
    "TemplateKeys": "maxmargin.tasks.tagging.token_templates:_Index",
    "Template": "maxmargin.tasks.tagging.token_templates:Template",
    "Atom": "maxmargin.tasks.tagging.token_templates:Atom",
}
_NAMES = {place: name for name, place in KNOWN.items()}
#: classes of the caller; their names in a file start so, and can never be taken for ours
_PREFIX = "user:"
_OWN: dict[str, type] = {}

Class = TypeVar("Class", bound=type)


def register(cls: Class) -> Class:
    """Register a class, such as a `Structure`, to be part of saved models; usable as a decorator.

    The program that loads the model must register the class, too: a file never says what to import.

    Returns
    -------
    type
        The class itself.

    Notes
    -----
    Objects of a scikit-learn class (`BaseEstimator`, so also `Structure`, `Loss` and `Solver`) are
    restored by a call of ``__init__`` with their options, others without one. Then their further
    attributes are set, none of which may hide a method, property or constant of the class. Then
    their method ``validate()`` is called, if they have one, which must raise ValueError if
    something is wrong, because files are not trusted.
    """
    if not isinstance(cls, type):
        raise TypeError(f"register takes a class, found {cls!r}.")
    if _place(cls) in _NAMES:
        return cls
    name = _PREFIX + cls.__name__
    other = _OWN.get(name)
    if other is not None and _place(other) != _place(cls):
        raise ValueError(
            f"{_place(other)} is registered as {cls.__name__} already; rename one of the two."
        )
    _OWN[name] = cls
    return cls


def name_of(cls: type) -> str | None:
    """The name of a class in model files; None if they cannot hold it."""
    name = _NAMES.get(_place(cls))
    if name is None and _OWN.get(_PREFIX + cls.__name__) is cls:
        name = _PREFIX + cls.__name__
    return name


def is_own(cls: type) -> bool:
    """Whether a class is one of the caller's, and none of the library."""
    return _place(cls) not in _NAMES


def class_named(name: Any) -> type:
    """The class of that name."""
    if isinstance(name, str) and name in KNOWN:
        module, _, attribute = KNOWN[name].partition(":")
        return getattr(import_module(module), attribute)
    if isinstance(name, str) and name in _OWN:
        return _OWN[name]
    if isinstance(name, str) and name.startswith(_PREFIX):
        own = name.removeprefix(_PREFIX)[:80]
        raise ModelFileError(
            f"it holds a {own!r}, which is not a class of maxmargin. If you trust that class, call"
            " maxmargin.persistence.register on it before load."
        )
    raise ModelFileError(f"it holds a {str(name)[:80]!r}, which this version does not know.")


def _place(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"
