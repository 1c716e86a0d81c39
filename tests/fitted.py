"""Fitted chains of every kind of X, each with one sequence that it can read."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

from sklearn_struct import HMM, FeatureTemplates, LinearChainCRF, MEstimatedCRF, SequenceArray

LABELS = ["x", "y", "z"]
LENGTHS = (3, 1, 4, 2, 3, 4, 2, 3)


class Case(NamedTuple):
    """A fitted estimator, one sequence x, and a labelling of x other than the predicted one."""

    estimator: Any
    x: Any
    y: Any


def numbers(rng: np.random.RandomState, dtype: type = np.float64) -> list[np.ndarray]:
    return [rng.normal(size=(n, 3)).astype(dtype) for n in LENGTHS]


def attributes(rng: np.random.RandomState) -> list[Any]:
    words = [rng.randint(4, size=n) for n in LENGTHS]
    return [
        [{"w": f"{w}", "first": t == 0, "size": rng.normal()} for t, w in enumerate(s)]
        for s in words
    ]


def case(kind: str) -> Case:
    """The estimator of that kind, fitted on random data."""
    rng = np.random.RandomState(5)
    options: dict[str, Any] = {"C": 5.0}
    y = [[LABELS[k] for k in rng.randint(3, size=n)] for n in LENGTHS]
    X: Any = numbers(rng) if "numbers" in kind or "sparse" in kind else attributes(rng)
    if "edges" in kind:
        options["edge_features"] = [0, 2] if "numbers" in kind else ["size", re.compile("w:.*")]
    if kind == "no intercept":
        options |= {"fit_intercept": False, "transition_features": "observed"}
    if kind == "float32":
        options |= {"dtype": "float32", "edge_features": "all"}
    if kind == "sparse":
        X = [sp.csr_array(np.where(s > 0, s, 0)) for s in X]
    if "second" in kind:
        options["order"] = 2
    if kind in ("strings", "base"):
        X = [[str(token["w"]) for token in s] for s in X]
    if kind == "packed numbers":
        X = SequenceArray.from_sequences(X)
    if kind == "rows":
        X = rng.normal(size=(20, 3))
        y = rng.choice(LABELS, 20)
    if kind == "pipeline":
        X = [[(token["w"],) for token in s] for s in X]
    estimator: Any = LinearChainCRF(tol=1e-3, **options)
    if kind == "pipeline":
        estimator = make_pipeline(FeatureTemplates(["%x[0,0]", "b:%x[-1,0]/%x[0,0]"]), estimator)
    if "base" in kind:
        estimator = over_a_base(numeric="numbers" in kind)
    estimator.fit(X, y)
    x = X[2:3] if kind == "packed numbers" else X[2]
    predicted = estimator.predict(X)[2]
    if kind == "rows":
        return Case(estimator, x, "z" if predicted == "y" else "y")
    return Case(estimator, x, ["z" if label == "y" else "y" for label in predicted])


def over_a_base(numeric: bool) -> MEstimatedCRF:
    base = HMM(order=1 if numeric else 2, transition_smoothing=0.5)
    return MEstimatedCRF(
        None if numeric else ["w:%x[0,0]", "%x[-1,0]"], base=base, edge_features="all", C=5.0
    )


def many_labels(n: int = 40) -> Case:
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(50, 2)) for _ in range(4)]
    y = [rng.randint(n, size=50).tolist() for _ in range(4)]
    return Case(LinearChainCRF(tol=1e-2).fit(X, y), X[0], y[0])


KINDS = [
    "attributes",
    "attributes edges",
    "no intercept",
    "strings",
    "numbers",
    "numbers edges",
    "packed numbers",
    "sparse",
    "float32",
    "rows",
    "pipeline",
    "attributes second edges",
    "numbers second",
    "base",
    "base numbers",
]
