"""Tables made from what the packages export, so that a new class is on its pages by itself.

In a page, a line `<!-- exported maxmargin.solvers -->` becomes the list of those names, each with a
page of its own, and `<!-- structures -->` the table of all structures.
"""

import re
from importlib import import_module
from inspect import signature
from pathlib import Path

from maxmargin import StructuredSVM, estimators, structures
from maxmargin.structures import Structure

HERE = Path(__file__).resolve().parents[1]
MARK = re.compile(r"^<!-- (exported|structures) ?(\S*) -->$", re.MULTILINE)
#: structures whose page is not called as their module
PAGES = {"potts": "graph_cut", "from_oracle": "../extend/oracle"}


def exported(package):
    """Sphinx's list of the classes and functions that a package exports."""
    module = import_module(package)
    names = [own for own in module.__all__ if hasattr(getattr(module, own), "__qualname__")]
    lines = [
        "```{eval-rst}",
        ".. autosummary::",
        "    :toctree: generated",
        "    :nosignatures:",
        "",
    ]
    return "\n".join([*lines, *(f"    ~{package}.{name}" for name in names), "```"])


def classes(package, base):
    found = [getattr(package, name) for name in package.__all__]
    return [c for c in found if isinstance(c, type) and issubclass(c, base) and c is not base]


def structure_table(_=""):
    """A row for each structure: its page, the first sentence of its docstring, its estimators."""
    users = {}
    for kind in classes(estimators, StructuredSVM):
        if "structure" in signature(kind).parameters:  # it takes any
            continue
        users.setdefault(type(kind()._make_structure()), []).append(f"`{kind.__name__}`")
    lines = ["| structure | an output is | estimators |", "|---|---|---|"]
    for kind in classes(structures, Structure):
        module, name = kind.__module__.split(".")[2], kind.__name__
        page = f"{PAGES.get(module, module)}.md"
        linked = (HERE / "structures" / page).is_file()
        sentence = re.split(r"[.:](?:\s|$)", kind.__doc__ or "")[0]
        known = ", ".join(users.get(kind, [f"`StructuredSVM({name}(...))`"]))
        lines.append(f"| {f'[{name}]({page})' if linked else name} | {sentence} | {known} |")
    return "\n".join(lines)


def filled(text):
    """A page with its tables."""
    make = {"exported": exported, "structures": structure_table}
    return MARK.sub(lambda mark: make[mark[1]](mark[2]), text)


def _fill(app, docname, source):
    source[0] = filled(source[0])


def _name_stubs(app, config):
    """Pages of names are made from files as they are, so one with the names is written."""
    text = filled((HERE / "api" / "index.md").read_text(encoding="utf-8"))
    names = HERE / "api" / "generated" / "names.rst"
    names.parent.mkdir(exist_ok=True)
    names.write_text(text.replace(":toctree: generated", ":toctree: ."), encoding="utf-8")
    config.autosummary_generate = ["api/generated/names.rst"]


def _outdated(app, env, added, changed, removed):
    return [page for page in ("api/index", "structures/index") if page in env.found_docs]


def setup(app):
    app.connect("config-inited", _name_stubs)
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
