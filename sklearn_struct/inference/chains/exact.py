"""Chains of first or second order, told apart by the width of the edge tables: K * K columns, or K
** 3 more.

The functions of `chain` and `chain_decoding`; those of second order are compiled only once they are
called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.chains import (
    first_order,
    first_order_decoding,
    second_order,
    second_order_decoding,
)

__all__ = [
    "argmax",
    "log_partition",
    "marginals",
    "nbest",
    "path_score",
    "product",
    "sample",
    "scores",
    "tangent",
]


def _is_first(potentials: Potentials) -> bool:
    return potentials.edge.shape[1] == potentials.node.shape[1] ** 2


def _products(potentials: Potentials) -> Any:
    return first_order if _is_first(potentials) else second_order


def _decoding(potentials: Potentials) -> Any:
    return first_order_decoding if _is_first(potentials) else second_order_decoding


def _steps(potentials: Potentials) -> int:
    """How many steps a pass takes."""
    return len(potentials.node) * potentials.edge.shape[1]


def product(a: Potentials, b: Potentials) -> Potentials:
    """Potentials of the product of two models of the same labels and order."""
    return Potentials(a.node + b.node, a.edge + b.edge)


def marginals(
    potentials: Potentials,
    structure: Structure,
    weight: np.ndarray,
    out: Potentials,
    log_Z: np.ndarray,
) -> None:
    """Add weighted marginals to `out`, of as many columns as the potentials, and write log Z of
    each sequence.
    """
    of = _products(potentials)
    patiently(
        lambda: of.marginals(potentials, structure, weight, out, log_Z), 2 * _steps(potentials)
    )


def log_partition(potentials: Potentials, structure: Structure) -> np.ndarray:
    """log Z of each sequence, without the marginals."""
    n = len(structure.offsets) - 1
    log_Z = np.empty(n)
    scratch = Potentials(np.zeros(potentials.node.shape), np.zeros((1, potentials.edge.shape[1])))
    marginals(potentials, structure, np.ones(n), scratch, log_Z)
    return log_Z


def tangent(
    potentials: Potentials,
    reward: Potentials,
    structure: Structure,
    weight: np.ndarray,
    out: Potentials,
    mean: np.ndarray,
) -> None:
    """Add weighted covariances with a reward, the derivative of the marginals in its direction, to
    `out`.
    """
    of = _products(potentials)
    patiently(
        lambda: of.tangent(potentials, reward, structure, weight, out, mean), 4 * _steps(potentials)
    )


def argmax(
    potentials: Potentials,
    structure: Structure,
    labels: np.ndarray,
    score: np.ndarray | None = None,
) -> None:
    """Write the best labelling (n,) int32 and, if asked for, its score (n_sequences,)."""
    of = _decoding(potentials)
    patiently(lambda: of.argmax(potentials, structure, labels, score), _steps(potentials))


def nbest(
    potentials: Potentials, structure: Structure, labels: np.ndarray, score: np.ndarray
) -> None:
    """Write the n best labellings (n, n_tokens) int32 and their scores (n, n_sequences), best
    first.
    """
    of = _decoding(potentials)
    patiently(
        lambda: of.nbest(potentials, structure, labels, score), len(score) * _steps(potentials)
    )


def sample(
    potentials: Potentials,
    structure: Structure,
    uniform: np.ndarray,
    labels: np.ndarray,
    score: np.ndarray,
) -> None:
    """Draw one labelling of each sequence from p(y | x), by one number in [0, 1) a token."""
    of = _decoding(potentials)
    patiently(
        lambda: of.sample(potentials, structure, uniform, labels, score), 2 * _steps(potentials)
    )


def path_score(
    potentials: Potentials, structure: Structure, labels: np.ndarray, score: np.ndarray
) -> None:
    """Write the sum of log-potentials along a given labelling (n,) int32 of each sequence."""
    _decoding(potentials).path_score(potentials, structure, labels, score)


def scores(potentials: Potentials, structure: Structure, labels: np.ndarray) -> np.ndarray:
    """What `path_score` writes."""
    found = np.empty(len(structure.offsets) - 1)
    path_score(potentials, structure, labels, found)
    return found
