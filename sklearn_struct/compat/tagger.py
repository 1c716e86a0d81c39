"""python-crfsuite's Tagger on a fitted model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_struct.containers.typing import Label, Sequences, Token
from sklearn_struct.encoding.sequences import as_list

__all__ = ["ModelInfo", "Tagger"]


class ModelInfo(NamedTuple):
    """What `Tagger.info` returns: labels and attributes with numbers, and weights other than 0."""

    labels: dict[Any, str]
    attributes: dict[str, str]
    transitions: dict[tuple[Any, Any], float]
    state_features: dict[tuple[str, Any], float]


class Tagger:
    """Predictions for one sequence at a time, with the methods of ``pycrfsuite.Tagger``.

    Parameters
    ----------
    model : Pipeline
        Fitted, as ``CRF.crf_``.
    info : ModelInfo
    """

    def __init__(self, model: Pipeline, info: ModelInfo) -> None:
        self._model = model
        self._info = info
        self._sequence: Sequences | None = None
        self._marginals: np.ndarray | None = None

    def labels(self) -> list[Any]:
        """All labels."""
        labels: list[Any] = self._model[-1].classes_.tolist()
        return labels

    def info(self) -> ModelInfo:
        """Labels, attributes and weights of the model."""
        return self._info

    def set(self, xseq: Iterable[Token]) -> None:
        """Set the sequence of `tag`, `probability` and `marginal`."""
        self._sequence = as_list(xseq)
        self._marginals = None

    def tag(self, xseq: Iterable[Token] | None = None) -> list[Any]:
        """The most probable labelling of `xseq`, or of the sequence that was set."""
        if xseq is not None:
            self.set(xseq)
        labels: list[Any] = self._model.predict([self._taken()])[0]
        return labels

    def probability(self, yseq: Sequence[Any]) -> float:
        """The probability of a labelling of the sequence that was set."""
        X = [self._taken()]
        for _, step in self._model.steps[:-1]:
            X = step.transform(X)
        return float(np.exp(self._model[-1].log_proba(X, [list(yseq)])[0]))

    def marginal(self, y: Label, pos: int) -> float:
        """The probability of a label at a token of the sequence that was set."""
        marginals = self._marginals
        if marginals is None:
            # one pass for all labels and tokens, of which callers ask one by one
            marginals = self._model.predict_proba([self._taken()])[0]
            self._marginals = marginals
        return float(marginals[pos, self.labels().index(y)])

    def _taken(self) -> Sequences:
        if self._sequence is None:
            raise ValueError("no sequence was set: call set(xseq), or tag(xseq), first")
        return self._sequence
