"""Write the stubs of a new structure, solver or task: `make new-structure NAME=Lattice`.

tools/stubs/ has a text for each kind: new files, each after a line `=== path`. Lines `#imports`,
`#methods`, `#options` and `#parameters` are replaced by what the base class has, `#todo` by an
error that says what to write there. `make format` then lays them out.
"""

import ast
import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "maxmargin"
NEXT = """Next: fill in what says TODO, then
    make format
    PYTEST_ARGS='tests -k "{name} or {short} or {Name} or missing"' make test
and add a line to CHANGELOG.md."""


def todo(words, indent="        "):
    """Code that says what is to be written in its place."""
    parts = textwrap.wrap(f"TODO: {words}", 80, drop_whitespace=False)
    lines = [f"{indent}    {json.dumps(part)}" for part in parts]
    return "\n".join([f"{indent}raise NotImplementedError(", *lines, f"{indent})"])


def parsed(path):
    text = (SOURCE / path).read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def imports(path, code):
    """Those of a base class's module that the code needs, too."""
    code = re.sub(r'"(?:[^"\\]|\\.)*"', "", code)  # words of texts are no names
    used = {*re.findall(r"\w+", code), "annotations"}
    nodes = [n for n in parsed(path)[1].body if isinstance(n, ast.Import | ast.ImportFrom)]
    for node in nodes:
        node.names = [own for own in node.names if (own.asname or own.name) in used]
    return "\n".join(ast.unparse(node) for node in nodes if node.names)


def methods(path, owner, *names):
    """Methods of a base class, each of which raises `todo`; they inherit their docstrings."""
    lines, tree = parsed(path)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found = {node.name: node for node in nodes if ast.get_docstring(node)}
    made = []
    for node in map(found.get, names):
        words = " ".join(ast.get_docstring(node).split("\n\n")[0].split())
        head = lines[node.lineno - 1 : node.body[0].lineno - 1]
        head = [line.replace("StateT", f"{owner}State") for line in head]
        made.append("\n".join([*head, todo(f"write {owner}.{node.name}. {words}")]))
    return "\n\n".join(made)


def options():
    """The constructor of StructuredSVM without the structure and its features."""
    lines, tree = parsed("estimators/base.py")
    node = next(n for n in ast.walk(tree) if getattr(n, "name", "") == "__init__")
    own = lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(x for x in own if not re.match(r" +(self\.)?(structure|features)\b", x))


def parameters():
    """What StructuredSVM says of these options."""
    tree = parsed("estimators/base.py")[1]
    doc = next(ast.get_docstring(n) for n in tree.body if getattr(n, "name", "") == "StructuredSVM")
    section = re.search(r"Parameters\n-+\n((?:.+\n)+)", doc)[1]
    entries = re.findall(r"^\w+ :.*\n(?: .*\n)+", section, re.MULTILINE)
    own = [x for x in entries if not re.match("structure|features", x)]
    return textwrap.indent("".join(own).rstrip(), "    ")


def expanded(text):
    """The text of a stub with its marks replaced, imports last."""

    def replaced(mark):
        if mark[2] == "todo":
            return todo(mark[3], mark[1])
        return {"methods": methods, "options": options, "parameters": parameters}[mark[2]](
            *mark[3].split()
        )

    text = re.sub(
        r"^( *)#(methods|options|parameters|todo)\b ?(.*)$", replaced, text, flags=re.MULTILINE
    )
    return re.sub("#imports (.*)", lambda mark: imports(mark[1], text), text)


def inserted(text, new, like, last=False):
    """The text with a line more among those that match: in order, or as the last one."""
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if re.match(like, line)]
    after = [i for i in places if lines[i] > new and not last]
    lines.insert(after[0] if after else places[-1] + 1, new + "\n")
    return "".join(lines)


def export(package, path, name):
    """The index of a package, with a class more."""
    text = (SOURCE / package / "__init__.py").read_text(encoding="utf-8")
    if package == "tasks":
        short, place = path.partition(".")[0].replace("_", "-"), f"maxmargin.tasks.{path}"
        command = f"{place.rpartition('.')[0]}.command:{name}Command"
        text = inserted(text, f"    from {place} import {name}", r"    from maxmargin\.tasks")
        text = inserted(text, f'    "{name}": "tasks.{path}",', r'    "\w+": "tasks\.')
        text = inserted(text, f'    "{short}": "{command}",', r'    ".+": "maxmargin\.', last=True)
    else:
        text = inserted(text, f"from maxmargin.{package}.{path} import {name}", r"from maxmargin\.")
    return inserted(text, f'    "{name}",', r'    "\w+",')


def main(kind, Name):
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", Name) or keyword.iskeyword(Name):
        sys.exit(f"NAME={Name!r} is not a name in CamelCase, such as Lattice.")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", Name).lower()
    words = {"Name": Name, "name": name, "short": name.replace("_", "-")}
    exports = {"structure": [("structures", name, Name), ("estimators", name, f"{Name}SVM")]}
    exports |= {"solver": [("solvers", name, Name)], "task": [("tasks", f"{name}.{name}", Name)]}
    for index in sorted(SOURCE.glob("*/__init__.py")):
        for *_, own in exports[kind]:
            if re.search(rf"\b{own}\b", index.read_text(encoding="utf-8")):
                sys.exit(f"NAME={Name}: {index.relative_to(ROOT)} has a {own} already.")
    text = (ROOT / "tools" / "stubs" / f"{kind}.txt").read_text(encoding="utf-8")
    stubs = re.split(r"^=== (.*)\n", Template(text).substitute(words), flags=re.MULTILINE)[1:]
    new = {ROOT / path: expanded(body) for path, body in zip(stubs[::2], stubs[1::2], strict=True)}
    for path in new:
        if path.exists():
            sys.exit(f"NAME={Name}: {path.relative_to(ROOT)} exists already.")
    edited = {SOURCE / own[0] / "__init__.py": export(*own) for own in exports[kind]}
    for path, body in (new | edited).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
        print("edited" if path in edited else "wrote ", path.relative_to(ROOT))
    print(NEXT.format(**words))


if __name__ == "__main__":
    main(*sys.argv[1:])
