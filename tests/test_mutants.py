"""Faults that make no difference name files and lines of today; the tool itself needs an extra."""

from __future__ import annotations

import re
from pathlib import Path

import sklearn_struct

PACKAGE = Path(sklearn_struct.__file__).parent
# its three parts may stand on lines of their own
ENTRY = re.compile(r"^- (\S+):\s+`(.+)`\s+→ `(.+)`$", re.MULTILINE)


def test_equivalent_faults_are_of_lines_that_exist():
    text = (Path(__file__).parent / "mutants" / "EQUIVALENT.md").read_text("utf-8")
    entries = re.findall(r"^- .*", text, re.MULTILINE)
    assert entries
    assert len(entries) == len(ENTRY.findall(text)), "an entry has another form"
    stale = []
    for file, before, _ in ENTRY.findall(text):
        place = PACKAGE / file
        lines = place.read_text("utf-8").splitlines() if place.is_file() else []
        if before not in map(str.strip, lines):
            stale.append(f"{file}: {before}")
    assert stale == []
