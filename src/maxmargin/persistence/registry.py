"""The classes that a model file may name: what packages export, a few more, and the caller's."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from maxmargin.exceptions import ModelFileError
from maxmargin.validation.learned import Checked

#: packages whose exported classes files may name, by the names that they are exported under
INDEXES = ("estimators", "tasks", "structures", "features", "losses", "solvers", "domains")
#: exported, but no objects are made of them
_BASES = {"Structure", "FeatureMap", "Loss", "Solver", "Domain"}
#: name in the file -> where the class is, of those that are not exported, or have another name
#: there. Names stay for good: a class that is renamed gets a line with its old name.
PLACES: dict[str, str] = {
    # layouts, by their names in the first files
    "NetworkShape": "maxmargin.structures.network.layout:NetworkLayout",
    "RestrictedShape": "maxmargin.structures.restricted.layout:RestrictedLayout",
    "TreeShape": "maxmargin.structures.tree.layout:TreeLayout",
    # parts of structures and features
    "AbsentFunction": "maxmargin.structures.from_oracle.structure:Absent",
    "PottsFeatures": "maxmargin.features.potts:PottsFeatures",
    # what a fit leaves behind
    "Result": "maxmargin.result:Result",
    "Record": "maxmargin.result:Record",
    "History": "maxmargin.result:History",
    "State": "maxmargin.result:State",
    "Status": "maxmargin.result:Status",
    # what a checkpoint holds
    "Snapshot": "maxmargin.persistence.checkpoints.snapshot:Snapshot",
    "Sparse": "maxmargin.persistence.checkpoints.sparse:Sparse",
    "Average": "maxmargin._numba.passes.weights:Average",
    "Counters": "maxmargin._numba.passes.block_step:Counters",
    "Cuts": "maxmargin.solvers.cutting_plane.cuts:Cuts",
    "Support": "maxmargin._numba.passes.vertex_cache:VertexCache",
    # features of tokens
    "DictIndex": "maxmargin.tasks.tagging.token_dicts:DictIndex",
    "TemplateIndex": "maxmargin.tasks.tagging.token_templates:TemplateIndex",
    "TemplateKeys": "maxmargin.tasks.tagging.token_templates:_Index",
    "Template": "maxmargin.tasks.tagging.token_templates:Template",
    "Atom": "maxmargin.tasks.tagging.token_templates:Atom",
}
_NAMES = {place: name for name, place in PLACES.items()}
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
    if not is_own(cls):
        return cls
    name = _PREFIX + cls.__name__
    other = _OWN.get(name)
    if other is not None and _place(other) != _place(cls):
        raise ValueError(
            f"{_place(other)} is registered as {cls.__name__} already; rename one of the two."
        )
    _OWN[name] = cls
    return cls


def known_names() -> list[str]:
    """The names in files of all classes of the library."""
    return [*(name for name in _index() if _exported(name) is not None), *PLACES]


@cache
def _index() -> dict[str, str]:
    """The package that exports each name. Made when first needed: it imports the packages."""
    found: dict[str, str] = {}
    for package in INDEXES:
        found |= dict.fromkeys(import_module(f"maxmargin.{package}").__all__, package)
    return {name: found[name] for name in found if name not in PLACES and name not in _BASES}


def _exported(name: str) -> type | None:
    """The class that is exported under that name, if files may hold its objects."""
    if name not in _index():
        return None
    found = getattr(import_module(f"maxmargin.{_index()[name]}"), name)
    if not isinstance(found, type) or not issubclass(found, Checked) or _place(found) in _NAMES:
        return None
    return found


def name_of(cls: type) -> str | None:
    """The name of a class in model files; None if they cannot hold it."""
    name = _library_name(cls)
    if name is None and _OWN.get(_PREFIX + cls.__name__) is cls:
        name = _PREFIX + cls.__name__
    return name


def _library_name(cls: type) -> str | None:
    name = _NAMES.get(_place(cls))
    if name is None and cls.__module__.startswith("maxmargin."):
        name = cls.__name__ if _exported(cls.__name__) is cls else None
    return name


def is_own(cls: type) -> bool:
    """Whether a class is one of the caller's, and none of the library."""
    return _library_name(cls) is None


def class_named(name: Any) -> type:
    """The class of that name."""
    if isinstance(name, str) and name in PLACES:
        module, _, attribute = PLACES[name].partition(":")
        return getattr(import_module(module), attribute)
    exported = _exported(name) if isinstance(name, str) else None
    if exported is not None:
        return exported
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
