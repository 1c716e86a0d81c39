"""Warnings that point at the caller's line."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]


# packages whose frames lie between a user's line and ours
INSIDE = {"sklearn_struct", "sklearn", "numba", "importlib", "functools"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the user's line as the place: the nearest that is not in a package of `INSIDE`."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in INSIDE:
        frame = frame.f_back
        level += not _is_uncounted(frame.f_code.co_filename)
    warnings.warn(message, category, stacklevel=level)


def _is_uncounted(file: str) -> bool:
    """Whether `warnings` leaves a frame out of the levels: those of Python's import machinery."""
    return "importlib" in file and "_bootstrap" in file
