"""The steps of EM on data in partitions: sums of theirs, which are merged in one order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from sklearn_struct.distributed.em_partitions import (
    Counts,
    Rule,
    Sample,
    counted,
    expected,
    given_labels,
    known_labels,
    label_moments,
    likelihood,
    masses,
    moments,
    nearest,
    rows_at,
    sample,
    sums,
)
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.hidden_markov.base_training import BaseTraining, Expectation, Options
from sklearn_struct.hidden_markov.gaussian_moments import most_probable
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.moments import Moments, Sums, known_posteriors, moments_of
from sklearn_struct.hidden_markov.multinomial import outcomes_near
from sklearn_struct.hidden_markov.normal_priors import kind_of_all
from sklearn_struct.hidden_markov.poisson import rates_near
from sklearn_struct.hidden_markov.random_gaussians import at_rows
from sklearn_struct.hidden_markov.restricted_training import RestrictedSteps, Restrictions

__all__ = ["LARGEST_SAMPLE", "RestrictedShards", "ShardedTraining", "together"]

T = TypeVar("T")
# tokens of which clusters are found, where there are more
LARGEST_SAMPLE = 50_000


def together(parts: Sequence[T | None], both: Callable[[T, T], T]) -> T:
    """What `both` makes of parts, of neighbours first: in an order that nobody's speed changes, and
    in which few roundings follow each other.
    """
    left = [part for part in parts if part is not None]
    while len(left) > 1:
        pairs = [both(a, b) for a, b in zip(left[::2], left[1::2])]
        left = pairs + left[2 * len(pairs) :]
    return left[0]


class ShardedTraining(BaseTraining):
    """The steps of EM, of which each partition does its part.

    Labels are rules, one for each partition, by which it gets them.

    Parameters
    ----------
    shards : Shards
        Whose states are of `HiddenShard`.
    options : Options
    n_labels : int
    any_known, all_known : bool
        Whether some labels of tokens, and all of tokens that count, are known.
    """

    def __init__(
        self, shards: Shards, options: Options, n_labels: int, any_known: bool, all_known: bool
    ) -> None:
        self.shards = shards
        self.options = options
        self.n_labels = n_labels
        self.any_known = any_known
        self.all_known = all_known

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What all partitions say to the same arguments."""
        return self.shards.ask(function, *([argument] * len(self.shards) for argument in arguments))

    @cached_property
    def _counts(self) -> list[Counts | None]:
        return self._ask(sums)

    @property
    def _used(self) -> list[Counts]:
        """Those of partitions with tokens that count."""
        return [counts for counts in self._counts if counts is not None]

    @property
    def is_incomplete(self) -> bool:
        """Whether measurements are missing."""
        return any(counts.is_incomplete for counts in self._used)

    @property
    def total_weight(self) -> float:
        return math.fsum(counts.weight for counts in self._used)

    @property
    def is_counted(self) -> bool:
        matrices = self.options.covariance in ("full", "tied")
        hidden = self.options.n_mixtures > 1 or (matrices and self.is_incomplete)
        return self.all_known and self.any_known and not hidden

    @property
    def known(self) -> list[Rule]:
        return self.guess(known_labels)

    def guess(self, rule: Rule) -> list[Rule]:
        return [rule] * len(self.shards)

    def counted(self, codes: list[Rule], before: Any = None) -> Expectation:
        parts: list[Expectation | None] = self.shards.ask(
            counted, codes, [before] * len(self.shards)
        )
        return together(parts, Expectation.merged)

    def expected(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        parts = [part for part in self._ask(expected, model) if part is not None]
        value = math.fsum(of_part for _, of_part in parts)
        return together([counts for counts, _ in parts], Expectation.merged), value

    def likelihood(self, model: HiddenMarkov) -> float:
        return math.fsum(self._ask(likelihood, model))

    def spare_numbers(self) -> Moments:
        kind = self.options.covariance
        return self.of_all(kind_of_all(kind), self.options.floor)

    def spare_events(self) -> Sums:
        return together([counts.events for counts in self._used], Sums.merged)

    def of_all(self, kind: str, floor: np.ndarray) -> Moments:
        """Moments of all measurements, as of one label. What is missing of them is expected as if
        columns were independent.
        """
        before = None
        if kind == "full" and self.is_incomplete:
            before = most_probable(self._moments("diag", None), floor, "diag")
        return self._moments(kind, before)

    def _moments(self, kind: str, before: Gaussians | None) -> Moments:
        parts: list[Moments | None] = self._ask(moments, kind, before)
        return together(parts, Moments.merged)

    @property
    def n_measured(self) -> int:
        return self._used[0].n_measured

    def clustered(
        self, clusters: Callable[..., np.ndarray], rng: np.random.RandomState
    ) -> list[Rule]:
        """See `BaseTraining`; of many tokens, clusters are those of a sample."""
        step = -(-sum(counts.n_tokens for counts in self._used) // LARGEST_SAMPLE)
        samples = self._sample(step)
        measured = np.concatenate([part.measured for part in samples])
        weight = np.concatenate([part.weight for part in samples])
        labels = clusters(measured, weight, self.n_labels, rng)
        if step == 1:
            # that are all tokens
            of_parts = iter(np.split(labels, np.cumsum([len(part.weight) for part in samples])))
            none = np.empty(0, np.int32)
            return [
                partial(given_labels, none if counts is None else next(of_parts))
                for counts in self._counts
            ]
        posterior = known_posteriors(labels, weight, self.n_labels)
        centers = moments_of(measured, posterior, "diag").mean
        fill = moments_of(measured, weight[:, None], "diag").mean[0]
        filled = np.flatnonzero(posterior.sum(axis=0))
        return self.guess(partial(nearest, centers[filled], filled, fill))

    def _sample(self, step: int) -> list[Sample]:
        """Each `step`-th token of all."""
        firsts = []
        before = 0
        for counts in self._counts:
            firsts.append(-before % step)
            before += 0 if counts is None else counts.n_tokens
        parts = self.shards.ask(sample, firsts, [step] * len(self.shards))
        return [part for part in parts if part is not None]

    def begin(self, codes: list[Rule], rng: np.random.RandomState) -> Gaussians | None:
        if self.options.covariance not in ("full", "tied") or not self.is_incomplete:
            return None
        of_labels = together(self.shards.ask(label_moments, codes), Moments.merged)
        floor = self.options.floor
        return most_probable(of_labels, floor, "diag", partial(self._moments, "diag", None))

    def masses(self, codes: list[Rule]) -> np.ndarray:
        return together(self.shards.ask(masses, codes), np.add)

    def frequencies(self) -> list[np.ndarray]:
        of_columns = zip(*(counts.values for counts in self._used), strict=True)
        return [together(of_column, np.add) for of_column in of_columns]

    def random_numbers(self, rng: np.random.RandomState) -> Gaussians:
        kind = self.options.covariance
        one = most_probable(self.spare_numbers(), self.options.floor, kind)
        mean = np.repeat(one.mean, self.n_labels, axis=0)
        covariance = one.covariance
        if kind != "tied":
            covariance = np.repeat(covariance, self.n_labels, axis=0)
        return at_rows(Gaussians(mean, covariance, kind), self._drawn(rng)[0])

    def random_rates(self, rng: np.random.RandomState) -> np.ndarray:
        events = self.spare_events()
        if not len(events.mass):
            return np.empty((self.n_labels, 0))
        return rates_near(events, self._drawn(rng)[1], self.options.least_rates)

    def random_outcomes(self, rng: np.random.RandomState) -> np.ndarray:
        trials = together([counts.trials for counts in self._used], Sums.merged)
        if not len(trials.mass):
            return np.empty((self.n_labels, 0))
        return outcomes_near(trials, self.n_labels, self.options.smoothing, rng)

    def _drawn(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Measurements (K, d) and events (K, c) of tokens that are drawn by their weights."""
        weight = np.array([0.0 if part is None else part.weight for part in self._counts])
        ends = np.cumsum(weight) / weight.sum()
        shares = rng.random_sample(self.n_labels)
        where = np.searchsorted(ends, shares, side="right")
        begins = np.concatenate([[0.0], ends])[where]
        inside = np.clip((shares - begins) / (ends[where] - begins), 0.0, np.nextafter(1.0, 0.0))
        places = [inside[where == p] for p in range(len(self.shards))]
        drawn = [part for part in self.shards.ask(rows_at, places) if part is not None]
        numbers, events = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
        # from the order of partitions to that of draws
        order = np.argsort(np.argsort(where, kind="stable"), kind="stable")
        return numbers[order], events[order]


class RestrictedShards(RestrictedSteps, ShardedTraining):
    """The same under restrictions, which hold in each iteration."""

    def __init__(self, plain: ShardedTraining, restrictions: Restrictions) -> None:
        super().__init__(
            plain.shards, plain.options, plain.n_labels, plain.any_known, plain.all_known
        )
        self.restrictions = restrictions
