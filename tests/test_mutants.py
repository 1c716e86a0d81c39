"""Faults that make no difference name files and lines of today; the tool itself needs an extra."""

from __future__ import annotations

import re
from pathlib import Path

import sklearn_struct

PACKAGE = Path(sklearn_struct.__file__).parent
ENTRY = re.compile(r"^- (\S+): `(.+)` → `(.+)`$")


def test_equivalent_faults_are_of_lines_that_exist():
    text = (Path(__file__).parent / "mutants" / "EQUIVALENT.md").read_text("utf-8")
    entries = [line for line in text.splitlines() if line.startswith("- ")]
    assert entries
    stale = []
    for entry in entries:
        match = ENTRY.match(entry)
        assert match, entry
        file, before, _ = match.groups()
        place = PACKAGE / file
        lines = place.read_text("utf-8").splitlines() if place.is_file() else []
        if before not in map(str.strip, lines):
            stale.append(f"{file}: {before}")
    assert stale == []
