"""Cora: one graph of 2,708 papers, of which 140 have labels (Yang, Cohen and Salakhutdinov, ICML
2016, whose split it is).

Everything that is chosen (penalties, how far words spread, how many rounds) is chosen by accuracy
on the 500 validation papers; each contestant's choice then sees the 1,000 test papers once.

What the graph CRF sees of a paper are its words, row-normalised, spread along citations as in
personalised PageRank (Gasteiger, Bojchevski and Günnemann, ICLR 2019), in 300 dimensions. So a
logistic regression of these stands beside it, and the same CRF without rounds (`n_rounds=0`, the
likelihood of what is known).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

from papers.field_corpora import in_data_home

VALIDATION = "validation"
TEST = "test"
FIT = "all choices, CPU s"
ROUNDS = "graph CRF, rounds"
# how much of a paper's own words stay
STAYS = (0.1, 0.2)
DIMENSIONS = 300
STEPS = 20


class Network(NamedTuple):
    """Papers as rows of words (n, d), labels (n,), citations (m, 2), and the parts of the split."""

    X: Any
    y: Any
    edges: Any
    train: Any
    validation: Any
    test: Any

    def citations(self) -> Any:
        """A symmetric matrix of ones."""
        import numpy as np
        import scipy.sparse as sp

        first, second = self.edges.T
        n = len(self.y)
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        A = sp.coo_array((np.ones(len(ends[0])), ends), shape=(n, n)).tocsr()
        A.data[:] = 1.0
        return A

    def spread(self, rows: Any, stays: float) -> Any:
        """Rows of numbers after some steps along citations, from which each returns with
        probability `stays`.
        """
        import numpy as np
        import scipy.sparse as sp

        A = self.citations() + sp.eye_array(len(self.y))
        scale = sp.diags_array(1.0 / np.sqrt(A.sum(axis=1)))
        step = sp.csr_array(scale @ A @ scale)
        start = rows.toarray() if sp.issparse(rows) else rows
        now = start
        for _ in range(STEPS):
            now = (1.0 - stays) * (step @ now) + stays * start
        return now

    def dense_words(self, stays: float) -> Any:
        """Words that are spread, in their main directions, turned and else as they were."""
        import numpy as np

        U, scale, _ = np.linalg.svd(self.spread(self.X, stays), full_matrices=False)
        return (U * scale)[:, :DIMENSIONS]

    def figures(self, every: Iterable[Any], start: float) -> dict[str, float]:
        """Of the predicted labels of all papers that each choice leads to: the accuracies of that
        which is best on validation papers.
        """
        import numpy as np

        def accuracy(labels: Any, part: Any) -> float:
            return float(np.mean(labels[part] == self.y[part]))

        best = max(every, key=lambda labels: accuracy(labels, self.validation))
        return {
            VALIDATION: accuracy(best, self.validation),
            TEST: accuracy(best, self.test),
            FIT: time.process_time() - start,
        }


def cora() -> Network:
    import numpy as np
    import scipy.sparse as sp

    file = np.load(in_data_home("cora", "cora.npz"))
    indices = file["X_indices"].astype(np.int64)
    ones = np.ones(len(indices))
    X = sp.csr_array((ones, indices, file["X_indptr"]), shape=tuple(file["X_shape"]))
    X = sp.csr_array(sp.diags_array(1.0 / np.maximum(X.sum(axis=1), 1.0)) @ X)
    parts = (file[name].astype(np.int64) for name in ("train", "val", "test"))
    return Network(X, file["y"].astype(np.int64), file["edges"].astype(np.int64), *parts)


# ---- contestants: labels of all papers, choice by choice


def by_words(network: Network, quick: bool) -> Iterable[Any]:
    for C in (10.0, 100.0) if quick else (1.0, 10.0, 100.0, 1000.0):
        yield _regression(network, network.X, C).predict(network.X)


def by_spread_words(network: Network, quick: bool) -> Iterable[Any]:
    for stays in STAYS:
        rows = network.dense_words(stays)
        for C in (1000.0,) if quick else (10.0, 100.0, 1000.0, 10000.0):
            yield _regression(network, rows, C).predict(rows)


def by_pagerank(network: Network, quick: bool) -> Iterable[Any]:
    for C in (100.0,) if quick else (1.0, 10.0, 100.0, 1000.0):
        proba = _regression(network, network.X, C).predict_proba(network.X)
        for stays in (0.1,) if quick else (0.02, 0.05, 0.1, 0.2, 0.3):
            yield network.spread(proba, stays).argmax(axis=1)


def by_label_spreading(network: Network, quick: bool) -> Iterable[Any]:
    """scikit-learn's, along citations."""
    import numpy as np
    from sklearn.semi_supervised import LabelSpreading

    A = network.citations().toarray()
    known = np.full(len(network.y), -1)
    known[network.train] = network.y[network.train]
    numbers = np.arange(len(known)).reshape(-1, 1).astype(float)
    for alpha in (0.9,) if quick else (0.5, 0.8, 0.9, 0.95, 0.99):
        model = LabelSpreading(kernel=lambda a, b: A, alpha=alpha, max_iter=200)
        yield model.fit(numbers, known).transduction_


