"""What a fit of a hidden Markov model does in one partition: read its streams, look, encode."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.distributed.partitions import Partition, has_weight, n_sequences, n_tokens
from sklearn_struct.encoding.features.merged_streams import (
    StreamPart,
    encoded_stream,
    stream_part,
)
from sklearn_struct.encoding.features.observation_streams import Columns
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.labels import label_codes, partial_labels
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.encoding.three_dimensional_input import check_layout
from sklearn_struct.encoding.two_dimensional_input import has_label_a_row, refuse_without_labels
from sklearn_struct.estimators.fitting.sample_weights import repeated, used_tokens
from sklearn_struct.estimators.hidden_markov.stream_learning import (
    empty_columns,
    largest_numbers,
    numeric_columns,
    read_streams,
    sum_of_trials,
)
from sklearn_struct.hidden_markov.base_training import Options
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.gaussian_moments import moments_of_columns
from sklearn_struct.hidden_markov.moments import Moments, Sums, sums_of_all
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.inference.chains.forbidden import Transitions

__all__ = [
    "ColumnsOfPart",
    "HiddenShard",
    "Measures",
    "Streams",
    "StreamsOfPart",
    "check_allowed",
    "encode",
    "largest",
    "look",
    "measure",
    "read_columns",
    "ready",
    "values_of",
]


class ColumnsOfPart(NamedTuple):
    """A partition whose columns have been read; there are none if it has no tokens.

    ``model`` has the parameters, and what it learned when it read X; ``labels`` are those of all
    tokens, None without y.
    """

    model: Any
    columns: Columns | None
    flat: bool
    labels: list[Any] | None
    weight: np.ndarray

    @property
    def used(self) -> np.ndarray:
        """Which tokens count."""
        assert self.columns is not None
        return used_tokens(self.weight, np.diff(self.columns.offsets))


class Look(NamedTuple):
    """What a partition says of itself: how tokens are written (None if there are none), which
    columns are numbers, its labels, whether it has y, and the learned attributes of a model that
    has read it.
    """

    kind: str | None
    numeric: list[bool]
    labels: list[Any]
    has_y: bool
    reading: dict[str, Any]


class Streams(NamedTuple):
    """What all partitions agree in: labels, kinds of columns, vocabularies, and, of a model from
    which EM starts, tables of values.
    """

    classes: np.ndarray
    kinds: list[str]
    vocabulary: list[dict[Any, int] | None]
    tables: list[Any] | None


class StreamsOfPart(NamedTuple):
    """A partition in codes and numbers; None if there is nothing to learn from."""

    model: Any
    observed: Observed | None
    codes: np.ndarray
    weight: np.ndarray


class HiddenShard(NamedTuple):
    """The steps of EM on a partition; None if there is nothing to learn from."""

    model: Any
    training: Training | None


class Measures(NamedTuple):
    """Sums over the tokens of a partition: which columns have no numbers, moments of measurements,
    sums of events, of trials, of tokens that count and of weights; whether all their labels are
    known.
    """

    empty: dict[str, np.ndarray]
    moments: Moments
    events: Sums
    trials: float
    n_used: int
    weight: float
    is_known: bool


def read_columns(given: Any, model: Any, is_known: bool) -> ColumnsOfPart:
    """Read the columns; `is_known` says whether another model tells what they are."""
    partition = Partition.of(given)
    X = as_list(partition.X)
    y = as_list(partition.y)
    own = clone(model)
    n = n_sequences(X)
    if n_tokens(X, n) == 0:
        return ColumnsOfPart(own, None, False, None if y is None else [], np.zeros(n))
    check_layout(X, y, is_known)
    columns, flat = own._read_columns(X if has_label_a_row(y) else symbols(X), reset=True)
    if flat and y is None:
        refuse_without_labels(n, type(model).__name__)
    labels = None if y is None else own._flat_labels(y, columns.offsets, flat)
    given_weight = as_list(partition.sample_weight)
    weight = np.zeros(n)
    # where none counts, others may
    if has_weight(given_weight):
        weight = own._weight_of_sequences(given_weight, n)
    return ColumnsOfPart(own, columns, flat, labels, weight)


def look(part: ColumnsOfPart) -> Look:
    """What others need to know of a partition."""
    if part.columns is None:
        return Look(None, [], [], part.labels is not None, {})
    has = vars(part.model)
    reading = {name: has.get(name) for name in ("n_features_in_", "_names_in", "_rows_in")}
    labels: list[Any] = []
    known = [label for label in part.labels or () if label is not None]
    if known:
        distinct = partial_labels.known_labels(part.labels or [], part.columns.offsets)
        labels = label_codes.as_labels(distinct)
    numeric = numeric_columns(part.columns)
    return Look(part.columns.kind, numeric, labels, part.labels is not None, reading)


def values_of(part: ColumnsOfPart, kinds: list[str]) -> list[StreamPart | None]:
    """The values of each column of symbols."""
    if part.columns is None:
        return [None] * len(kinds)
    columns = part.columns
    return [
        stream_part(column, part.used, columns.offsets, c) if kind == "categorical" else None
        for c, (column, kind) in enumerate(zip(columns.columns, kinds, strict=True))
    ]


def encode(
    part: ColumnsOfPart, streams: Streams, firsts: list[set[Any] | None] | None
) -> StreamsOfPart:
    """The partition in codes and numbers; `firsts` are the values that it has first, None if
    vocabularies are those of another model.
    """
    model = part.model
    columns = part.columns
    if columns is None:
        return StreamsOfPart(model, None, np.empty(0, np.int32), part.weight)
    model.classes_ = streams.classes
    model._emissions = streams.kinds
    model.vocabulary_ = streams.vocabulary
    used = part.used
    if firsts is None:
        model.emission_logprob_ = streams.tables
        observed = model._observe(columns)
    else:

        def encoded(column: Any, c: int) -> np.ndarray:
            vocabulary = streams.vocabulary[c] or {}
            first = firsts[c] or set()
            return encoded_stream(column, vocabulary, first, used, model.oov, columns.offsets, c)

        observed = read_streams(columns, streams.kinds, encoded)
    codes = np.full(columns.offsets[-1], -1, np.int32)
    if part.labels is not None:
        codes = partial_labels.encode(part.labels, streams.classes, columns.offsets)
    return StreamsOfPart(model, observed, codes, part.weight)


def measure(part: StreamsOfPart) -> Measures | None:
    """Sums over the tokens."""
    observed = part.observed
    if observed is None or not np.any(part.weight > 0):
        return None
    used = used_tokens(part.weight, observed.lengths)
    of_tokens = repeated(part.weight, observed.lengths)
    return Measures(
        empty_columns(observed, used),
        moments_of_columns(observed.numbers, of_tokens),
        sums_of_all(observed.events.numbers, of_tokens),
        sum_of_trials(observed, used),
        int(np.count_nonzero(used)),
        float(part.weight @ observed.lengths),
        bool(np.all(part.codes[used] >= 0)),
    )


def largest(part: StreamsOfPart) -> np.ndarray:
    """How large the measurements of each column are."""
    return np.zeros(1) if part.observed is None else largest_numbers(part.observed)


def ready(part: StreamsOfPart, options: Options) -> HiddenShard:
    """The partition with the steps of EM on it; it forgets the names of values, which who moves
    its arrays would look through.
    """
    vars(part.model).pop("vocabulary_", None)
    if part.observed is None or not np.any(part.weight > 0):
        return HiddenShard(part.model, None)
    K = len(part.model.classes_)
    # threads are lent for each step
    training = Training(part.observed, part.codes, part.weight, K, options, Pool(1))
    return HiddenShard(part.model, training)


def check_allowed(shard: HiddenShard, allowed: Transitions) -> None:
    """Raise ForbiddenLabelError where no labelling that is allowed agrees with the labels."""
    training = shard.training
    if training is not None:
        shard.model._check_labels(
            allowed, training.observed.offsets, training.codes, training.weight
        )
