"""Data in partitions, and fits on them that tests compare with those on all data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_struct import (
    MEMM,
    FeatureTemplates,
    LinearChainCRF,
    PiecewiseCRF,
    PseudoLikelihoodCRF,
    SequenceVectorizer,
)
from sklearn_struct.distributed.partitions import Partition
from sklearn_struct.distributed.shards import InMemory

WORDS = ["the", "a", "cat", "dog", "sleeps", "barks", "loudly", "été"]
TAGS = ["O", "B-NP", "I-NP", "B-VP"]


TEMPLATES = ["w:%x[0,0]", "t:%x[0,1]", "b:%x[-1,0]/%x[0,0]"]
TIGHT = {"tol": 1e-6, "max_iter": 2000}


def sentences(n=60, seed=0):
    """Sequences of rows (word, number), some of them empty, and labels that follow from them."""
    rng = np.random.default_rng(seed)
    X = []
    y = []
    for _ in range(n):
        length = rng.integers(0, 7)
        words = rng.integers(len(WORDS), size=length)
        X.append([(WORDS[word], str(rng.integers(12))) for word in words])
        y.append([TAGS[(word // 2 + (rng.random() < 0.2)) % len(TAGS)] for word in words])
    return X, y


def cut(n_parts, *arrays):
    """Partitions of about the same number of sequences; None stays None."""
    n = len(arrays[0])
    bounds = np.linspace(0, n, n_parts + 1).astype(int)
    return [
        Partition(
            *(None if given is None else given[lo:hi] for given in arrays),
            *[None] * (2 - len(arrays)),
        )
        for lo, hi in pairwise(bounds)
    ]


def in_memory(n_parts, *arrays):
    return InMemory(cut(n_parts, *arrays))


def assert_same_pattern(one, other):
    """Two patterns have the same weights."""
    for name in ("n_features", "n_labels", "fit_intercept"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_array_equal(one.edge_columns, other.edge_columns)
    pairs = [(one.node, other.node)]
    for f, family in zip(one.families, other.families, strict=True):
        assert f.size == family.size
        np.testing.assert_array_equal(f.columns, family.columns)
        pairs.append((f.features, family.features))
    for left, right in pairs:
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_array_equal(left.indptr, right.indptr)
            np.testing.assert_array_equal(left.indices, right.indices)


def weights_of(X, seed=1):
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, size=len(X))
    # a whole partition of the eight that has none, and some others
    weight[:8] = 0.0
    weight[20] = 0.0
    return weight


def partly(y, seed=2):
    """Labels of which some are missing, some open, and those of the first sequences all unknown."""
    rng = np.random.default_rng(seed)
    entries = [
        [None if r < 0.2 else {label, TAGS[0]} if r < 0.3 else label for label, r in zip(labels, d)]
        for labels, d in ((labels, rng.random(len(labels))) for labels in y)
    ]
    return [None] * 9 + entries[9:]


def rows(X):
    """Words as dense numbers."""
    rng = np.random.default_rng(3)
    table = {word: rng.normal(size=3) for word in sorted({word for x in X for word, _ in x})}
    return [np.array([table[word] for word, _ in x]).reshape(-1, 3) for x in X]


def as_lists(X):
    return [[list(row) for row in x] for x in X]


def as_dicts(X):
    return [[{"word": word, "number": float(n), "v": [float(n), 0.5]} for word, n in x] for x in X]


def encoded(X):
    return SequenceVectorizer().fit_transform(as_lists(X))


def same(X):
    return X


def without_forbidden(y):
    """No B-VP before an I-NP."""
    return [
        ["O" if pair == ("B-VP", "I-NP") else pair[0] for pair in zip(x, [*x[1:], None])] for x in y
    ]


TEMPLATED = make_pipeline(FeatureTemplates(TEMPLATES, boundary="pad"), LinearChainCRF(**TIGHT))
# estimator, form of X, form of y, whether sequences have weights
CASES = {
    "templates": (TEMPLATED, same, same, False),
    "weights": (TEMPLATED, same, same, True),
    "partial": (TEMPLATED, same, partly, True),
    "rare": (
        make_pipeline(FeatureTemplates(TEMPLATES, min_frequency=4), LinearChainCRF(**TIGHT)),
        same,
        same,
        False,
    ),
    "strings": (LinearChainCRF(**TIGHT), as_lists, same, False),
    "dicts": (LinearChainCRF(C=0.1, **TIGHT), as_dicts, same, False),
    "vectorizer": (
        make_pipeline(SequenceVectorizer(min_frequency=2), LinearChainCRF(C=0.1, **TIGHT)),
        as_dicts,
        same,
        True,
    ),
    "hashed": (
        make_pipeline(SequenceVectorizer(n_features=32), LinearChainCRF(**TIGHT)),
        as_lists,
        same,
        False,
    ),
    "dense": (LinearChainCRF(**TIGHT), rows, same, True),
    "encoded": (LinearChainCRF(**TIGHT), encoded, same, False),
    "all pairs": (
        LinearChainCRF(feature_pairs="all", transition_features="observed", **TIGHT),
        as_lists,
        same,
        True,
    ),
    "rare pairs": (
        LinearChainCRF(min_frequency=3, transition_features="observed", **TIGHT),
        as_lists,
        same,
        False,
    ),
    "rare and open": (
        LinearChainCRF(
            min_frequency=6, edge_features=["cat"], transition_features="observed", **TIGHT
        ),
        as_lists,
        partly,
        False,
    ),
    "rare features": (
        LinearChainCRF(C=0.1, min_frequency=20, feature_pairs="all", **TIGHT),
        as_dicts,
        same,
        True,
    ),
    "order 2": (LinearChainCRF(order=2, **TIGHT), as_lists, same, False),
    "edges": (
        LinearChainCRF(edge_features=["cat", "3"], order=2, **TIGHT),
        as_lists,
        same,
        False,
    ),
    "all edges": (LinearChainCRF(edge_features="all", **TIGHT), as_lists, partly, False),
    "no intercept": (LinearChainCRF(fit_intercept=False, **TIGHT), as_lists, same, False),
    "softmax margin": (LinearChainCRF(loss="softmax_margin", **TIGHT), as_lists, same, False),
    "constrained": (
        LinearChainCRF(allowed_transitions={"B-VP": ["I-NP"]}, constrain_training=True, **TIGHT),
        as_lists,
        without_forbidden,
        False,
    ),
    "memm": (MEMM(**TIGHT), as_lists, same, True),
    "pseudolikelihood": (PseudoLikelihoodCRF(**TIGHT), as_lists, same, False),
    "windows": (PseudoLikelihoodCRF(block_size=2, **TIGHT), as_lists, same, False),
    "piecewise": (PiecewiseCRF(**TIGHT), as_lists, same, True),
    "newton": (LinearChainCRF(solver="newton-cg", **TIGHT), as_lists, same, False),
    "trust": (LinearChainCRF(solver="trust-ncg", **TIGHT), as_lists, same, False),
    "cg": (LinearChainCRF(solver="cg", **TIGHT), as_lists, same, False),
    "l1": (LinearChainCRF(l1_ratio=0.5, fit_intercept=False, **TIGHT), as_lists, same, False),
}


def data_of(name):
    estimator, form, of_y, weighted = CASES[name]
    X, y = sentences()
    return estimator, form(X), of_y(y), weights_of(X) if weighted else None


def model_of(fitted):
    return fitted[-1] if hasattr(fitted, "steps") else fitted


def fit(estimator, X, y, weight):
    if hasattr(estimator, "steps") and weight is not None:
        last = estimator.steps[-1][0]
        return estimator.fit(X, y, **{f"{last}__sample_weight": weight})
    return estimator.fit(X, y) if weight is None else estimator.fit(X, y, weight)


def whole(estimator, X, y, weight):
    """The objective of all data, by the steps of `fit`."""
    estimator = clone(estimator)
    for _, encoder in estimator.steps[:-1] if hasattr(estimator, "steps") else ():
        X = encoder.fit_transform(X)
    model = model_of(estimator)
    sequences = model._read_X(X, reset=True)
    codes = model._read_labels(y, sequences, reset=True)
    weights, loss = model._read_weights(weight, sequences, codes)
    potentials, data = model._posed(sequences, codes, weights)
    return model._objective("lbfgs", potentials, loss, data)
