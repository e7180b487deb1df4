"""What the documentation says is true: its code runs, commands exist, lists are complete."""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import click
import matplotlib.pyplot as plt
import numpy as np
import pytest

from maxmargin import StructuredSVM, solvers, structures
from maxmargin.cli.main import root
from maxmargin.exceptions import MissingAbilityError
from maxmargin.solvers import resolve_solver

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MADE = ("_build", "gallery", "generated")
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not set(p.relative_to(DOCS).parts) & {*MADE}]
sys.path.append(str(DOCS / "_ext"))
filled = import_module("index_tables").filled
TEXTS = {
    page.relative_to(DOCS).as_posix(): filled(page.read_text(encoding="utf-8")) for page in PAGES
}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^(?:\$|   ) maxmargin (.*)$", re.MULTILINE)
INLINE = re.compile(r"`maxmargin ([a-z]+ [^`:]*)`")
WITH_CODE = [name for name, text in TEXTS.items() if BLOCK.search(text)]
#: page -> what its code prints: a text, or a pattern with a number and what is below and above it
PRINTED = {
    "start/first_model.md": [(r"letters wrong: ([\d.]+)%", 0, 30)],
    "guides/tagging.md": ["['B-NP', 'I-NP', 'I-NP', 'O']"],
    "guides/aligning.md": ["alignment error rate: 0.00\n", "same links: True"],
    "guides/assignment.md": [(r"links right: (\d+)%", 90, 101)],
    "guides/segmenting.md": [(r"points right: (\d+)%", 80, 101)],
    "guides/trees.md": ["array(['subject', 'root', 'manner']"],
    "guides/networks.md": [(r"pixels right: (\d+)%", 80, 101), (r"labels right: (\d+)%", 70, 101)],
    "guides/own_solver.md": [(r"right choices: (\d+)%", 80, 101)],
    "structures/graph_cut.md": ["['road' 'roof' 'tree']"],
}
CONVERGED = "of the best possible objective (converged"
#: page -> how many of these its code prints
CERTIFICATES = {
    "start/first_model.md": 1,
    "guides/assignment.md": 1,
    "guides/networks.md": 1,
    "guides/own_solver.md": 2,
    "probabilities.md": 1,
}


