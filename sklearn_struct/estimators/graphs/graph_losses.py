"""What an estimator of graphs minimises, and which losses go with what is known of labels, and with
which solvers.
"""

from __future__ import annotations

from collections.abc import Callable

from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.blocks import Blocks
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.pieces import Pieces
from sklearn_struct.losses.pointwise import Pointwise
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood

__all__ = ["LOSSES", "loss_of"]

# each of an inference, and of the size of blocks
LOSSES: dict[str, Callable[[Inference, int], Loss]] = {
    "log_likelihood": lambda inference, size: LogLikelihood(inference),
    "pointwise": lambda inference, size: Pointwise(inference),
    "pseudo": lambda inference, size: Pseudolikelihood(),
    "piecewise": lambda inference, size: Pieces(),
    "composite": lambda inference, size: Blocks(LogLikelihood(inference), size),
}


def loss_of(
    name: str, block_size: int, solver: str, inference: Inference, evidence: Evidence | None
) -> Loss:
    """What the parameter `loss` names; ValueError if it does not go with the rest."""
    if evidence is not None and evidence.allowed is not None:
        if name != "log_likelihood" or solver == "sag":
            raise ValueError(
                "missing labels and sets of labels need loss='log_likelihood' and another solver "
                f"than 'sag', got loss={name!r} and solver={solver!r}"
            )
        return MarginalLikelihood(inference)
    loss = LOSSES[name](inference, block_size)
    if solver == "sag" and not loss.convex:
        raise ValueError(
            f"loss={name!r} is not convex, so it needs another solver than 'sag', such as 'lbfgs'"
        )
    return loss