def by_graph(network: Network, quick: bool) -> Iterable[Any]:
    """Rounds go on from each other: the choice is how many there are."""
    for stays in STAYS[:1] if quick else STAYS:
        rows = network.dense_words(stays)
        for C in (0.1,) if quick else (0.03, 0.1, 0.3):
            crf = None
            for _ in range(1 if quick else 3):
                crf, labels = _graph_crf(network, 100.0 * rows, C, n_rounds=1, init=crf)
                yield labels


def by_likelihood(network: Network, quick: bool) -> Iterable[Any]:
    for stays in STAYS[:1] if quick else STAYS:
        rows = network.dense_words(stays)
        for C in (0.1,) if quick else (0.03, 0.1, 0.3):
            yield _graph_crf(network, 100.0 * rows, C, n_rounds=0, init=None)[1]


def _regression(network: Network, rows: Any, C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, max_iter=1000)
    return model.fit(rows[network.train], network.y[network.train])


def _graph_crf(network: Network, rows: Any, C: float, n_rounds: int, init: Any) -> tuple[Any, Any]:
    """The fitted model, and the most probable label of each paper."""
    from sklearn_struct import GraphCRF

    known: list[Any] = [None] * len(network.y)
    for i in network.train:
        known[i] = int(network.y[i])
    crf = GraphCRF(
        C=C,
        symmetric=True,
        n_rounds=n_rounds,
        inference="bp",
        decoder="marginal",
        tol=1e-3,
        max_iter=60 if n_rounds else 15,
    )
    X = [(rows, network.edges)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that end before `tol`
        crf.fit(X, [known], init=init)
        labels = crf.predict(X)[0]
    import numpy as np

    return crf, np.array(labels)


def _contest(
    labels: Callable[[Network, bool], Iterable[Any]], watch: Stopwatch
) -> dict[str, float]:
    network = cora()
    return network.figures(labels(network, watch.quick), time.process_time())


def goals(medians: Medians) -> list[Goal]:
    return [Goal("accuracy on Cora, 140 labels", medians.figure(ROUNDS, TEST), 0.835, 0.823)]


BENCHMARKS = {
    "graph-cora": Benchmark(
        "Topics of papers that cite each other, 140 of 2,708 papers labelled",
        {
            "logistic regression": partial(_contest, by_words),
            "the same, then PageRank": partial(_contest, by_pagerank),
            "of words that are spread": partial(_contest, by_spread_words),
            "label spreading": partial(_contest, by_label_spreading),
            "graph CRF, likelihood": partial(_contest, by_likelihood),
            ROUNDS: partial(_contest, by_graph),
        },
        goals,
        beside="scikit-learn, personalised PageRank",
        papers=(Source("xiang-2008", "within-network labels"), Source("qu-2019", "Cora")),
    )
}
