"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

__all__ = ["give_back"]


@cache
def _trim() -> Any:
    """glibc's function for it, or None: others give back by themselves, or have none."""
    try:
        trim = ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes = [ctypes.c_size_t]
    trim.restype = ctypes.c_int
    return trim


def give_back() -> None:
    """Give back what was freed.

    glibc keeps what lies below arrays that are still there, which is much where large arrays were
    made and freed by turns: after sentences are encoded, a quarter of what the process holds.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
