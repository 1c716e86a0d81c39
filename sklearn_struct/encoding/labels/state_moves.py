"""Which hidden states may follow each other, and which may come first and last."""

from __future__ import annotations

import numpy as np

from sklearn_struct.encoding.labels.allowed_transitions import TransitionRule, read_transitions
from sklearn_struct.inference.chains.forbidden import Transitions

__all__ = ["LEFT_TO_RIGHT", "of_classes", "read_moves"]

LEFT_TO_RIGHT = "left-to-right"


def read_moves(rule: TransitionRule, n_states: int) -> Transitions:
    """What a rule allows among states 0, 1, ...: "left-to-right", a matrix, or a dict of what is
    forbidden; None is everything.
    """
    every = np.ones(n_states, dtype=bool)
    pairs = np.ones((n_states, n_states), dtype=bool)
    if isinstance(rule, str):  # from state to state in their order, none left out
        pairs = np.triu(pairs) & np.tril(pairs, 1)
        return Transitions(np.arange(n_states) == 0, pairs, every)
    moves = read_transitions(rule, np.arange(n_states))
    return Transitions(every, pairs, every) if moves is None else moves


def of_classes(moves: Transitions, n_classes: int) -> Transitions:
    """The same for the states of each of several classes, one after the other; none leads from a
    class to another.
    """
    start, pairs, end = moves
    return Transitions(
        np.tile(start, n_classes),
        np.kron(np.eye(n_classes, dtype=bool), pairs),
        np.tile(end, n_classes),
    )
