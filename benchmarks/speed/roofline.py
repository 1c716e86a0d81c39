"""What an evaluation must move and compute, over what this machine can: a bound in milliseconds.

The count assumes the tables of the package: a row of weights, padded to whole vectors, for each
feature that occurs with several labels, a single number for the others. Rows of the most frequent
features and their gradient fit the second-level cache (CACHE bytes); the other rows come from
farther away whenever a token or a feature needs them.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from lib.goals import no_goals
from lib.side_by_side import Benchmark, Stopwatch, least
from lib.tasks import packed

CACHE = 2**19  # bytes of rows that stay near
VECTOR = 8  # numbers of a vector
INDEX = 4  # bytes of an index
FAR = "bytes from memory"
NEAR = "bytes from the second-level cache"
FLOPS = "floating-point operations"


class Shape(NamedTuple):
    """Counts of stored values by kind of feature, and of what else an evaluation touches."""

    tokens: int
    labels: int
    weights: int
    frequent: int  # occurrences of features whose rows stay near
    rare: int  # of other features with several labels
    single: int  # of features with one label
    rows: int
    singles: int


def shape(X: Any, codes: Any, itemsize: int) -> Shape:
    import numpy as np
    import scipy.sparse as sp

    n = X.shape[0]
    K = int(codes.max()) + 1
    labels = sp.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, K))
    pairs = np.diff(sp.csr_array(X.T @ labels).indptr)
    counts = np.bincount(X.indices, minlength=X.shape[1])
    several = np.sort(counts[pairs > 1])[::-1]
    near = CACHE // (_padded(K) * itemsize)
    return Shape(
        n,
        K,
        int(pairs.sum()) + K * K,
        int(several[:near].sum()),
        int(several[near:].sum()),
        int(counts[pairs == 1].sum()),
        len(several),
        int(np.sum(pairs == 1)),
    )


def _padded(n: int) -> int:
    return -(-n // VECTOR) * VECTOR


def work(s: Shape, itemsize: int) -> dict[str, float]:
    """Bytes and operations of one evaluation of L2 log-likelihood and gradient."""
    row = _padded(s.labels) * itemsize
    indices = INDEX * (
        2 * (s.frequent + s.rare) + 3 * s.single
    )  # forward, transposed; a single has a label as well
    rows = 2 * s.rare * row  # of weights forward, of residuals transposed
    singles = s.single * 2 * itemsize  # a residual each, written and read
    residuals = 2 * s.tokens * row  # written once, read once
    weights = 2 * 8 * s.weights + 2 * (
        s.rows * row + s.singles * itemsize
    )  # vectors in and out, tables out and in
    return {
        FAR: indices + rows + singles + residuals + weights,
        NEAR: 3 * s.frequent * row,  # weights read; gradients read and written
        FLOPS: 4 * (s.frequent + s.rare) * s.labels + 4 * s.single + 6 * s.tokens * s.labels**2,
    }


COPY = "copy in memory, GB / s"
TRIAD = "triad in memory, GB / s"
CACHED = "copy in the second-level cache, GB / s"
PRODUCT = "matrix product, GFlop / s"


class Load(NamedTuple):
    """Something that a core does, and how many bytes or operations that are."""

    size: float
    do: Callable[[], object]


def loads(dtype: str) -> dict[str, Load]:
    """What the rates of a machine are measured with, on arrays of their own."""
    import numpy as np

    far = np.ones(2**24)
    near = np.ones(CACHE // 16)
    far_out = np.empty_like(far)
    near_out = np.empty_like(near)
    third = np.empty_like(far)
    A = np.ones((1024, 1024), dtype)

    def triad() -> None:
        np.multiply(far, 3.0, out=far_out)
        np.add(far_out, third, out=far_out)

    def copy_near() -> None:
        for _ in range(1000):
            np.copyto(near_out, near)

    return {
        COPY: Load(2 * far.nbytes, lambda: np.copyto(far_out, far)),
        TRIAD: Load(5 * far.nbytes, triad),
        CACHED: Load(2000 * near.nbytes, copy_near),
        PRODUCT: Load(2 * 1024**3, lambda: A @ A),
    }


def machine(dtype: str) -> dict[str, float]:
    """Bytes and operations a second on one core, as numpy reaches them."""
    return {name: load.size / least(load.do, 7) / 1e9 for name, load in loads(dtype).items()}


def roofline(dtype: str, watch: Stopwatch) -> dict[str, float]:
    import numpy as np
    from lib.recording import evaluation_seconds

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, *_ = packed("chunking", watch)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, solver="lbfgs", dtype=dtype, max_iter=10)
    crf.fit(X[:50], y[:50])
    with evaluation_seconds() as seconds:
        crf.fit(X, y)
    itemsize = np.dtype(dtype).itemsize
    must = work(
        shape(X.tokens, np.searchsorted(crf.classes_, np.concatenate(y)), itemsize), itemsize
    )
    can = machine(dtype)
    far = 1000 * must[FAR] / max(can[COPY], can[TRIAD]) / 1e9
    near = 1000 * must[NEAR] / can[CACHED] / 1e9
    computing = 1000 * must[FLOPS] / can[PRODUCT] / 1e9
    measured = 1000 * statistics.median(seconds)
    bound = max(far, near, computing)
    summed = far + near + computing
    return (
        must
        | can
        | {
            "bound by memory, ms": far,
            "bound by the cache, ms": near,
            "bound by arithmetic, ms": computing,
            "an evaluation, CPU ms": measured,
            "of the highest bound, %": 100 * bound / measured,
            "of all three one after the other, %": 100 * summed / measured,
        }
    )


def dense(dtype: str, watch: Stopwatch) -> dict[str, float]:
    """An evaluation on dense X beside its two matrix products, on one BLAS thread."""
    from lib.recording import evaluation_seconds

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, *_ = packed("letters", watch)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, solver="lbfgs", dtype=dtype, max_iter=10).fit(
        X, y
    )
    with evaluation_seconds() as seconds:
        crf.fit(X, y)
    tokens = X.tokens.astype(dtype)
    W = crf.coef_.T.astype(dtype)
    R = tokens @ W
    products = least(lambda: (tokens @ W, tokens.T @ R), 9)
    measured = statistics.median(seconds)
    return {
        "an evaluation, CPU ms": 1000 * measured,
        "its matrix products, CPU ms": 1000 * products,
        "evaluation / products": measured / products,
    }


def _benchmark(
    title: str, measure: Callable[[str, Stopwatch], dict[str, float]], task: str
) -> Benchmark:
    return Benchmark(
        title, {dtype: partial(measure, dtype) for dtype in ("float64", "float32")}, no_goals, task
    )


BENCHMARKS = {
    "roofline-sparse": _benchmark(
        "Time of an evaluation beside what the machine allows: CoNLL-2000 chunking",
        roofline,
        "chunking",
    ),
    "roofline-dense": _benchmark(
        "Time of an evaluation on dense X: letters, 128 pixels, 26 labels", dense, "letters"
    ),
}
