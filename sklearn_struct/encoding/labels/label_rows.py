"""Several labels of each token: as many sequences of labels, the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.encoding import two_dimensional_input
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import has_items, is_list
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError

__all__ = ["decode", "n_rows", "nodes", "of_table", "parted"]


def n_rows(y: Any, flat: bool) -> int:
    """How many labels the first token has of which they are known; a label that is no list is one.

    `flat` says that an entry of y is a token, not a sequence of them.
    """
    if y is None:
        return 1
    # what is no list of labels at all is refused by those who read it
    given: Any = y if has_items(y) else np.atleast_1d(np.asarray(y)) if flat else []
    tokens = given if flat else (entry for labels in given if is_list(labels) for entry in labels)
    first = next((entry for entry in tokens if entry is not None), None)
    if is_list(first) and not len(first):
        raise EmptyDataError("y: the first token has an empty list of labels")
    return len(first) if is_list(first) else 1


def of_table(y: Any, offsets: np.ndarray) -> list[Any]:
    """The labels of single inputs, a list of each."""
    n = len(offsets) - 1
    table = y.tolist() if hasattr(y, "tolist") else list(y)
    if len(table) != n:
        if isinstance(y, list | tuple):
            # which knows what one sequence of labels was meant to be
            two_dimensional_input.column(y, offsets)
        raise LengthMismatchError(f"X has {n} rows but y has {len(table)}")
    return table


def parted(flat: list[Any], n: int, offsets: np.ndarray) -> list[list[Any]]:
    """The labels of each of n rows, from those of all tokens; None for a token is None in all.

    Raises
    ------
    LengthMismatchError
        With the place, if a token has another number of labels.
    """
    rows: list[list[Any]] = [[] for _ in range(n)]
    for position, entry in enumerate(flat):
        labels = [None] * n if entry is None else list(entry) if is_list(entry) else [entry]
        if len(labels) != n:
            raise LengthMismatchError(
                f"{label_codes.place(position, offsets)}: {len(labels)} labels, where the first "
                f"token has {n}"
            )
        for row, label in zip(rows, labels, strict=True):
            row.append(label)
    return rows


def nodes(n: int, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The token and the row of each node: a sequence has nodes for all tokens of its first row,
    then of its second one, and so on.
    """
    lengths = np.diff(offsets)
    of_rows = np.repeat(lengths, n)
    row = np.repeat(np.tile(np.arange(n), len(lengths)), of_rows)
    starts = np.repeat(np.repeat(offsets[:-1], n), of_rows)
    firsts = np.repeat(np.cumsum(of_rows) - of_rows, of_rows)
    return starts + np.arange(len(row)) - firsts, row


def decode(codes: np.ndarray, classes: list[np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """An object array with a list for each sequence, of labels if there is one row, else of tuples,
    from codes (n_tokens, n_rows) that count in each row from 0.
    """
    labels = [object_array(row.tolist())[codes[:, r]] for r, row in enumerate(classes)]
    tokens = labels[0].tolist() if len(labels) == 1 else list(zip(*labels, strict=True))
    return object_array(cut(tokens, offsets))
