"""What the documentation says is true: its code runs, commands exist, lists are complete."""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import click
import matplotlib.pyplot as plt
import pytest

from maxmargin import solvers
from maxmargin.cli.main import root

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MADE = ("_build", "gallery", "generated")
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not set(p.relative_to(DOCS).parts) & {*MADE}]
TEXTS = {page.relative_to(DOCS).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^(?:\$|   ) maxmargin (.*)$", re.MULTILINE)
INLINE = re.compile(r"`maxmargin ([a-z]+ [^`:]*)`")
WITH_CODE = [name for name, text in TEXTS.items() if BLOCK.search(text)]


@pytest.mark.parametrize("name", WITH_CODE)
def test_python_blocks_run_as_printed(name, tmp_path, monkeypatch, capfd):
    """In order, as one program; warnings are errors here, as in all tests."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "docs"}
    for number, block in enumerate(BLOCK.findall(TEXTS[name])):
        exec(compile(block, f"{name}, block {number}", "exec"), names)
    plt.close("all")
    assert not list(tmp_path.iterdir())
    assert "Error" not in capfd.readouterr().err


def test_most_pages_have_code():
    assert len(WITH_CODE) >= 14


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
    for folder, task in tasks.items():
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "config.toml").write_text(f'task = "{task}"\n')
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.toml").write_text('task = "tagging"\n')
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
    listed = set(re.findall(r"^    (?:\w+\.)?(\w+)$", TEXTS["api/index.md"], re.MULTILINE))
    assert wanted - listed - {"has_matplotlib", "resolve_loss", "annotations"} == set()


def test_the_table_of_solvers_is_complete():
    rows = re.findall(r'^\| `(\w+)`,? .*?\| `"([\w-]+)"` \|', TEXTS["solvers.md"], re.MULTILINE)
    kinds = [getattr(solvers, name) for name in solvers.__all__]
    kinds = [k for k in kinds if isinstance(k, type) and issubclass(k, solvers.Solver) and k.name]
    assert dict(rows) == {kind.__name__: kind.name for kind in kinds}


def test_pages_name_no_page_elsewhere():
    """They can be read without a network; addresses of others belong into the README."""
    for name, text in TEXTS.items():
        assert "http" not in text, name


class TestDocstrings:
    """Plain docstrings become reStructuredText."""

    @pytest.fixture
    def converted(self, monkeypatch):
        monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
        return lambda text: "\n".join(import_module("docstrings").converted(text.splitlines()))

    def test_special_characters_are_escaped_but_not_in_code(self, converted):
        assert converted("|w|^2 of coef_ * 2 and `a_b*`s").strip() == (
            "\\|w\\|^2 of coef\\_ \\* 2 and ``a_b*``\\ s"
        )

    def test_items_become_lists(self, converted):
        text = "Parameters\n----------\na, b,\nc : one\n    and more\nd : two"
        assert converted(text).splitlines() == [
            ".. rubric:: Parameters", "", "``a, b, c``", "    one and more", "",
            "``d``", "    two", "",
        ]  # fmt: skip

    def test_formulas_stay_as_they_are(self, converted):
        assert "::\n\n    w = |a| * b_" in converted("Minimise\n\n    w = |a| * b_")
        assert "::\n\n    v = w_" in converted("With s,\n    v = w_\nand so on")
