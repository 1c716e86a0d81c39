"""Memory for large tables: asked for before it is taken, since many systems promise more than they
have.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["give_back", "keep_freed", "longer", "reserve", "zeros"]

# a quarter of a gigabyte is hardly ever what ends a process
LARGE = 1 << 28  # bytes; for less, nobody is asked
KEPT = 30 << 20  # bytes; glibc learns from no larger array
WORTH_KEEPING = 1 << 17  # bytes; where glibc begins to give memory back
# numbers that are written at once: with gigabytes at once Ctrl-C would not be heard
PIECE = 1 << 21
# limit, use, and what of the use is a cache of files: of containers, in both versions of control
# groups
GROUPS = [
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
]


def keep_freed(n_bytes: int) -> None:
    """Have the memory of a process used again from one piece of work to the next, where a piece
    takes so much.

    glibc gives freed memory back to the system, but for twice the largest array that was freed, if
    that had at most 32 MB. Without such an array, blocks get new pages each time, and these take
    longer than a few sums over their numbers. So one is freed, once; as nothing is written into it,
    it takes no memory itself. From then on the process keeps up to 60 MB of what it freed, as it
    does once any array of this size was freed.
    """
    # the system takes and gives less at a time anyway
    if n_bytes >= WORTH_KEEPING:
        _free_one()


@cache
def _free_one() -> None:
    try:
        np.empty(KEPT, np.uint8)
    except MemoryError:
        # it would have saved time, no more
        return


def give_back() -> None:
    """Give freed memory back to the system, where the C library is GNU's.

    It keeps what lies below arrays that are still there, which is much where large arrays were made
    and freed by turns: after sentences are encoded, a quarter of what the process holds.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(ctypes.c_size_t(0))


def reserve(n_bytes: int, what: str) -> None:
    """Raise MemoryError if there is not so much left; else the system would end the process that
    uses it.
    """
    if n_bytes < LARGE:
        return
    free = min(_of_machine(), _of_container())
    if n_bytes > free:
        gigabytes = (
            f"{n_bytes / 2**30:.1f} GB of memory, and {max(free, 0.0) / 2**30:.1f} GB are free"
        )
        raise MemoryError(f"{what} needs {gigabytes}")


def zeros(n: int, dtype: DTypeLike = float) -> np.ndarray:
    """An array of zeros in memory that the system has given: kernels need not wait for it."""
    array = np.empty(n, dtype)
    for first in range(0, n, PIECE):
        # written here and not by np.zeros, whose pages are only taken when a kernel writes to them
        array[first : first + PIECE] = 0
    return array


def longer(arrays: Sequence[np.ndarray], n: int, more: int, what: str) -> list[np.ndarray]:
    """Copies of the first n rows of each array, with room for as many again and `more`."""
    # twice as long, so that copies cost as much as the items themselves in all
    sizes = [2 * n + more, *(array.itemsize * math.prod(array.shape[1:]) for array in arrays)]
    reserve(sizes[0] * sum(sizes[1:]), what)
    grown = [np.empty((sizes[0], *array.shape[1:]), array.dtype) for array in arrays]
    for first in range(0, n, PIECE):
        piece = slice(first, min(first + PIECE, n))
        for array, copy in zip(arrays, grown):
            copy[piece] = array[piece]
    return grown


def _of_machine() -> float:
    """Bytes that can still be used, also of swap space; infinite where the system does not say."""
    lines = (line.split() for line in _text("/proc/meminfo").splitlines())
    kilobytes = {
        line[0]: int(line[1]) for line in lines if line[0] in ("MemAvailable:", "SwapFree:")
    }
    return 1024.0 * sum(kilobytes.values()) if "MemAvailable:" in kilobytes else math.inf


def _of_container() -> float:
    """The same of the control group in which the process is."""
    free = math.inf
    for limit, used, stat in GROUPS:
        numbers = [_text(path).strip() for path in (limit, used)]
        if all(number.isdigit() for number in numbers):  # not where there is no limit: "max"
            lines = (line.split() for line in _text(stat).splitlines())
            cached = sum(
                int(line[1]) for line in lines if line[0] in ("active_file", "inactive_file")
            )
            # the cache of files is given up where memory is short
            free = min(free, float(int(numbers[0]) - int(numbers[1]) + cached))
    return free


def _text(path: str) -> str:
    try:
        return Path(path).read_text("ascii")
    except (OSError, ValueError):
        return ""
