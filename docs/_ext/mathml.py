"""Formulas as MathML, made at build time.

Browsers show MathML by themselves, so pages need no script and no network; MathJax, Sphinx's own
way, is fetched from elsewhere, and pictures would need LaTeX where the docs are built.
"""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)


def _mathml(node: nodes.Element, block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        log.warning("formula cannot be shown: %s: %s", node.astext(), error, location=node)
        return ""


def _inline(translator, node):
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="formula">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
