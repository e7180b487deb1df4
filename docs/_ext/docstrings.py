"""Docstrings, which are plain text that reads well in a terminal, as reStructuredText.

Characters that would mean something there are escaped, except in `code` and in examples. Sections
with items `name : what it is` become lists; indented formulas stay as they are.
"""

import re

SECTIONS = ("Parameters", "Attributes", "Returns", "Examples", "References", "Notes")
# `code`, ``code``; the rest of a line is plain text
CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
SPECIAL = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")
ITEM = re.compile(r"^([A-Za-z_*][\w, *\[\](){}./:;=\"'-]*?) : (.*)$")
# `a_ : one. b_, c_ : two.`, as attributes are often described
NEXT = re.compile(r"(?<=\.) (?=[a-z]\w*[\w, ();=]* : )")


def escaped(text):
    """Plain text with `code` as literals."""
    pieces = CODE.split(text)
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            pieces[k] = SPECIAL.sub(r"\\\1", piece)
            continue
        # a literal does not touch the words beside it
        before = "\\ " if re.search(r"\w$", pieces[k - 1]) else ""
        after = "\\ " if re.match(r"\w", pieces[k + 1]) else ""
        pieces[k] = f"{before}``{piece.strip('`')}``{after}"
    return "".join(pieces)


def blocks_of(lines):
    """The lines in blocks that empty lines separate."""
    blocks, block = [], []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            blocks.append(block)
            block = []
    return blocks


def items_of(block):
    """[(names, lines)] if the block is a list of `name : what it is`, else None."""
    items, pending = [], ""
    for line in block:
        if line.startswith(" "):
            if not items:
                return None
            items[-1][1].append(line.strip())
            continue
        found = ITEM.match(f"{pending} {line}".strip())
        if found:
            items.append((found[1], [found[2]]))
            pending = ""
        elif line.endswith(","):  # names that go on in the next line
            pending = f"{pending} {line}".strip()
        else:
            return None
    return None if pending or not items else items


def inline_items_of(block):
    """The same where one item follows the other in running text."""
    found = [ITEM.match(piece) for piece in NEXT.split(" ".join(map(str.strip, block)))]
    return [(own[1], [own[2]]) for own in found] if all(found) else None


def converted(lines):
    """The lines of a docstring as reStructuredText."""
    out, section, previous = [], "", ""
    for block in blocks_of(lines):
        if len(block) > 1 and block[0] in SECTIONS and set(block[1]) == {"-"}:
            section = block[0]
            out += [f".. rubric:: {section}", ""]
            block = block[2:]
        out += [*_converted_block(block, section, previous), ""]
        previous = block[-1] if block else ""
    return out


def _converted_block(block, section, previous):
    if not block or block[0].startswith((">>>", "===")) or any(">>>" in line for line in block):
        return block
    if any(re.fullmatch(r"[= ]{6,}", line) for line in block):  # a table
        return block
    if block[0].startswith("    "):
        return ["::", "", *block]  # formulas: as they stand
    if block[0].lstrip().startswith("- "):
        return [escaped(line) for line in block]
    items = items_of(block)
    running = any(NEXT.search(" ".join(text)) for _, text in items or [])
    if section and (items is None or running):
        items = inline_items_of(block)
    if items:
        out = []
        for names, text in items:
            out += [f"``{names}``", *(f"    {escaped(line)}" for line in _paragraph(text)), ""]
        return out
    return _mixed(block)


def _paragraph(lines):
    return [" ".join(line for line in lines if line)]


def _mixed(block):
    """A paragraph, whose indented lines (formulas without empty lines around) stay as they are."""
    out, inside = [], False
    for line in block:
        indented = line.startswith("    ")
        if indented and not inside:
            out += ["", "::", ""]
        elif inside and not indented:
            out += [""]
        inside = indented
        out.append(line if indented else escaped(line.lstrip()))
    return out


def _process(app, what, name, obj, options, lines):
    if name.startswith("maxmargin"):
        lines[:] = converted(lines)


def _skip(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator."""
    if re.fullmatch(r"set_\w+_request|get_params|set_params|get_metadata_routing", name):
        return True
    return None


def setup(app):
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
