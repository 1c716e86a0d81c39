"""Benchmarks are scripts: their rooms are packages of the folder in which `run.py` lies."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def folder():
    """Where the benchmarks lie."""
    return FOLDER


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
