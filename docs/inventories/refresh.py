"""Refresh the inventories of other projects' documentation, to which our pages link.

    python docs/inventories/refresh.py

reads the inventory of each project from its site and keeps what our pages use in a text file of
this folder. The build reads these files and needs no network. Without a network, give a folder of
inventories, ``sklearn.inv``, ``scipy.inv`` and so on:

    python docs/inventories/refresh.py FOLDER

Debian has some: ``python-sklearn-doc``, ``python-scipy-doc``, ``python-pandas-doc`` and
``python-dask-doc``, each at ``usr/share/doc/PACKAGE/html/objects.inv``. A project whose inventory
cannot be read keeps its file. Names that no inventory has are in ``BY_HAND``, and are added.

The files are in Sphinx's first format, which is text: name, kind, page.
"""

from __future__ import annotations

import re
import sys
import urllib.request
from pathlib import Path

from sphinx.util.inventory import InventoryFile

FOLDER = Path(__file__).parent
DOCS = FOLDER.parent
KINDS = ("class", "exception", "function", "method")

PROJECTS = {
    "sklearn": "https://scikit-learn.org/stable/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "pandas": "https://pandas.pydata.org/docs/",
    "nltk": "https://www.nltk.org/",
    "dask": "https://docs.dask.org/en/stable/",
    "joblib": "https://joblib.readthedocs.io/en/stable/",
    "matplotlib": "https://matplotlib.org/stable/",
}

# kept whether a page names them or not: what a page is likely to name next
ALWAYS = """
    dask.array.Array dask.bag.Bag dask.dataframe.DataFrame dask.delayed.delayed
    pandas.DataFrame pandas.Series pandas.DataFrame.groupby
    scipy.sparse.coo_array scipy.sparse.csr_array scipy.sparse.csr_matrix
    scipy.optimize.minimize scipy.special.logsumexp
    sklearn.base.BaseEstimator sklearn.base.clone
    sklearn.compose.ColumnTransformer
    sklearn.decomposition.TruncatedSVD
    sklearn.exceptions.NotFittedError
    sklearn.feature_extraction.text.CountVectorizer
    sklearn.linear_model.LogisticRegression
    sklearn.metrics.make_scorer
    sklearn.model_selection.GridSearchCV sklearn.model_selection.GroupKFold
    sklearn.model_selection.HalvingRandomSearchCV sklearn.model_selection.RandomizedSearchCV
    sklearn.model_selection.StratifiedKFold sklearn.model_selection.cross_validate
    sklearn.model_selection.train_test_split
    sklearn.feature_selection.SelectFromModel
    sklearn.pipeline.Pipeline sklearn.pipeline.make_pipeline
    sklearn.preprocessing.FunctionTransformer sklearn.preprocessing.StandardScaler
    sklearn.utils.Bunch
"""

# name, kind and page; an inventory that has the name goes before it
BY_HAND = {
    "sklearn": [
        ("sklearn.frozen.FrozenEstimator", "class", "modules/generated/{name}.html"),
        ("sklearn.metrics", "mod", "api/{name}.html"),
        ("sklearn.model_selection", "mod", "api/{name}.html"),
    ],
    "numpy": [
        ("numpy.ndarray", "class", "reference/generated/{name}.html"),
        ("numpy.random.RandomState", "class", "reference/random/legacy.html"),
    ],
    "nltk": [("nltk.tree.tree.Tree", "class", "api/nltk.tree.tree.html")],
    "joblib": [
        ("joblib.Memory", "class", "generated/{name}.html"),
        ("joblib.parallel_config", "class", "generated/{name}.html"),
    ],
    "matplotlib": [("matplotlib.axes.Axes", "class", "api/_as_gen/{name}.html")],
}


def may_stand_alone(name: str) -> bool:
    """Whether the last part of a name tells what it is; ``scale`` and ``clone`` do not."""
    last = name.rpartition(".")[2]
    return last[0].isupper() or (name.startswith("sklearn.") and "_" in last)


def names_in_pages() -> set[str]:
    """What pages and docstrings write as names, with and without their modules."""
    files = [*DOCS.rglob("*.rst"), *DOCS.rglob("*.md"), DOCS / "conf.py"]
    files += [
        *(DOCS.parent / "sklearn_struct").rglob("*.py"),
        *(DOCS.parent / "examples").glob("*.py"),
    ]
    text = "\n".join(file.read_text("utf-8") for file in files if "generated" not in file.parts)
    in_ticks = re.findall(r"(?<!`)`(?:[^`<]*<)?~?([A-Za-z_][\w.]*)>?`(?!`)", text)
    related = re.findall(r"^\s*(\w+(?:\.\w+)+) :", text, re.MULTILINE)
    aliases = re.findall(r'"(\w+(?:\.\w+)+)"', (DOCS / "conf.py").read_text("utf-8"))
    returned = re.findall(r"^    \s*(\w+(?:\.\w+)+)$", text, re.MULTILINE)
    return {*in_ticks, *related, *aliases, *returned, *ALWAYS.split()}


def names_of_package() -> set[str]:
    """The names on the page of the API, which need no other project."""
    return set(re.findall(r"^   (\w+)$", (DOCS / "api.rst").read_text("utf-8"), re.MULTILINE))


def is_used(name: str, kind: str, used: set[str], own: set[str]) -> bool:
    """Whether pages name it in full; or by its last part, if that tells what it is."""
    if name in used:
        return True
    last = name.rpartition(".")[2]
    alone = kind != "method" and "._" not in name and may_stand_alone(name)
    return alone and last in used and last not in own


def read(source: str) -> dict[str, tuple[str, str]] | None:
    """Kind and page of each name of an inventory, from a file or a site; None without either."""
    try:
        data = urllib.request.urlopen(source, timeout=20).read()
    except OSError as error:
        print(f"  not read: {source} ({error})")
        return None
    items: dict[str, tuple[str, str]] = {}
    for kind in KINDS:
        for name, item in InventoryFile.loads(data, uri="").data.get(f"py:{kind}", {}).items():
            page, _, anchor = item.uri.partition("#")
            if anchor == name:  # the first format has no others
                items[name] = (kind, page)
    return items


def in_file(file: Path) -> dict[str, tuple[str, str]]:
    """Kind and page of each name of a file of this folder; none if there is no file."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    parts = [line.split(" ", 2) for line in lines if not line.startswith("#")]
    return {name: (kind, page) for name, kind, page in parts}


def refresh(project: str, source: str, used: set[str]) -> None:
    """Write the file of a project; without its inventory only names by hand are added to it."""
    own = names_of_package()
    file = FOLDER / f"{project}.txt"
    items = read(source)
    if items is None and project not in BY_HAND:
        return
    kept = in_file(file) if items is None else {}
    kept |= {
        name: (kind, page)
        for name, (kind, page) in (items or {}).items()
        if is_used(name, kind, used, own)
    }
    for name, kind, page in BY_HAND.get(project, ()):
        kept.setdefault(name, (kind, page.format(name=name)))
    lines = [f"{name} {kind} {page}" for name, (kind, page) in sorted(kept.items())]
    head = ["# Sphinx inventory version 1", f"# Project: {project}", "# Version: stable"]
    file.write_text("\n".join([*head, *lines]) + "\n", "utf-8")
    print(f"  {project}: {len(kept)} names")


def main(folder: str | None = None) -> None:
    used = names_in_pages()
    for project, site in PROJECTS.items():
        local = Path(folder or ".").resolve() / f"{project}.inv"
        refresh(project, local.as_uri() if folder else f"{site}objects.inv", used)


if __name__ == "__main__":
    main(*sys.argv[1:2])
