"""The largest weights of each label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.typing import Label, Matrix
from sklearn_struct.inspection.fitted_model import (
    Linear,
    edge_feature_names,
    feature_names,
    label_codes,
    names_of_rows,
)

__all__ = ["SIGNS", "Top", "top_weights"]

SIGNS = {"both": np.abs, "positive": np.positive, "negative": np.negative}


class Top(NamedTuple):
    """Features of one label, or of one transition, by falling weight."""

    previous: Any
    label: Any
    features: np.ndarray
    weights: np.ndarray


def top_weights(
    model: Linear,
    n: int | None,
    *,
    labels: Sequence[Label] | None = None,
    sign: str = "both",
    transitions: bool = False,
) -> Iterator[Top]:
    """The `n` largest weights of each label, or of each transition into it; None: all but zeros."""
    names = feature_names(model)
    classes = names_of_rows(model).tolist()
    K = len(classes)
    chosen = label_codes(model, labels)
    if not transitions:
        matrix = model.coef_
        for k in chosen:
            columns, weights = _largest(matrix, k, n, sign)
            yield Top(None, classes[k], names[columns], weights)
        return
    matrix = model.edge_coef_
    names = edge_feature_names(model)
    for j in range(K):
        for k in chosen:
            columns, weights = _largest(matrix, j * K + k, n, sign)
            yield Top(classes[j], classes[k], names[columns], weights)


def _largest(matrix: Matrix, row: int, n: int | None, sign: str) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(matrix, np.ndarray):
        columns = np.arange(matrix.shape[1])
        weights = matrix[row]
    else:
        stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
        columns = matrix.indices[stored]
        weights = matrix.data[stored]
    size = SIGNS[sign](weights)
    # zeros of a dense matrix are no weights for or against a label
    order = np.argsort(-size, kind="stable")[: np.sum(size > 0)][:n]
    # chosen by size, shown by weight with its sign
    order = order[np.argsort(-weights[order], kind="stable")]
    return columns[order], weights[order]
