"""What the README says is true: its code runs as printed, its tables hold, its links exist."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from maxmargin import Graph, GraphCutSVM, StructuredSVM, solvers, structures
from maxmargin.exceptions import MissingAbilityError
from maxmargin.solvers import resolve_solver

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
# | `BCFW`, ... | `"bcfw"` | yes | compiled | compiled | compiled | Python |
SOLVERS = re.findall(r'^\| `(\w+)`.*?\| `"([\w-]+)"` \| (\w+) \| (.*) \|$', README, re.MULTILINE)


class Mine(structures.Structure):
    """One of n, by a Python method."""

    def n_parts(self, shape):
        return shape[0]

    def shape_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, shape):
        return np.eye(shape[0])[y]

    def decode(self, z, shape):
        return int(z.argmax())

    def maximize(self, theta, shape):
        return np.eye(shape[0])[theta.argmax()]


def test_python_blocks_run_as_printed(capsys):
    assert len(BLOCKS) == 11
    names = {"__name__": "readme"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"README.md, block {number}", "exec"), names)
    plt.close("all")
    output = capsys.readouterr().out
    assert output.count("of the best possible objective (converged") == 4
    wrong = float(re.search(r"letters wrong: ([\d.]+)%", output)[1])
    assert 0 < wrong < 30
    assert "['B-NP', 'I-NP', 'I-NP', 'O']" in output
    assert "alignment error rate: 0.00\nTrue" in output
    assert int(re.search(r"links right: (\d+)%", output)[1]) > 90
    assert int(re.search(r"points right: (\d+)%", output)[1]) > 80
    assert "array(['subject', 'root', 'manner']" in output
    before, after = map(float, re.search(r"error ([\d.]+), calibrated ([\d.]+)", output).groups())
    assert after < before
    assert int(re.search(r"pixels right: (\d+)%", output)[1]) > 80
    assert int(re.search(r"labels right: (\d+)%", output)[1]) > 70
    assert int(re.search(r"right choices: (\d+)%", output)[1]) > 80


def test_first_block_is_short():
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 15


def test_solver_table_is_complete():
    kinds = {
        name
        for name in solvers.__all__
        if isinstance(getattr(solvers, name), type)
        and issubclass(getattr(solvers, name), solvers.Solver)
    }
    assert {name for name, *_ in SOLVERS} == kinds - {"Solver"}


PAIR = structures.Network(2, [(0, 1)])
RING = structures.Network(3, [(0, 1), (1, 2), (2, 0)])
#: structures whose samples say their shape, an output, and that shape
SHAPED = {
    "Chain": (structures.Chain(), [0, 2], (2, 3)),
    "Tree": (structures.Tree(), [0, 2], structures.TreeShape(PAIR, 3)),
    "MarkovNetwork": (
        structures.MarkovNetwork(method="exact"),
        [0, 1, 1],
        structures.NetworkShape(RING, 2),
    ),
    "MultiLabel": (structures.MultiLabel(), [0, 1], (2,)),
    "Matching": (structures.Matching(), [(0, 2)], (2, 3)),
    "GraphCut": (structures.GraphCut(), [0, 1], PAIR),
    "LinearProgram": (
        structures.LinearProgram(),
        [0, 1, 0],
        structures.Program(np.ones((1, 3)), [1.0]),
    ),
}
#: those of which the number of parts is enough, the number of the best one being the output
COUNTED = {"Multiclass": structures.Multiclass, "Finite": structures.Finite, "your own": Mine}
COLUMNS = [
    [name.strip("` ") for name in cell.split(",")]
    for cell in re.search(r"^\| solver \|.*$", README, re.MULTILINE)[0].strip("| ").split(" | ")[3:]
]


def small_samples(name):
    """A structure, and eight samples of it."""
    rng = np.random.default_rng(0)
    X, y = [], []
    structure, target, shape = SHAPED.get(name) or (COUNTED[name](), None, None)
    for _ in range(8):
        x = rng.normal(size=(3 if target is None else structure.n_parts(shape), 4))
        if name == "GraphCut":
            x[2:] = 0.0  # scores of edges must not be positive
        X.append(x if target is None else (x, shape))
        y.append(int(x[:, 0].argmax()) if target is None else target)
    return structure, X, y


@pytest.mark.parametrize("name, short, certificate, cells", SOLVERS)
def test_solver_table_holds(name, short, certificate, cells):
    solver = resolve_solver(short)
    assert type(solver).__name__ == name
    objective = solver.objectives[0]
    named = [
        (own, cell)
        for group, cell in zip(COLUMNS, cells.split(" | "), strict=True)
        for own in group
    ]
    assert {own for own, _ in named} == {*SHAPED, *COUNTED}
    for own, cell in named:
        structure, X, y = small_samples(own)
        model = StructuredSVM(
            structure, solver=short, alpha=0.1, tol=0.5, max_epochs=2000, objective=objective
        )
        if cell == "-" or (short == "qp" and own == "your own"):
            with pytest.raises(MissingAbilityError):
                model.fit(X, y)
            continue
        result = model.fit(X, y).result_
        if cell != "sparse":
            assert (structure.kernel(solver.requires[0][0]) is not None) == (cell == "compiled")
        assert np.isfinite(result.gap) == (certificate == "yes")
        assert len(model.predict(X)) == 8


def test_links_and_the_figure_exist():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert "docs/images/demo.png" in targets
    for target in targets:
        assert (ROOT / target).is_file(), target
    assert (ROOT / "docs/images/demo.png").stat().st_size < 150_000


def test_the_line_about_three_labels_runs():
    (line,) = re.findall(r"`(GraphCutSVM\(multiclass=True\)[^`]*)`", README)
    graph = Graph(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    model = eval(line, {"GraphCutSVM": GraphCutSVM, "graph": graph})
    assert model.classes_.tolist() == ["road", "roof", "tree"]
