"""The page that describes the house: its rooms, paths and numbers, its example; lines of texts."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import test_architecture as rules
from test_architecture import FLOOR, PACKAGE

import sklearn_struct

# ---- the page that describes the house

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "development" / "architecture.md"
PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)+)(?:\.py)?`")
# files of the recipes
PLACEHOLDERS = ("/x", "/test_x", "/x_crf", "/test_x_crf", "/plot_x")


def room_items():
    """(room, what is said of its files) for each item of the list of rooms."""
    section = PAGE.read_text("utf-8").split("\n## ")[1]
    items = re.findall(r"^- `(.+?)`: (.+(?:\n  .+)*)", section, re.MULTILINE)
    return [(name.rstrip("/"), said) for name, said in items]


def test_the_page_has_every_file():
    """Each room has its files in its item, and no other."""
    listed = {name: re.findall("`(.+?)`", said) for name, said in room_items()}
    files = {}
    for module in rules.modules():
        folder = Path(module.path).parent.as_posix()
        if not module.is_init:
            files.setdefault(folder, []).append(Path(module.path).stem)
    assert len(room_items()) == len(listed), "a room has two items"
    assert listed.keys() == files.keys()
    wrong = {
        name: sorted(set(listed[name]) ^ set(files[name]))
        for name in files
        if sorted(listed[name]) != sorted(files[name])
    }
    assert wrong == {}


def test_the_page_has_rooms_in_the_order_of_floors():
    floors = [FLOOR[name.split("/")[0]] for name, _ in room_items() if name != "."]
    assert floors == sorted(floors)


def test_paths_of_the_page_exist():
    """Whole ones, and their ends where a sentence is about a room."""
    root = PACKAGE.parent
    files = [
        file.relative_to(root)
        for folder in ("sklearn_struct", "tests", "docs")
        for file in (root / folder).rglob("*.*")
    ]
    places = {place for file in files for place in (file.with_suffix(""), file.parent)}
    ends = {f"/{place.as_posix()}" for place in places}
    missing = [
        path
        for path in PATH.findall(PAGE.read_text("utf-8"))
        if not path.endswith(PLACEHOLDERS) and not any(end.endswith(f"/{path}") for end in ends)
    ]
    assert missing == []


# ---- numbers and the example

# how the page says what the rules hold
NUMBERS = {
    r"\((\d+) is the limit\)": rules.FILE_LINES,
    r"A function has about \d+ lines \((\d+)\)": rules.FUNCTION_LINES,
    r"a kernel at most (\d+)\.": rules.KERNEL_LINES,
    r"at most (\d+) modules beside": rules.LOOSE_MODULES,
    r"At most (\d+) % of the annotated arguments": rules.ANY_PERCENT,
    r"At most (\d+) files hold K \* K": rules.FILES_OF_ORDER,
}


def wrong_numbers(text):
    """Those of which a page says something else, or nothing, or more than once."""
    text = " ".join(text.split())
    return [said for said, number in NUMBERS.items() if re.findall(said, text) != [str(number)]]


def test_numbers_of_the_page_are_those_of_the_rules():
    assert wrong_numbers(PAGE.read_text("utf-8")) == []


@pytest.mark.parametrize("number", NUMBERS.values())
def test_a_wrong_number_is_seen(number):
    """One that the page no longer says, too."""
    text = PAGE.read_text("utf-8")
    places = [said for said, one in NUMBERS.items() if one == number]
    for other in (str(number + 1), "some"):
        assert wrong_numbers(re.sub(rf"\b{number}\b", other, text)) == places


def example():
    """The estimator that is complete, and how many lines such a file has at most."""
    recipe = PAGE.read_text("utf-8").split("### An estimator of chains")[1]
    most = re.search(r"A file of at most (\d+) lines", recipe)[1]
    return recipe.split("```python\n")[1].split("```")[0], int(most)


def test_the_example_is_as_long_as_the_page_says():
    text, most = example()
    assert 30 < len(text.splitlines()) <= most


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_the_example_passes_ruff(command):
    """As a file where the page puts it, by the rules of this project."""
    if shutil.which("ruff") is None:
        pytest.skip("no ruff")
    place = PACKAGE / "estimators" / "chains" / "window_crf.py"
    answer = subprocess.run(
        ["ruff", *command, "--no-cache", "--stdin-filename", str(place), "-"],
        input=example()[0],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_example_works(tmp_path, monkeypatch):
    """Also the example in its docstring, once the class is public."""
    (tmp_path / "window_crf.py").write_text(example()[0], "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import window_crf

    monkeypatch.setattr(sklearn_struct, "WindowCRF", window_crf.WindowCRF, raising=False)
    result = doctest.testmod(window_crf)
    assert (result.attempted, result.failed) == (2, 0)


# ---- lines of texts; ruff looks after those of Python files

LINE_LENGTH = 100
TEXTS = {".md", ".rst", ".toml", ".yml", ".yaml", ".html", ""}


def long_lines(text):
    """Numbers of lines with too many characters, unless a URL alone has as many."""
    return [
        i
        for i, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE_LENGTH
        and not any(len(url) > LINE_LENGTH for url in re.findall(r"https?://\S+", line))
    ]


def test_long_lines_are_seen():
    """By their characters, not bytes."""
    url = "https://example.org/" + "a" * LINE_LENGTH
    lines = ["é" * LINE_LENGTH, "é " * LINE_LENGTH, url, "see https://example.org " * 5]
    assert long_lines("\n".join(lines)) == [2, 4]


def marks_of_merges(text):
    """Numbers of lines that an unfinished merge has left."""
    marks = tuple(mark * 7 + " " for mark in "<>|")
    return [i for i, line in enumerate(text.splitlines(), 1) if line.startswith(marks)]


def test_marks_of_merges_are_seen():
    assert marks_of_merges("a\n<" + "<<<<<< HEAD\nb\n>" + ">>>>>> side\n=======\n") == [2, 4]


@pytest.fixture(scope="module")
def texts():
    """Those that git tracks, by their files; others are built."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    files = [ROOT / name for name in names if name and Path(name).suffix in TEXTS]
    assert {PAGE, ROOT / "pyproject.toml", ROOT / ".ci" / "run"} <= set(files)
    return {file: file.read_text("utf-8") for file in files if file.is_file()}


@pytest.mark.parametrize("lines", [long_lines, marks_of_merges])
def test_no_line_of_texts_is_wrong(lines, texts):
    wrong = [f"{file.relative_to(ROOT)}:{i}" for file, text in texts.items() for i in lines(text)]
    assert wrong == []
