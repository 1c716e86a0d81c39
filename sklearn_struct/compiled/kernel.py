"""The numba decorators of the package."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from functools import wraps
from typing import Any

import numba

from sklearn_struct.compiled.cache import keep

__all__ = ["STEPS", "inlined", "kernel"]

# Steps of an innermost loop, some 20 ms, after which a kernel that may take long comes back to
# Python and is called again: only between two calls can Ctrl-C end the work.
STEPS = 10_000_000

# bytes that must be free before a kernel is compiled or loaded: twice what the largest take
MEMORY = 1 << 27


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` lazily, without the GIL, and keep the machine code on disk.

    Floating-point contraction (fused multiply-add) is the only liberty given to the compiler: with
    all of fast-math, infinities and NaN would lose their meaning.
    """
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that, before compilation, becomes a part of the one or two others that call it, at
    one place each.

    Callees are else compiled for themselves, too, and once more with each caller.
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options |= {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    options["no_cfunc_wrapper"] = True  # nobody takes its address
    compiled = numba.njit(**options)(function)
    if hasattr(compiled, "enable_caching"):  # not where the JIT is switched off
        keep(compiled)
    if hasattr(compiled, "compile"):
        compiled.compile = _uncollected(compiled.compile)
    return compiled


def _uncollected(compile_signature: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same if there is memory for it, and without garbage collections.

    Numba's many objects would make Python look at all others again and again: an eighth of the time
    is saved.
    """

    @wraps(compile_signature)
    def compile_at_once(signature: Any) -> Any:
        _need_memory()
        enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_signature(signature)
        finally:
            if enabled:
                gc.enable()

    return compile_at_once


def _need_memory() -> None:
    """Raise MemoryError where the compiler would end the process for want of memory, which nobody
    could catch.
    """
    try:
        mmap.mmap(-1, MEMORY).close()
    except OSError as error:
        raise MemoryError(
            f"compiling a kernel needs {MEMORY >> 20} MB of memory, which are not free"
        ) from error
