"""The steps of EM for hidden Markov models, wherever the data are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.hidden_markov import markov_chain as chains
from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.densities import log_prior, log_ratios
from sklearn_struct.hidden_markov.driven_transitions import DrivenCounts
from sklearn_struct.hidden_markov.emission_counts import EmissionCounts
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.hidden_markov.moments import Sums
from sklearn_struct.hidden_markov.number_steps import number_steps

__all__ = ["BaseTraining", "Expectation", "Options"]


def one_cluster(
    numbers: np.ndarray, weight: np.ndarray, n: int, rng: np.random.RandomState
) -> np.ndarray:
    """All rows in the same one."""
    return np.zeros(len(numbers), dtype=np.int64)


class Options(NamedTuple):
    """How parameters are estimated: sizes of the tables, add-lambda smoothing, least variances (d,)
    of the measurements, the kind of their covariances, least rates (c,) of events, how many normal
    distributions a label has, how many tokens before the means depend on, and what finds clusters.
    """

    order: int
    n_values: list[int]
    stop: bool
    smoothing: float
    transition_smoothing: float
    floor: np.ndarray
    covariance: str = "diag"
    least_rates: np.ndarray = np.empty(0)
    n_mixtures: int = 1
    lags: int = 0
    clusters: Callable[..., np.ndarray] = one_cluster

    @property
    def numbers(self) -> NumberSteps:
        """How the distributions of measurements are learned."""
        return number_steps(self.floor, self.covariance, self.n_mixtures, self.lags, self.clusters)


class Expectation(NamedTuple):
    """Expected counts of the chain, of emissions, and of transitions by their inputs."""

    markov: Markov
    emitted: EmissionCounts
    driven: DrivenCounts | None = None

    def merged(self, other: Expectation) -> Expectation:
        """Those of the tokens of both."""
        # a list, as Python keeps the memory of thousands of tuples that generators have made
        markov = Markov(*[a + b for a, b in zip(self.markov, other.markov, strict=True)])
        return Expectation(markov, self.emitted.merged(other.emitted))


class BaseTraining(ABC):
    """What EM learns of data of which some labels are known.

    A subclass knows where these are, and gives sums over them. Labels that are known, or guessed,
    are in a form of its own, which `known` and `guess` make. ``any_known`` says whether some are.
    """

    options: Options
    n_labels: int
    any_known: bool

    # ---- what data say

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """That of all tokens."""

    @property
    @abstractmethod
    def is_counted(self) -> bool:
        """Whether counts are all that is needed, since nothing is hidden that must be expected."""

    @property
    @abstractmethod
    def known(self) -> Any:
        """The labels that are known."""

    @abstractmethod
    def guess(self, rule: Callable[[Any], np.ndarray]) -> Any:
        """Labels as a rule gives them, of data in one place."""

    @abstractmethod
    def counted(self, codes: Any, before: Any = None) -> Expectation:
        """Counts of the labels that are known, and of them alone; what is missing of their numbers
        is expected under the distributions `before`.
        """

    @abstractmethod
    def expected(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """Expected counts given known labels and what was emitted; log-likelihood of both.

        These are derivatives of log Z over the labellings that the known labels allow. The
        log-likelihood is -inf if there is a sequence that the model cannot emit.
        """

    @abstractmethod
    def likelihood(self, model: HiddenMarkov) -> float:
        """The log-likelihood where all labels of positive weight are known."""

    @abstractmethod
    def spare_numbers(self) -> Any:
        """Counts of all measurements, for columns of which no label has any mass."""

    @abstractmethod
    def spare_events(self) -> Sums:
        """Sums of all events, for columns of which no label has any mass."""

    # ---- what starts are made of

    @property
    @abstractmethod
    def n_measured(self) -> int:
        """How many columns are numbers."""

    @abstractmethod
    def clustered(self, clusters: Callable[..., np.ndarray], rng: np.random.RandomState) -> Any:
        """Labels that are the clusters of the numbers of tokens, as a function finds them."""

    @abstractmethod
    def begin(self, codes: Any, rng: np.random.RandomState) -> Any:
        """Distributions under which missing numbers are expected first; see `NumberSteps`."""

    @abstractmethod
    def masses(self, codes: Any) -> np.ndarray:
        """The weight (K,) of the tokens of each label."""

    @abstractmethod
    def frequencies(self) -> list[np.ndarray]:
        """The weight (n_values,) of each value of each categorical stream."""

    @abstractmethod
    def random_numbers(self, rng: np.random.RandomState) -> Any:
        """Distributions of measurements at random tokens."""

    @abstractmethod
    def random_rates(self, rng: np.random.RandomState) -> np.ndarray:
        """Rates of events at random tokens."""

    @abstractmethod
    def random_outcomes(self, rng: np.random.RandomState) -> np.ndarray:
        """Random probabilities of the outcomes of trials."""

    # ---- steps

    def value(self, model: HiddenMarkov) -> float:
        """What `expect` says where all labels of positive weight are known."""
        return self.likelihood(model) + self.prior(model)

    def expect(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """Expected counts given known labels and what was emitted; log-likelihood of both plus log
        prior.
        """
        expected, value = self.expected(model)
        markov = chains.with_unseen(expected.markov, model.markov, self.options.stop)
        return expected._replace(markov=markov), value + self.prior(model)

    def maximise(self, expectation: Expectation) -> HiddenMarkov:
        """The most probable parameters, given expected counts."""
        options = self.options
        emitted = expectation.emitted
        return HiddenMarkov(
            chains.estimate(expectation.markov, options.transition_smoothing, options.stop),
            [log_ratios(counts, options.smoothing) for counts in emitted.values],
            options.numbers.fit(emitted.numbers, self.spare_numbers),
            poisson.fit_rates(emitted.events, options.least_rates, self.spare_events),
            multinomial.fit_outcomes(emitted.trials, options.smoothing),
        )

    def prior(self, model: HiddenMarkov) -> float:
        """Log-density of the prior that smoothing stands for, up to a constant."""
        tables = [*model.tables, model.outcomes]
        of_tables = sum(log_prior(table, self.options.smoothing) for table in tables)
        markov = model.markov if self.options.stop else model.markov._replace(stop=np.zeros(0))
        return of_tables + chains.prior(markov, self.options.transition_smoothing)
