"""What chains share that learn by a loss of their potentials."""

from __future__ import annotations

from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.chains.chain_parameters import InferenceParameters
from sklearn_struct.estimators.chains.constrained_training import BaseConstrainedTraining

__all__ = ["BaseTrainedChain"]


class BaseTrainedChain(InferenceParameters, BaseChain, BaseConstrainedTraining):
    """A chain whose labels may be constrained in training, too; a subclass gives the loss."""
