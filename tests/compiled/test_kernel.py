"""The decorator of kernels: they run without the GIL; compilation is quick and ends no process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted


def test_works_where_the_jit_is_switched_off(monkeypatch):
    """A decorator that gives a plain function back."""
    monkeypatch.setattr(numba, "njit", lambda **options: lambda function: function)
    assert kernel(lambda x: x + 1)(2) == 3


@intrinsic
def fence(typingctx):
    """Memory seen by other threads: no load or store may be moved across, or kept in a register."""

    def codegen(context, builder, signature, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


@kernel
def wait_for_answer(flags, limit):
    """Raise flags[0], then wait until another thread raises flags[1]; whether it did before `limit`
    looks.
    """
    flags[0] = 1
    for _ in range(limit):
        fence()
        if flags[1] == 1:
            return True
    return False


def test_other_threads_run_during_a_kernel():
    """With the GIL held nobody could answer, and the kernel would give up."""
    flags = np.zeros(2, dtype=np.int64)
    answers = []
    wait_for_answer(np.ones(2, dtype=np.int64), 1)  # compiled
    thread = threading.Thread(target=lambda: answers.append(wait_for_answer(flags, 200_000_000)))
    thread.start()
    while not flags[0] and thread.is_alive():
        pass
    flags[1] = 1
    thread.join()
    assert answers == [True]


@kernel
def divide(x, y):
    return x / y


@kernel
def isnan(x):
    return x != x


def test_infinities_and_nan_keep_their_meaning():
    assert divide(1.0, 0.0) == np.inf
    assert isnan(divide(0.0, 0.0))
    assert not isnan(np.inf)


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collections_pause_while_compiling(enabled, monkeypatch):
    """And are afterwards what they were, also after an error."""
    seen = []

    class Compiled:
        def __init__(self, function):
            pass

        def compile(self, signature):
            seen.append(gc.isenabled())
            if not signature:
                raise TypeError("no signature")
            return signature

    monkeypatch.setattr(numba, "njit", lambda **options: Compiled)
    compiled = kernel(lambda x: x)
    assert gc.isenabled()
    try:
        if not enabled:
            gc.disable()
        assert compiled.compile("int64") == "int64"
        assert gc.isenabled() == enabled
        with pytest.raises(TypeError, match="no signature"):
            compiled.compile("")
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert seen == [False, False]


LITTLE_MEMORY = """
import resource
from sklearn_struct.compiled.kernel import kernel
@kernel
def double(x):
    return 2 * x
with open("/proc/self/statm") as file:
    limit = int(file.read().split()[0]) * resource.getpagesize() + (20 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    double(1)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is limited by Linux's means"
)
def test_too_little_memory_for_the_compiler_is_an_error(tmp_path):
    """LLVM would end the process."""
    script = tmp_path / "script.py"
    script.write_text(LITTLE_MEMORY)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "compiling a kernel needs 128 MB of memory, which are not free\n"


@inlined
def added(x, y):
    """Called below with two types, and from Python."""
    return x + y


@kernel
def added_twice(x, y):
    return added(x, x), added(x, y)


def test_inlined_kernels_are_parts_of_their_callers():
    assert added_twice(1, 0.5) == (2, 1.5)
    assert added(1, 2) == 3


@kernel
def copied(x):
    """It makes an array, also for a caller that could not."""
    return x.copy().sum()


@uncounted
def sums(x):
    return x[1:].sum(), copied(x)


@uncounted
def made(x):
    return np.zeros(len(x)).sum()


@uncounted
def sliced(x):
    return x[1:]


@pytest.mark.parametrize("refused", [made, sliced])
def test_uncounted_kernels_own_no_arrays(refused):
    x = np.arange(4.0)
    references = sys.getrefcount(x)
    assert sums(x) == (6.0, 6.0)
    assert sys.getrefcount(x) == references
    with pytest.raises(TypingError):
        refused(x)
