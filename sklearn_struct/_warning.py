"""Warnings that point at the caller's line."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]


INSIDE = {"sklearn_struct", "sklearn", "numba", "importlib", "functools"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with a line as the place that is not ours nor of those through which we are called or
    imported.
    """
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in INSIDE:
        frame = frame.f_back
        level += not _is_uncounted(frame.f_code.co_filename)
    warnings.warn(message, category, stacklevel=level)


def _is_uncounted(file: str) -> bool:
    """Whether `warnings` leaves it out of the count of levels: Python's own machinery of imports."""
    return "importlib" in file and "_bootstrap" in file
