"""Vector operations against numpy, compiled and as their numpy twins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_struct.compiled import simd
from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES

INF = np.inf
DTYPES = [np.float64, np.float32]
TWINS = ["first_order", "first_order_decoding", "first_order_tangent", "dual_numbers"]


@kernel
def _arithmetic(a, s, out):
    x = simd.load(a, 0)
    y = simd.load(a, LANES)
    z = simd.load(a, 2 * LANES)
    simd.store(out, 0, x)
    simd.store(out, LANES, simd.add(x, y))
    simd.store(out, 2 * LANES, simd.sub(x, y))
    simd.store(out, 3 * LANES, simd.mul(x, y))
    simd.store(out, 4 * LANES, simd.fma(x, y, z))
    simd.store(out, 5 * LANES, simd.maximum(x, y))
    simd.store(out, 6 * LANES, simd.minimum(x, y))
    simd.store(out, 7 * LANES, simd.splat(s))
    simd.store(out, 8 * LANES, simd.if_larger(x, y, z))
    return simd.total(x), simd.largest(x), simd.least(x)


@kernel
def _several(a, like_of, out):
    n = simd.lanes_of(like_of)
    s = simd.splat_as(simd.at(a, 0), like_of)
    x = simd.load_as(a, 1, like_of)
    simd.store_as(out, 2, simd.fma(x, simd.load_as(a, 1 + n, like_of), s))
    simd.store_as(out, 4 + n, simd.add(simd.mul(x, s), x))
    return n


@kernel
def _three(a, out):
    return _several(a, simd.three(a), out)


@kernel
def _three_wide(a, out):
    return _several(a, simd.three_wide(a), out)


@kernel
def _parts(a, i, n, o, out):
    several = simd.three(out)
    rest = simd.splat_as(out.dtype.type(5), several)
    simd.prefetch_as(a, i, several)
    x = simd.load_part_as(out, i, n, rest)
    simd.store_part_as(out, o, x, n)
    simd.store_as(out, o + 4 * LANES, x)
    return simd.lanes_of(rest)


@kernel
def _of_three(a, other, out):
    several = simd.three(a)
    x = simd.load_as(a, 0, several)
    y = simd.load_as(a, 3 * LANES, several)
    simd.store_as(out, 0, simd.sub(x, y))
    simd.store_as(out, 3 * LANES, simd.maximum(x, y))
    simd.store_as(out, 6 * LANES, simd.minimum(x, y))
    simd.store_as(out, 9 * LANES, simd.exp(simd.sub(simd.minimum(x, y), simd.maximum(x, y))))
    simd.store_as(other, 0, simd.cast(x, other))
    simd.store_as(out, 12 * LANES, simd.load_as(other, 0, several))
    simd.set_at(other, 3 * LANES, 7)
    return simd.total(x), simd.largest(x), simd.least(x)


@kernel
def _cast_and_keep(a, bits, out, small):
    simd.prefetch(a, 0)
    x = simd.load(a, 0)
    simd.store(out, 0, simd.keep(x, bits[0]))
    simd.store(small, 0, simd.cast(x, small))
    simd.store(out, LANES, simd.cast(simd.load(small, 0), out))


@kernel
def _find(a, numbers, i, out):
    for j in range(len(numbers)):
        out[j] = simd.where(simd.load(a, i), numbers[j])
    return simd.at(a, i)


@kernel
def _exp(a, out):
    for i in range(0, len(a), LANES):
        simd.store(out, i, simd.exp(simd.load(a, i)))


@kernel
def _copy_part(a, i, n, fill, out, o):
    simd.store_part(out, o, simd.load_part(a, i, n, fill), n)
    simd.store(out, o + 2 * LANES, simd.load_part(a, i, n, fill))


def exp(x, dtype):
    padded = np.zeros(-(-len(x) // LANES) * LANES, dtype=dtype)
    padded[: len(x)] = x
    out = np.empty_like(padded)
    _exp(padded, out)
    return out[: len(x)]


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wide", [False, True])
def test_vectors_of_several_registers(dtype, wide):
    """Each number once, at any place, whatever registers it is in."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=100).astype(dtype)
    out = np.full(104, 7.0, dtype)
    n = (_three_wide if wide else _three)(a, out)
    assert n == (3 * 64 // np.dtype(dtype).itemsize if wide else 24)
    x = a[1 : 1 + n]
    expected = x * a[1 + n : 1 + 2 * n] + a[0]
    np.testing.assert_allclose(out[2 : 2 + n], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(out[4 + n : 4 + 2 * n], x * a[0] + x, rtol=1e-6, atol=1e-6)
    assert np.all(out[:2] == 7.0)
    assert np.all(out[2 + n : 4 + n] == 7.0)
    assert np.all(out[4 + 2 * n :] == 7.0)


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [-3, 0, 1, 8, 13, 16, 22, 24, 30])
def test_parts_of_several_registers(dtype, n):
    """The rest is neither read nor written; it is that of another vector."""
    out = np.arange(90, dtype=dtype)
    before = out.copy()
    assert _parts(out, 2, n, 30, out) == 24
    m = max(0, min(n, 24))
    np.testing.assert_array_equal(out[30 : 30 + m], before[2 : 2 + m])
    np.testing.assert_array_equal(out[30 + m : 62], before[30 + m : 62])
    np.testing.assert_array_equal(out[62 : 62 + m], before[2 : 2 + m])
    assert np.all(out[62 + m : 86] == 5.0)
    np.testing.assert_array_equal(out[86:], before[86:])


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_operations_on_several_registers(dtype, other):
    a = np.random.default_rng(0).normal(size=48).astype(dtype)
    out = np.empty((5, 24), dtype)
    cast = np.zeros(25, other)
    total, largest, least = _of_three(a, cast, out)
    x, y = a.reshape(2, 24)
    np.testing.assert_array_equal(out[:3], [x - y, np.maximum(x, y), np.minimum(x, y)])
    np.testing.assert_allclose(out[3], np.exp(-np.abs(x - y)), rtol=1e-6)
    np.testing.assert_array_equal(cast, [*x.astype(other), 7])
    np.testing.assert_array_equal(out[4], x.astype(other).astype(dtype))
    # eight numbers, the next eight, and the last: the sum does not depend on registers
    eight = (x[:8] + x[8:16]) + x[16:]
    four = eight[:4] + eight[4:]
    two = four[:2] + four[2:]
    np.testing.assert_allclose(total, two[0] + two[1], rtol=1e-5)
    assert (largest, least) == (x.max(), x.min())


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations(dtype):
    x, y, z = rows = np.random.default_rng(0).normal(size=(3, LANES)).astype(dtype)
    out = np.empty((9, LANES), dtype=dtype)
    # flat indices into an array of any shape
    total, largest, least = _arithmetic(rows, dtype(2.5), out)
    exact = [
        x,
        x + y,
        x - y,
        x * y,
        None,
        np.maximum(x, y),
        np.minimum(x, y),
        np.full(LANES, dtype(2.5)),
        np.where(x > y, z, dtype(0)),
    ]
    for i in (0, 1, 2, 3, 5, 6, 7, 8):
        np.testing.assert_array_equal(out[i], exact[i])
    np.testing.assert_allclose(
        out[4], x.astype(float) * y + z, rtol=0, atol=2 * np.finfo(dtype).eps
    )
    assert total == pytest.approx(x.astype(float).sum(), abs=8 * float(np.finfo(dtype).eps))
    assert (largest, least) == (x.max(), x.min())


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_number_and_where_it_stands(dtype):
    """The first of equal ones; nan stands nowhere."""
    a = np.array([[9, 9, 9, 9], [5, -INF, 5, np.nan], [0, 1, 2, 3]], dtype=dtype)
    numbers = np.array([5, -INF, 0, 3, 9, np.nan], dtype=dtype)
    out = np.empty(len(numbers), dtype=np.int64)
    assert _find(a, numbers, 4, out) == 5
    assert out.tolist() == [0, 1, 4, 7, LANES, LANES]


@pytest.mark.twins
@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cast_and_keep(dtype, other):
    a = np.random.default_rng(0).normal(size=LANES).astype(dtype)
    out = np.empty(2 * LANES, dtype)
    small = np.empty(LANES, other)
    bits = np.array([0b10010110], np.uint8)
    _cast_and_keep(a, bits, out, small)
    np.testing.assert_array_equal(out[:LANES], a * np.array([0, 1, 1, 0, 1, 0, 0, 1], dtype))
    np.testing.assert_array_equal(small, a.astype(other))
    np.testing.assert_array_equal(out[LANES:], a.astype(other).astype(dtype))


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_starts_at_a_line_of_the_caches(dtype):
    for size in (1, 7, 1000):
        for memory in (simd.aligned(size, dtype), simd.workspace((size,), dtype)):
            assert memory.dtype == dtype
            assert memory.ctypes.data % 64 == 0
            assert len(memory) >= size
    assert not np.any(simd.aligned(1000, dtype))


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_on_infinities(dtype):
    """-inf is what scores of forbidden labels are; a nan in the first operand gives way to the
    second.
    """
    rows = np.zeros((3, LANES), dtype=dtype)
    rows[0, :5] = -INF, INF, -INF, 1.0, np.nan
    rows[1, :5] = 1.0, 1.0, -INF, -INF, 1.0
    out = np.empty((9, LANES), dtype=dtype)
    _arithmetic(rows, dtype(0), out)
    np.testing.assert_array_equal(out[1, :4], [-INF, INF, -INF, -INF])
    np.testing.assert_array_equal(out[5, :5], [1.0, INF, -INF, 1.0, 1.0])
    np.testing.assert_array_equal(out[6, :5], [-INF, 1.0, -INF, -INF, 1.0])
    rows[0, 4] = 0.0
    _, largest, least = _arithmetic(rows, dtype(0), out)
    assert (largest, least) == (INF, -INF)


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [-3, 0, 1, 3, 7, 8, 11])
def test_parts(dtype, n):
    """The first n of eight numbers; the others are left alone, also behind the end of the array."""
    a = np.arange(1, 20, dtype=dtype)
    out = np.full(4 * LANES, -1, dtype=dtype)
    start = max(0, len(a) - max(n, 0))  # the part ends where the array ends
    _copy_part(a, start, n, dtype(-7), out, 3)
    first = a[start : start + max(0, min(n, LANES))]
    np.testing.assert_array_equal(
        out[: 3 + LANES], [-1] * 3 + [*first] + [-1] * (LANES - len(first))
    )
    np.testing.assert_array_equal(
        out[3 + 2 * LANES : 3 + 3 * LANES], [*first] + [-7] * (LANES - len(first))
    )


