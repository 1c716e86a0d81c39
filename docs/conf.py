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
    "code_width",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "own_names",
    "picture_texts",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "torn_tables",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "obj"

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
}
html_sidebars = {"**": ["sidebar-pages"]}
html_copy_source = False
html_context = {"default_mode": "auto"}  # dark where the reader's system is
toc_object_entries_show_parents = "hide"  # long names do not fit beside a page

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections say it in words
numpydoc_show_class_members = False  # the autosummary template lists them

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

plot_formats = ["png"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_working_directory = str(Path(__file__).parent)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("sklearn_struct",),
    "reference_url": {"sklearn_struct": None},
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,  # these pages load scripts from the network
    "remove_config_comments": True,
    "within_subsection_order": "gallery_order.AsInHeader",
}
