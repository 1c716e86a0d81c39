"""Scores that inference can work with: finite, and small enough that sums of a few of them are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.linear_potentials import Kinds

__all__ = ["NodePlace", "check_rows", "check_scores", "check_sums"]


class NodePlace(NamedTuple):
    """The number of an example, that of a node in it, and how many nodes the example has."""

    example: int
    node: int
    n_nodes: int


# the words for the score of a label there, by its code, or, of None, of a transition into there
Naming: TypeAlias = Callable[[NodePlace, int | None], str]

TERMS = 16  # so many scores are added up before Viterbi takes their maximum away


def check_scores(
    potentials: Potentials, squares: float, block: Block, kinds: Kinds | None, naming: Naming
) -> None:
    """Raise NonFiniteError for the first score of a block that is NaN, infinite, or too large to be
    added up.

    -inf is what forbids, so linear scores that come to it by overflow are refused, too, unless the
    label is one that nodes of this kind do not have. Whatever is wrong makes the sum of their
    squares infinite or NaN.
    """
    if not squares < np.inf:
        _look_up(potentials, block, kinds, naming)


def check_learned(objective: LinearObjective, w: np.ndarray, size: float, naming: Naming) -> None:
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
            theta, squares = potentials.forward_and_squares(W, block)
            check_scores(theta, squares, block, potentials.kinds, naming)


def _look_up(potentials: Potentials, block: Block, kinds: Kinds | None, naming: Naming) -> None:
    node, cliques = potentials
    if _sums_are_finite(potentials, block):
        return
    limit = float(np.finfo(node.dtype).max) / TERMS
    # not `>`, which is false for NaN
    large = ~(np.abs(node) <= limit)
    if kinds is not None:
        large &= kinds.allowed[kinds.kind[block.tokens]] == 0.0
    wrong = np.flatnonzero(large)
    if len(wrong):
        token, k = divmod(int(wrong[0]), node.shape[1])
        value = node[token, k]
        raise NonFiniteError(f"{naming(_place(block, token), k)} is {_too_large(value)}")
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
        raise NonFiniteError(f"{naming(_place(block, token), None)} is {_too_large(value)}")


def _sums_are_finite(potentials: Potentials, block: Block) -> bool:
    """Whether all scores of a labelling can be added up, in any order."""
    longest = int(np.diff(block.structure.offsets).max(initial=0))
    # of a token, a pair and a triple
    most = float(np.finfo(potentials.node.dtype).max) / max(3 * longest, 1)
    return all(np.all(np.abs(table) <= most) for table in (potentials.node, *potentials.cliques))


def _place(block: Block, token: int) -> NodePlace:
    offsets = block.structure.offsets.tolist()
    i = bisect_right(offsets, token) - 1
    return NodePlace(block.examples.start + i, token - offsets[i], offsets[i + 1] - offsets[i])


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
