"""What an estimator of graphs minimises, and which losses go with what is known of labels, and with
which solvers.
"""

from __future__ import annotations

from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.pointwise import Pointwise
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood

__all__ = ["LOSSES", "loss_of"]

LOSSES = {"log_likelihood", "pointwise", "pseudo"}


def loss_of(name: str, solver: str, inference: Inference, evidence: Evidence | None) -> Loss:
    """What the parameter `loss` names; ValueError if it does not go with the rest."""
    if evidence is not None and evidence.allowed is not None:
        if name != "log_likelihood" or solver == "sag":
            raise ValueError(
                "missing labels and sets of labels need loss='log_likelihood' and another solver "
                f"than 'sag', got loss={name!r} and solver={solver!r}"
            )
        return MarginalLikelihood(inference)
    if name == "pseudo":
        return Pseudolikelihood()
    loss: Loss = Pointwise(inference) if name == "pointwise" else LogLikelihood(inference)
    if solver == "sag" and not loss.convex:
        raise ValueError(
            f"loss={name!r} is not convex, so it needs another solver than 'sag', such as 'lbfgs'"
        )
    return loss
