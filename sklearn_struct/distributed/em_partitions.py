"""What a step of EM, or what EM starts from, asks of one partition: sums over its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.distributed.stream_partitions import HiddenShard
from sklearn_struct.hidden_markov.base_training import Expectation
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.missing_numbers import is_incomplete
from sklearn_struct.hidden_markov.moments import (
    Moments,
    Sums,
    known_posteriors,
    moments_of,
    sums_of_all,
)

__all__ = [
    "Counts",
    "Rule",
    "Sample",
    "counted",
    "expected",
    "given_labels",
    "known_labels",
    "label_moments",
    "likelihood",
    "masses",
    "moments",
    "nearest",
    "rows_at",
    "sample",
    "sums",
]

# how a partition gets labels of its tokens, -1 where there are none
Rule: TypeAlias = Callable[[Training], np.ndarray]


class Counts(NamedTuple):
    """What tokens emit, as of one label: the weights of values, sums of events and of trials; the
    weight of tokens, their number, how many columns are numbers, and whether measurements are
    missing.
    """

    values: list[np.ndarray]
    events: Sums
    trials: Sums
    weight: float
    n_tokens: int
    n_measured: int
    is_incomplete: bool


class Sample(NamedTuple):
    """Some tokens of a partition: their numbers (m, c) and weights (m,)."""

    measured: np.ndarray
    weight: np.ndarray


@contextmanager
def _at_work(shard: HiddenShard) -> Iterator[Training | None]:
    """The steps of EM of a partition, with threads that are lent to it."""
    training = shard.training
    if training is None:
        yield None
        return
    own = training.pool
    with Pool(shard.model.n_jobs) as pool:
        training.pool = pool
        try:
            yield training
        finally:
            training.pool = own


def known_labels(training: Training) -> np.ndarray:
    """The labels that are known."""
    return training.codes


def given_labels(labels: np.ndarray, training: Training) -> np.ndarray:
    """Labels that are given."""
    return labels


def nearest(
    centers: np.ndarray, labels_of: np.ndarray, fill: np.ndarray, training: Training
) -> np.ndarray:
    """The label of the nearest center (m, c) of each token; -1 without numbers. Missing ones are
    `fill` (c,).
    """
    numbers = training.observed.measured
    labels = np.empty(len(numbers), np.int32)
    squares = (centers**2).sum(axis=1)
    for rows in row_pieces(numbers, share=4):
        missing = np.isnan(numbers[rows])
        filled = np.where(missing, fill, numbers[rows])
        near = np.argmin(squares - 2 * (filled @ centers.T), axis=1)
        labels[rows] = np.where(missing.all(axis=1), -1, labels_of[near])
    return labels


def expected(shard: HiddenShard, model: HiddenMarkov) -> tuple[Expectation, float] | None:
    """See `BaseTraining`."""
    with _at_work(shard) as training:
        return None if training is None else training.expected(model)


def likelihood(shard: HiddenShard, model: HiddenMarkov) -> float:
    """See `BaseTraining`."""
    return 0.0 if shard.training is None else shard.training.likelihood(model)


def counted(shard: HiddenShard, rule: Rule, before: Any) -> Expectation | None:
    """See `BaseTraining`."""
    with _at_work(shard) as training:
        return None if training is None else training.counted(rule(training), before)


def masses(shard: HiddenShard, rule: Rule) -> np.ndarray | None:
    """See `BaseTraining`."""
    return None if shard.training is None else shard.training.masses(rule(shard.training))


def sums(shard: HiddenShard) -> Counts | None:
    """What all tokens emit together."""
    training = shard.training
    if training is None:
        return None
    observed = training.observed
    weight = training.token_weight
    return Counts(
        training.frequencies(),
        training.spare_events(),
        sums_of_all(observed.trials.numbers, weight),
        training.total_weight,
        len(weight),
        observed.n_measured,
        is_incomplete(observed.numbers),
    )


def moments(shard: HiddenShard, kind: str, before: Gaussians | None) -> Moments | None:
    """Those of the measurements of all tokens, as of one label."""
    training = shard.training
    if training is None:
        return None
    return moments_of(training.observed.numbers, training.token_weight[:, None], kind, before)


def label_moments(shard: HiddenShard, rule: Rule) -> Moments | None:
    """Those of the tokens of each label, each column for itself."""
    training = shard.training
    if training is None:
        return None
    posterior = known_posteriors(rule(training), training.token_weight, training.n_labels)
    return moments_of(training.observed.numbers, posterior, "diag")


def rows_at(shard: HiddenShard, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Measurements and events of the tokens before which these shares (m,) of all weight are."""
    training = shard.training
    if training is None:
        return None
    cumulated = np.cumsum(training.token_weight)
    rows = np.searchsorted(cumulated / cumulated[-1], shares, side="right")
    observed = training.observed
    return observed.numbers[rows], observed.events.numbers[rows]


def sample(shard: HiddenShard, first: int, step: int) -> Sample | None:
    """Each `step`-th token from the `first` on."""
    training = shard.training
    if training is None:
        return None
    rows = slice(first, None, step)
    return Sample(training.observed.measured[rows].copy(), training.token_weight[rows].copy())
