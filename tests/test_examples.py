"""What the pictures of the gallery must not do."""

from __future__ import annotations

import re
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
