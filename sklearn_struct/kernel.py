"""The one numba decorator of the package."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

__all__ = ["kernel"]

# Rooms that hold kernels, or the containers that kernels receive.
_KERNEL_ROOMS = ("kernel.py", "simd.py", "batch.py", "inference", "losses", "linear.py", "encoding")


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` lazily, without the GIL, and keep the machine code on disk.

    Floating-point contraction (fused multiply-add) is the only liberty given to the compiler: with all
    of fast-math, infinities and NaN would lose their meaning.
    """
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(function)
    _stamp(compiled)
    return compiled


@cache
def _digest() -> str:
    """Digest of all files whose change must invalidate compiled kernels."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for room in _KERNEL_ROOMS:
        path = package / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _stamp(compiled: Any) -> None:
    """Let the disk cache depend on every kernel file, not only on the file of this kernel.

    Numba stamps a cached kernel with its own file alone, so a changed callee in another file, or a
    changed field order of a NamedTuple, would serve stale machine code. The attribute is private:
    where it is missing (another numba, or the JIT switched off) numba's own stamp stays.
    """
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None and hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _digest())
