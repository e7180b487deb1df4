"""How the documentation is built: `make docs`, without any network."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "tests")]

# One thread makes the examples' numbers repeat.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"

from maxmargin import __version__

project = "maxmargin"
author = "The maxmargin developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "offline",
    "layouts",
    "task_pages",
    "index_tables",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst", "api/generated/names.rst"]
templates_path = ["_templates"]
nitpicky = True
# Names of other projects: their pages would have to be fetched.
nitpick_ignore_regex = [(r"py:.*", r"(?!maxmargin).*"), (r"py:.*", r"maxmargin\..*\.[a-z_]+")]
# States of single solvers have no pages.
nitpick_ignore_regex += [(r"py:class", r"maxmargin\.solvers\..*State")]
default_role = "literal"
smartquotes = False  # they would turn the dashes of options into others

myst_enable_extensions = ["dollarmath", "deflist", "fieldlist", "attrs_inline", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"maxmargin {version}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_copy_source = False
# The theme's own fonts are those of the reader's system; nothing is fetched.
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0b63a5"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#7cc4f0"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib",),
    "parallel": True,  # as many examples at a time as --jobs says
}
# Example galleries hold functions that cannot be pickled with the configuration.
suppress_warnings = ["config.cache"]


def _skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator."""
    if re.fullmatch(r"set_\w+_request|[gs]et_params|set_output|get_metadata_routing", name):
        return True
    return None


def setup(app):
    app.connect("autodoc-skip-member", _skip_member)
