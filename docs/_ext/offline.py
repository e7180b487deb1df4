"""Pages must not fetch anything: scripts, styles, fonts and pictures are beside them."""

import re
from pathlib import Path

from sphinx.util import logging

log = logging.getLogger(__name__)
FETCHED = re.compile(r'<(?:script|img|iframe)[^>]+src="https?:[^"]*"|<link[^>]+href="https?:[^"]*"')
IMPORTED = re.compile(r'(?:@import|url\()\s*["\']?https?:[^"\')]*')


def _check(app, error):
    if error is not None or app.builder.format != "html":
        return
    for pattern, suffix in ((FETCHED, "*.html"), (IMPORTED, "*.css")):
        for file in Path(app.outdir).rglob(suffix):
            for found in pattern.findall(file.read_text(encoding="utf-8")):
                log.warning("%s needs the network: %s", file.relative_to(app.outdir), found)


def setup(app):
    app.connect("build-finished", _check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
