"""Collections of Dask that hold X, y and weights -> one future a partition."""

from __future__ import annotations

from typing import Any

from dask.bag import Bag
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Client, Future

from sklearn_struct.dask.tables import is_table, parts_of_table
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["futures_of", "is_distributed", "partitions_of"]


def is_distributed(X: Any) -> bool:
    """Whether X is a collection of Dask, or a list of delayed values or futures."""
    if is_dask_collection(X):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(_is_promise, X))


def _is_promise(value: Any) -> bool:
    return isinstance(value, Delayed | Future)


def partitions_of(X: Any, name: str, tokens: Any = None) -> list[Any]:
    """The partitions of a bag, a table, or a list of delayed values or futures, which errors call
    `name`. The rows of a table of labels are those of `tokens`, if this is a table.

    Raises
    ------
    InputTypeError
        If it is none of them, or a table whose partitions may cut sequences.
    """
    if isinstance(X, Bag):
        # a partition may be an iterator, which could be read once
        parts: list[Any] = X.map_partitions(list).to_delayed()
        return parts
    if is_table(X):
        return list(parts_of_table(X, name, tokens if is_table(tokens) else None))
    if is_distributed(X) and not is_dask_collection(X):
        return list(X)
    if is_dask_collection(X):
        raise InputTypeError(
            f"{name} is a dask {type(X).__name__}: give its partitions as sequences, such as "
            f"[dask.delayed(sequences)(part) for part in {name}.to_delayed()] with a function "
            "`sequences` that returns a list or a SequenceArray"
        )
    raise InputTypeError(
        f"{name} must be a dask bag of sequences, a dask table with a row for each token, or a "
        f"list of delayed values or futures, each of some sequences; got {type(X).__name__}. What "
        "is in memory needs no cluster: fit the estimator itself"
    )


def futures_of(client: Client, X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """A future of (X, y, sample_weight) for each partition.

    Raises
    ------
    LengthMismatchError
        If y or weights have another number of partitions.
    """
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    parts = {
        name: partitions_of(value, name, X if name == "y" else None)
        for name, value in given.items()
        if value is not None
    }
    n = len(parts["X"])
    for name, of_name in parts.items():
        if len(of_name) != n:
            raise LengthMismatchError(
                f"X has {n} partitions but {name} has {len(of_name)}: they must be cut alike"
            )
    flat = [part for of_name in parts.values() for part in of_name]
    delayed = [part for part in flat if isinstance(part, Delayed)]
    # all in one call, as they may share what they are made of
    computed = iter(client.compute(delayed) if delayed else ())
    futures = iter([next(computed) if isinstance(part, Delayed) else part for part in flat])
    columns = {name: [next(futures) for _ in of_name] for name, of_name in parts.items()}
    none = [None] * n
    columns = {name: columns.get(name, none) for name in given}
    rows = list(zip(*columns.values(), strict=True))
    if len(delayed) < len(flat):
        # where data are already, they stay
        return [client.submit(partition, *row, pure=False) for row in rows]
    return [
        client.submit(partition, *row, pure=False, workers=who, allow_other_workers=who is not None)
        for row, who in zip(rows, spread(client, n), strict=True)
    ]


def spread(client: Client, n: int) -> list[str | None]:
    """A worker for each of n partitions, so that all have about as many: each evaluation waits for
    the one that has most.
    """
    workers: list[str] = sorted(client.nthreads())
    return [workers[i * len(workers) // n] for i in range(n)] if workers else [None] * n


def partition(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """The task that makes a partition of its columns."""
    return X, y, sample_weight