@pytest.mark.parametrize("name", WITH_CODE)
def test_python_blocks_run_as_printed(name, tmp_path, monkeypatch, capfd):
    """In order, as one program; warnings are errors here, as in all tests."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "docs"}
    for number, block in enumerate(BLOCK.findall(TEXTS[name])):
        exec(compile(block, f"{name}, block {number}", "exec"), names)
    plt.close("all")
    assert not list(tmp_path.iterdir())
    output, errors = capfd.readouterr()
    assert "Error" not in errors
    for expected in PRINTED.get(name, ()):
        if isinstance(expected, str):
            assert expected in output
            continue
        pattern, low, high = expected
        assert low < float(re.search(pattern, output)[1]) < high
    if name in CERTIFICATES:
        assert output.count(CONVERGED) == CERTIFICATES[name]
    if name == "probabilities.md":
        before, after = (
            float(re.search(rf"{when}: error ([\d.]+)", output)[1]) for when in ("before", "after")
        )
        assert after < before


def test_most_pages_have_code():
    assert len(WITH_CODE) >= 14
    assert {*PRINTED, *CERTIFICATES} <= {*WITH_CODE}


def test_every_page_can_be_reached():
    """From the table of contents of the first page."""
    reached, waiting = {"index.md"}, ["index.md"]
    while waiting:
        page = waiting.pop()
        for tree in TOCTREE.findall(TEXTS[page]):
            for entry in re.findall(r"^([a-z]\S+|\*)$", tree, re.MULTILINE):
                pattern = (Path(page).parent / f"{entry}.md").as_posix()
                for name in {own for own in TEXTS if Path(own).match(pattern)} - reached:
                    reached.add(name)
                    waiting.append(name)
    assert reached == {*TEXTS}


def test_links_between_pages_exist():
    """Pages of the gallery are made of the examples."""
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#\s]+\.(?:md|rst|png))", text):
            place = (DOCS / name).parent.joinpath(target).resolve()
            if place.parent.name == "gallery" and place.stem != "index":
                place = ROOT / "examples" / f"{place.stem}.py"
            assert place.is_file(), (name, target)
    doors = re.findall(r'href="([^"]+)\.html"', TEXTS["index.md"])
    assert len(doors) >= 9
    assert {f"{door}.md" for door in doors} <= {*TEXTS, "gallery/index.md"}


def test_benchmarks_that_pages_name_exist():
    names = {own for text in TEXTS.values() for own in re.findall(r"-m benchmarks (\w+)", text)}
    assert len(names) >= 20
    for name in names:
        assert (ROOT / "benchmarks" / f"{name}.py").is_file(), name


def test_rows_of_figures_say_how_where_and_when():
    page = TEXTS["benchmarks.md"]
    rows = re.findall(r"^\| (.*) \|$", page[: page.index("## How to read")], re.MULTILINE)[1:]
    assert len(rows) >= 23
    for row in rows:
        task, data, command, own, _, measured = row.split(" | ")
        assert all((task, data, own))
        assert re.match(r"`(python -m benchmarks|python examples/|maxmargin compare) ?\w+", command)
        assert re.fullmatch(r"\d{4}-\d{2}", measured)


def commands():
    """Command lines of all pages and the README, dots for arguments left out."""
    texts = [*TEXTS.values(), README]
    found = {re.split(r" [>|<#] ", line)[0] for text in texts for line in CONSOLE.findall(text)}
    found |= {line for text in texts for line in INLINE.findall(text)}
    return sorted(line for line in found if "..." not in line and "TASK" not in line)


@pytest.mark.parametrize("line", commands())
def test_command_lines_are_valid(line, tmp_path, monkeypatch):
    """Each is read to its end by the program, which then does nothing."""
    monkeypatch.chdir(tmp_path)
    tasks = {"run": "tagging", "RUN": "tagging", "aligned": "alignment"}
    tasks |= {"masks-run": "segmentation", "ground": "scan", "scene-run": "multilabel"}
    tasks |= {"paths-run": "decision"}
    for folder, task in tasks.items():
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "config.toml").write_text(f'task = "{task}"\n')
    (tmp_path / "comparison").mkdir()
    (tmp_path / "comparison" / "comparison.toml").write_text('task = "tagging"\n')
    called = []
    monkeypatch.setattr(click.Command, "invoke", lambda self, ctx: called.append(self.name))
    first = line.split()[0]
    assert first in root.places
    if first not in root.list_commands(click.Context(root)):
        pytest.skip(f"this copy has no command {first}")
    root.main(shlex.split(line), prog_name="maxmargin", standalone_mode=False)
    assert called or line in ("demo", "info") or "--help" in line


def test_wrong_command_lines_would_be_found(monkeypatch):
    monkeypatch.setattr(click.Command, "invoke", lambda self, ctx: None)
    with pytest.raises(click.UsageError):
        root.main(["train", "tagging", "--nonsense", "1"], standalone_mode=False)


MODULES = ["maxmargin", "structures", "solvers", "losses", "domains", "tasks", "datasets"]
MODULES += ["metrics", "callbacks", "plotting", "paths"]


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_lists_all_public_names(module):
    name = module if module == "maxmargin" else f"maxmargin.{module}"
    package = import_module(name)
    public = getattr(package, "__all__", None) or [
        own for own, value in vars(package).items() if getattr(value, "__module__", "") == name
    ]
    wanted = {own for own in public if hasattr(getattr(package, own), "__qualname__")}
    wanted = {own for own in wanted if not own.startswith("_")}
    listed = set(re.findall(r"^    ~?(?:\w+\.)*(\w+)$", TEXTS["api/index.md"], re.MULTILINE))
    assert wanted - listed - {"has_matplotlib", "resolve_loss", "annotations"} == set()


def test_the_table_of_solvers_is_complete():
    rows = re.findall(r'^\| `(\w+)`,? .*?\| `"([\w-]+)"` \|', TEXTS["solvers.md"], re.MULTILINE)
    kinds = [getattr(solvers, name) for name in solvers.__all__]
    kinds = [k for k in kinds if isinstance(k, type) and issubclass(k, solvers.Solver) and k.name]
    known = {kind.__name__: kind.name for kind in kinds}
    assert dict(rows) == known, "docs/solvers.md has two tables, each with a row for each solver"


# | `BCFW`, ... | `"bcfw"` | yes | compiled | compiled | compiled | Python |
TABLE = TEXTS["solvers.md"].partition("## Solvers and structures")[2].partition("\n## ")[0]
SOLVERS = re.findall(r'^\| `(\w+)`.*?\| `"([\w-]+)"` \| (\w+) \| (.*) \|$', TABLE, re.MULTILINE)


class Mine(structures.Structure):
    """One of n, by a Python method."""

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        return np.eye(layout[0])[y]

    def decode(self, z, layout):
        return int(z.argmax())

    def maximize(self, theta, layout):
        return np.eye(layout[0])[theta.argmax()]


def test_the_table_of_solvers_and_structures_is_complete():
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
    "Tree": (structures.Tree(), [0, 2], structures.TreeLayout(PAIR, 3)),
    "MarkovNetwork": (
        structures.MarkovNetwork(method="exact"),
        [0, 1, 1],
        structures.NetworkLayout(RING, 2),
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
    for cell in re.search(r"^\| solver \|.*$", TABLE, re.MULTILINE)[0].strip("| ").split(" | ")[3:]
]


def small_samples(name):
    """A structure, and eight samples of it."""
    rng = np.random.default_rng(0)
    X, y = [], []
    structure, target, layout = SHAPED.get(name) or (COUNTED[name](), None, None)
    for _ in range(8):
        x = rng.normal(size=(3 if target is None else structure.n_parts(layout), 4))
        if name == "GraphCut":
            x[2:] = 0.0  # scores of edges must not be positive
        X.append(x if target is None else (x, layout))
        y.append(int(x[:, 0].argmax()) if target is None else target)
    return structure, X, y


@pytest.mark.parametrize("row", SOLVERS, ids=lambda row: row[1])
@pytest.mark.one_in(3)
def test_the_table_of_solvers_and_structures_holds(row):
    name, short, certificate, cells = row
    solver = resolve_solver(short)
    assert type(solver).__name__ == name
    objective = solver.requires.objectives[0]
    epochs = 2000 if certificate == "yes" else 20  # without one, there is nothing to wait for
    named = [
        (own, cell)
        for group, cell in zip(COLUMNS, cells.split(" | "), strict=True)
        for own in group
    ]
    assert {own for own, _ in named} == {*SHAPED, *COUNTED}
    for own, cell in named:
        structure, X, y = small_samples(own)
        model = StructuredSVM(
            structure, solver=short, alpha=0.1, tol=0.5, max_epochs=epochs, objective=objective
        )
        if cell == "-" or (short == "qp" and own == "your own"):
            with pytest.raises(MissingAbilityError):
                model.fit(X, y)
            continue
        result = model.fit(X, y).result_
        if cell != "sparse":
            assert (
                structure.oracle().compiled_function(solver.requires.abilities[0][0]) is not None
            ) == (cell == "compiled")
        assert np.isfinite(result.gap) == (certificate == "yes")
        assert len(model.predict(X)) == 8


def test_pages_name_no_page_elsewhere():
    """They can be read without a network; addresses of others belong into the README."""
    for name, text in TEXTS.items():
        assert "http" not in text, name
