"""Which solver looks for the minimum where data lie in partitions."""

from __future__ import annotations

from sklearn_struct.estimators.fitting.solving import (
    BATCH,
    OF_PLANES,
    Minimisation,
    serving,
)
from sklearn_struct.losses.base import Loss

__all__ = ["choice_for_partitions", "refuse_stochastic"]


def choice_for_partitions(settings: Minimisation, loss: Loss) -> str:
    """The solver that "auto" stands for, a batch solver; ValueError for any other one, or one that
    does not serve the penalty or the loss.
    """
    solver = settings.solver
    refuse_stochastic(solver, loss.smooth)
    if not loss.smooth:
        if not loss.convex:
            raise ValueError(
                "loss='hinge' with missing labels, or sets of labels, needs a solver that goes "
                "from one example to the next, which lie in partitions; take "
                "loss='log_likelihood', or leave these sequences out"
            )
        if solver not in {"auto", "cutting-planes"} or settings.l1_ratio > 0:
            raise ValueError(
                "loss='hinge' has kinks, so on partitions it needs solver='cutting-planes' or "
                f"'auto', and l1_ratio=0, got solver={solver!r} and l1_ratio={settings.l1_ratio}"
            )
        return "cutting-planes"
    if solver == "auto":
        return "owlqn" if settings.l1_ratio > 0 else "lbfgs"
    return serving(solver, settings.l1_ratio, loss)


def refuse_stochastic(solver: str, smooth: bool = True) -> None:
    """Raise ValueError for a solver that needs all examples in one place."""
    if solver == "em":
        raise ValueError(
            "solver='em' is not for data in partitions: use 'lbfgs' or 'auto', which minimise the "
            "same"
        )
    if solver not in BATCH | {"auto"}:
        names = ", ".join(map(repr, sorted(BATCH - OF_PLANES if smooth else BATCH & OF_PLANES)))
        raise ValueError(
            f"solver={solver!r} goes from one example to the next, which lie in partitions: use "
            f"{names} or 'auto', or `partial_fit` on one partition after the other"
        )
