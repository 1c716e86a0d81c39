"""Memory is asked for before it is taken, and arrays grow without losing anything."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sklearn_struct.containers import memory_checks as memory
from sklearn_struct.containers.memory_checks import keep_freed, longer, reserve


def test_more_than_the_machine_has_is_an_error():
    with pytest.raises(
        MemoryError, match=r"the chart needs 1048576\.0 GB of memory, and [\d.]+ GB are free"
    ):
        reserve(1 << 50, "the chart")


def test_little_is_not_asked_about(monkeypatch):
    monkeypatch.setattr(memory, "_text", None)
    reserve(1 << 20, "a table")
    with pytest.raises(TypeError):
        reserve(1 << 40, "a table")


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, np.inf),
        (
            {"/proc/meminfo": "MemTotal: 90 kB\nMemAvailable:    300 kB\nSwapFree: 20 kB\n"},
            320 * 1024,
        ),
        ({"/proc/meminfo": "MemTotal: 90 kB\n"}, np.inf),
        ({"/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "5\n"}, np.inf),
        ({"/sys/fs/cgroup/memory.max": "1000\n", "/sys/fs/cgroup/memory.current": "700\n"}, 300),
        (
            {
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
                "/sys/fs/cgroup/memory/memory.usage_in_bytes": "700\n",
                "/sys/fs/cgroup/memory/memory.stat": (
                    "cache 9\ninactive_file 100\nactive_file 50\ntotal_rss 3\n"
                ),
            },
            450,
        ),
    ],
)
def test_what_the_system_says(files, free, monkeypatch):
    monkeypatch.setattr(memory, "_text", lambda path: files.get(path, ""))
    monkeypatch.setattr(memory, "LARGE", 0)
    assert refused(1 << 60) is (free < np.inf)
    if free < np.inf:
        assert not refused(free)
        assert refused(free + 1)


def refused(n_bytes):
    try:
        reserve(n_bytes, "more")
    except MemoryError as error:
        return "more needs" in str(error)
    return False


@pytest.mark.parametrize(("n", "dtype"), [(0, float), (2, np.int32), (10, float), (9, np.int64)])
def test_zeros(n, dtype, monkeypatch):
    monkeypatch.setattr(memory, "PIECE", 3)
    found = memory.zeros(n, dtype)
    assert (found.shape, found.dtype, found.tolist()) == ((n,), dtype, [0] * n)


@pytest.mark.parametrize("piece", [3, 1 << 22])
def test_longer(piece, monkeypatch):
    monkeypatch.setattr(memory, "PIECE", piece)
    table = np.arange(20).reshape(10, 2)
    row = np.arange(10, dtype=np.int32)
    grown = longer((table, row), 7, 5, "both")
    assert [array.shape for array in grown] == [(19, 2), (19,)]
    for array, copy in zip((table, row), grown):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy[:7], array[:7])
    with pytest.raises(MemoryError, match="both needs"):
        longer((table, row), 7, 1 << 50, "both")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux says what a process has")
def test_keeping_freed_memory_takes_none():
    def n_pages():
        return int(Path("/proc/self/statm").read_text().split()[1])

    memory._free_one.cache_clear()
    keep_freed(1000)
    assert memory._free_one.cache_info().misses == 0
    before = n_pages()
    keep_freed(1 << 20)
    assert n_pages() - before < 256  # a page has 4 kB or more
    assert memory._free_one.cache_info().misses == 1


def test_keeping_freed_memory_is_no_more_than_a_hint(monkeypatch):
    """A process that may take little more goes on without."""
    memory._free_one.cache_clear()
    monkeypatch.setattr(memory, "KEPT", 1 << 62)
    keep_freed(1 << 20)
    assert memory._free_one.cache_info().misses == 1
    memory._free_one.cache_clear()


def test_other_systems_keep_what_they_keep(monkeypatch):
    """There is no such function, or no such library."""
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="win32"))
    asked = []
    monkeypatch.setattr(memory.ctypes, "CDLL", asked.append)
    memory.give_back()
    assert asked == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_freed_pages_go_back():
    """Blocks below one that stays are kept until they are asked for."""

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        pytest.skip("another C library than GNU's")
    malloc = library.malloc
    free = library.free
    malloc.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    # small ones come from the heap; the last one stays, so that its end cannot go back by itself
    blocks = [malloc(4096) for _ in range(20_000)]
    for block in blocks:
        ctypes.memset(block, 1, 4096)
    for block in blocks[:-1]:
        free(block)
    before = resident()
    memory.give_back()
    after = resident()
    free(blocks[-1])
    assert before - after > 40 * 2**20
