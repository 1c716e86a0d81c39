"""The numba decorators of the package."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core.compiler import Compiler, CompilerBase

from sklearn_struct._uncollected import uncollected
from sklearn_struct.compiled.cache import keep

__all__ = ["STEPS", "inlined", "kernel", "uncounted"]

# Steps of an innermost loop, some 20 ms, after which a kernel that may take long comes back to
# Python and is called again: only between two calls can Ctrl-C end the work.
STEPS = 10_000_000

# bytes that must be free before a kernel is compiled or loaded: twice what the largest take
MEMORY = 1 << 27

# the newest numba whose own steps are known
TRIED = (0, 68)

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` when it is first called, and keep the machine code on disk.

    It runs without the GIL. Type annotations are for readers and mypy: numba compiles a kernel for
    each combination of types that it is called with.
    """
    return _compiled(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose body is put into the kernels that call it, before they are compiled.

    Use it for a kernel that one or two others call, at one place each. Any other callee is compiled
    by itself, and once more with each caller.
    """
    return _compiled(function, inline="always")


def uncounted(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that neither makes arrays nor returns any; numba refuses those that do.

    References to arrays are not counted in it. Otherwise they are wherever a loop has two ways out,
    or an array is sliced or handed on, which takes longer than a short loop.
    """
    return _compiled(function, counts=False)


def _compiled(
    function: Callable[P, R], inline: str = "never", counts: bool = True
) -> Callable[P, R]:
    options: dict[str, Any] = {
        "pipeline_class": _steps_of(numba.version_info.short),
        "inline": inline,
        # else it is as in the first caller
        "_nrt": counts,
        "nogil": True,
        # as numpy: without a branch for each division
        "error_model": "numpy",
        # Fused multiply-add is the only liberty given to the compiler. With all of fast-math,
        # infinities and NaN would lose their meaning.
        "fastmath": {"contract"},
        "no_cfunc_wrapper": True,  # nobody takes its address
    }
    compiled: Any = numba.njit(**options)(function)
    if hasattr(compiled, "enable_caching"):  # not where the JIT is switched off
        keep(compiled)
    if hasattr(compiled, "compile"):
        compiled.compile = _uncollected(compiled.compile)
    decorated: Callable[P, R] = compiled
    return decorated


@cache
def _steps_of(version: tuple[int, int]) -> type[CompilerBase]:
    """The steps by which a version of numba compiles kernels: ours, which are quicker, in those
    that they were tried with. They are made of parts of numba that may change.
    """
    if version > TRIED:
        return Compiler
    from sklearn_struct.compiled.pipeline import Pipeline

    return Pipeline


def _uncollected(compile_signature: Callable[P, R]) -> Callable[P, R]:
    """The same without garbage collections, and only if there is memory for it."""

    @wraps(compile_signature)
    def compile_at_once(*args: P.args, **kwargs: P.kwargs) -> R:
        _need_memory()
        with uncollected():
            return compile_signature(*args, **kwargs)

    return compile_at_once


def _need_memory() -> None:
    """Raise MemoryError where too little is free.

    The compiler would end the process, which nobody could catch.
    """
    try:
        # LLVM ends the process when it gets no memory, and nobody can catch that
        mmap.mmap(-1, MEMORY).close()
    except OSError as error:
        raise MemoryError(
            f"compiling a kernel needs {MEMORY >> 20} MB of memory, which are not free"
        ) from error
