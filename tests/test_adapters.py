"""Solvers of others as oracles, as the documentation prints them."""

import re
from pathlib import Path

import numpy as np
import pytest

from maxmargin import DecisionSVM, StructuredSVM
from maxmargin.domains import Signs
from maxmargin.losses import Hamming
from maxmargin.structures import Knapsack, ShortestPath, Structure

PAGE = Path(__file__).parent.parent / "docs" / "extend" / "oracle.md"
BAG = Knapsack([2, 3, 4, 5, 6], 8)


@pytest.fixture(scope="module")
def printed():
    """All names that the section defines, those of other packages where these are there."""
    text = PAGE.read_text()
    text = text[text.index("## Solvers that you have") : text.index("## Oracles that take seconds")]
    found = {"np": np}
    for kind, block in re.findall(r"```(python|text)\n(.*?)```", text, re.DOTALL):
        try:
            exec(compile(block, str(PAGE), "exec"), found)
        except ModuleNotFoundError:
            assert kind == "text"
    return found


@pytest.mark.parametrize("name", ["by_milp", "by_cp_sat", "from_pyepo"])
def test_bags_of_other_solvers_are_the_best(printed, name):
    if name not in printed:
        pytest.skip("OR-tools is not installed")
    oracle = printed[name]
    if name == "from_pyepo":
        oracle = oracle(printed["AsPyEPO"](BAG, 5))
    rng = np.random.default_rng(0)
    for theta in rng.normal(size=(10, 5)):
        found = oracle(theta)
        z, bound = found if isinstance(found, tuple) else (found, np.inf)
        best = theta @ BAG.maximize(theta, (5,))
        assert theta @ np.rint(z) == pytest.approx(best, abs=1e-5)
        assert bound >= best
    exact = "bounded" if name == "by_cp_sat" else True
    X = rng.normal(size=(12, 2))
    values = np.exp(X @ rng.normal(size=(2, 5)))
    structure = Structure.from_oracle(oracle, exact=exact)
    model = DecisionSVM(structure, "max", alpha=0.1, tol=0.02).fit(X, values)
    expected = DecisionSVM(BAG, "max", alpha=0.1, tol=0.02).fit(X, values)
    assert model.result_.primal == pytest.approx(expected.result_.primal, rel=0.05)
    assert model.regret(X, values) == pytest.approx(expected.regret(X, values), abs=0.02)


def test_paths_of_networkx_are_the_shortest(printed):
    path = ShortestPath(printed["ENDS"], 0, 3)
    rng = np.random.default_rng(0)
    X = [rng.uniform(size=(5, 2)) for _ in range(20)]
    y = [path.maximize(-x @ [1.0, 0.3], (5,)) for x in X]
    structure = Structure.from_oracle(printed["by_networkx"], scores="nonpositive")
    options = {"domain": Signs(negative=[0, 1]), "loss": Hamming(false_positive=0)}
    model = StructuredSVM(structure, alpha=0.01, tol=0.01, **options).fit(X, y)
    assert model.score(X, y) > 0.9
