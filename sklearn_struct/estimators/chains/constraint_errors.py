"""Errors about labellings that constraints forbid."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Block, Potentials, chain
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.inference.chains.forbidden import (
    Transitions,
    dead_ends,
    forbid,
    forbid_labels,
    forbidden_tokens,
)
from sklearn_struct.losses.pointwise import labels_of
from sklearn_struct.objectives.linear_objective import TrainingData

__all__ = ["check_labels", "check_paths"]


def check_paths(potentials: Potentials, block: Block) -> None:
    """Raise ForbiddenLabelError for the first sequence of which no labelling is allowed."""
    dead = np.empty(len(block.structure.offsets) - 1, dtype=np.int64)
    dead_ends(potentials, block.structure, dead)
    if np.any(dead >= 0):
        i = int(np.argmax(dead >= 0))
        place = f"X[{block.examples.start + i}], token {dead[i]}"
        raise ForbiddenLabelError(
            f"{place}: the constraints allow no label here, whatever stands before it"
        )


def check_labels(data: TrainingData, transitions: Transitions, classes: np.ndarray) -> None:
    """Raise ForbiddenLabelError for the first label of a sequence to learn from that may not stand
    where it does.
    """
    y = getattr(data.y, "allowed", data.y)
    if y.ndim == 2:
        _check_masks(y, data, transitions)
        return
    labels = labels_of(y)
    found = forbidden_tokens(labels, chain(data.offsets), transitions)
    sequence = np.searchsorted(data.offsets, found, side="right") - 1
    used = data.weight[sequence] > 0
    if np.any(used):
        position = found[used][0]
        i = sequence[used][0]
        raise ForbiddenLabelError(
            f"y[{i}], token {position - data.offsets[i]}: allowed_transitions forbids the label "
            f"{classes.tolist()[labels[position]]!r} here, and "
            "constrain_training=True learns among allowed labellings only"
        )


def _check_masks(allowed: np.ndarray, data: TrainingData, transitions: Transitions) -> None:
    """The same where there may be several labels at a token: none of the labellings that they leave
    is allowed.
    """
    structure = chain(data.offsets)
    n, K = allowed.shape
    theta = forbid_labels(Potentials(np.zeros((n, K)), np.zeros((1, K * K))), allowed)
    dead = np.empty(len(data.weight), dtype=np.int64)
    dead_ends(forbid(theta, structure, transitions), structure, dead)
    wrong = np.flatnonzero((dead >= 0) & (data.weight > 0))
    if len(wrong):
        raise ForbiddenLabelError(
            f"y[{wrong[0]}], token {dead[wrong[0]]}: allowed_transitions forbids every label that "
            "may stand here, "
            "whatever stands before it, and constrain_training=True learns among allowed "
            "labellings only"
        )
