"""Tables of Dask with a row for each token -> the sequences of each partition, and back."""

from __future__ import annotations

from typing import Any

from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed

from sklearn_struct.containers.data_frames import names_of, runs, table
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.distributed.shards import at_partition
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["is_table", "label_column", "parts_of_table"]

LABEL = "label"


def is_table(X: Any) -> bool:
    """Whether X is a DataFrame or a Series of Dask; told by what it can do, without an import."""
    return is_dask_collection(X) and hasattr(X, "divisions") and hasattr(X, "to_delayed")


def parts_of_table(X: Any, name: str, tokens: Any = None) -> list[Delayed]:
    """A `SequenceArray` of each partition of X, a DataFrame, or y, a Series; `name` says which. If
    `tokens`, a DataFrame with as many partitions, is given, the index must be that of its rows.

    Raises
    ------
    InputTypeError
        If it is the other one, or weights; if the index does not tell sequences apart, or the table
        does not know where its partitions begin: a sequence may be cut in two.
    """
    _check(X, name)
    parts = X.to_delayed()
    if tokens is None or len(parts) != tokens.npartitions:
        return [delayed(at_partition)(i, _sequences, part) for i, part in enumerate(parts)]
    return [
        delayed(at_partition)(i, _labels_of_rows, part, rows)
        for i, (part, rows) in enumerate(zip(parts, tokens.to_delayed(), strict=True))
    ]


def label_column(X: Any, model: Delayed) -> Any:
    """The labels of the tokens of a table, a Series of Dask with the same index."""
    _check(X, "X")
    return X.map_partitions(_labels, model, meta=(LABEL, object))


def _check(X: Any, name: str) -> None:
    kind = f"{name} is a dask {type(X).__name__}"
    if name == "sample_weight":
        raise InputTypeError(
            f"{kind}: weights are of sequences, and tables have rows of tokens; give a list of "
            "delayed values, one a partition, each with a number for each of its sequences"
        )
    if name == "X" and X.ndim == 1:
        raise InputTypeError(f"{kind}: write X.to_frame(), of which each token is a row")
    if name == "y" and X.ndim == 2:
        raise InputTypeError(f'{kind}: give its column of labels, such as y["label"]')
    # the index that tables have by default numbers rows, and each would be a sequence
    if X.index.name is None or not X.known_divisions:
        why = "an index without a name" if X.index.name is None else "unknown divisions"
        raise InputTypeError(
            f"{kind} with {why}: the index must tell sequences apart, and no partition may end "
            "within one; write table.set_index(column, sorted=True), with the column that names "
            "the sequence of each row"
        )


def _sequences(part: Any) -> SequenceArray:
    """A table holds tokens, a column holds labels."""
    index = part.index.to_frame(index=False)
    offsets = runs(index, list(index.columns))
    if part.ndim == 1:
        return SequenceArray(part.to_numpy(), offsets)
    # raises where a name occurs twice
    names = names_of(part)
    return SequenceArray(table(part, list(part.columns)), offsets, names)


def _labels_of_rows(labels: Any, rows: Any) -> SequenceArray:
    if len(labels) != len(rows):
        raise LengthMismatchError(f"X has {len(rows)} rows but y has {len(labels)}")
    if not labels.index.equals(rows.index):
        names = zip(rows.index.tolist(), labels.index.tolist(), strict=True)
        for row, (of_X, of_y) in enumerate(names):
            if of_X != of_y:
                raise ValueError(
                    f"row {row} is of sequence {of_X!r} in X, but of {of_y!r} in y: give a column "
                    "of the same table"
                )
    return _sequences(labels)


def _labels(part: Any, model: Any) -> Any:
    import pandas as pd

    labels = [label for of_one in model.predict(_sequences(part)) for label in of_one]
    return pd.Series(labels, part.index, object, LABEL)
