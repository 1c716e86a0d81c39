"""Training among the labellings that forbidden transitions leave."""

from __future__ import annotations

from abc import abstractmethod

from sklearn_struct.estimators.chains.forbidden_label_errors import check_labels
from sklearn_struct.estimators.fitting.base_trained import BaseTrained
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials

__all__ = ["BaseConstrainedTraining"]


class BaseConstrainedTraining(BaseTrained):
    """A model whose labels may be constrained in training, too, as `constrain_training` says."""

    constrain_training: bool

    @abstractmethod
    def _transitions(self) -> Transitions | None:
        """What is allowed; None is everything."""

    def _objective(
        self, solver: str, potentials: LinearPotentials, loss: Loss, data: TrainingData
    ) -> LinearObjective:
        transitions = self._training_transitions()
        if transitions is not None:
            check_labels(data, transitions, self._alphabet())
        return super()._objective(solver, potentials, self._constrained(loss), data)

    def _constrained(self, loss: Loss) -> Loss:
        """A loss under what is allowed in training."""
        transitions = self._training_transitions()
        return loss if transitions is None else Constrained(loss, transitions)

    def _training_transitions(self) -> Transitions | None:
        """What is allowed in training; None is everything."""
        # read in any case: fit refuses a rule that predictions could not follow
        transitions = self._transitions()
        return transitions if self.constrain_training else None
