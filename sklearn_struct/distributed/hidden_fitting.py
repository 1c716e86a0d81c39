"""The line of `fit` of a hidden Markov model over partitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.distributed.sharded_training import (
    RestrictedShards,
    ShardedTraining,
    together,
)
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.distributed.stream_partitions import (
    Look,
    Measures,
    Streams,
    check_allowed,
    encode,
    largest,
    look,
    measure,
    read_columns,
    ready,
    values_of,
)
from sklearn_struct.encoding.features.merged_streams import merged_stream
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.hidden_markov.stream_learning import (
    check_variances,
    kinds_of_columns,
    refuse_empty_columns,
)
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError
from sklearn_struct.hidden_markov.gaussian_moments import most_probable, variances_of
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.moments import Moments, Sums
from sklearn_struct.hidden_markov.poisson import of_mean
from sklearn_struct.inference.chains.forbidden import Transitions

__all__ = ["learn_hidden", "pose_hidden"]


def learn_hidden(model: Any, shards: Shards, init: Any, progress: Progress) -> None:
    """Learn a hidden Markov model of all partitions."""
    training = pose_hidden(model, shards, init)
    model._learn_by(training, init, progress)
    model.n_parameters_ = model._n_free(training)


def pose_hidden(model: Any, shards: Shards, init: Any) -> ShardedTraining:
    """Read all partitions, and return the steps of EM on them; `model` learns vocabularies and
    labels.
    """
    _refuse_starts(model, init)
    n = len(shards)
    shards.advance(read_columns, [model] * n, [init is not None] * n)
    looks = shards.ask(look)
    used = [one for one in looks if one.kind is not None]
    _learn_columns(model, used)
    model._refuse_no_labels(any(one.has_y for one in looks), init)
    labels = [label for one in used for label in one.labels]
    if init is not None:
        model._refuse_other_streams(init)
    model.classes_ = (
        model._label_set(labels, np.array([0, len(labels)])) if init is None else init.classes_
    )
    _learn_streams(model, shards, used, init)
    of_parts = [of_part for of_part in shards.ask(measure) if of_part is not None]
    options = _options(model, shards, of_parts, init)
    shards.advance(ready, [options] * n)
    K = len(model.classes_)
    is_known = all(of_part.is_known for of_part in of_parts)
    plain = ShardedTraining(shards, options, K, len(labels) > 0, is_known)
    return _restricted(model, plain, init)


def _refuse_starts(model: Any, init: Any) -> None:
    """Raise ValueError for what needs all data in one place."""
    if model.autoregression:
        raise ValueError(
            f"autoregression={model.autoregression} is not for partitions: use autoregression=0, "
            "or fit on data in one place"
        )
    if model.n_mixtures > 1 and init is None:
        raise ValueError(
            f"n_mixtures={model.n_mixtures} begins at clusters of the tokens of each label, which "
            "lie in partitions: give `init`, an HMM that is fitted on some of the data"
        )


def _learn_columns(model: Any, used: Sequence[Look]) -> None:
    """Learn how tokens are written, and what columns are called."""
    if not used:
        raise EmptyDataError("no partition of X has tokens")
    kinds = sorted({str(one.kind) for one in used})
    if len(kinds) > 1:
        raise InputTypeError(
            f"partitions of X are of several forms ({', '.join(kinds)}): give all of them in one"
        )
    widths = [len(one.numeric) for one in used]
    other = next((n for n in widths if n != widths[0]), None)
    if other is not None:
        raise LengthMismatchError(
            f"tokens of one partition have {widths[0]} columns, and those of another {other}"
        )
    nothing = np.empty((0, widths[0]))
    of_parts = [SequenceArray(nothing, [0], one.reading["_names_in"]) for one in used]
    model._learn_features(of_parts[0], reset=True)
    for tokens in of_parts:
        model._check_names(tokens)
    model._rows_in = all(one.reading["_rows_in"] for one in used)
    model._kind = kinds[0]


def _learn_streams(model: Any, shards: Shards, used: Sequence[Look], init: Any) -> None:
    """Learn kinds of columns and vocabularies, and encode partitions by them."""
    n = len(shards)
    firsts: list[Any] = [None] * n
    tables = None
    if init is None:
        numeric = [all(of_column) for of_column in zip(*(one.numeric for one in used), strict=True)]
        kinds = kinds_of_columns(numeric, model.emissions)
        of_parts = shards.ask(values_of, [kinds] * n)
        model.vocabulary_ = []
        firsts = [[None] * len(kinds) for _ in range(n)]
        for c, kind in enumerate(kinds):
            values = None
            if kind == "categorical":
                present = [p for p, columns in enumerate(of_parts) if columns[c] is not None]
                values, of_column = merged_stream([of_parts[p][c] for p in present], model.oov)
                for p, first in zip(present, of_column, strict=True):
                    firsts[p][c] = first
            model.vocabulary_.append(values)
    else:
        kinds, model.vocabulary_, tables = model._streams_of(init)
        model.emission_logprob_ = tables
    model._emissions = kinds
    model._check_asked(kinds.count("gaussian"))
    streams = Streams(model.classes_, kinds, model.vocabulary_, tables)
    shards.advance(encode, [streams] * n, firsts)


def _options(model: Any, shards: Shards, of_parts: Sequence[Measures], init: Any) -> Any:
    """How parameters are estimated, after a check of what all tokens have."""
    if not of_parts:
        raise EmptyDataError("no sequence has a positive weight")
    kinds = model._emissions
    names = model._names
    empty = {
        kind: np.all([of_part.empty[kind] for of_part in of_parts], axis=0)
        for kind in of_parts[0].empty
    }
    refuse_empty_columns(empty, kinds, names)
    trials = math.fsum(of_part.trials for of_part in of_parts)
    model.n_trials_ = round(trials / sum(of_part.n_used for of_part in of_parts))
    with np.errstate(over="ignore", invalid="ignore"):
        moments = together([of_part.moments for of_part in of_parts], Moments.merged)
        floor = variances_of(moments, model.min_variance)

    def most() -> np.ndarray:
        parts = [part for part in shards.ask(largest) if len(part) == len(floor)]
        columns: np.ndarray = np.max(parts, axis=0)
        return columns

    check_variances(floor, most, kinds, names)
    events = together([of_part.events for of_part in of_parts], Sums.merged)
    return model._options_above(floor, of_mean(events, model.min_variance), init)


def _restricted(model: Any, plain: ShardedTraining, init: Any) -> ShardedTraining:
    """The steps of EM with what the parameters forbid, fix or expect before."""

    def check(allowed: Transitions) -> None:
        plain.shards.ask(check_allowed, [allowed] * len(plain.shards))

    def alike(kind: str) -> Gaussians:
        floor = np.zeros(len(plain.options.floor))
        return most_probable(plain.of_all(kind, floor), floor, kind)

    given = None if init is None else model._taken_over(init, plain.options.numbers)
    restrictions = model._restrictions(given, check, alike)
    return plain if restrictions is None else RestrictedShards(plain, restrictions)
