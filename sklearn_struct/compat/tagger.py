"""python-crfsuite's Tagger on a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.encoding.sequences import as_list

__all__ = ["ModelInfo", "Tagger"]


class ModelInfo(NamedTuple):
    """What `Tagger.info` tells: labels and attributes with their numbers, and weights other than 0."""

    labels: dict[Any, str]
    attributes: dict[str, str]
    transitions: dict[tuple[Any, Any], float]
    state_features: dict[tuple[str, Any], float]


class Tagger:
    """Predictions for one sequence at a time, as ``pycrfsuite.Tagger`` has them, without
    python-crfsuite.

    Parameters
    ----------
    model : Pipeline
        Fitted, as ``CRF.crf_``.
    info : ModelInfo
    """

    def __init__(self, model: Any, info: ModelInfo) -> None:
        self._model = model
        self._info = info
        self._sequence: list[Any] | None = None
        self._marginals: np.ndarray | None = None

    def labels(self) -> list[Any]:
        """All labels."""
        return self._model[-1].classes_.tolist()

    def info(self) -> ModelInfo:
        """Labels, attributes and weights of the model."""
        return self._info

    def set(self, xseq: Any) -> None:
        """Take the sequence of which `tag`, `probability` and `marginal` tell."""
        self._sequence = as_list(xseq)
        self._marginals = None

    def tag(self, xseq: Any = None) -> list[Any]:
        """The most probable labelling of `xseq`, or of the sequence that was set."""
        if xseq is not None:
            self.set(xseq)
        return self._model.predict([self._taken()])[0]

    def probability(self, yseq: Sequence[Any]) -> float:
        """The probability of a labelling of the sequence that was set."""
        X = [self._taken()]
        for _, step in self._model.steps[:-1]:
            X = step.transform(X)
        return float(np.exp(self._model[-1].log_proba(X, [list(yseq)])[0]))

    def marginal(self, y: Any, pos: int) -> float:
        """The probability of a label at a token of the sequence that was set."""
        if self._marginals is None:
            self._marginals = self._model.predict_proba([self._taken()])[0]
        return float(self._marginals[pos, self.labels().index(y)])

    def _taken(self) -> list[Any]:
        if self._sequence is None:
            raise ValueError("no sequence was set: call set(xseq), or tag(xseq), first")
        return self._sequence