@pytest.mark.twins
@pytest.mark.parametrize(
    ("dtype", "lowest", "bound"), [(np.float64, -708.0, 4e-16), (np.float32, -87.0, 2e-7)]
)
def test_accuracy_of_exp(dtype, lowest, bound):
    rng = np.random.default_rng(0)
    n = 400 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 200_000
    x = np.concatenate(
        [
            np.linspace(lowest, 0, n),
            -(10.0 ** rng.uniform(-12, 2.8, size=n)),
            -np.log(2) * np.arange(1, 1000) / 2,
        ]
    )
    x = x[x >= lowest].astype(dtype)
    expected = np.exp(x.astype(np.longdouble))
    error = np.abs(exp(x, dtype) - expected) / expected
    assert error.max() < bound


@pytest.mark.twins
@pytest.mark.parametrize(("dtype", "below"), [(np.float64, -708.01), (np.float32, -87.01)])
def test_ends_of_exp(dtype, below):
    ones = [0.0, -0.0, -5e-324, -1e-300, -1e-30, -np.finfo(dtype).tiny]
    zeros = [below, 2 * below, -1e4, -1e30, -np.finfo(dtype).max, -INF]
    np.testing.assert_array_equal(exp(ones + zeros, dtype), [1.0] * len(ones) + [0.0] * len(zeros))


def test_exp_never_decreases():
    for dtype in DTYPES:
        assert np.all(np.diff(exp(np.linspace(-90, 0, 1_000_000), dtype)) >= 0)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 22, 64])
def test_padded(n):
    assert simd.padded(n) == -(-n // LANES) * LANES


# ---- the twins


def test_everything_small_runs_without_the_jit():
    """The tests marked `twins` once more, in a process where kernels are Python and vectors numpy
    arrays.
    """
    root = Path(__file__).parents[2]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    inference = [f"tests/inference/chains/test_{name}.py" for name in TWINS]
    files = ["tests/compiled/test_simd.py", "tests/compiled/test_small_products.py", *inference]
    # numpy warns of what kernels do silently: infinities are part of the game
    options = ["-q", "-m", "twins", "-W", "ignore::RuntimeWarning", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "deselected" in done.stdout
