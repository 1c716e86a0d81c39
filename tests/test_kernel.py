"""The decorator of kernels: its disk cache never serves stale code, and its kernels run without the GIL."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from numba.core import types
from numba.extending import intrinsic

import sklearn_struct.kernel
from sklearn_struct.kernel import inlined, kernel

SIMD = """
from mini.kernel import kernel
@kernel
def callee(x):
    return x + {increment}
"""
BATCH = """
from typing import NamedTuple
import numpy as np
class Pair(NamedTuple):
    {fields}
"""
CALLER = """
import numpy as np
from mini.batch import Pair
from mini.kernel import kernel
from mini.simd import callee
@kernel
def caller(pair):
    return callee(10) + 100 * pair.first[0]
"""
RUN = """
from mini.inference.caller import caller, np, Pair
print(caller(Pair(first=np.array([1.0]), second=np.array([2.0]))))
print(sum(caller.stats.cache_hits.values()))
"""


@pytest.fixture
def mini(tmp_path):
    """A package of our layout with one kernel that calls a kernel of another file; returns a function to run it.

    Each run is a fresh process on one disk cache: it gives the kernel's result and whether the cache served it.
    """
    package = tmp_path / "mini"
    for room in ("inference", "losses", "linear", "encoding"):
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
    for file in ("__init__.py", "bounds.py", "products.py"):
        (package / file).touch()
    shutil.copy(sklearn_struct.kernel.__file__, package / "kernel.py")
    (package / "inference" / "caller.py").write_text(CALLER)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)

    def run(increment=1, fields="first: np.ndarray; second: np.ndarray"):
        (package / "simd.py").write_text(SIMD.format(increment=increment))
        (package / "batch.py").write_text(BATCH.format(fields=fields))
        command = [sys.executable, "-B", "-c", RUN]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        result, hits = done.stdout.split()
        return float(result), int(hits) > 0

    return run


def test_a_change_in_another_file_is_seen(mini):
    """A callee, or the order of the fields of a NamedTuple; what has not changed comes from the cache."""
    assert mini() == (111.0, False)
    assert mini() == (111.0, True)
    assert mini(increment=11) == (121.0, False)
    assert mini(increment=11, fields="second: np.ndarray; first: np.ndarray") == (121.0, False)


def test_a_type_that_is_gone_or_a_damaged_index_means_compilation(mini, tmp_path):
    mini()
    (index,) = [file for file in tmp_path.rglob("*.nbi") if "caller" in file.name]
    damaged = index.read_bytes()
    index.write_bytes(damaged.replace(b"Pair", b"Rain"))
    assert mini() == (111.0, False)
    index.write_bytes(damaged[:-20])
    assert mini() == (111.0, False)


def test_a_room_further_down_leaves_kernels_alone(mini, tmp_path):
    mini()
    (tmp_path / "mini" / "encoding" / "other.py").write_text("x = 1")
    assert mini() == (111.0, True)
    (tmp_path / "mini" / "products.py").write_text("x = 1")
    assert mini() == (111.0, False)


@pytest.mark.parametrize("attributes", [{}, {"_cache": None}, {"_cache": object()}], ids=["none", "empty", "other"])
def test_works_without_the_private_attributes_of_numba(monkeypatch, attributes):
    """Another numba, or the JIT switched off."""

    class Compiled:
        def __init__(self, function):
            self.function = function
            vars(self).update(attributes)

        def __call__(self, x):
            return self.function(x)

    monkeypatch.setattr(numba, "njit", lambda **options: Compiled)
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
    """Raise flags[0], then wait until another thread raises flags[1]; whether it did before `limit` looks."""
    flags[0] = 1
    for _ in range(limit):
        fence()
        if flags[1] == 1:
            return True
    return False


def test_other_threads_run_during_a_kernel():
    """With the GIL held nobody could answer, and the kernel would give up."""
    flags, answers = np.zeros(2, dtype=np.int64), []
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
