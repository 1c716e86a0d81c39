"""Errors of readers that chains and graphs share, in words of graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_structured import Restriction, Result, Work
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.losses.base import Loss

__all__ = ["BaseSpeakingOfGraphs", "in_words_of_graphs", "of_graphs"]

# what is not said by single words; the rest of an advice about sequences is no advice here
PHRASES = {
    r"must be a sequence of labels": "must be a list of labels",
    r"X must be a batch of sequences or a two-dimensional array": "X must be a list of graphs, "
    "tuples (nodes, edges), or a two-dimensional array of single nodes",
    r"X must be a list of sequences, each a list of tokens.*": "X must be a list of graphs, tuples "
    "(nodes, edges)",
    r"not a sequence of tokens": "not a graph",
    r"list of label sequences": "list of lists of labels",
    r"a sequence is a list of tokens, got (\w+)\..*": r"nodes cannot be read as those of the first "
    r"graphs, got \1",
    r"(a sample_weight for each token needs a loss of single tokens).*": r"\1, such as "
    r"GraphCRF(loss='pointwise'); this loss is of a labelling as a whole",
    r"a sequence of one token in each row, but (\w+) was fitted on longer sequences.*": r"a graph "
    r"of one node in each row, but \1 was fitted on larger graphs; one graph is [(X, edges)]",
    r"a sequence of one token in each row, and y a list of label sequences.*": r"a graph of one "
    r"node in each row, and y a list of lists of labels; one graph is [(X, edges)] with [y]",
}
# what stands in quotation marks is the user's own
WORDS = re.compile(r"""(?<!\w)'[^']*'|(?<!\w)"[^"]*"|\b(?P<word>token|sequence)(?=s?\b)""")


@contextmanager
def in_words_of_graphs(
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError),
) -> Iterator[None]:
    """Errors of these kinds speak of nodes and graphs."""
    try:
        yield
    except kinds as error:
        # the same error, lest its type or traceback change
        if error.args and isinstance(error.args[0], str):
            error.args = (of_graphs(error.args[0]), *error.args[1:])
        raise


def of_graphs(text: str, token: str = "node") -> str:
    """What is said of tokens and sequences, said of nodes, or what else a token is, and graphs."""
    for phrase, said in PHRASES.items():
        text = re.sub(phrase, said, text, flags=re.DOTALL)
    words = {"token": token, "sequence": "graph"}
    return WORDS.sub(lambda match: words.get(match["word"], match[0]), text)


class BaseSpeakingOfGraphs(BasePartlyLabelled):
    """Reads as models of sequences do, with errors in words of graphs."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        # not all errors: a callback may raise its own
        with in_words_of_graphs(kinds=(NonFiniteError,)):
            super()._fit(X, y, sample_weight, init, progress)

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        with in_words_of_graphs():
            return super()._read_labels(y, sequences, reset, unseen)

    def _read_weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> tuple[Weights, Loss]:
        with in_words_of_graphs():
            return super()._read_weights(sample_weight, sequences, labels)

    def _read_token_weight(self, sample_weight: Any, sequences: Sequences) -> np.ndarray:
        with in_words_of_graphs():
            return super()._read_token_weight(sample_weight, sequences)

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        with in_words_of_graphs():
            return super()._each_block(sequences, work, restrict)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of nodes whose label `predict` finds; one that was not seen in `fit` is not found.

        Nodes of which nothing is known do not count, and any label of a set is right.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_graphs,), list or SequenceArray, default=None
            Weight of each graph's nodes, or of each node.

        Returns
        -------
        float

        Raises
        ------
        UnknownLabelError
            If y holds something that is no label, or of another type than those seen in `fit`.
        """
        with in_words_of_graphs():
            return super().score(X, y, sample_weight)
