"""Hidden states of labels: the parameters that say how many there are, and which may follow."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.typing import Label
from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inference.chains.forbidden import Transitions

__all__ = ["LabelStates", "by_states", "joined", "read_states", "read_steps"]

LEAST = 32  # bytes that a fit needs for each pair of states: numbers of columns, weights, gradients


class LabelStates(NamedTuple):
    """The states that labels have, label by label.

    ``label`` (n_states,) is the code of each state's label, ascending. ``group`` (n_states,) is
    which weights of features it has: states of several labels that are shared have the same.
    """

    label: np.ndarray
    group: np.ndarray

    @property
    def of_labels(self) -> np.ndarray:
        """Which states each label has, a mask (n_labels, n_states)."""
        mask: np.ndarray = np.arange(self.label.max() + 1)[:, None] == self.label
        return mask

    @property
    def counts(self) -> np.ndarray:
        """How many states each label has."""
        return np.bincount(self.label)

    @property
    def first(self) -> np.ndarray:
        """The first state of each label."""
        return np.searchsorted(self.label, np.arange(self.label.max() + 1))

    @property
    def several(self) -> bool:
        """Whether a label has more than one."""
        return bool(np.any(self.counts > 1))

    @property
    def shared(self) -> bool:
        """Whether states of several labels have the same weights of features."""
        return len(np.unique(self.group)) < len(self.group)

    def names(self, classes: np.ndarray) -> np.ndarray:
        """A pair (label, number of the state among those of the label) for each state."""
        labels = classes.tolist()
        number = np.arange(len(self.label)) - self.first[self.label]
        pairs = zip(self.label.tolist(), number.tolist(), strict=True)
        return object_array([(labels[k], h) for k, h in pairs])

    def costs(self, of_labels: np.ndarray | None) -> np.ndarray | None:
        """What each state (column) costs where another one (row) is right, of the costs of labels;
        None for None.
        """
        if of_labels is None:
            return None
        of_states: np.ndarray = of_labels[np.ix_(self.label, self.label)]
        return of_states

    def sums(self, of_states: np.ndarray) -> np.ndarray:
        """For each label the sum over its states, of the numbers (..., n_states)."""
        return np.add.reduceat(of_states, self.first, axis=-1)


def read_states(
    n_states: int | Mapping[Label, int],
    shared_states: Mapping[tuple[Label, ...], int] | None,
    classes: np.ndarray,
) -> LabelStates:
    """The states that `n_states` gives each label, and those that several labels share.

    Raises
    ------
    UnknownLabelError
        If a label of a dict is not among `classes`.
    InputTypeError, ValueError
        If a number of states is none, or a label has no state at all.
    MemoryError
        If there are too many.
    """
    labels = classes.tolist()
    own = _own(n_states, labels)
    shared = {
        key: (_members(key, labels), n_of(n, f"shared_states[{key!r}]", 1))
        for key, n in (shared_states or {}).items()
    }
    total = sum(own) + sum(len(members) * n for members, n in shared.values())
    reserve(LEAST * total**2, f"a model of {total} states of labels")
    groups: list[list[int]] = [[] for _ in labels]
    n_groups = 0
    for k, n in enumerate(own):
        groups[k].extend(range(n_groups, n_groups + n))
        n_groups += n
    for members, n in shared.values():
        for k in members:
            groups[k].extend(range(n_groups, n_groups + n))
        n_groups += n
    empty = [labels[k] for k, of_label in enumerate(groups) if not of_label]
    if empty:
        raise ValueError(f"the label {empty[0]!r} has no state, neither its own nor a shared one")
    label = np.repeat(np.arange(len(labels)), [len(of_label) for of_label in groups])
    return LabelStates(label, np.array([g for of_label in groups for g in of_label]))


def n_of(n: Any, place: str, least: int) -> int:
    """A number of states, checked."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < least:
        raise InputTypeError(f"{place} must be a whole number from {least} on, got {n!r}")
    return int(n)


def _own(n_states: int | Mapping[Label, int], labels: list[Label]) -> list[int]:
    if not isinstance(n_states, Mapping):
        return [n_of(n_states, "n_states", 1)] * len(labels)
    for label in n_states:
        _check_known(label, "n_states", labels)
    return [n_of(n_states.get(label, 1), f"n_states[{label!r}]", 0) for label in labels]


def _members(key: Any, labels: list[Label]) -> list[int]:
    """Codes of the labels of a tuple, which must be different."""
    if not isinstance(key, tuple):
        raise InputTypeError(
            f"shared_states: its keys are tuples of the labels that share, got {key!r}"
        )
    for label in key:
        _check_known(label, "shared_states", labels)
    codes = [labels.index(label) for label in key]
    if len(set(codes)) < max(len(codes), 2):
        raise ValueError(f"shared_states: {key!r} must hold several labels, each once")
    return codes


def _check_known(label: Any, place: str, labels: list[Label]) -> None:
    if not is_hashable(label) or label not in labels:
        known = ", ".join(map(repr, labels[:20])) + (", ..." if len(labels) > 20 else "")
        raise UnknownLabelError(f"{place}: label {label!r} was not seen in fit (known: {known})")


def read_steps(rule: Any, states: LabelStates, classes: np.ndarray) -> Transitions | None:
    """Which states may follow each other while the label stays the same, and which may come first;
    None if all may.

    A rule is "all", "left-to-right", "stay", or a dict of a matrix of booleans for each label.
    """
    n = len(states.label)
    same = states.label[:, None] == states.label
    number = np.arange(n) - states.first[states.label]
    pairs = np.ones((n, n), dtype=bool)
    enters = np.ones(n, dtype=bool)
    if isinstance(rule, Mapping):
        for label, steps in rule.items():
            _check_known(label, "state_transitions", classes.tolist())
            k = classes.tolist().index(label)
            chosen = np.flatnonzero(states.label == k)
            pairs[np.ix_(chosen, chosen)] = _matrix(steps, len(chosen), label)
    elif rule == "stay":
        pairs = ~same | np.eye(n, dtype=bool)
    elif rule == "left-to-right":
        step = number - number[:, None]
        enters = number == 0
        pairs = np.where(same, (step == 0) | (step == 1), enters)
    return None if np.all(pairs) and np.all(enters) else Transitions(enters, pairs, enters | True)


def _matrix(steps: Any, n: int, label: Label) -> np.ndarray:
    place = f"state_transitions[{label!r}]"
    try:
        table = np.asarray(steps)
    except ValueError as error:
        raise InputTypeError(f"{place} is no matrix: {error}") from None
    if table.shape != (n, n):
        raise LengthMismatchError(
            f"{place} has shape {table.shape}, but {n} states need ({n}, {n})"
        )
    if table.dtype != bool:
        raise InputTypeError(f"{place} must hold booleans, got dtype {table.dtype}")
    return table


def by_states(rule: Transitions, states: LabelStates) -> Transitions:
    """What a rule about labels says of their states."""
    label = states.label
    return Transitions(rule.start[label], rule.pairs[np.ix_(label, label)], rule.end[label])


def joined(first: Transitions | None, second: Transitions | None) -> Transitions | None:
    """What both rules allow; None allows everything."""
    if first is None or second is None:
        return first or second
    return Transitions(*(a & b for a, b in zip(first, second, strict=True)))
