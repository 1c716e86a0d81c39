"""The forms of joint features of a log-linear model: pairs of a number and a label, products, any
function.

fit(X, y, weight, pool) -> objective       # y codes of classes
scores(X, w) -> (examples, scores) ...     # a block of rows at a time; -inf for no candidate
coef(w), intercept(w), names()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.features.input_label_products import (
    Call,
    ProductFeatures,
    candidate_codes,
    encode,
    joint_name,
)
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.sequences import largest_sum
from sklearn_struct.exceptions import EmptyDataError, ForbiddenLabelError
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.linear.joint_pair_scores import JointMap
from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.losses_of_rows import RowExamples, Softmax
from sklearn_struct.objectives.joint_objective import JointObjective
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.node_maps import without_zeros
from sklearn_struct.objectives.rows_objective import RowsObjective
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern

__all__ = ["FunctionForm", "PairForm", "ProductForm"]

CELLS = 2_000_000  # scores of a block of predictions
Scores = Iterator[tuple[slice, np.ndarray]]


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, CELLS // width)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


class PairForm:
    """All pairs (column of a matrix, label): multinomial logistic regression."""

    def __init__(self, n_labels: int, fit_intercept: bool) -> None:
        self.n_labels = n_labels
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: np.ndarray, weight: np.ndarray, pool: Pool) -> Any:
        none = np.array([], dtype=int)
        # every chain has a family of pairs; single tokens have none, so these need no weights
        pairs = CliquePattern(2, 0, None, none)
        pattern = Pattern(X.shape[1], self.n_labels, None, (pairs,), none, self.fit_intercept)
        inference = Chain()
        singles = SequenceArray(X, np.arange(X.shape[0] + 1))  # chains of one token
        structure = inference.structure(singles.offsets)
        # for its error alone, where a value is too large to learn from
        largest_sum(singles)
        potentials = bind(pattern, without_zeros(singles), structure, np.dtype(float))
        data = TrainingData(structure, Evidence(y), weight)
        return LinearObjective(potentials, LogLikelihood(inference), inference, data).on(pool)

    def scores(self, X: Any, w: np.ndarray) -> Scores:
        coef = self.coef(w).T
        intercept = self.intercept(w)
        return ((rows, X[rows] @ coef + intercept) for rows in _blocks(X.shape[0], self.n_labels))

    def coef(self, w: np.ndarray) -> np.ndarray:
        K = self.n_labels
        return w[: len(w) - K * self.fit_intercept].reshape(-1, K).T.copy()

    def intercept(self, w: np.ndarray) -> np.ndarray:
        return w[-self.n_labels :].copy() if self.fit_intercept else np.zeros(self.n_labels)

    def names(self) -> None:
        """Tables have names of columns alone."""


class ProductForm:
    """Pairs (part of the input, part of the label) that were seen together in the data."""

    def __init__(
        self,
        features: ProductFeatures,
        classes: np.ndarray,
        fit_intercept: bool,
        min_frequency: int,
    ) -> None:
        self.features = features
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.min_frequency = min_frequency
        self.vectorizer = SequenceVectorizer()
        self.label_vectorizer = SequenceVectorizer()

    def _contexts(self, X: SequenceInput, learn: bool) -> Any:
        return encode(
            self.vectorizer,
            self.features.context,
            lambda: ((i, (x,)) for i, x in enumerate(X)),
            learn,
        )

    def _label_parts(self) -> Any:
        """What each label consists of, a row each."""
        parts = self.features.label or (lambda y: [str(y)])
        return encode(
            self.label_vectorizer, parts, lambda: ((-1, (y,)) for y in self.classes.tolist()), True
        )

    def fit(self, X: SequenceInput, y: np.ndarray, weight: np.ndarray, pool: Pool) -> Any:
        K = len(self.classes)
        contexts = self._contexts(X, True)
        labels = self._label_parts()
        gold = sp.csr_array((weight, (np.arange(len(y)), y)), shape=(len(y), K))
        counts = sp.csr_array((contexts != 0).T.astype(float) @ gold @ (labels != 0).astype(float))
        # weights may make counts smaller than 1, which by default is no reason to leave out a
        # feature
        counts.data[counts.data < (self.min_frequency if self.min_frequency > 1 else 0)] = 0
        if self.features.keep is not None:
            counts.data[
                ~np.fromiter(map(self.features.keep, *self._parts_of(counts)), bool, counts.nnz)
            ] = 0
        counts.eliminate_zeros()
        counts.sort_indices()
        self.kept = counts
        self.pairs, self.spread = _expanded(counts, labels)
        if not counts.nnz and not self.fit_intercept:
            raise EmptyDataError("no joint feature is seen with a label of the data")
        return JointObjective(
            JointMap(contexts, self.pairs, K), self.spread, y, weight, self.fit_intercept
        ).on(pool)

    def scores(self, X: SequenceInput, w: np.ndarray) -> Scores:
        contexts = self._contexts(X, False)
        n = self.kept.nnz
        data = w[:n] if self.spread is None else self.spread @ w[:n]
        shape = (contexts.shape[1], len(self.classes))
        table = sp.csr_array((data, self.pairs.indices, self.pairs.indptr), shape=shape)
        intercept = self.intercept(w)
        for rows in _blocks(contexts.shape[0], len(self.classes)):
            yield rows, (contexts[rows] @ table).toarray() + intercept

    def coef(self, w: np.ndarray) -> np.ndarray:
        return w[: self.kept.nnz].copy()

    def intercept(self, w: np.ndarray) -> np.ndarray:
        return w[self.kept.nnz :].copy() if self.fit_intercept else np.zeros(len(self.classes))

    def names(self) -> np.ndarray:
        return object_array(list(map(joint_name, *self._parts_of(self.kept))))

    def _parts_of(self, pairs: sp.csr_array) -> tuple[list[str], list[str]]:
        """Names of the part of the input and of that of the label, for each pair."""
        rows = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
        a = self.vectorizer.get_feature_names_out()
        b = self.label_vectorizer.get_feature_names_out()
        return a[rows].tolist(), b[pairs.indices].tolist()


def _expanded(kept: sp.csr_array, labels: sp.csr_array) -> tuple[CSR, Any]:
    """Pairs (part of the input, label) that pairs of parts touch; and how weights of the latter
    make theirs.
    """
    K = labels.shape[0]
    n = kept.nnz
    if (
        # each label has one part, its own: weights of parts are weights of labels as they are
        labels.shape[1] == K
        and labels.nnz == K
        and np.all(labels.indices == np.arange(K))
        and np.all(labels.data == 1)
    ):
        return csr(kept), None
    # one row a weight: the labels that have its part; and the number of the input's part in front
    by_part = sp.csr_array(
        sp.csr_array((np.ones(n), kept.indices, np.arange(n + 1)), (n, labels.shape[1])) @ labels.T
    )
    part = np.repeat(
        np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr)), np.diff(by_part.indptr)
    )
    pairs, place = np.unique(part.astype(np.int64) * K + by_part.indices, return_inverse=True)
    weight = np.repeat(np.arange(n), np.diff(by_part.indptr))
    indptr = np.searchsorted(pairs, np.arange(kept.shape[0] + 1) * K)
    spread = sp.csr_array((by_part.data, (place, weight)), shape=(len(pairs), n))
    return CSR(indptr.astype(np.int64), (pairs % K).astype(np.int32), np.empty(0)), spread


class FunctionForm:
    """Any function of an input and a label, called for each candidate."""

    def __init__(
        self,
        features: Callable[[Any, Any], Any],
        candidates: Callable[[Any], Any] | None,
        classes: np.ndarray,
        fit_intercept: bool,
        selection: tuple[int, int | None],
    ) -> None:
        self.features = features
        self.candidates = candidates
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.min_frequency, n_features = selection
        self.vectorizer = SequenceVectorizer(n_features=n_features)

    def fit(self, X: SequenceInput, y: np.ndarray, weight: np.ndarray, pool: Pool) -> Any:
        labels = self.classes.tolist()

        def gold() -> Iterator[Call]:
            return ((i, (x, labels[k])) for i, (x, k) in enumerate(zip(X, y.tolist())))

        seen = encode(self.vectorizer, self.features, gold, True)
        counts = (seen != 0).T.astype(float) @ weight
        self.columns = np.flatnonzero(
            (counts >= self.min_frequency) if self.min_frequency > 1 else counts > 0
        )
        self.labels = (
            np.flatnonzero(np.bincount(y, weight, len(labels)) > 0) if self.fit_intercept else y[:0]
        )
        rows, offsets, codes = self._rows(X)
        owner = np.repeat(np.arange(len(y)), np.diff(offsets))
        place = np.flatnonzero(codes == y[owner])
        if len(place) < len(y):
            i = int(np.setdiff1d(np.arange(len(y)), owner[place])[0])
            raise ForbiddenLabelError(
                f"y[{i}]: label {labels[y[i]]!r} is not among candidates(X[{i}])"
            )
        if not rows.shape[1]:
            raise EmptyDataError("no joint feature is seen with a label of the data")
        data = RowExamples(offsets, (place - offsets[:-1]).astype(np.int32), weight)
        return RowsObjective(SparseRows(rows), Softmax(), data, n_free=len(self.labels)).on(pool)

    def _rows(self, X: Any, first: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
        """The features of each input with each candidate; offsets of inputs, candidates' codes."""
        labels = self.classes.tolist()
        K = len(self.classes)
        if self.candidates is None:
            offsets = np.arange(len(X) + 1) * K
            codes = np.tile(np.arange(K, dtype=np.int32), len(X))
        else:
            known = {label: k for k, label in enumerate(labels)}
            offsets, codes = candidate_codes(X, self.candidates, known, first)

        def calls() -> Iterator[Call]:
            for i, (x, bounds) in enumerate(zip(X, pairwise(offsets.tolist()))):
                yield from ((first + i, (x, labels[k])) for k in codes[slice(*bounds)].tolist())

        rows = encode(self.vectorizer, self.features, calls, False)[:, self.columns]
        if len(self.labels):
            intercept = sp.csr_array(np.eye(K)[:, self.labels])
            rows = sp.hstack([rows, intercept[codes]], format="csr")
        return rows, offsets, codes

    def scores(self, X: Any, w: np.ndarray) -> Scores:
        K = len(self.classes)
        for examples in _blocks(len(X), 10 * K):
            rows, offsets, codes = self._rows(X[examples], examples.start)
            block = np.full((len(offsets) - 1, K), -np.inf)
            block[np.repeat(np.arange(len(block)), np.diff(offsets)), codes] = rows @ w
            yield examples, block

    def coef(self, w: np.ndarray) -> np.ndarray:
        return w[: len(self.columns)].copy()

    def intercept(self, w: np.ndarray) -> np.ndarray:
        intercept = np.zeros(len(self.classes))
        intercept[self.labels] = w[len(self.columns) :]
        return intercept

    def names(self) -> np.ndarray | None:
        if self.vectorizer.n_features is not None:
            return None
        return self.vectorizer.get_feature_names_out()[self.columns]
