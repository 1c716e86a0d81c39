"""What python-crfsuite tells of a training, from what a fitted model knows of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["TrainingLog", "training_log"]


class TrainingLog(NamedTuple):
    """Iterations, with the names that python-crfsuite's log has for what they tell.

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


def training_log(model: Any, accuracies: dict[str, float]) -> TrainingLog:
    """The log of a fitted chain; `accuracies` are those of the data that were held out, if any."""
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
        iterations[-1] |= {**last, **accuracies}
    return TrainingLog(iterations, len(w))
