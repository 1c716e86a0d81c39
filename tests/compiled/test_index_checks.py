"""Vector operations that lead out of their arrays are errors where numba checks bounds, in a
process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_struct.compiled import simd
from sklearn_struct.compiled.kernel import kernel

N = 20  # numbers of the array
CASES = {  # operation: (index, how many, whether that is inside)
    "at": [(0, 1, True), (19, 1, True), (20, 1, False), (-1, 1, False)],
    "load": [(0, 8, True), (12, 8, True), (13, 8, False), (-1, 8, False)],
    "store": [(0, 8, True), (12, 8, True), (13, 8, False), (-1, 8, False)],
    "load_part": [
        (13, 7, True),
        (13, 8, False),
        (13, 99, False),
        (40, 0, True),
        (40, -3, True),
        (-1, 2, False),
    ],
    "store_part": [
        (13, 7, True),
        (13, 8, False),
        (13, 99, False),
        (40, 0, True),
        (40, -3, True),
        (-1, 2, False),
    ],
}


@kernel
def _at(a, i, n, room):
    room[0] = simd.at(a, i)


@kernel
def _load(a, i, n, room):
    simd.store(room, 0, simd.load(a, i))


@kernel
def _store(a, i, n, room):
    simd.store(a, i, simd.load(room, 0))


@kernel
def _load_part(a, i, n, room):
    simd.store(room, 0, simd.load_part(a, i, n, 0.0))


@kernel
def _store_part(a, i, n, room):
    simd.store_part(a, i, simd.load(room, 0), n)


KERNELS = {
    "at": _at,
    "load": _load,
    "store": _store,
    "load_part": _load_part,
    "store_part": _store_part,
}


def is_inside(operation, i, n):
    """Whether it is done without an error."""
    try:
        KERNELS[operation](np.zeros(N), i, n, np.zeros(8))
    except IndexError:
        return False
    return True


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a process with checks says of all cases."""
    cache = str(tmp_path_factory.mktemp("cache"))
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": cache,
        "NUMBA_DISABLE_JIT": "0",
    }
    done = subprocess.run(
        [sys.executable, __file__],
        env=environment,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("operation", CASES)
def test_what_leads_out_of_an_array_is_an_error(told, operation):
    assert told[operation] == [inside for _, _, inside in CASES[operation]]


def test_kernels_are_not_the_same_with_checks(tmp_path):
    """One cache serves both: neither finds the other's machine code."""
    script = "from sklearn_struct.compiled.cache import _digest; print(_digest(3))"
    digests = set()
    for checks in ("", "1"):
        environment = {**os.environ, "NUMBA_BOUNDSCHECK": checks}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 2


if __name__ == "__main__":
    print(
        json.dumps(
            {name: [is_inside(name, i, n) for i, n, _ in cases] for name, cases in CASES.items()}
        )
    )
