"""Weights of some features one after the other, in the order in which their values are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR

__all__ = ["LabelLists", "add_lists", "label_lists", "read_lists", "write_lists"]


class LabelLists(NamedTuple):
    """The weights of feature i are those from ``bounds[i]`` to before ``bounds[i + 1]``, of these
    `labels`. In the compact layout they stand from ``starts[i]`` on.
    """

    bounds: np.ndarray
    labels: np.ndarray
    starts: np.ndarray


def label_lists(features: np.ndarray, pairs: CSR) -> LabelLists:
    """Those of some features, in this order."""
    starts = pairs.indptr[features]
    lengths = pairs.indptr[features + 1] - starts
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    lists = LabelLists(bounds, np.empty(bounds[-1], pairs.indices.dtype), starts)
    read_lists(pairs.indices, lists, lists.labels)
    return lists


@kernel
def read_lists(compact: np.ndarray, lists: LabelLists, numbers: np.ndarray) -> None:
    """Copy the numbers of these features."""
    bounds = lists.bounds
    for i in range(len(bounds) - 1):
        shift = lists.starts[i] - bounds[i]
        for q in range(bounds[i], bounds[i + 1]):
            numbers[q] = compact[shift + q]


@kernel
def write_lists(numbers: np.ndarray, lists: LabelLists, compact: np.ndarray) -> None:
    """Write numbers of these features."""
    bounds = lists.bounds
    for i in range(len(bounds) - 1):
        shift = lists.starts[i] - bounds[i]
        for q in range(bounds[i], bounds[i + 1]):
            compact[shift + q] = numbers[q]


@kernel
def add_lists(numbers: np.ndarray, lists: LabelLists, compact: np.ndarray) -> None:
    """Add numbers of these features."""
    bounds = lists.bounds
    for i in range(len(bounds) - 1):
        shift = lists.starts[i] - bounds[i]
        for q in range(bounds[i], bounds[i + 1]):
            compact[shift + q] += numbers[q]
