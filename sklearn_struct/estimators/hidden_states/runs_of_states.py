"""From parameters of hidden states to weights: where runs of a solver begin, and which weights they
share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.encoding.labels.label_states import LabelStates
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.solving import Minimisation
from sklearn_struct.estimators.hidden_states.random_starts import with_noise
from sklearn_struct.estimators.hidden_states.restarts import Start, seeds, solve_alike, solve_from
from sklearn_struct.estimators.hidden_states.weights_of_states import (
    are_alike,
    of_several,
    places,
    places_of_labels,
)
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.shared_weights import SharedWeights
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["StateRuns"]


class StateRuns(NamedTuple):
    """How a model of states of labels is fitted: the weights that it has, where a fit begins that
    is given none (`init`), and how often it does.
    """

    pattern: Pattern
    states: LabelStates
    init: str
    n_init: int

    def solve(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        """What is learned, by name, from the start that leads to the lowest objective."""
        states = self.states
        if self.init == "labels" and states.several and not np.any(w0):
            place = places_of_labels(self.pattern, states)
            w0 = solve_alike(settings, _smooth(objective), place, iterations.scale)
        starts = self._starts(settings, w0)
        if not states.shared:
            return solve_from(settings, solver, objective, starts, iterations)
        if solver == "cccp":
            raise ValueError(
                "loss='hinge' has no shared states; use loss='log_likelihood', or "
                "shared_states=None"
            )
        if solver == "sgd":
            raise ValueError(
                "solver='sgd' has no shared states; use 'lbfgs' or 'auto', or shared_states=None"
            )
        fewer = SharedWeights(objective, places(self.pattern, states.group))
        starts = [start._replace(w=fewer.gather(start.w)) for start in starts]
        return solve_from(settings, solver, fewer, starts, iterations)

    def _starts(self, settings: Minimisation, w0: np.ndarray) -> list[Start]:
        """Where runs begin: w0 with noise, but first without, where its states differ already."""
        n = self.n_init if self.states.several else 1
        chosen = of_several(self.pattern, self.states)
        alike = are_alike(w0, self.pattern, self.states)
        starts = []
        for r, seed in enumerate(seeds(settings.random_state, n)):
            noisy = with_noise(w0, chosen, np.random.RandomState(seed))
            starts.append(Start(noisy if alike or r else w0, seed))
        return starts

    def spread(self, w: np.ndarray) -> np.ndarray:
        """All weights, of those that a solver sees."""
        if len(w) == self.pattern.size:
            return w
        every: np.ndarray = w[places(self.pattern, self.states.group)]
        return every


def _smooth(objective: LinearObjective) -> LinearObjective:
    """The objective, or that of the likelihood in the place of a loss with kinks."""
    loss = objective.loss
    if loss.smooth:
        return objective
    smooth: Loss = MarginalLikelihood(objective.inference)
    if isinstance(loss, Constrained):
        smooth = Constrained(smooth, loss.transitions)
    return objective.with_loss(smooth)
