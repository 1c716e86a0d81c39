"""No estimator reads a damaged sparse matrix, in any form, by any method; each stays as it was."""

from __future__ import annotations

import inspect
import itertools

import damage
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import get_tags

import sklearn_struct
from sklearn_struct import (
    GraphCRF,
    GridCRF,
    LogLinearClassifier,
    MultiLabelCRF,
    SequenceArray,
    TokenTransformer,
    TokenWindows,
)
from sklearn_struct.labeled_features import suggest_features

# an argument
NEEDING = {
    "Cliques",
    "GraphArray",
    "Lexicon",
    "ProductFeatures",
    "PrototypeFeatures",
    "SequenceUnion",
    "SequenceArray",
    "TokenTransformer",
    "TokenWindows",
    "TypedNodes",
}
PUBLIC = {name: getattr(sklearn_struct, name) for name in sklearn_struct.__all__}
ESTIMATORS = [cls() for name, cls in PUBLIC.items() if inspect.isclass(cls) and name not in NEEDING]
READERS = [estimator for estimator in ESTIMATORS if get_tags(estimator).input_tags.sparse]
# these read no sequences of matrices
OTHERS = LogLinearClassifier | GraphCRF | GridCRF | MultiLabelCRF
METHODS = [
    "fit",
    "partial_fit",
    "score",
    "log_proba",
    "predict",
    "predict_proba",
    "predict_nbest",
    "sample",
]
SOUND = np.arange(36.0).reshape(6, 6) % 5
y = list("ABABAB")


def broken(format):
    """A matrix of that format with an index that leads far out of it."""
    rng = np.random.default_rng(3)
    candidates = (damage.damaged(rng, format) for _ in itertools.count())
    return next(A for A in candidates if damage.dense(A) is None)


def packed():
    """Damaged after it was made, as any array can be written to."""
    X = SequenceArray(sp.csr_array(SOUND), [0, 2, 6], [f"f{j}" for j in range(6)])
    X.tokens.indices[3] = 10**6
    return X


RAGGED_Y = [y[:2], y[2:]]
FORMS = {
    f"flat {format}": lambda format=format: (broken(format), y)
    for format in ("csr", "csc", "coo", "bsr")
}
FORMS |= {"list": lambda: ([SOUND, broken("csc")], [y, y]), "packed": lambda: (packed(), RAGGED_Y)}


@pytest.fixture(scope="module")
def fitted():
    return {type(reader): type(reader)(max_iter=1000, tol=0.1).fit(SOUND, y) for reader in READERS}


CASES = [
    pytest.param(type(reader), form, id=f"{type(reader).__name__}-{form}")
    for reader in READERS
    for form in FORMS
    if form.startswith("flat") or not isinstance(reader, OTHERS)
]


@pytest.mark.parametrize(("reader", "form"), CASES)
def test_damaged_matrices(fitted, reader, form):
    model = fitted[reader]
    before = dict(vars(model))
    for method in METHODS:
        if hasattr(model, method):
            X, labels = FORMS[form]()
            with pytest.raises(ValueError, match="is a damaged"):
                getattr(model, method)(X, *[labels] * (method in METHODS[:4]))
    assert vars(model) == before


@pytest.mark.parametrize("form", FORMS)
def test_damaged_matrices_of_tokens(form):
    model = TokenTransformer(MaxAbsScaler()).fit(SOUND)
    X, _ = FORMS[form]()
    for method in (model.fit, model.fit_transform, model.transform):
        with pytest.raises(ValueError, match="is a damaged"):
            method(X)


@pytest.mark.parametrize("form", ["list", "packed"])
def test_damaged_matrices_of_windows(form):
    windows = TokenWindows().fit([SOUND])
    X, _ = FORMS[form]()
    for method in (windows.fit, windows.fit_transform, windows.transform):
        with pytest.raises(ValueError, match="is a damaged"):
            method(X)


def test_functions_that_read_features():
    with pytest.raises(ValueError, match="is a damaged"):
        suggest_features(packed())


def test_those_that_read_no_sparse_matrices_do_not_look_into_them():
    for estimator in ESTIMATORS:
        if estimator not in READERS:
            with pytest.raises((TypeError, ValueError)):
                estimator.fit(broken("csc"), y)
