"""python-crfsuite's log of a training, made from a fitted model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF

__all__ = ["TrainingLog", "training_log"]


class TrainingLog(NamedTuple):
    """The iterations of a fit, under the names of python-crfsuite's log.

    Each is a dict with its number ``num`` and its ``loss``; the last one has ``feature_norm``,
    ``active_features``, and ``item_accuracy_float`` and ``instance_accuracy_float`` if there were
    data to score.
    """

    iterations: list[dict[str, Any]]
    featgen_num_features: int

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last one, None if there was none."""
        return self.iterations[-1] if self.iterations else None


def training_log(model: LinearChainCRF, accuracies: dict[str, float]) -> TrainingLog:
    """The log of a fitted chain; `accuracies` are those on held-out data, if there were any."""
    w = model._w
    iterations = [
        {"num": number, "loss": loss, "scores": {}}
        for number, loss in enumerate(model.loss_curve_, 1)
    ]
    if iterations:
        last = {
            "feature_norm": float(np.linalg.norm(w)),
            "active_features": int(np.count_nonzero(w)),
        }
        # of the last one alone, as the weights of earlier ones are gone
        iterations[-1] |= {**last, **accuracies}
    return TrainingLog(iterations, len(w))
