"""A sample of damaged files; ``python tests/fuzz_files.py`` tries as many as one likes, in processes of their own."""

from __future__ import annotations

from collections import Counter

import fuzz_files
import pytest


@pytest.mark.parametrize("kind", fuzz_files.KINDS)
def test_damaged_files_are_refused_or_loaded_as_they_say(tmp_path, kind):
    found = Counter()
    for number in range(1000):
        data, X = fuzz_files.damaged(number, kind)
        verdict = fuzz_files.verdict(data, X, tmp_path / "model")
        assert verdict in ("refused", "loaded"), number
        if verdict == "loaded" and kind == "bytes":
            assert data == fuzz_files.originals()[number % len(fuzz_files.originals())][0], number
        found[verdict] += 1
    assert found["refused"] > 250
    assert found["loaded"] > 2


def test_the_verdicts_tell(tmp_path, monkeypatch):
    [data, X], *_ = fuzz_files.originals()
    path = tmp_path / "model"
    assert fuzz_files.verdict(data, X, path) == "loaded"
    assert fuzz_files.verdict(data[:-1], X, path) == "refused"
    assert fuzz_files.verdict(fuzz_files.crfsuite_original(), None, path) == "loaded"
    other = fuzz_files.LinearChainCRF().fit(fuzz_files.DICTS, fuzz_files.TAGS)
    monkeypatch.setattr(fuzz_files, "load", lambda path, functions: other)
    assert fuzz_files.verdict(data, X, path) == "loaded otherwise"
    monkeypatch.setattr(fuzz_files, "load", lambda path, functions: 1 / 0)
    assert fuzz_files.verdict(data, X, path) == "ZeroDivisionError: division by zero"
