"""What examples and their pictures must have, and examples that take files of users."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BARS = re.compile(r"\.barh?\(")
FIRST_LIMITS = re.compile(r"[xy]lim\s*[=(]\s*\(?\s*([^\s,)]+)")
# a figure each: one that is shown, or a display that makes its own
PICTURES = re.compile(r"^plt\.show\(\)|^(?:display = )?\w+Display\.from_\w+\(", re.MULTILINE)
THUMBNAIL = re.compile(r"^# sphinx_gallery_thumbnail_number = (\d+)$", re.MULTILINE)
SHOWN = re.compile(r"sphx_glr_(plot_[a-z_]+)_(\d+)\.png")
TO_PAGES = re.compile(r"(?:gallery/|sphx_glr_gallery_)(plot_[a-z_]+)")

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def introduction(path):
    """The title of an example, the line below it, and the paragraphs of its docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    [over, title, under], *paragraphs = [part.split("\n") for part in text.split("\n\n")]
    assert over == under
    return title, under, [" ".join(part) for part in paragraphs]


def calls(path):
    """Names of the functions that an example calls, and the names of their arguments."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield name, len(node.args), {keyword.arg for keyword in node.keywords}


def pages():
    """The texts of the pages that are written by hand."""
    files = [*DOCS.glob("*.rst"), *DOCS.glob("[!_]*/*.rst"), *DOCS.glob("[!_]*/*.md")]
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in files
        if path.parent != DOCS / "gallery"
    }


@each_example
def test_an_example_begins_with_what_it_shows(path):
    title, line, paragraphs = introduction(path)
    assert set(line) == {"="}
    assert len(line) >= len(title)
    assert len(paragraphs) >= 2
    assert paragraphs[0].endswith(".")


@each_example
def test_an_example_names_pages_of_the_guide(path):
    _, _, paragraphs = introduction(path)
    names = re.findall(r"<\.\./(user_guide/\w+)>", " ".join(paragraphs))
    assert names
    assert all((DOCS / f"{name}.rst").exists() for name in names)


@each_example
def test_an_example_has_a_picture_for_its_thumbnail(path):
    """Thumbnails are pictures by number, the first one by default."""
    text = path.read_text(encoding="utf-8")
    numbers = [int(number) for number in THUMBNAIL.findall(text)] or [1]
    if path.stem == "plot_rental_ads":  # it runs without matplotlib, too
        text = text.replace("    plt.show()", "plt.show()")
    assert len(numbers) == 1
    assert 1 <= numbers[0] <= len(PICTURES.findall(text))


@each_example
def test_an_example_needs_no_network_and_runs_the_same_each_time(path):
    for name, n_arguments, keywords in calls(path):
        assert not name.startswith("fetch_")
        if name.startswith("make_") and name != "make_pipeline":
            assert "random_state" in keywords
        if name == "default_rng":
            assert n_arguments == 1
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^(?:import|from) (?:urllib|http|requests|socket)", text, re.MULTILINE)


def test_the_first_page_of_the_gallery_names_all_examples_once():
    """It also gives them their order."""
    header = (ROOT / "examples" / "GALLERY_HEADER.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<(plot_\w+)>", header)) == [path.stem for path in EXAMPLES]


def test_pages_show_and_link_examples_that_exist():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES}
    shown = 0
    for name, page in pages().items():
        assert set(TO_PAGES.findall(page)) <= set(texts), name
        for example, number in SHOWN.findall(page):
            shown += 1
            assert 1 <= int(number) <= len(PICTURES.findall(texts[example])), name
    assert shown > 0


def test_examples_are_ordered_as_their_first_page_names_them(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    from gallery_order import AsInHeader

    key = AsInHeader(ROOT / "examples")
    names = [path.name for path in EXAMPLES]
    ordered = sorted([*names, "plot_new.py"], key=key)
    assert ordered[0] == "plot_rental_ads.py"
    assert ordered[-1] == "plot_new.py"
    assert sorted(ordered[:-1]) == names


@each_example
def test_bars_begin_at_zero(path):
    """Their lengths are what readers compare; an axis that begins elsewhere is one for points."""
    text = path.read_text(encoding="utf-8")
    limits = set(FIRST_LIMITS.findall(text)) if BARS.search(text) else set()
    assert limits <= {"0"}


def written(path, sentences, between):
    """A token a line, with a column between the word and its label."""
    lines = ["".join(f"{word} {between} {label}\n" for word, label in s) for s in sentences]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_a_history_tagger_of_own_files(tmp_path, monkeypatch, capsys):
    """Its label before tells what a word is, and the next column of the file nothing."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    path = next(path for path in EXAMPLES if path.stem == "plot_history_tagger")
    train = [
        [("they", "PRON"), ("saw", "VERB"), ("the", "DET"), ("saw", "NOUN")],
        [("the", "DET"), ("run", "NOUN"), ("ends", "VERB")],
        [("they", "PRON"), ("run", "VERB")],
    ] * 5
    test = [[("they", "PRON"), ("run", "VERB"), ("the", "DET"), ("run", "NOUN")]]
    files = [written(tmp_path / "train.txt", train, "x"), written(tmp_path / "test.txt", test, "y")]
    for columns in ([], ["0", "2"]):
        monkeypatch.setattr(sys, "argv", [str(path), *files, *columns])
        tried = runpy.run_path(str(path), run_name="__main__")
        assert tried["labellings"]["history, greedy"] == [["PRON", "VERB", "DET", "NOUN"]]
        assert "history, greedy        1.0000" in capsys.readouterr().out
    matplotlib.pyplot.close("all")
