"""`PrototypeFeatures` to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sklearn_struct.containers.csr import CSR
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared, vocabulary
from sklearn_struct.persistence.plain_values import Json, fields, put_texts, texts

__all__ = ["prototypes", "put_prototypes"]


def put_prototypes(estimator: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    arrays = shared.arrays
    similarity = estimator._similarity
    put_texts(arrays, where + "words", list(estimator._vocabulary))
    put_texts(arrays, where + "prototypes", estimator.prototypes_.tolist())
    checks.put_pairs(
        arrays, where + "similar", CSR(similarity.indptr, similarity.indices, similarity.data)
    )
    arrays[where + "similar/data"] = np.asarray(similarity.data, np.float64)
    return {}


def prototypes(estimator: BaseEstimator, stored: Json, where: str, shared: Shared) -> None:
    fields(stored, "the features")
    arrays = shared.arrays
    words = texts(arrays, where + "words")
    chosen = texts(arrays, where + "prototypes")
    if not set(chosen) <= set(words) or len(set(chosen)) < len(chosen):
        raise ModelFileError(f"{where}prototypes must be different words, which are known")
    indptr, indices, _ = checks.pairs(arrays, where + "similar", len(words) + 1, len(chosen))
    data = checks.weights(arrays, where + "similar/data", len(indices))
    # the last row is that of unknown words, which are like nothing
    if indptr[-1] != indptr[-2] or np.any(data <= 0) or np.any(data > 1):
        raise ModelFileError(
            f"{where}similar must be cosines of known words, above 0 and at most 1"
        )
    similarity = sp.csr_array((data, indices, indptr), shape=(len(words) + 1, len(chosen)))
    estimator._learn(vocabulary(words), similarity, chosen)
