"""The parameter `allowed_transitions` -> booleans over the sorted labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.typing import Label
from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inference.chains.forbidden import Transitions

__all__ = ["SCHEMES", "TransitionRule", "read_transitions"]

TransitionRule: TypeAlias = str | ArrayLike | Mapping[Any, Iterable[Label]] | None


class _Scheme(NamedTuple):
    """How a scheme writes spans: a letter `inside` follows one that `opens`, of the same type."""

    letters: str
    inside: str
    opens: str
    closes: bool  # whether what opens must also be followed by a letter inside


_BIO = _Scheme("BI", "I", "BI", False)
_BIOES = _Scheme("BIES", "IE", "BI", True)
SCHEMES = {
    "BIO": _BIO,
    "IOB2": _BIO,
    # here B parts a span from the one of the same type before it, and nothing else
    "IOB1": _Scheme("BI", "B", "BI", False),
    "BIOES": _BIOES,
    "IOBES": _BIOES,
}


def read_transitions(rule: TransitionRule, classes: np.ndarray) -> Transitions | None:
    """The transitions that a rule allows; None if it allows everything.

    A rule is None (everything), the name of a scheme, a matrix of booleans, or a dict of the
    transitions that it forbids.

    Raises
    ------
    UnknownLabelError
        If a label does not look like the scheme, or one of the dict is not among `classes`.
    LengthMismatchError, InputTypeError
        If a matrix is of another shape or not boolean, or a dict holds something else than lists.
    """
    if rule is None:
        return None
    if isinstance(rule, str):
        return _of_scheme(rule, classes.tolist())
    if isinstance(rule, Mapping):
        return _without(rule, classes.tolist())
    K = len(classes)
    pairs = _as_table(rule)
    if pairs.shape != (K, K):
        raise LengthMismatchError(
            f"allowed_transitions has shape {pairs.shape}, but {K} labels need ({K}, {K})"
        )
    if pairs.dtype != bool:
        raise InputTypeError(
            f"allowed_transitions must hold booleans, got dtype {pairs.dtype}: write True for what "
            "is allowed, or use .astype(bool)"
        )
    # a matrix says nothing of the ends
    return Transitions(np.ones(K, dtype=bool), pairs, np.ones(K, dtype=bool))


def _as_table(rule: ArrayLike) -> np.ndarray:
    if isinstance(rule, set | frozenset) or np.ma.isMaskedArray(rule):
        raise InputTypeError(
            f"allowed_transitions is a {type(rule).__name__}: give a matrix of booleans, or a dict "
            "{label: [forbidden labels]}"
        )
    try:
        return np.asarray(rule)
    except ValueError as error:
        raise InputTypeError(f"allowed_transitions is no matrix: {error}") from None


def _of_scheme(name: str, labels: list[Label]) -> Transitions:
    scheme = SCHEMES[name]
    letters, types = (np.array(part) for part in zip(*(_parts(label, name) for label in labels)))
    inside = np.isin(letters, list(scheme.inside))
    opens = np.isin(letters, list(scheme.opens))
    pairs = ~inside | (opens[:, None] & (types[:, None] == types))
    end = np.ones(len(labels), dtype=bool)
    if scheme.closes:
        # what was opened must go on
        pairs &= inside | ~opens[:, None]
        end = ~opens
    return Transitions(~inside, pairs, end)


def _parts(label: Label, name: str) -> tuple[str, str]:
    """Letter and type of a label."""
    letter, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
    if label != "O" and (len(letter) != 1 or letter not in SCHEMES[name].letters):
        letters = ", ".join(SCHEMES[name].letters)
        raise UnknownLabelError(
            f"allowed_transitions={name!r}: label {label!r} is neither 'O' nor one of {letters}, a "
            "hyphen and a type; labels that are no tags, such as types of segments, need a dict "
            "{label: [forbidden labels]} or a matrix"
        )
    return letter, kind


def _without(forbidden: Mapping[Any, Iterable[Label]], labels: list[Label]) -> Transitions:
    """All transitions but those of the dict: as a key None is the start, as a value the end."""
    # one table holds all: its last row is the start, its last column the end
    code = {label: k for k, label in enumerate([*labels, None])}
    table = np.ones((len(code), len(code)), dtype=bool)
    for before, after in forbidden.items():
        # an iterator would be empty the second time
        if not (is_list(after) or isinstance(after, set | frozenset)):
            raise InputTypeError(
                f"allowed_transitions[{before!r}] must be a list of labels, got {after!r}"
            )
        _check_label(before, before, labels)
        for label in after:
            _check_pair(before, label, labels)
            table[code[before], code[label]] = False
    return Transitions(table[-1, :-1], table[:-1, :-1], table[:-1, -1])


def _check_pair(before: Label, label: Label, labels: list[Label]) -> None:
    if before is None and label is None:
        raise UnknownLabelError(
            f"allowed_transitions[{before!r}]: from start to end there is no label"
        )
    _check_label(before, label, labels)


def _check_label(before: Label, label: Label, labels: list[Label]) -> None:
    place = f"allowed_transitions[{before!r}]"
    if not is_hashable(label):
        raise InputTypeError(f"{place}: {label!r} cannot be a label")
    if label is not None and label not in labels:
        known = ", ".join(map(repr, labels[:20])) + (", ..." if len(labels) > 20 else "")
        raise UnknownLabelError(f"{place}: label {label!r} was not seen in fit (known: {known})")
