"""What the pictures of the gallery must not do, and examples that take files of users."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
BARS = re.compile(r"\.barh?\(")
FIRST_LIMITS = re.compile(r"[xy]lim\s*[=(]\s*\(?\s*([^\s,)]+)")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
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
