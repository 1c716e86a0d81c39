"""Vocabularies of streams, and how each stream is distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.hidden_markov.em_steps import Observed

__all__ = ["check_numbers_are_there", "kinds_of", "learn_streams"]


def learn_streams(
    columns: streams.Columns, used: np.ndarray, kinds: list[str], oov: str | None
) -> tuple[list[dict[Any, int] | None], Observed]:
    """Vocabularies from the tokens that are used; codes and numbers of all tokens."""
    codes = []
    numbers = [np.empty((len(used), 0))]
    vocabularies: list[dict[Any, int] | None] = []
    for c, (column, kind) in enumerate(zip(columns.columns, kinds, strict=True)):
        if kind == "gaussian":
            numbers.append(streams.numbers(column, columns.offsets, c, missing=True)[:, None])
            vocabularies.append(None)
        else:
            streams.refuse_missing(column, columns.offsets, c)
            values, coded = streams.learn_values(column, used, oov)
            codes.append(coded)
            vocabularies.append(values)
    return vocabularies, Observed(codes, np.hstack(numbers), columns.offsets)


def check_numbers_are_there(
    observed: Observed, used: np.ndarray, vocabularies: list[dict[Any, int] | None]
) -> None:
    """Raise EmptyDataError for a stream of numbers that has only NaN in the tokens used."""
    of_numbers = [c for c, values in enumerate(vocabularies) if values is None]
    empty = np.isnan(observed.numbers[used]).all(axis=0)
    if np.any(empty):
        c = of_numbers[int(np.argmax(empty))]
        raise EmptyDataError(
            f"column {c} of X has no number to learn from, only NaN; remove the column"
        )


def kinds_of(columns: streams.Columns, emissions: str | Sequence[str]) -> list[str]:
    """How each column is distributed."""
    n = len(columns.columns)
    given = [emissions] * n if isinstance(emissions, str) else list(emissions)
    if len(given) != n or not set(given) <= {"auto", "categorical", "gaussian"}:
        raise ValueError(f"emissions={emissions!r} does not say how each of {n} streams is emitted")
    alone = columns.kind == "values"
    numeric = (
        "gaussian" if streams.is_numeric(column, alone) else "categorical"
        for column in columns.columns
    )
    return [of_column if kind == "auto" else kind for kind, of_column in zip(given, numeric)]
