"""Sphinx configuration. The build needs no network."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

for folder in ("_extensions", "inventories", "pictures"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402
from refresh import PROJECTS  # noqa: E402

DEFAULT_LINKS.clear()  # they lead to glossaries of other projects

project = "sklearn_struct"
author = "The sklearn_struct developers"
project_copyright = f"2026, {author}"
release = version = installed_version("sklearn-struct")

extensions = [
    "code_width",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "picture_texts",
    "parameter_groups",
    "short_names",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
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
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but these
numpydoc_xref_aliases = {
    "Axes": "matplotlib.axes.Axes",
    "Bunch": "sklearn.utils.Bunch",
    "DataFrame": "pandas.DataFrame",
    "Explanation": "sklearn_struct.inspection.Explanation",
    "FeatureTemplates": "sklearn_struct.FeatureTemplates",
    "GECRF": "sklearn_struct.GECRF",
    "GraphArray": "sklearn_struct.GraphArray",
    "GraphCRF": "sklearn_struct.GraphCRF",
    "GraphExplanation": "sklearn_struct.inspection.GraphExplanation",
    "HMM": "sklearn_struct.HMM",
    "HiddenStateClassifier": "sklearn_struct.HiddenStateClassifier",
    "LatentChainCRF": "sklearn_struct.LatentChainCRF",
    "LinearChainCRF": "sklearn_struct.LinearChainCRF",
    "PCFG": "sklearn_struct.PCFG",
    "Pipeline": "sklearn.pipeline.Pipeline",
    "ProductFeatures": "sklearn_struct.ProductFeatures",
    "Lexicon": "sklearn_struct.Lexicon",
    "RandomState": "numpy.random.RandomState",
    "SequenceArray": "sklearn_struct.SequenceArray",
    "SequenceVectorizer": "sklearn_struct.SequenceVectorizer",
    "Tree": "nltk.tree.tree.Tree",
    "csr_array": "scipy.sparse.csr_array",
    "joblib.Memory": ":obj:`joblib.Memory`",
    "ndarray": "numpy.ndarray",
    "pandas.DataFrame": ":obj:`pandas.DataFrame`",
}

# other projects' names, from files: see inventories/refresh.py
intersphinx_mapping = {name: (site, f"inventories/{name}.txt") for name, site in PROJECTS.items()}

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
