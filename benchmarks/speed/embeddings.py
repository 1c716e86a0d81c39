"""What 300 dense columns cost beside 20 sparse attributes: CoNLL-2000 with a vector for each word.

An evaluation of the objective stands beside one of the attributes alone plus the two matrix
products that the embeddings need: X W and X' R.
"""

from __future__ import annotations

import statistics
import time
import warnings
from functools import partial
from typing import Any

from lib.fitting import scores
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least
from lib.tasks import corpus

LENGTH = 300
EVALUATION = "an evaluation, CPU ms"
APART = "attributes and products apart, CPU ms"
FEW = 15  # iterations of the fits whose evaluations are timed


class _Vectors(dict[str, Any]):
    """A vector for each word, drawn when it is first asked for."""

    def __init__(self) -> None:
        import numpy as np

        self.rng = np.random.default_rng(0)

    def __missing__(self, word: str) -> Any:
        self[word] = 0.3 * self.rng.normal(size=LENGTH)
        return self[word]


def _with_vectors(X: list[Any], vectors: _Vectors) -> list[Any]:
    return [[token | {"vector": vectors[token["w[0]"]]} for token in sentence] for sentence in X]


def _data(watch: Stopwatch) -> tuple[Any, Any, Any, Any]:
    """Token dicts of 20 attributes."""
    X, y, X_test, y_test = corpus(watch, "dicts")
    for sentence in [*X, *X_test]:
        for token in sentence:
            token["bias"] = 1.0
    return X, y, X_test, y_test


def measure(kind: str, dtype: str, watch: Stopwatch) -> dict[str, float]:
    """Reading, evaluations, a fit and predictions of one form of X."""
    from lib.recording import evaluation_seconds

    from sklearn_struct import LinearChainCRF, SequenceArray, SequenceVectorizer

    warnings.simplefilter("ignore")
    X, y, X_test, y_test = _data(watch)
    if kind != "attributes":
        vectors = _Vectors()
        X = _with_vectors(X, vectors)
        X_test = _with_vectors(X_test, vectors)
    vectorizer = SequenceVectorizer(dtype=dtype).fit(X[:50])
    vectorizer.transform(X[:50])
    figures = {}
    start = time.process_time()
    packed = vectorizer.fit_transform(X)
    figures["reading, CPU s"] = time.process_time() - start
    test = vectorizer.transform(X_test)
    del X, X_test
    if kind == "sparse numbers":
        packed = SequenceArray(packed.tokens, packed.offsets)
        test = SequenceArray(test.tokens, test.offsets)
    crf = LinearChainCRF(dtype=dtype, solver="lbfgs", max_iter=FEW).fit(packed[:50], y[:50])
    with evaluation_seconds() as seconds:
        crf.fit(packed, y)
    figures[EVALUATION] = 1000 * statistics.median(seconds)
    if kind == "embeddings":
        figures |= _apart(crf, packed, y)
    crf.predict(test[:50])
    figures["predict, CPU s"] = least(lambda: crf.predict(test), 3)
    crf.set_params(max_iter=1000)
    with watch.part("fit"):
        crf.fit(packed, y)
    figures["iterations"] = crf.n_iter_
    return figures | scores("chunking", y_test, crf.predict(test))


def _apart(crf: Any, packed: Any, y: Any) -> dict[str, float]:
    """An evaluation of the attributes alone, and the products of the embeddings, in this process.

    They are timed between evaluations, so that all see the same machine.
    """
    import numpy as np
    from lib.recording import evaluation_seconds

    from sklearn_struct import SequenceArray

    stored = packed.stored
    alone = SequenceArray(stored.sparse, packed.offsets)
    with evaluation_seconds() as seconds:
        crf.fit(alone, y)
    W = np.zeros((LENGTH, len(crf.classes_)), stored.dtype)
    R = stored.dense @ W
    products = 1000 * least(lambda: (stored.dense @ W, stored.dense.T @ R), 7)
    with evaluation_seconds() as seconds_of_both:
        crf.fit(packed, y)
    apart = products + 1000 * statistics.median(seconds)
    return {
        "products of embeddings, CPU ms": products,
        APART: apart,
        "evaluation / apart": 1000 * statistics.median(seconds_of_both) / apart,
    }


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal(
            f"an evaluation over attributes and products apart, {dtype}",
            medians.figure(f"embeddings, {dtype}", "evaluation / apart"),
            1.3,
            1.3,
            at_most=True,
        )
        for dtype in ("float64", "float32")
    ]


BENCHMARKS = {
    "embeddings": Benchmark(
        "Embeddings of 300 numbers beside 20 attributes a token: CoNLL-2000 chunking",
        {
            f"{kind}, {dtype}": partial(measure, kind, dtype)
            for dtype in ("float64", "float32")
            for kind in ("attributes", "embeddings", "sparse numbers")
        },
        goals,
        "chunking",
        beside="the same numbers as sparse attributes",
    )
}
