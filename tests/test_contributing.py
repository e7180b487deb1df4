"""What CONTRIBUTING.md says of adding things is true: it is done here, in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    "src",
    "tools",
    "Makefile",
    "pyproject.toml",
    "CHANGELOG.md",
    "docs/_ext",
    "docs/solvers.md",
)
NEEDED += ("docs/structures", "tests/contract", "tests/reference", "tests/conftest.py")
NEEDED += ("tests/compile_cache.py", "tests/fuzz", "tests/test_docstrings.py")
#: existing files that a change may touch
LIMITS = {"structure": 5, "solver": 3, "task": 2}
#: what is edited by hand beside what the command edits
BY_HAND = {"structure": {"CHANGELOG.md"}, "solver": {"CHANGELOG.md", "docs/solvers.md"}}
BY_HAND |= {"task": {"CHANGELOG.md"}}

#: k of n items: what takes the place of each TODO, by a word of it
STRUCTURE = {
    "KOfN.n_parts": "return layout[0]",
    "KOfN.encode": "return np.isin(np.arange(layout[0]), list(y)).astype(float)",
    "KOfN.decode": "return tuple(np.flatnonzero(z > 0.5).tolist())",
    "KOfN.maximize": """best = np.argsort(-theta, kind="stable")[:2]
        if np.isneginf(theta[best]).any():
            raise InfeasibleError("fewer than two items are allowed.")
        return self.encode(best, layout)""",
}
CASE = {
    "list all outputs": """for chosen in combinations(range(layout[0]), min(2, layout[0])):
        yield np.isin(np.arange(layout[0]), chosen)""",
    "return Kind": """rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in rng.integers(3, 7, size=20)]
    y = [tuple(sorted(np.argsort(-x @ [2.0, -1.0, 0.5])[:2].tolist())) for x in X]
    return Kind(KOfNSVM(alpha=0.05), X, y)""",
}
#: a test of the copy, run along with the batteries
USE = """
import maxmargin
from contract.cases.k_of_n import k_of_n
from index_tables import exported, filled

def test_k_of_n_is_used(tmp_path):
    kind = k_of_n()
    model = kind.fit()
    assert model.score(kind.X, kind.y) > 0.9
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert type(again) is maxmargin.KOfNSVM
    assert again.predict(kind.X) == model.predict(kind.X)
    assert "| [KOfN](k_of_n.md) | Two of n items | `KOfNSVM` |" in filled("<!-- structures -->")
    assert "KOfN" in exported("maxmargin.structures") and "KOfNSVM" in exported("maxmargin")
"""
BATTERIES = ("structures", "estimators", "optimum_table")
FEW = "clones or second_fit or pickles_predict or decode_undoes or best_vertex or one_optimum"


class Copy:
    """A copy of what is needed of the project."""

    def __init__(self, folder):
        self.folder = folder
        for name in NEEDED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                # with the bytecode, but for what is being written just now
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc.*"))
            else:
                shutil.copy(source, target)
        self.before = self.texts()

    def texts(self):
        kinds = ("*.py", "*.md", "*.txt", "*.toml", "Makefile")
        return {path: path.read_bytes() for kind in kinds for path in self.folder.rglob(kind)}

    def touched(self):
        """The names of files that existed before, and are other now."""
        now = self.texts()
        return {
            path.relative_to(self.folder).as_posix()
            for path, text in self.before.items()
            if now[path] != text
        }

    def run(self, *command):
        paths = (self.folder / name for name in ("src", "tests", "docs/_ext"))
        env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )

    def make(self, kind, name):
        return self.run("make", f"new-{kind}", f"NAME={name}", f"PYTHON={sys.executable}")

    def test(self, *arguments):
        options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        return self.run(sys.executable, *options, *arguments)

    def fill(self, name, bodies, **replaced):
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        for todo in re.findall(r"raise NotImplementedError\(\n(?:.*\n)*?\s*\)\n", text):
            (body,) = [body for word, body in bodies.items() if word in todo]
            text = text.replace(todo, body + "\n")
        for old, new in replaced.values():
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def copy(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    return Copy(tmp_path)


def add_structure(copy):
    done = copy.make("structure", "KOfN")
    assert done.returncode == 0, done.stderr
    stub = copy.test("tests/contract/test_structures.py", "-k", "k_of_n and decode_undoes")
    assert "TODO: list all outputs of a tiny layout" in stub.stdout
    title = ('"""TODO: what an output is, in a sentence.', '"""Two of n items.')
    base = "from maxmargin.structures.base"
    needed = (base, f"from maxmargin.exceptions import InfeasibleError\n{base}")
    copy.fill("src/maxmargin/structures/k_of_n.py", STRUCTURE, title=title, needed=needed)
    start = (
        "from contract",
        "from itertools import combinations\n\nimport numpy as np\n\nfrom contract",
    )
    copy.fill("tests/contract/cases/k_of_n.py", CASE, start=start)


def test_a_structure_is_added_as_the_guide_says(copy):
    add_structure(copy)
    assert len(copy.touched() | BY_HAND["structure"]) <= LIMITS["structure"]
    (copy.folder / "tests/test_use.py").write_text(USE, encoding="utf-8")
    batteries = [f"tests/contract/test_{own}.py" for own in BATTERIES]
    batteries += ["tests/test_docstrings.py", "tests/test_use.py"]
    done = copy.test(*batteries, "-k", f"missing or k_of_n and (is_used or {FEW}) or KOfN")
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10


@pytest.mark.soak
def test_an_added_structure_passes_all_batteries(copy):
    add_structure(copy)
    chosen = "(k_of_n or KOfN or missing or odd_values or class_with) and not all_odd"
    done = copy.test(
        "tests/contract", "tests/test_docstrings.py", "-k", chosen, "-m", "soak or not soak"
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("kind, name", [("solver", "Newton"), ("task", "Lattices")])
def test_few_files_are_touched_for_a_solver_or_task(copy, kind, name):
    done = copy.make(kind, name)
    assert done.returncode == 0, done.stderr
    assert len(copy.touched() | BY_HAND[kind]) <= LIMITS[kind]
    ours = {
        "solver": "from maxmargin.cli.settings import solver_names as s; assert 'newton' in s();"
        "from maxmargin.solvers import resolve_solver as r; r('newton').init(None)",
        "task": "from maxmargin.tasks.registry import find_task_command as f;"
        " from maxmargin.tasks import Lattices; f('lattices').read([], {})",
    }
    used = copy.run(sys.executable, "-c", ours[kind])
    assert f"NotImplementedError: TODO: write {name}" in used.stderr
    if kind == "solver":
        check_missing(copy)


def check_missing(copy):
    """An exported class without a case is named with its file."""
    (copy.folder / "tests/contract/cases/newton.py").unlink()
    done = copy.test("tests/contract/test_solvers.py", "-k", "missing")
    assert "Newton is exported, but has no case in this battery: add one to DUAL" in done.stdout
    assert "tests/contract/cases/newton.py" in done.stdout


def test_names_that_are_none_or_exist_are_refused(copy):
    for name in ("lattice", "Lat-tice", "", "None", "2D", "Chain", "Solver"):
        done = copy.make("structure", name)
        assert done.returncode != 0, name
        assert f"NAME={name!r} is not" in done.stderr or "has a" in done.stderr
    assert copy.touched() == set()
