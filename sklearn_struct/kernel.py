"""The numba decorators of the package."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import numba

__all__ = ["STEPS", "inlined", "kernel"]

# Steps of an innermost loop, some 20 ms, after which a kernel that may take long comes back to Python and is called
# again: only between two calls can Ctrl-C end the work.
STEPS = 10_000_000

# Rooms that hold kernels, or the containers that kernels receive; a room uses only those before it.
_KERNEL_ROOMS = (
    "kernel.py",
    "bounds.py",
    "simd.py",
    "products.py",
    "batch.py",
    "inference",
    "losses",
    "linear",
    "encoding",
)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` lazily, without the GIL, and keep the machine code on disk.

    Floating-point contraction (fused multiply-add) is the only liberty given to the compiler: with all
    of fast-math, infinities and NaN would lose their meaning.
    """
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that, before compilation, becomes a part of the one or two others that call it, at one place each.

    Callees are else compiled for themselves, too, and once more with each caller.
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options |= {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    options["no_cfunc_wrapper"] = True  # nobody takes its address
    compiled = numba.njit(**options)(function)
    _stamp(compiled)
    if hasattr(compiled, "compile"):  # not where the JIT is switched off
        compiled.compile = _uncollected(compiled.compile)
    return compiled


def _uncollected(compile_signature: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same without garbage collections: numba's many objects would make Python look at all others again and again.

    An eighth of the time is saved.
    """

    @wraps(compile_signature)
    def compile_at_once(signature: Any) -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_signature(signature)
        finally:
            if enabled:
                gc.enable()

    return compile_at_once


@cache
def _digest(n_rooms: int) -> str:
    """Digest of the files of the first rooms, whose change must invalidate kernels of the last of them."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for room in _KERNEL_ROOMS[:n_rooms]:
        path = package / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    digest.update(
        str(getattr(numba.config, "BOUNDSCHECK", None)).encode()
    )  # a kernel with checks, or without them, is another one
    return digest.hexdigest()


def _stamp(compiled: Any) -> None:
    """Let the disk cache depend on all rooms that a kernel may call, not only on the file of this kernel.

    Numba stamps a cached kernel with its own file alone, so a changed callee in another file, or a
    changed field order of a NamedTuple, would serve stale machine code; and an index that is damaged, or names
    a type that is gone, would end in an exception instead of a compilation. The attributes are private: where
    they are missing (another numba, or the JIT switched off) numba's own behaviour stays.
    """
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is None or not hasattr(index, "_source_stamp") or not hasattr(index, "_load_index"):
        return
    room = compiled.py_func.__module__.split(".")[1:2]
    rooms = [name.removesuffix(".py") for name in _KERNEL_ROOMS]
    n_rooms = rooms.index(room[0]) + 1 if room and room[0] in rooms else len(rooms)
    index._source_stamp = (index._source_stamp, _digest(n_rooms))
    index._load_index = partial(_or_empty, index._load_index)


def _or_empty(load_index: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    try:
        return load_index()
    except Exception:  # whatever a pickle of another version may raise
        return {}
