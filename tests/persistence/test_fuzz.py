"""A sample of damaged files; ``python tests/fuzz/run.py files`` tries as many as one likes."""

from __future__ import annotations

from collections import Counter

import pytest
from fuzz import files


@pytest.mark.parametrize("kind", files.KINDS)
def test_damaged_files_are_refused_or_loaded_as_they_say(tmp_path, kind):
    found = Counter()
    for number in range(600):
        data, X = files.damaged(number, kind)
        verdict = files.verdict(data, X, tmp_path / "model")
        assert verdict in ("refused", "loaded"), number
        if verdict == "loaded" and kind == "bytes":
            assert data == files.originals()[number % len(files.originals())][0], number
        found[verdict] += 1
    assert found["refused"] > 150
    assert found["loaded"] > 0


def test_the_verdicts_tell(tmp_path, monkeypatch):
    [data, X], *_ = files.originals()
    path = tmp_path / "model"
    assert files.verdict(data, X, path) == "loaded"
    assert files.verdict(data[:-1], X, path) == "refused"
    assert files.verdict(files.crfsuite_original(), None, path) == "loaded"
    other = files.LinearChainCRF().fit(files.DICTS, files.TAGS)
    monkeypatch.setattr(files, "load", lambda path, functions: other)
    assert files.verdict(data, X, path) == "loaded otherwise"
    monkeypatch.setattr(files, "load", lambda path, functions: 1 / 0)
    assert files.verdict(data, X, path) == "ZeroDivisionError: division by zero"
