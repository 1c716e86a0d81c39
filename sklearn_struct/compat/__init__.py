"""Interfaces of other libraries: `CRF`, `metrics` and `scorers` as in sklearn-crfsuite."""

from __future__ import annotations

from typing import Any

from sklearn_struct.compat import metrics
from sklearn_struct.compat.crf import CRF

__all__ = ["CRF", "metrics", "scorers"]


def __getattr__(name: str) -> Any:
    """Scorers need all of `sklearn.metrics`, which takes a while to import."""
    if name == "scorers":
        from importlib import import_module

        return import_module("sklearn_struct.compat.scorers")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
