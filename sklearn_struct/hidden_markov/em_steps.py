"""Hidden Markov models: a chain of labels, and streams that are emitted independently of each other
given the label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import keep_freed
from sklearn_struct.containers.structures import Block, Potentials, Structure
from sklearn_struct.hidden_markov import markov_chain as chains
from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.base_training import BaseTraining, Expectation, Options
from sklearn_struct.hidden_markov.densities import value_counts
from sklearn_struct.hidden_markov.driven_transitions import log_transitions
from sklearn_struct.hidden_markov.emission_counts import EmissionCounts, emission_counts
from sklearn_struct.hidden_markov.emissions import Emissions
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.moments import Sums, known_posteriors, sums_of_all
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.inference.chains.chain import Chain

__all__ = ["Training", "emission", "joint", "potentials", "with_chain"]


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


class Training(BaseTraining):
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

    def likelihood(self, model: HiddenMarkov) -> float:
        """See `BaseTraining`."""
        # sequences of weight 0 may have unknown labels, for which 0 stands below; nothing of them
        # is counted
        used = self.weight > 0
        log_p = joint(model, self.observed, np.maximum(self.codes, 0))
        return float(self.weight[used] @ log_p[used]) + self.constant

    def expected(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """See `BaseTraining`."""
        return self._expected(model, lambda theta, block: chains.room(theta, block.structure))

    def _expected(
        self,
        model: HiddenMarkov,
        room: Callable[[Potentials, Block], tuple[np.ndarray, ...]],
    ) -> tuple[Expectation, float]:
        """What `expected` returns; `room` makes room for the sums over pairs of a block."""
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
        return expected, value + self.constant

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

    def spare_numbers(self) -> Any:
        """Counts of all measurements, for columns of which no label has any mass."""
        observed = self.observed
        return self.options.numbers.of_all(observed.numbers, observed.offsets, self.token_weight)

    def spare_events(self) -> Sums:
        """Sums of all events, for columns of which no label has any mass."""
        return sums_of_all(self.observed.events.numbers, self.token_weight)

    def guess(self, rule: Callable[[Training], np.ndarray]) -> np.ndarray:
        """See `BaseTraining`."""
        return rule(self)

    @property
    def known(self) -> np.ndarray:
        """See `BaseTraining`."""
        return self.codes

    @property
    def n_measured(self) -> int:
        """See `BaseTraining`."""
        return self.observed.n_measured

    def clustered(
        self, clusters: Callable[..., np.ndarray], rng: np.random.RandomState
    ) -> np.ndarray:
        """See `BaseTraining`."""
        return clusters(self.observed.measured, self.token_weight, self.n_labels, rng)

    def begin(self, codes: np.ndarray, rng: np.random.RandomState) -> Any:
        """See `BaseTraining`."""
        observed = self.observed
        return self.options.numbers.begin(
            observed.numbers, observed.offsets, codes, self.token_weight, self.n_labels, rng
        )

    def masses(self, codes: np.ndarray) -> np.ndarray:
        """See `BaseTraining`."""
        known = codes >= 0
        weight = self.token_weight[known]
        return np.bincount(codes[known], weights=weight, minlength=self.n_labels)

    def frequencies(self) -> list[np.ndarray]:
        """See `BaseTraining`."""
        weight = self.token_weight[:, None]
        return [
            value_counts(column, weight, n)[0]
            for column, n in zip(self.observed.codes, self.options.n_values, strict=True)
        ]

    def random_numbers(self, rng: np.random.RandomState) -> Any:
        """See `BaseTraining`."""
        observed = self.observed
        return self.options.numbers.random(
            observed.numbers, observed.offsets, self._shares, self.n_labels, rng
        )

    def random_rates(self, rng: np.random.RandomState) -> np.ndarray:
        """See `BaseTraining`."""
        events = self.observed.events
        return poisson.random_rates(
            events, self._shares, self.n_labels, self.options.least_rates, rng
        )

    def random_outcomes(self, rng: np.random.RandomState) -> np.ndarray:
        """See `BaseTraining`."""
        return multinomial.random_outcomes(
            self.observed.trials, self.token_weight, self.n_labels, self.options.smoothing, rng
        )

    @property
    def _shares(self) -> np.ndarray:
        """The share (n,) of each token in the weight of all."""
        share = self.token_weight
        share /= share.sum()
        return share
