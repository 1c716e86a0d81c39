"""python-crfsuite as a contestant: its training with the CPU time of each iteration."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

C2 = 1.0  # C = 0.5 of ours


def loaded_trainer(X: Iterable[Any], y: list[list[str]], all_pairs: bool = False) -> Any:
    """A trainer that holds data, and notes iterations as (CPU s, loss, evaluations)."""
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):
        def message(self, message: str) -> None:
            if self.logparser.feed(message) == "iteration":
                last = self.logparser.last_iteration
                self.noted.append(
                    (time.process_time() - self.start, last["loss"], last["linesearch_trials"])
                )

    trainer = Trainer(verbose=False)
    trainer.select("lbfgs")
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    trainer.set_params({"c1": 0.0, "c2": C2, "feature.possible_transitions": True})
    trainer.set_params({"feature.possible_states": all_pairs})
    return trainer


def train(
    trainer: Any, path: Path, max_iterations: int | None = None
) -> list[tuple[float, float, int]]:
    """Train and store the model; what was noted."""
    trainer.set_params({"max_iterations": max_iterations or 2**31 - 1})
    trainer.noted = []
    trainer.start = time.process_time()
    trainer.train(str(path))
    return trainer.noted


def seconds_per_evaluation(noted: list[tuple[float, float, int]]) -> float:
    """CPU seconds between the first iteration and the last over the line searches' trials, so
    without preparations.
    """
    return (noted[-1][0] - noted[0][0]) / sum(trials for _, _, trials in noted[1:])


def open_tagger(path: Path) -> Any:
    """A tagger with a stored model."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger
