"""Steps of EM for hidden semi-Markov models, and where it starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Block, ends
from sklearn_struct.hidden_markov import semi_markov
from sklearn_struct.hidden_markov.base_training import Expectation
from sklearn_struct.hidden_markov.densities import log_prior
from sklearn_struct.hidden_markov.durations import (
    DurationCounts,
    Durations,
    duration_prior,
    fit_durations,
)
from sklearn_struct.hidden_markov.em_steps import Training, potentials
from sklearn_struct.hidden_markov.emissions import Emissions
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, log_likelihood
from sklearn_struct.hidden_markov.semi_markov import SemiMarkov, between_states, off_diagonal
from sklearn_struct.solvers.em import em

__all__ = ["DurationExpectation", "DurationOptions", "DurationTraining"]

# iterations of EM for a plain hidden Markov model, before states get durations
PLAIN = 20


class DurationOptions(NamedTuple):
    """How durations are estimated: their kind, the longest one, add-lambda smoothing, and whether
    that of a last state may be cut by the end of its sequence.
    """

    kind: str
    longest: int
    smoothing: float
    censored: bool


class DurationExpectation(NamedTuple):
    """Expected counts of all but durations, those of durations, and the durations under which they
    are expected.
    """

    hidden: Expectation
    durations: DurationCounts
    before: Durations | None = None


class DurationTraining:
    """The steps of EM on data of which some states are known.

    Parameters
    ----------
    plain : Training
        The data, and how all but durations is estimated.
    options : DurationOptions
    """

    def __init__(self, plain: Training, options: DurationOptions) -> None:
        self.plain = plain
        self.options = options
        self.known = plain.codes
        self.any_known = plain.any_known

    @property
    def total_weight(self) -> float:
        """That of all tokens."""
        return self.plain.total_weight

    @property
    def is_counted(self) -> bool:
        """Whether counts are all that is needed."""
        return self.plain.is_counted

    def counted(self, codes: np.ndarray) -> DurationExpectation:
        """Counts of the states that are known (others are -1), of whose runs durations are."""
        return DurationExpectation(self.plain.counted(codes), self._runs(codes))

    def value(self, model: SemiMarkov) -> float:
        """What `expect` says where all states of positive weight are known."""
        plain = self.plain
        used = plain.weight > 0
        states = np.maximum(plain.codes, 0)
        total = plain.constant + self.prior(model)
        emissions = Emissions(model.hidden, plain.observed)
        for block in plain.blocks:
            of = self._segments(model, emissions, block)
            log_p = semi_markov.joint(of, states[block.tokens])
            here = used[block.examples]
            total += float(plain.weight[block.examples][here] @ log_p[here])
        return total

    def expect(self, model: SemiMarkov) -> tuple[DurationExpectation, float]:
        """Expected counts given known states and what was emitted; log-likelihood of both plus log
        prior, -inf if there is a sequence that the model cannot emit.
        """
        plain = self.plain
        emissions = Emissions(model.hidden, plain.observed)

        def work(b: int) -> tuple[Expectation, np.ndarray, float]:
            block = plain.blocks[b]
            weight = plain.weight[block.examples]
            of = self._segments(model, emissions, block)
            out, log_Z = semi_markov.sums(of, weight)
            start = out.node[ends(block.structure)[0]].sum(axis=0)
            markov = Markov(start, out.edge[0], np.zeros(plain.n_labels))
            emitted = plain.emitted(block, out.node, model.hidden.gaussians)
            return Expectation(markov, emitted), out.length, log_likelihood(weight, log_Z)

        def both(
            a: tuple[Expectation, np.ndarray, float], b: tuple[Expectation, np.ndarray, float]
        ) -> tuple[Expectation, np.ndarray, float]:
            return a[0].merged(b[0]), a[1] + b[1], a[2] + b[2]

        hidden, lengths, value = plain.pool.fold(work, both, len(plain.blocks))
        ended, *cut = lengths.transpose(0, 2, 1)
        counts = DurationCounts(ended, cut[0] if cut else np.zeros_like(ended))
        expected = DurationExpectation(hidden, counts, model.durations)
        return expected, value + plain.constant + self.prior(model)

    def maximise(self, expectation: DurationExpectation) -> SemiMarkov:
        """The most probable parameters, given expected counts."""
        options = self.options
        durations = fit_durations(
            options.kind, expectation.durations, options.smoothing, expectation.before
        )
        hidden = self.plain.maximise(expectation.hidden)
        smoothing = self.plain.options.transition_smoothing
        transition = between_states(expectation.hidden.markov.transition, smoothing)
        markov = hidden.markov._replace(transition=transition)
        return SemiMarkov(hidden._replace(markov=markov), durations, options.censored)

    def prior(self, model: SemiMarkov) -> float:
        """Log-density of the prior that smoothing stands for, up to a constant."""
        start, transition, _ = model.hidden.markov
        smoothing = self.plain.options.transition_smoothing
        # nothing is imagined of transitions that do not exist
        hidden = model.hidden._replace(markov=Markov(start, np.zeros(0), np.zeros(0)))
        of_transitions = log_prior(off_diagonal(transition), smoothing)
        of_durations = duration_prior(
            self.options.kind, model.durations.log_p, self.options.smoothing
        )
        return self.plain.prior(hidden) + of_transitions + of_durations

    def start(self, hidden: HiddenMarkov, tol: float) -> SemiMarkov:
        """From a hidden Markov model, after a few iterations of its EM: states last as long as in
        its most probable labellings.

        Parameters
        ----------
        hidden : HiddenMarkov
        tol : float
            As in EM, for each token.
        """
        plain = self.plain
        least = tol * self.plain.total_weight
        hidden = em(plain.expect, plain.maximise, hidden, max_iter=PLAIN, tol=least).w
        return self.with_durations(hidden)

    def with_durations(self, hidden: HiddenMarkov) -> SemiMarkov:
        """A hidden Markov model whose states last as long as in its most probable labellings."""
        plain = self.plain
        states = np.empty(len(plain.codes), np.int32)
        for block in plain.blocks:
            theta = potentials(hidden, plain.observed, block)
            known = plain.codes[block.tokens]
            others = known[:, None] != np.arange(plain.n_labels)
            theta.node[(known >= 0)[:, None] & others] = -np.inf
            labels = np.empty(len(theta.node), np.int32)
            plain.inference.argmax(theta, block.structure, labels)
            states[block.tokens] = labels
        ended, cut = self._runs(states)
        # as if each state had lasted once as long as any: nothing is impossible where EM starts
        raised = DurationCounts(ended + 1.0 / self.options.longest, cut)
        durations = fit_durations(self.options.kind, raised, self.options.smoothing)
        transition = between_states(np.exp(hidden.markov.transition), 1.0 / plain.n_labels)
        markov = Markov(hidden.markov.start, transition, np.zeros(plain.n_labels))
        return SemiMarkov(hidden._replace(markov=markov), durations, self.options.censored)

    def taken_over(self, model: SemiMarkov) -> SemiMarkov:
        """A model with durations of this kind that are as near as it allows."""
        options = self.options
        durations = model.durations
        if options.kind != "categorical":
            seen = np.exp(durations.log_p)
            durations = fit_durations(options.kind, DurationCounts(seen, np.zeros_like(seen)), 0.0)
        return SemiMarkov(model.hidden, durations, options.censored)

    def _runs(self, codes: np.ndarray) -> DurationCounts:
        """How long known states last; one that lasts longer than any may counts as the longest."""
        longest = self.options.longest
        offsets = self.plain.observed.offsets
        first, length = semi_markov.runs(codes, offsets)
        is_last = np.isin(first + length, offsets)
        cut = is_last & self.options.censored
        tables = np.zeros((2, self.plain.n_labels, longest))
        known = codes[first] >= 0
        place = (cut.astype(int), codes[first], np.minimum(length, longest) - 1)
        weight = self.plain.token_weight[first][known]
        np.add.at(tables, tuple(rows[known] for rows in place), weight)
        return DurationCounts(*tables)

    def _segments(
        self, model: SemiMarkov, emissions: Emissions, block: Block
    ) -> semi_markov.Segments:
        """Those of a block that known states allow."""
        emitted = self.plain.clamped(emissions, block.tokens)
        return semi_markov.segments(model, emitted, block.structure.offsets)
