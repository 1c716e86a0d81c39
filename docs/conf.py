"""Sphinx configuration. The build needs no network."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "sklearn_struct"
author = "The sklearn_struct developers"
project_copyright = f"2026, {author}"
release = version = installed_version("sklearn-struct")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "torn_tables",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "obj"

html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {
    "show_toc_level": 2,
    "show_prev_next": False,
    "header_links_before_dropdown": 3,
}
html_sidebars = {"**": ["sidebar-pages"]}
html_copy_source = False

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections say it in words
numpydoc_show_class_members = False  # the autosummary template lists them

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("sklearn_struct",),
    "reference_url": {"sklearn_struct": None},
    "abort_on_example_error": True,
    "show_memory": False,
}
