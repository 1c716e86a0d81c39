"""What looks after the pages: extensions of Sphinx, and scripts that read built pages."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    monkeypatch.syspath_prepend(DOCS / "inventories")
