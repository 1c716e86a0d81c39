"""EM for hidden Markov models whose transitions depend on inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.structures import Block, Potentials, columns_of, n_columns
from sklearn_struct.hidden_markov.base_training import Expectation, Options
from sklearn_struct.hidden_markov.driven_transitions import (
    DrivenCounts,
    Logits,
    coefficient_prior,
    most_probable,
)
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["DrivenTraining", "driven_start"]

LEAST = np.log(1e-6)  # of transitions where EM starts: a logistic model excludes none


class _Inputs(NamedTuple):
    """Different inputs (m, p) of transitions, and which transitions have them: (m, n), of ones."""

    rows: np.ndarray
    members: sp.csr_array


class DrivenTraining(Training):
    """The steps of EM where inputs drive transitions.

    Parameters are those of `Training`, and ``penalty``, the precision of the prior of slopes.
    """

    def __init__(
        self,
        observed: Observed,
        codes: np.ndarray,
        weight: np.ndarray,
        n_labels: int,
        options: Options,
        pool: Pool,
        penalty: float,
    ) -> None:
        super().__init__(observed, codes, weight, n_labels, options, pool)
        self.penalty = penalty
        after = self.structure.families[0].nodes[:, 1]
        self.inputs = _different(observed.inputs[after])
        # once of all transitions, once by their inputs
        n_rows = len(after) + len(self.inputs.rows)
        reserve(8 * n_rows * n_columns(n_labels, 2), "EM with inputs of each transition")

    def counted(self, codes: np.ndarray, before: Any = None) -> Expectation:
        """See `Training.counted`."""
        counts = super().counted(codes, before)
        family = self.structure.families[0]
        K = self.n_labels
        known = np.flatnonzero((codes[family.nodes] >= 0).all(axis=1))
        pairs = np.zeros((len(family.nodes), n_columns(K, 2)))
        weight = self.token_weight[family.nodes[known, 0]]
        pairs[known, columns_of(codes, family, K)[known]] = weight
        p = self.inputs.rows.shape[1]
        nothing = Logits(np.zeros((K, K)), np.zeros((K, K, p)))
        return counts._replace(driven=self._of_inputs(pairs, nothing))

    def expect(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """Expected counts given known labels and what was emitted; log-likelihood of both plus log
        prior, -inf if there is a sequence that the model cannot emit.
        """
        # of each transition, as each has its inputs
        pairs = np.zeros((len(self.structure.families[0].nodes), n_columns(self.n_labels, 2)))

        def room(theta: Potentials, block: Block) -> tuple[np.ndarray, ...]:
            table = pairs[block.cliques[0]]
            # of a block without transitions a table that nothing is put into
            return (table if len(table) else np.zeros((1, pairs.shape[1])),)

        expected, value = self._expected(model, room)
        driven = self._of_inputs(pairs, model.logits)
        return expected._replace(driven=driven), value + self.prior(model)

    def maximise(self, expectation: Expectation) -> HiddenMarkov:
        """The most probable parameters, given expected counts."""
        model = super().maximise(expectation)
        if expectation.driven is None:
            return model
        logits = most_probable(
            self.inputs.rows,
            expectation.driven,
            self.options.transition_smoothing,
            self.penalty,
            self.pool,
        )
        markov = model.markov._replace(transition=logits.intercept)
        return model._replace(markov=markov, slopes=logits.slopes)

    def prior(self, model: HiddenMarkov) -> float:
        """Log-density of the priors, up to a constant."""
        return super().prior(model) + coefficient_prior(model.slopes, self.penalty)

    def _of_inputs(self, pairs: np.ndarray, before: Logits) -> DrivenCounts:
        """Counts (n, K * K) of all transitions as those of different inputs."""
        K = self.n_labels
        return DrivenCounts((self.inputs.members @ pairs).reshape(-1, K, K), before)


def driven_start(model: HiddenMarkov, n_inputs: int) -> HiddenMarkov:
    """A model where EM can start: slopes are 0 where it has none, no transition is excluded, and
    the end has no probability.
    """
    K = model.n_labels
    transition = np.maximum(model.markov.transition, LEAST)
    transition -= np.log(np.exp(transition).sum(axis=1, keepdims=True))
    markov = model.markov._replace(transition=transition, stop=np.zeros(K))
    slopes = model.slopes if model.slopes.size else np.zeros((K, K, n_inputs))
    return model._replace(markov=markov, slopes=slopes)


def _different(inputs: np.ndarray) -> _Inputs:
    """Inputs (n, p) that occur, each once: those of seasons or days come again and again."""
    n = len(inputs)
    which = np.zeros(n, np.int64)
    first = np.arange(min(n, 1))
    # column by column: rows take ten times as long, in one call that no signal ends
    for column in inputs.T:
        values, codes = np.unique(column, return_inverse=True)
        _, first, which = np.unique(
            which * len(values) + codes, return_index=True, return_inverse=True
        )
    ones = (np.ones(n), (which, np.arange(n)))
    return _Inputs(inputs[first], sp.csr_array(ones, shape=(len(first), n)))
