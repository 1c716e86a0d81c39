"""Vocabularies of streams, and how each stream is distributed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from sklearn_struct.containers.row_pieces import first_row, row_pieces
from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.encoding.features.stream_vocabularies import learn_values
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError, NonFiniteError
from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.observed import Observed

__all__ = [
    "COUNTED",
    "EMISSIONS",
    "INPUT",
    "check_lengths",
    "check_numbers_are_there",
    "check_variances",
    "empty_columns",
    "kinds_of",
    "kinds_of_columns",
    "largest_numbers",
    "learn_streams",
    "listed_kinds",
    "mean_trials",
    "numeric_columns",
    "read_streams",
    "refuse_empty_columns",
    "refuse_gaps",
    "sum_of_trials",
]

# how numbers of each kind are read
READERS: dict[str, Callable[..., np.ndarray]] = {
    "gaussian": partial(streams.numbers, missing=True),
    "poisson": partial(streams.counts, missing=True),
    "multinomial": streams.counts,
}
EMISSIONS = ("categorical", *READERS)
COUNTED = ("poisson", "multinomial")  # kinds of whole numbers
MOST_TRIALS = 2.0**53  # larger numbers have no next one as floats
LARGEST = 1e75  # of inputs: their squares are multiplied with each other
INPUT = "input"  # the kind of a column that is not emitted, but drives transitions


def learn_streams(
    columns: streams.Columns, used: np.ndarray, kinds: list[str], oov: str | None
) -> tuple[list[dict[Any, int] | None], Observed]:
    """Vocabularies from the tokens that are used; codes and numbers of all tokens."""
    vocabularies: list[dict[Any, int] | None] = [None] * len(kinds)

    def learn(column: streams.Column, c: int) -> np.ndarray:
        vocabularies[c], coded = learn_values(column, used, oov)
        return coded

    observed = read_streams(columns, kinds, learn)
    return vocabularies, observed


def read_streams(
    columns: streams.Columns,
    kinds: list[str],
    encode: Callable[[streams.Column, int], np.ndarray],
) -> Observed:
    """Numbers of each kind, and what `encode` makes of the symbols of a column.

    Numbers that are all of one kind are those of X, in its memory, but for measurements that are
    no floats there.
    """
    codes = []
    numeric = {kind: _room(columns, kinds, kind) for kind in (*READERS, INPUT)}
    in_place = columns.table is not None and len(set(kinds)) == 1
    left = {kind: iter(table.T) for kind, table in numeric.items()}
    for c, (column, kind) in enumerate(zip(columns.columns, kinds, strict=True)):
        if kind == "categorical":
            streams.refuse_missing(column, columns.offsets, c)
            codes.append(encode(column, c))
            continue
        reader = _inputs if kind == INPUT else READERS[kind]
        of_token = reader(column, columns.offsets, c)
        if not in_place:
            next(left[kind])[:] = of_token
    return Observed(
        codes,
        numeric["gaussian"],
        columns.offsets,
        Counts.of_events(numeric["poisson"]),
        Counts.of_trials(numeric["multinomial"]),
        numeric[INPUT],
    )


def _room(columns: streams.Columns, kinds: list[str], kind: str) -> np.ndarray:
    """Where numbers of a kind are, or are put: the table of X if it has no others.

    Counts may be of any type.
    """
    if columns.table is not None and set(kinds) == {kind}:
        return columns.table if kind in COUNTED else columns.table.astype(np.float64, copy=False)
    return np.empty((columns.offsets[-1], kinds.count(kind)))


def _inputs(column: streams.Column, offsets: np.ndarray, c: int) -> np.ndarray:
    """A column of inputs, none of which may be missing."""
    of_token = streams.numbers(column, offsets, c, missing=True)
    t = first_row(of_token, _are_no_inputs)
    if t is not None:
        says = "not finite (nan)" if np.isnan(of_token[t]) else f"{of_token[t]:g} is too large"
        wants = "fill it in" if np.isnan(of_token[t]) else "scale the column"
        raise NonFiniteError(
            f"{streams.place(t, offsets)}, column {c}: {says}; transitions depend on this column, "
            f"so {wants}, or leave it out of `transition_inputs`"
        )
    return of_token


def _are_no_inputs(values: np.ndarray) -> np.ndarray:
    bad: np.ndarray = ~(np.abs(values) <= LARGEST)
    return bad


def _column(number: int, kind: str, kinds: list[str], names: Any) -> str:
    """A column of X in words, by its number among those of its kind."""
    c = [c for c, name in enumerate(kinds) if name == kind][number]
    return f"column {c if names is None else repr(str(names[c]))}"


def check_numbers_are_there(
    observed: Observed, used: np.ndarray, kinds: list[str], names: Any
) -> None:
    """Raise EmptyDataError for a stream of numbers that has only NaN in the tokens used."""
    refuse_empty_columns(empty_columns(observed, used), kinds, names)


def empty_columns(observed: Observed, used: np.ndarray) -> dict[str, np.ndarray]:
    """Which columns of each kind of numbers have only NaN in the tokens used."""
    return {kind: _are_empty(numbers, used) for kind, numbers in observed.numeric.items()}


def refuse_empty_columns(of_kinds: dict[str, np.ndarray], kinds: list[str], names: Any) -> None:
    """Raise EmptyDataError if there are such columns."""
    for kind, empty in of_kinds.items():
        if np.any(empty):
            column = _column(int(np.argmax(empty)), kind, kinds, names)
            raise EmptyDataError(
                f"{column} of X has no number to learn from, only NaN; remove the column"
            )


def _are_empty(numbers: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Which columns have no number in the tokens used."""
    empty = np.ones(numbers.shape[1], dtype=bool)
    for rows in row_pieces(numbers):
        # mostly the first rows have numbers
        if not empty.any():
            break
        empty &= (np.isnan(numbers[rows]) | ~used[rows, None]).all(axis=0)
    return empty


