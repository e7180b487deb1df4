"""The page of tasks, made from the registry that the command line reads."""

import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

from maxmargin.tasks.registry import TASK_COMMANDS, find_task_command

# `code`, ``code``; the rest is plain text, in which some characters must be escaped
CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
SPECIAL = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")
KINDS = {bool: "switch", int: "integer", float: "number", str: "text"}


def kind_of(option):
    if isinstance(option.kind, tuple):
        return " or ".join(f"``{choice}``" for choice in option.kind)
    return KINDS.get(option.kind, "path")


def plain(text):
    """Text of a task command: `code` becomes a literal, everything else stays plain."""
    pieces = CODE.split(" ".join(str(text).split()))
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            pieces[k] = SPECIAL.sub(r"\\\1", piece)
            continue
        # a literal does not touch the words beside it
        before = "\\ " if re.search(r"\w$", pieces[k - 1]) else ""
        after = "\\ " if re.match(r"\w", pieces[k + 1]) else ""
        pieces[k] = f"{before}``{piece.strip('`')}``{after}"
    return "".join(pieces)


def sentence(text):
    """As `plain`, from a capital to a full stop."""
    words = plain(text).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."


def lines_of(command):
    """A section on one task, as reStructuredText."""
    title = f"{command.title} (``{command.name}``)"
    lines = [
        f".. _task-{command.name}:",
        "",
        title,
        "-" * len(title),
        "",
        sentence(command.summary),
        "",
    ]
    lines += ["Data", f"    {plain(command.data_help)}", ""]
    lines += ["Predictions", f"    {plain(command.predict_help)}", ""]
    if command.examples:
        lines += [".. code-block:: console", ""]
        lines += [f"    $ maxmargin {example}" for example in command.examples] + [""]
    if command.options:
        lines += [".. list-table:: Options of its own", "    :header-rows: 1", ""]
        lines += ["    * - option", "      - takes", "      - default", "      - meaning"]
        for option in command.options:
            default = "" if option.default in (None, (), "", False) else f"``{option.default}``"
            many = ", one or more" if option.many else ""
            lines += [
                f"    * - ``--{option.name}``",
                f"      - {kind_of(option)}{many}",
                f"      - {default}",
                f"      - {sentence(option.help)}",
            ]
        lines += [""]
    return lines


class Tasks(SphinxDirective):
    """`.. tasks::`, a section for each task."""

    def run(self):
        lines = [line for name in TASK_COMMANDS for line in lines_of(find_task_command(name))]
        if not lines:
            return [nodes.paragraph(text="This copy has no tasks for the command line.")]
        node = nodes.section()
        node.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, source="jobs"), node)
        return node.children


def _outdated(app, env, added, changed, removed):
    """Tasks are found in the package, of which Sphinx does not know that the page depends on it."""
    return [page for page in env.found_docs if page == "tasks"]


def setup(app):
    app.add_directive("tasks", Tasks)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
