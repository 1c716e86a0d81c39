"""Freed memory goes back to the system, where glibc keeps it."""

from __future__ import annotations

import ctypes
import sys

import pytest

from sklearn_struct.estimators.fitting import free_memory
from sklearn_struct.estimators.fitting.free_memory import give_back


def test_without_such_a_function(monkeypatch):
    """Other systems than Linux with glibc have none."""

    def no_library(name):
        raise OSError(name)

    free_memory._trim.cache_clear()
    try:
        monkeypatch.setattr(ctypes, "CDLL", no_library)
        assert free_memory._trim() is None
        give_back()
    finally:
        free_memory._trim.cache_clear()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_pages_go_back():
    """Blocks below one that stays are kept until they are asked for."""

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    if free_memory._trim() is None:
        pytest.skip("no glibc")
    malloc = ctypes.CDLL("libc.so.6").malloc
    free = ctypes.CDLL("libc.so.6").free
    malloc.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    # small ones come from the heap; the last one stays, so that its end cannot go back by itself
    blocks = [malloc(4096) for _ in range(20_000)]
    for block in blocks:
        ctypes.memset(block, 1, 4096)
    for block in blocks[:-1]:
        free(block)
    before = resident()
    give_back()
    after = resident()
    free(blocks[-1])
    assert before - after > 40 * 2**20
