"""Labels of nodes of several types: each type has labels of its own, whose codes stand one type
after the other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.encoding.labels import label_codes, partial_labels
from sklearn_struct.exceptions import EmptyDataError, UnknownLabelError

__all__ = ["TypedLabels", "known_labels", "of_pairs"]


class TypedLabels(NamedTuple):
    """The sorted labels of each type, by its name, in the order of names.

    Labels of ``hidden`` types are numbers of states, which never occur in y.
    """

    classes: dict[str, np.ndarray]
    hidden: frozenset[str] = frozenset()

    @property
    def sizes(self) -> np.ndarray:
        """The number of labels of each type."""
        return np.array([len(labels) for labels in self.classes.values()], np.int64)

    @property
    def slices(self) -> dict[str, slice]:
        """The codes of each type."""
        bounds = np.cumsum([0, *self.sizes]).tolist()
        return {name: slice(*ends) for name, ends in zip(self.classes, pairwise(bounds))}

    @property
    def type_of(self) -> np.ndarray:
        """The number of the type that each code is of."""
        return np.repeat(np.arange(len(self.classes)), self.sizes)

    @property
    def allowed(self) -> np.ndarray:
        """Which codes each type has (n_types, n_labels)."""
        mask: np.ndarray = self.type_of == np.arange(len(self.classes))[:, None]
        return mask

    def by_rows(self, code: np.ndarray) -> TypedLabels:
        """The same of rows each of which is of a label, of which there may be several; ``code`` of
        their labels ascends.
        """
        rows = {
            name: np.flatnonzero((code >= where.start) & (code < where.stop))
            for name, where in self.slices.items()
        }
        return TypedLabels(rows, self.hidden)

    def pairs(self) -> np.ndarray:
        """The pair (type, label) of each code: ``classes_``."""
        named = self.classes.items()
        return object_array([(name, label) for name, labels in named for label in labels.tolist()])

    def labels(self) -> np.ndarray:
        """The label of each code, as users have it; None for states."""
        every: list[Any] = []
        for name, labels in self.classes.items():
            every += [None] * len(labels) if name in self.hidden else labels.tolist()
        return object_array(every)

    def states(self) -> np.ndarray:
        """The number of the state of each code; None for labels of types that are not hidden."""
        every: list[Any] = []
        for name, labels in self.classes.items():
            every += labels.tolist() if name in self.hidden else [None] * len(labels)
        return object_array(every)

    def encode(
        self, labels: list[Any], types: np.ndarray, offsets: np.ndarray, unseen: int | None = None
    ) -> np.ndarray:
        """Codes (int32) of labels, if all are known; else masks (n_nodes, n_labels) of what may
        stand at each node: where nothing is known, all labels of all types.

        Raises
        ------
        UnknownLabelError
            With the place, for a label that was not seen at nodes of the type, unless `unseen` is
            given; and for one of a hidden type.
        """
        self._refuse_hidden(labels, types, offsets)
        masks = np.zeros((len(labels), self.sizes.sum()), bool)
        for number, (name, where) in enumerate(self.slices.items()):
            if name in self.hidden:
                continue
            here = types == number
            of_type = _of_type(labels, here)
            try:
                allowed = partial_labels.masks(of_type, self.classes[name], offsets, unseen)
            except UnknownLabelError as error:
                raise UnknownLabelError(f"{error}; the type of this node is {name!r}") from None
            masks[here, where] = allowed[here]
        if partial_labels.is_partial(labels):
            masks[[label is None for label in labels]] = True
            return masks
        codes: np.ndarray = masks.argmax(axis=1).astype(np.int32)
        if unseen is not None:
            codes[~masks.any(axis=1)] = unseen
        return codes

    def _refuse_hidden(self, labels: list[Any], types: np.ndarray, offsets: np.ndarray) -> None:
        for number, name in enumerate(self.classes):
            if name not in self.hidden:
                continue
            for position in np.flatnonzero(types == number).tolist():
                if labels[position] is not None:
                    raise UnknownLabelError(
                        f"{label_codes.place(position, offsets)}: label {labels[position]!r} of a "
                        f"node of the type {name!r}, which is hidden; it must be None"
                    )


def _of_type(labels: list[Any], here: np.ndarray) -> list[Any]:
    """The labels of some nodes, with None for all others: so errors know the place."""
    return [label if is_here else None for label, is_here in zip(labels, here.tolist())]


def known_labels(
    labels: list[Any],
    types: np.ndarray,
    names: list[str],
    offsets: np.ndarray,
    hidden: dict[str, int],
) -> TypedLabels:
    """The labels that occur at nodes of each type, with those in sets.

    Raises
    ------
    EmptyDataError
        If there are none of a type that is not hidden.
    UnknownLabelError, InputTypeError
        With the place, for what cannot be a label.
    """
    classes = {}
    for number, name in enumerate(names):
        if name in hidden:
            classes[name] = np.arange(hidden[name])
            continue
        of_type = _of_type(labels, types == number)
        if all(label is None for label in of_type):
            raise EmptyDataError(
                f"y has no labels of nodes of the type {name!r}; hidden={{{name!r}: n_states}} "
                "says that they never have any"
            )
        classes[name] = partial_labels.known_labels(of_type, offsets)
    return TypedLabels(classes, frozenset(hidden))


def of_pairs(pairs: list[tuple[str, Any]], hidden: frozenset[str]) -> TypedLabels:
    """The sets of labels that `TypedLabels.pairs` were made of."""
    by_name: dict[str, list[Any]] = {}
    for name, label in pairs:
        by_name.setdefault(name, []).append(label)
    return TypedLabels(
        {
            name: label_codes.unique_labels(of, np.array([0, len(of)]))
            for name, of in by_name.items()
        },
        hidden,
    )
