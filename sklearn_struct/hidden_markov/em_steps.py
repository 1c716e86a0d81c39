"""Hidden Markov models: a chain of labels, and streams that are emitted independently of each other
given the label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import keep_freed
from sklearn_struct.containers.structures import Block, Potentials, Structure
from sklearn_struct.hidden_markov import markov_chain as chains
from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.densities import log_prior, log_ratios
from sklearn_struct.hidden_markov.driven_transitions import DrivenCounts, log_transitions
from sklearn_struct.hidden_markov.emission_counts import EmissionCounts, emission_counts
from sklearn_struct.hidden_markov.emissions import Emissions
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.hidden_markov.moments import Sums, known_posteriors, sums_of_all
from sklearn_struct.hidden_markov.number_steps import number_steps
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.inference.chains.chain import Chain

__all__ = [
    "Expectation",
    "Options",
    "Training",
    "emission",
    "joint",
    "potentials",
    "with_chain",
]


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


def emission(model: HiddenMarkov, observed: Observed, rows: slice) -> np.ndarray:
    """Log-probability (n, K) of what some tokens emit, given each label."""
    return Emissions(model, observed).of_rows(rows)


def potentials(model: HiddenMarkov, observed: Observed, block: Block) -> Potentials:
    """Potentials of labels, whose partition function is the probability of what was emitted."""
    return with_chain(model, observed, emission(model, observed, block.tokens), block)


def with_chain(
    model: HiddenMarkov, observed: Observed, emitted: np.ndarray, block: Block
) -> Potentials:
    """Potentials of what labels emit (n, K) and of their chain."""
    theta = chains.potentials(model.markov, emitted, block.structure)
    pairs = block.structure.families[0]
    if not model.slopes.size or not pairs.offsets[-1]:
        return theta
    after = pairs.nodes[:, 1]
    edges = log_transitions(model.logits, observed.inputs[block.tokens][after])
    return Potentials(theta.node, (edges.reshape(len(after), -1),))


def joint(model: HiddenMarkov, observed: Observed, codes: np.ndarray) -> np.ndarray:
    """log p(x, y) of each sequence; 0 for an empty one."""
    scores = [
        model.inference.scores(
            potentials(model, observed, block), block.structure, codes[block.tokens]
        )
        for block in model.blocks(observed.offsets)
    ]
    return np.concatenate([np.empty(0), *scores])


class Training:
    """The steps of EM on data of which some labels are known.

    Parameters
    ----------
    observed : Observed
    codes : ndarray of shape (n,)
        Labels, -1 where they are not known.
    weight : ndarray of shape (n_sequences,)
    n_labels : int
    options : Options
    pool : Pool
    """

    def __init__(
        self,
        observed: Observed,
        codes: np.ndarray,
        weight: np.ndarray,
        n_labels: int,
        options: Options,
        pool: Pool,
    ) -> None:
        # what no label changes is added once, and not in each step
        self.observed = observed.without_constants
        self.constant = observed.constant(weight)
        self.codes = codes
        self.weight = weight
        self.n_labels = n_labels
        self.options = options
        self.pool = pool
        self.inference = Chain(options.order)
        # the same for any number of threads, so that sums have one order; few where data are small,
        # as each costs a fifth of a millisecond
        longest = int(observed.lengths.max(initial=0))
        most = chains.tokens_of_block(n_labels, options.order, longest)
        self.blocks = self.inference.blocks(
            self.structure, n_labels, most, max(1, -(-len(codes) // most))
        )
        self.any_known = bool(codes.max(initial=-1) >= 0)
        # each block needs as much memory as the one before
        keep_freed(8 * self.blocks.most_nodes * n_labels)

    @property
    def structure(self) -> Structure:
        """The chains of all sequences. Pairs are listed only where something is read of each."""
        observed = self.observed
        return self.inference.structure(observed.offsets, listed=observed.inputs.shape[1] > 0)

    @property
    def token_weight(self) -> np.ndarray:
        """The weight (n,) of each token: that of its sequence."""
        return np.repeat(self.weight, self.observed.lengths)

    @property
    def total_weight(self) -> float:
        """That of all tokens."""
        return float(self.weight @ self.observed.lengths)

    @property
    def is_counted(self) -> bool:
        """Whether counts are all that is needed, since nothing is hidden that must be expected."""
        if self.options.numbers.is_hidden(self.observed.numbers):
            return False
        if not self.any_known and self.total_weight > 0:
            return False
        # labels of sequences that do not count need not be known
        return bool(np.all(self.codes[self.token_weight > 0] >= 0))

    def counted(self, codes: np.ndarray, before: Any = None) -> Expectation:
        """Counts of the labels that are known (others are -1), and of them alone; what is missing
        of their numbers is expected under the distributions `before`.
        """
        K = self.n_labels

        def work(b: int) -> Expectation:
            block = self.blocks[b]
            labels = codes[block.tokens]
            weight = self.weight[block.examples]
            structure = self.inference.structure(block.structure.offsets)
            of_tokens = np.repeat(weight, np.diff(structure.offsets))
            return Expectation(
                chains.tally(labels, structure, weight, K, self.options.order),
                self.emitted(block, known_posteriors(labels, of_tokens, K), before),
            )

        return self.pool.fold(work, Expectation.merged, len(self.blocks))

    def emitted(self, block: Block, posterior: np.ndarray, before: Any) -> EmissionCounts:
        """Expected counts of what the tokens of a block emit, given their posteriors (n, K)."""
        return emission_counts(
            self.observed,
            block.tokens,
            posterior,
            self.options.n_values,
            self.options.numbers,
            before,
        )

    def value(self, model: HiddenMarkov) -> float:
        """What `expect` says where all labels of positive weight are known."""
        # those of weight 0 may have unknown labels, for which 0 stands below; nothing of them is
        # counted
        used = self.weight > 0
        log_p = joint(model, self.observed, np.maximum(self.codes, 0))
        return float(self.weight[used] @ log_p[used]) + self.constant + self.prior(model)

    def expect(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """Expected counts given known labels and what was emitted; log-likelihood of both plus log
        prior.

        These are derivatives of log Z over the labellings that the known labels allow. The
        log-likelihood is -inf if there is a sequence that the model cannot emit.
        """
        expected, value = self._expected(
            model, lambda theta, block: chains.room(theta, block.structure)
        )
        markov = chains.with_unseen(expected.markov, model.markov, self.options.stop)
        return expected._replace(markov=markov), value

    def _expected(
        self,
        model: HiddenMarkov,
        room: Callable[[Potentials, Block], tuple[np.ndarray, ...]],
    ) -> tuple[Expectation, float]:
        """What `expect` returns; `room` makes room for the sums over pairs of a block."""
        emissions = Emissions(model, self.observed)

        def work(b: int) -> tuple[Expectation, float]:
            block = self.blocks[b]

            emitted = self.clamped(emissions, block.tokens)
            theta = with_chain(model, self.observed, emitted, block)
            sums = room(theta, block)
            weight = self.weight[block.examples]
            log_Z = np.empty(block.structure.n_examples)

            def again(i: int, rows: np.ndarray) -> None:
                self._write_scores(emissions, block.tokens.start + block.structure.offsets[i], rows)

            self.inference.expectations(theta, block.structure, weight, sums, log_Z, again)
            marginals = Potentials(theta.node, sums)
            markov = chains.read_counts(
                marginals, block.structure, self.n_labels, self.options.order
            )
            expected = Expectation(markov, self.emitted(block, theta.node, model.gaussians))
            return expected, chains.log_likelihood(weight, log_Z)

        def both(a: Any, b: Any) -> tuple[Expectation, float]:
            return a[0].merged(b[0]), a[1] + b[1]

        expected, value = self.pool.fold(work, both, len(self.blocks))
        return expected, value + self.constant + self.prior(model)

    def clamped(self, emissions: Emissions, rows: slice) -> np.ndarray:
        """Emissions of some tokens, with -inf for all labels but the known one of each."""
        scores = emissions.of_rows(rows)
        codes = self.codes[rows]
        if not self.any_known:
            return scores
        # log Z over what known labels allow is what EM raises
        scores[(codes >= 0)[:, None] & (codes[:, None] != np.arange(self.n_labels))] = -np.inf
        return scores

    def _write_scores(self, emissions: Emissions, first: int, out: np.ndarray) -> None:
        """The scores of labels of the tokens of a sequence, from its `first` one on."""
        # a few tokens at a time, so that these scores are not there twice
        for begin in range(0, len(out), chains.OF_MANY.tokens):
            end = min(begin + chains.OF_MANY.tokens, len(out))
            out[begin:end] = self.clamped(emissions, slice(first + begin, first + end))
        one = self.inference.structure(np.array([0, len(out)]), listed=False)
        chains.potentials(emissions.model.markov, out, one)

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

    def spare_numbers(self) -> Any:
        """Counts of all measurements, for columns of which no label has any mass."""
        observed = self.observed
        return self.options.numbers.of_all(observed.numbers, observed.offsets, self.token_weight)

    def spare_events(self) -> Sums:
        """Sums of all events, for columns of which no label has any mass."""
        return sums_of_all(self.observed.events.numbers, self.token_weight)

    def prior(self, model: HiddenMarkov) -> float:
        """Log-density of the prior that smoothing stands for, up to a constant."""
        tables = [*model.tables, model.outcomes]
        of_tables = sum(log_prior(table, self.options.smoothing) for table in tables)
        markov = model.markov if self.options.stop else model.markov._replace(stop=np.zeros(0))
        return of_tables + chains.prior(markov, self.options.transition_smoothing)
