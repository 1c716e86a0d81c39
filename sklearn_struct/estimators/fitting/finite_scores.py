"""Scores that inference can work with: finite, and small enough that sums of a few of them are."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.objectives.linear_objective import LinearObjective

__all__ = ["check_rows", "check_scores", "check_sums"]

TERMS = 16  # so many scores are added up before Viterbi takes their maximum away


def check_scores(potentials: Potentials, squares: float, block: Block, classes: np.ndarray) -> None:
    """Raise NonFiniteError for the first score of a block that is NaN, infinite, or too large to be
    added up.

    -inf is what forbids, so linear scores that come to it by overflow are refused, too. Whatever is
    wrong makes the sum of their squares infinite or NaN.
    """
    if not squares < np.inf:
        _look_up(potentials, block, classes)


def check_learned(
    objective: LinearObjective, w: np.ndarray, size: float, classes: np.ndarray
) -> None:
    """Raise NonFiniteError unless weights that were just learned, and their scores, are as
    predictions need them.

    `size` bounds the sum of absolute values of a token; only where the scores could be too large
    are they computed.
    """
    largest = float(np.max(np.abs(w), initial=0.0))
    if not np.isfinite(largest):
        raise NonFiniteError(
            "training came to weights that are not finite: scale numeric features "
            "(TokenTransformer)"
        )
    potentials = objective.potentials
    # a bound from X and the weights: with ordinary data no score is computed
    if (size + 1) * largest < float(np.finfo(potentials.dtype).max) / TERMS:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        W = potentials.expand(w)
        for block in objective.blocks:
            check_scores(*potentials.forward_and_squares(W, block), block, classes)


def _look_up(potentials: Potentials, block: Block, classes: np.ndarray) -> None:
    node, cliques = potentials
    if _sums_are_finite(potentials, block):
        return
    limit = float(np.finfo(node.dtype).max) / TERMS
    # not `>`, which is false for NaN
    wrong = np.flatnonzero(~(np.abs(node).ravel() <= limit))
    if len(wrong):
        token, k = divmod(int(wrong[0]), len(classes))
        label = classes.tolist()[k]
        value = node[token, k]
        raise NonFiniteError(
            f"{_place(block, token)}: the score of the label {label!r} is {_too_large(value)}"
        )
    for table, family in zip(cliques, block.structure.families, strict=True):
        wrong = np.flatnonzero(~(np.abs(table).ravel() <= limit))
        if not len(wrong):
            continue
        c, column = divmod(int(wrong[0]), table.shape[1])
        value = table[c, column]
        if len(table) == 1:
            raise NonFiniteError(
                f"the weights of transitions are too large: a score is {_too_large(value)}"
            )
        token = int(family.nodes[c, -1])
        raise NonFiniteError(
            f"{_place(block, token)}: the score of a transition is {_too_large(value)}"
        )


def _sums_are_finite(potentials: Potentials, block: Block) -> bool:
    """Whether all scores of a labelling can be added up, in any order."""
    longest = int(np.diff(block.structure.offsets).max(initial=0))
    # of a token, a pair and a triple
    most = float(np.finfo(potentials.node.dtype).max) / max(3 * longest, 1)
    return all(np.all(np.abs(table) <= most) for table in (potentials.node, *potentials.cliques))


def _place(block: Block, token: int) -> str:
    offsets = block.structure.offsets
    i = int(np.searchsorted(offsets, token, side="right")) - 1
    return f"X[{block.examples.start + i}], token {token - offsets[i]}"


def _too_large(value: Any) -> str:
    dtype = value.dtype
    most = float(np.finfo(dtype).max) / TERMS
    return (
        f"{value:.4g}, where {dtype} allows {most:.2g}: scale numeric features, or the weights"
        + (', or use dtype="float64"' if dtype == np.float32 else "")
    )


def check_rows(scores: np.ndarray, first: int, forbids: bool) -> None:
    """Raise NonFiniteError for the first row of scores of labels with NaN or infinity; -inf may
    stand if it `forbids`.

    Not in the place of all labels.
    """
    right = scores < np.inf if forbids else np.isfinite(scores)
    wrong = np.flatnonzero(~right.all(axis=1) | (scores == -np.inf).all(axis=1))
    if len(wrong):
        i = int(wrong[0])
        raise NonFiniteError(
            f"X[{first + i}]: the score of a label is not finite ({scores[i][~right[i]]}): scale "
            "numeric features"
        )


def check_sums(sums: np.ndarray, first: int = 0) -> np.ndarray:
    """Logarithms of sequences (..., n_sequences) themselves; NonFiniteError for NaN or +inf."""
    wrong = np.flatnonzero(~(sums < np.inf))
    if len(wrong):
        i = first + int(wrong[0]) % sums.shape[-1]
        raise NonFiniteError(
            f"X[{i}]: its scores, summed over all tokens, are beyond float64: scale numeric "
            "features"
        )
    return sums
