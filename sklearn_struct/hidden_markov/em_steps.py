"""Hidden Markov models: a chain of labels, and streams that are emitted independently of each other
given the label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import keep_freed
from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.hidden_markov import markov_chain as chains
from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.densities import log_prior, log_ratios, n_parameters, value_counts
from sklearn_struct.hidden_markov.driven_transitions import DrivenCounts, Logits, log_transitions
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.hidden_markov.number_steps import number_steps
from sklearn_struct.inference.chains.chain import Chain

__all__ = [
    "IMPOSSIBLE",
    "Expectation",
    "HiddenMarkov",
    "Observed",
    "Options",
    "Training",
    "emission",
    "joint",
    "possible_potentials",
    "potentials",
    "relaxed_model",
    "with_chain",
]

# far below what possible steps cost, so that the labellings with the fewest impossible steps win,
# and finite, so that these can be counted at all
PART = 50_000  # tokens times contexts of a block
IMPOSSIBLE = -1e4  # what relaxed models take for the logarithm of 0


@dataclass(frozen=True)
class Observed:
    """What was emitted: codes (n,) of each categorical stream, all columns of measurements (n, d),
    bounds of sequences; counts of events, and of the outcomes of trials. ``inputs`` (n, p) are not
    emitted: those of a token drive the transition to it.
    """

    codes: list[np.ndarray]
    numbers: np.ndarray
    offsets: np.ndarray
    events: Counts = field(default_factory=Counts.none)
    trials: Counts = field(default_factory=Counts.none)
    inputs: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def measured(self) -> np.ndarray:
        """All that is numeric (n, c), in units in which tokens that are alike are near each other.

        The variance of the root of a Poisson count, and of the root of a share, is nearly the same
        for all labels.
        """
        columns = [self.numbers]
        if self.events.numbers.shape[1]:
            columns.append(np.sqrt(self.events.numbers))
        if self.trials.numbers.shape[1]:
            total = self.trials.numbers.sum(axis=1, keepdims=True)
            columns.append(np.sqrt(self.trials.numbers / np.where(total == 0, np.nan, total)))
        return columns[0] if len(columns) == 1 else np.hstack(columns)

    @property
    def numeric(self) -> dict[str, np.ndarray]:
        """All numbers (n, c), by how they are distributed; inputs are given."""
        return {
            "gaussian": self.numbers,
            "poisson": self.events.numbers,
            "multinomial": self.trials.numbers,
            "input": self.inputs,
        }

    def __len__(self) -> int:
        return len(self.offsets) - 1


class HiddenMarkov(NamedTuple):
    """Log-parameters: the chain, a table (K, n_values) of each categorical stream, the columns of
    measurements; rates (K, c) of events, and a table (K, c) of the outcomes of trials. ``slopes``
    (K, K, p) say how inputs drive transitions; those of the chain are then those without inputs.

    ``gaussians`` are Gaussians, or what has the same methods, as `NumberSteps` learn it.
    """

    markov: Markov
    tables: list[np.ndarray]
    gaussians: Any
    rates: np.ndarray = np.empty((0, 0))
    outcomes: np.ndarray = np.empty((0, 0))
    slopes: np.ndarray = np.empty((0, 0, 0))

    @property
    def logits(self) -> Logits:
        """How transitions depend on inputs."""
        return Logits(self.markov.transition, self.slopes)

    @property
    def n_labels(self) -> int:
        return len(self.markov.start)

    @property
    def order(self) -> int:
        return 1 if len(self.markov.stop) == self.n_labels else 2

    @property
    def inference(self) -> Chain:
        """Exact inference on chains of this order."""
        return Chain(self.order)

    @property
    def n_emission_parameters(self) -> int:
        """How many numbers of the emissions are free; chains have others."""
        tables = sum(n_parameters(table) for table in [*self.tables, self.outcomes])
        free: int = tables + self.gaussians.n_parameters + poisson.n_parameters(self.rates)
        return free

    def blocks(self, offsets: np.ndarray, n_blocks: int = 64) -> list[Block]:
        """Sequences cut into blocks."""
        inference = self.inference
        return inference.blocks(inference.structure(offsets), self.n_labels, n_blocks=n_blocks)


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
    """Expected counts of the chain, and weighted posteriors (n, K) of the labels, of which M-steps
    take emissions; missing numbers are expected under ``gaussians``. ``driven`` are counts of
    transitions by their inputs.
    """

    markov: Markov
    posterior: np.ndarray
    gaussians: Any = None
    driven: DrivenCounts | None = None


def emission(model: HiddenMarkov, observed: Observed, rows: slice) -> np.ndarray:
    """Log-probability (n, K) of what some tokens emit, given each label."""
    log_p: np.ndarray = model.gaussians.log_densities(observed.numbers, observed.offsets, rows)
    for codes, table in zip(observed.codes, model.tables, strict=True):
        log_p += table.T[codes[rows]]
    poisson.add_log_probabilities(observed.events.of_rows(rows), model.rates, log_p)
    multinomial.add_log_probabilities(observed.trials.of_rows(rows), model.outcomes, log_p)
    return log_p


def potentials(model: HiddenMarkov, observed: Observed, block: Block) -> Potentials:
    """Potentials of labels, whose partition function is the probability of what was emitted."""
    return with_chain(model, observed, emission(model, observed, block.tokens), block)


def with_chain(
    model: HiddenMarkov, observed: Observed, emitted: np.ndarray, block: Block
) -> Potentials:
    """Potentials of what labels emit (n, K) and of their chain."""
    theta = chains.potentials(model.markov, emitted, block.structure)
    after = block.structure.families[0].nodes[:, 1]
    if not model.slopes.size or not len(after):
        return theta
    edges = log_transitions(model.logits, observed.inputs[block.tokens][after])
    return Potentials(theta.node, (edges.reshape(len(after), -1),))


def possible_potentials(model: HiddenMarkov, observed: Observed, block: Block) -> Potentials:
    """The same, but for sequences that the model cannot emit those of a model in which nothing is
    quite impossible.
    """
    theta = potentials(model, observed, block)
    labels = np.empty(len(theta.node), np.int32)
    score = np.empty(block.structure.n_examples)
    model.inference.argmax(theta, block.structure, labels, score)
    impossible = score == -np.inf
    if not np.any(impossible):
        return theta
    # for these sequences alone: elsewhere what is impossible stays so
    relaxed = potentials(relaxed_model(model), observed, block)
    lengths = np.diff(block.structure.offsets)
    node = np.where(np.repeat(impossible, lengths)[:, None], relaxed.node, theta.node)
    cliques = [
        np.where(np.repeat(impossible, np.diff(family.offsets))[:, None], mild, strict)
        for family, mild, strict in zip(
            block.structure.families, relaxed.cliques, theta.cliques, strict=True
        )
    ]
    return Potentials(node, tuple(cliques))


def relaxed_model(model: HiddenMarkov) -> HiddenMarkov:
    """A model in which nothing is impossible, but what was is very improbable."""
    markov = Markov(*(np.maximum(table, IMPOSSIBLE) for table in model.markov))
    return model._replace(
        markov=markov,
        tables=[np.maximum(table, IMPOSSIBLE) for table in model.tables],
        outcomes=np.maximum(model.outcomes, IMPOSSIBLE),
    )


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
        self.observed = observed
        self.codes = codes
        self.weight = weight
        self.n_labels = n_labels
        self.options = options
        self.pool = pool
        self.inference = Chain(options.order)
        self.structure = self.inference.structure(observed.offsets)
        # the same for any number of threads, so that sums have one order; few where data are small,
        # as each costs a fifth of a millisecond
        n_tokens = max(3000, PART // chains.n_contexts(n_labels, options.order))
        self.blocks = self.inference.blocks(
            self.structure, n_labels, n_tokens, min(16, 1 + len(codes) // n_tokens)
        )
        self.any_known = bool(np.any(codes >= 0))
        self.token_weight = np.repeat(weight, np.diff(observed.offsets))
        # each E-step needs as much memory as the one before
        keep_freed(8 * len(codes) * n_labels)

    @property
    def is_counted(self) -> bool:
        """Whether counts are all that is needed, since nothing is hidden that must be expected."""
        if self.options.numbers.is_hidden(self.observed.numbers):
            return False
        # labels of sequences that do not count need not be known
        return bool(np.all(self.codes[self.token_weight > 0] >= 0))

    def counted(self, codes: np.ndarray) -> Expectation:
        """Counts of the labels that are known (others are -1), and of them alone."""
        known = codes >= 0
        posterior = np.zeros((len(known), self.n_labels))
        posterior[known, codes[known]] = self.token_weight[known]
        counts = chains.tally(codes, self.structure, self.weight, self.n_labels, self.options.order)
        return Expectation(counts, posterior)

    def value(self, model: HiddenMarkov) -> float:
        """What `expect` says where all labels of positive weight are known."""
        # those of weight 0 may have unknown labels, for which 0 stands below; nothing of them is
        # counted
        used = self.weight > 0
        log_p = joint(model, self.observed, np.maximum(self.codes, 0))
        return float(self.weight[used] @ log_p[used]) + self.prior(model)

    def expect(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """Expected counts given known labels and what was emitted; log-likelihood of both plus log
        prior.

        These are the derivatives of log Z over the labellings that the known labels allow, in the
        log-parameters. The log-likelihood is -inf if there is a sequence that the model cannot
        emit.
        """
        return self._expected(
            model, lambda theta, block, node: chains.room(theta, block.structure, node)
        )

    def _expected(
        self,
        model: HiddenMarkov,
        room: Callable[[Potentials, Block, np.ndarray], Potentials],
    ) -> tuple[Expectation, float]:
        """What `expect` returns; `room` makes room for marginals of a block, of which those of
        labels are given.
        """
        # kept whole, since moments about a mean want a second pass
        posterior = np.zeros((len(self.codes), self.n_labels))

        def work(b: int) -> tuple[Markov, float]:
            block = self.blocks[b]
            theta = with_chain(model, self.observed, self.clamped(model, block), block)
            out = room(theta, block, theta.node)
            weight = self.weight[block.examples]
            log_Z = np.empty(block.structure.n_examples)
            self.inference.expectations(theta, block.structure, weight, out.cliques, log_Z)
            posterior[block.tokens] = theta.node
            counts = chains.read_counts(out, block.structure, self.n_labels, self.options.order)
            # 0 times a log Z of -inf would be NaN
            return counts, float(np.sum(weight[weight > 0] * log_Z[weight > 0]))

        parts, values = zip(*self.pool.map(work, len(self.blocks)), strict=True)
        counts = Markov(*(np.sum(np.stack(tables), axis=0) for tables in zip(*parts, strict=True)))
        expected = Expectation(counts, posterior, model.gaussians)
        return expected, sum(values) + self.prior(model)

    def clamped(self, model: HiddenMarkov, block: Block) -> np.ndarray:
        """Emissions with -inf for all labels but the known one of each token."""
        scores = emission(model, self.observed, block.tokens)
        codes = self.codes[block.tokens]
        if not self.any_known:
            return scores
        # log Z over what known labels allow is what EM raises
        scores[(codes >= 0)[:, None] & (codes[:, None] != np.arange(self.n_labels))] = -np.inf
        return scores

    def maximise(self, expectation: Expectation) -> HiddenMarkov:
        """The most probable parameters, given expected counts."""
        options = self.options
        counts, posterior, before, _ = expectation
        tables = [
            log_ratios(value_counts(codes, posterior, n), options.smoothing)
            for codes, n in zip(self.observed.codes, options.n_values, strict=True)
        ]
        return HiddenMarkov(
            chains.estimate(counts, options.transition_smoothing, options.stop),
            tables,
            options.numbers.fit(
                self.observed.numbers, self.observed.offsets, posterior, before, self.token_weight
            ),
            poisson.fit_rates(
                self.observed.events, posterior, options.least_rates, self.token_weight
            ),
            multinomial.fit_outcomes(self.observed.trials, posterior, options.smoothing),
        )

    def prior(self, model: HiddenMarkov) -> float:
        """Log-density of the prior that smoothing stands for, up to a constant."""
        tables = [*model.tables, model.outcomes]
        of_tables = sum(log_prior(table, self.options.smoothing) for table in tables)
        markov = model.markov if self.options.stop else model.markov._replace(stop=np.zeros(0))
        return of_tables + chains.prior(markov, self.options.transition_smoothing)
