"""Warnings that point at the caller's line."""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = ["warn"]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the line that is neither ours nor scikit-learn's as the place."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in ("sklearn_struct", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(module: dict[str, Any]) -> str:
    return str(module.get("__name__")).split(".")[0]
