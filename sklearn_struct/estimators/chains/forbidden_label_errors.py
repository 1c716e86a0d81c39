"""Errors about labellings that constraints forbid."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Block, Potentials, blank
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.inference.chains.forbidden import (
    Transitions,
    dead_ends,
    forbid,
    forbidden_tokens,
)
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.objectives.linear_objective import TrainingData

__all__ = ["check_labels", "check_paths"]


def check_paths(
    potentials: Potentials, block: Block, longest: tuple[int, ...] | None = None
) -> None:
    """Raise ForbiddenLabelError for the first sequence of which no labelling is allowed; `longest`
    is as in `dead_ends`.
    """
    dead = dead_ends(potentials, block.structure, longest)
    if np.any(dead >= 0):
        i = int(np.argmax(dead >= 0))
        place = f"X[{block.examples.start + i}], token {dead[i]}"
        raise ForbiddenLabelError(
            f"{place}: the constraints allow no label here, whatever stands before it"
        )


def check_labels(data: TrainingData, transitions: Transitions, classes: np.ndarray) -> None:
    """Raise ForbiddenLabelError for the first label of a sequence to learn from that may not stand
    where it does. Labels are codes as `forbidden_tokens` reads them.
    """
    if data.evidence.allowed is not None:
        _check_masks(data.evidence.allowed, data, transitions)
        return
    labels = data.evidence.known_labels()
    offsets = data.structure.offsets
    wrong = forbidden_tokens(labels, data.structure, transitions)
    sequence = np.searchsorted(offsets, wrong, side="right") - 1
    used = data.weight[sequence] > 0
    if np.any(used):
        position = wrong[used][0]
        i = sequence[used][0]
        raise ForbiddenLabelError(
            f"y[{i}], token {position - offsets[i]}: allowed_transitions forbids the label "
            f"{classes.tolist()[labels[position] % len(classes)]!r} here, and "
            "constrain_training=True learns among allowed labellings only"
        )


def _check_masks(allowed: np.ndarray, data: TrainingData, transitions: Transitions) -> None:
    """The same where there may be several labels at a token: none of the labellings that they leave
    is allowed.
    """
    theta = forbid_labels(blank(data.structure, allowed.shape[1]), allowed)
    dead = dead_ends(forbid(theta, data.structure, transitions), data.structure)
    wrong = np.flatnonzero((dead >= 0) & (data.weight > 0))
    if len(wrong):
        raise ForbiddenLabelError(
            f"X[{wrong[0]}], token {dead[wrong[0]]}: allowed_transitions forbids every label that "
            "is left to choose from here, whatever stands before it, and constrain_training=True "
            "learns among allowed labellings only"
        )
