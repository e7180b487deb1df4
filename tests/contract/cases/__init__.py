"""Cases that the batteries find by themselves: a new class joins by a file in this folder.

`make new-structure`, `new-solver` and `new-task` write such files. They may have

STRUCTURES : list of Case, for the structures' battery and that of options.
ESTIMATORS : list of functions that return a Kind, for those of estimators, options, model files and
    the table of optima.
DUAL, SADDLE, WITH_MARGINALS : dicts of solvers, see `contract.test_solvers`.
OPTIMUM : {short name: solver} with the options that reach the optimum, for the table of optima.
TASKS : {task: function that uses it}, for the battery of options.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.structures import Constraints, Structure

FOLDER = Path(__file__).parent


@dataclass
class Case:
    """layouts: tiny enough to enumerate; medium: left to linear programs.

    allowed: turns any scores into such as the structure takes, where it does not take all.
    """

    name: str
    structure: Structure
    vertices: Callable[[Any], Any]
    layouts: list
    medium: list
    constraints: Callable[[Any], Constraints] | None = None  # where the structure states none
    allowed: Callable[[np.ndarray, Any], np.ndarray] = lambda theta, layout: theta
    _made: dict = field(default_factory=dict, repr=False)

    def listed(self, layout):
        """All vertices, one per row; made once, so read-only."""
        return self._once("listed", layout, self._list)

    def stated(self, layout):
        """The constraints, made once."""
        return self._once("stated", layout, self.constraints or self.structure.constraints)

    def _list(self, layout):
        found = np.array(list(self.vertices(layout)), dtype=float)
        found.flags.writeable = False
        return found

    def _once(self, what, layout, make):
        # not every layout has a hash; kept beside what is made, so that its id stays its own
        key = what, id(layout)
        if key not in self._made:
            self._made[key] = layout, make(layout)
        return self._made[key][1]


@dataclass
class Kind:
    """An estimator that converges on its samples, and outputs compared one by one."""

    estimator: Any
    X: Any
    y: Any

    def fit(self, **options):
        return clone(self.estimator).set_params(**options).fit(self.X, self.y)

    def few(self, **options):
        """The estimator with other options, and some of the samples."""
        return clone(self.estimator).set_params(**options), self.X[:6], self.y[:6]


def modules():
    """All files of cases."""
    names = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    return [import_module(f"contract.cases.{name}") for name in names]


def found_list(name):
    """What all files list under that name."""
    return [one for module in modules() for one in getattr(module, name, ())]


def found_dict(name):
    """The same of dicts."""
    return {key: one for module in modules() for key, one in getattr(module, name, {}).items()}


def exported(package, base):
    """The subclasses of `base` that a package exports."""
    kinds = [getattr(package, name) for name in package.__all__]
    return [k for k in kinds if isinstance(k, type) and issubclass(k, base) and k is not base]


def check_cases(wanted, known, what):
    """Fail, and say which file to write, if a class has no case."""
    missing = sorted({*wanted} - {*known}, key=lambda cls: cls.__name__)
    lines = [
        f"{cls.__module__}.{cls.__name__} is exported, but has no case in this battery: add one to"
        f" {what} in tests/contract/cases/{cls.__module__.rpartition('.')[2]}.py"
        for cls in missing
    ]
    assert not lines, "\n".join(lines)