def largest_numbers(observed: Observed) -> np.ndarray:
    """How large the measurements of each column are."""
    columns: np.ndarray = np.nanmax(np.abs(observed.numbers), axis=0, initial=0.0)
    return columns


def check_variances(
    variances: np.ndarray, largest: Callable[[], np.ndarray], kinds: list[str], names: Any
) -> None:
    """Raise NonFiniteError for measurements whose squares are too large to be added up; a function
    says how large those of each column are.
    """
    bad = ~np.isfinite(variances)
    if np.any(bad):
        c = int(np.argmax(bad))
        most = largest()[c]
        raise NonFiniteError(
            f"{_column(c, 'gaussian', kinds, names)} of X has numbers of up to {most:.4g}, so "
            f"its variance is not finite: scale the column, as by dividing it by {most:.4g}"
        )


def refuse_gaps(observed: Observed, kinds: list[str], names: Any) -> None:
    """Raise NonFiniteError for a missing measurement, which means of other tokens depend on."""
    t = first_row(observed.numbers, np.isnan)
    if t is not None:
        number = int(np.argmax(np.isnan(observed.numbers[t])))
        raise NonFiniteError(
            f"{streams.place(t, observed.offsets)}, {_column(number, 'gaussian', kinds, names)}: "
            "not finite (nan); with `autoregression` no measurement may be missing: fill it in, or "
            "cut the sequence there"
        )


def check_lengths(observed: Observed, used: np.ndarray, p: int) -> None:
    """Raise EmptyDataError if no token used has p others before it."""
    longest = max(observed.lengths[used[observed.offsets[:-1]]], default=0) if len(used) else 0
    if longest <= p:
        raise EmptyDataError(
            f"autoregression={p} needs a sequence of more than {p} tokens; the longest one has "
            f"{longest}"
        )


def mean_trials(observed: Observed, used: np.ndarray) -> int:
    """How many trials the tokens used have on average, rounded.

    Raises
    ------
    ValueError
        If one of these has more trials than floats and files can tell.
    """
    total = sum_of_trials(observed, used)
    return round(total / np.count_nonzero(used)) if total else 0


def sum_of_trials(observed: Observed, used: np.ndarray) -> float:
    """How many trials the tokens used have together.

    Raises
    ------
    ValueError
        If one of these has more trials than floats and files can tell.
    """
    trials = observed.trials.numbers
    if not trials.shape[1]:
        return 0.0

    def of_tokens() -> Iterator[float]:
        for rows in row_pieces(trials):
            # as floats, since sums of whole numbers overflow
            of_rows = np.where(used[rows], trials[rows].sum(axis=1, dtype=np.float64), 0.0)
            t = int(np.argmax(of_rows))
            if of_rows[t] > MOST_TRIALS:
                raise ValueError(
                    f"{streams.place(rows.start + t, observed.offsets)}: its counts sum to "
                    f"{of_rows[t]:.4g}, but a token has at most 2 ** 53 trials: count in larger "
                    "units"
                )
            yield from of_rows.tolist()

    # exact, also where the sum of all is not a float
    return math.fsum(of_tokens())


def listed_kinds(emissions: str | Iterable[Any], n: int) -> list[str]:
    """What `emissions` says of each of n streams: "auto", or a kind.

    Raises
    ------
    ValueError
        If an entry is no kind.
    LengthMismatchError
        If there is not one entry for each stream.
    """
    listed = [emissions] * n if isinstance(emissions, str) else list(emissions)
    for s, kind in enumerate(listed):
        if not isinstance(kind, str) or kind not in ("auto", *EMISSIONS):
            names = ", ".join(map(repr, ("auto", *EMISSIONS)))
            where = "emissions" if isinstance(emissions, str) else f"emissions[{s}]"
            raise ValueError(f"{where}={kind!r} must be one of {names}")
    if len(listed) != n:
        raise LengthMismatchError(
            f"emissions has {len(listed)} entries, but there are {n} streams: list one for each, "
            "or write one name for all"
        )
    return listed


def kinds_of(columns: streams.Columns, emissions: str | Sequence[str]) -> list[str]:
    """How each column is distributed."""
    return kinds_of_columns(numeric_columns(columns), emissions)


def numeric_columns(columns: streams.Columns) -> list[bool]:
    """Which columns are numbers."""
    alone = columns.kind == "values"
    return [streams.is_numeric(column, alone) for column in columns.columns]


def kinds_of_columns(numeric: list[bool], emissions: str | Sequence[str]) -> list[str]:
    """How each column is distributed, where some are numbers."""
    given = listed_kinds(emissions, len(numeric))
    by_value = ("gaussian" if is_numeric else "categorical" for is_numeric in numeric)
    kinds = [of_column if kind == "auto" else kind for kind, of_column in zip(given, by_value)]
    if kinds.count("multinomial") == 1:
        raise ValueError(
            "emissions='multinomial' needs two streams or more, which together are a vector of "
            "counts; for one stream of counts write 'poisson'"
        )
    return kinds
