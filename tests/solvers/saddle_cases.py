"""Cases for the saddle-point solvers: domains, problems and variants that several files share."""

from contract import problems
from contract.problems import CASES
from maxmargin import domains
from maxmargin.solvers import DualExtragradient, Extragradient, ProjectedGradient
from reference.saddle import Saddle
from reference.weight_sets import WeightSet

#: name -> (for the package, by definition)
SETS = {
    "all": (None, WeightSet("all")),
    "l2": (domains.L2Ball(0.8), WeightSet("l2", 0.8)),
    "l1": (domains.L1Ball(1.2), WeightSet("l1", 1.2)),
    "nonnegative": (domains.NonNegative(), WeightSet("nonnegative")),
}
PROBLEMS = CASES | {"matching": problems.matching}
#: structures that project by a compiled function, and those that do so in Python
FAST = ("multiclass", "finite", "matching")
SOLVERS = {
    "extragradient": Extragradient(),
    "extragradient-norm": Extragradient(step="norm"),
    "dual": DualExtragradient(),
    "dual-low": DualExtragradient(memory="low"),
    "dual-past": DualExtragradient(past=True),
    "dual-low-past": DualExtragradient(memory="low", past=True),
    "dual-adaptive": DualExtragradient(step="adaptive"),
    "dual-restarts": DualExtragradient(restarts=True),
    "projected-gradient": ProjectedGradient(),
    "projected-gradient-even": ProjectedGradient(decay=False),
}


def build(name, domain="all", **options):
    """A case with w in a set of that name."""
    return PROBLEMS[name](domain=SETS[domain][0], **options)


def by_definition(made, domain, ratio=None):
    """The same as a dense saddle-point problem; ratio as the package chooses it."""
    ratio = Extragradient().find_ratio(made.problem) if ratio is None else ratio
    return Saddle(made.training, SETS[domain][1], ratio)
