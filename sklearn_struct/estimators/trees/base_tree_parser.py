"""Parsers that read their grammar off the trees: encoding of a treebank, grammar without states."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_memory

from sklearn_struct.containers.typing import Sequences
from sklearn_struct.encoding.trees import binarization, brackets, tree_corpus
from sklearn_struct.encoding.trees.tree_corpus import TreeCorpus
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.grammars.parsing import (
    TreeModel,
    counted,
)

__all__ = ["BaseTreeParser", "plain_model"]


@with_parameters
class BaseTreeParser(BaseParser):
    """One that reads its grammar off the trees; subclasses learn its probabilities.

    Parameters
    ----------
    horizontal_order : int, default=0
        How many previous siblings are part of the symbol of a new node that takes the other
        children of a phrase.
    vertical_order : int, default=1
        How many labels are part of the symbol of a phrase. 1: its own. 2: also that of its parent.
    min_frequency : int, default=2
        Words seen less often are replaced by their signatures: capitals, digits, dashes and
        endings.
    unknown_weight : float, default=1.0
        A pseudo-count. Each known word counts as seen this many more times, with the tags that rare
        words of its signature have.
    memory : str or object with the joblib.Memory interface, default=None
        Caches the encoded trees.
    """

    horizontal_order: int = 0
    vertical_order: int = 1
    min_frequency: int = 2
    unknown_weight: float = 1.0
    memory: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "horizontal_order": [Interval(Integral, 0, None, closed="left")],
        "vertical_order": [Interval(Integral, 1, None, closed="left")],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "unknown_weight": [Interval(Real, 0, None, closed="neither")],
        "memory": [None, str, HasMethods(["cache"])],
    }

    def _learn(self, X: list[list[str]], y: Sequences, progress: Progress) -> None:
        orders = self.horizontal_order, self.vertical_order
        encoded = check_memory(self.memory).cache(_encoded)
        corpus = encoded(X, y, orders, self.min_frequency, self.unknown_weight)
        self._codes = corpus.codes
        leaf = corpus.treebank.forest.leaf
        symbols = corpus.codes.symbols
        self.symbols_ = np.array([str(symbol) for symbol in symbols], dtype=object)
        self.tags_ = sorted({symbol.chain[-1] for symbol in symbols if symbol.tag})
        self._tag_counts = np.bincount(
            corpus.treebank.leaf_symbol[leaf[leaf >= 0]], minlength=len(symbols)
        )
        self._fit(corpus, progress)

    @abstractmethod
    def _fit(self, corpus: TreeCorpus, progress: Progress) -> None:
        """Set `_model`, and what else is learned."""


def _encoded(
    X: list[list[str]],
    y: Sequences,
    orders: tuple[int, int],
    min_frequency: int,
    unknown_weight: float,
) -> TreeCorpus:
    """What a grammar is learned from; a function of its own, so that it can be cached."""
    trees = binarization.read(y)
    binarization.check_words(X, [brackets.words(tree) for tree in trees], ("X", "y"))
    if not trees:
        raise EmptyDataError("X has no sentences")
    return tree_corpus.learn(X, trees, orders, min_frequency, unknown_weight)


def plain_model(corpus: TreeCorpus, smoothing: float = 0.0) -> TreeModel:
    """The grammar without states: relative frequencies, where `smoothing` is added to counts of
    rules.
    """
    treebank = corpus.treebank
    counts = corpus.emissions.sums(np.ones((int(np.sum(treebank.forest.leaf >= 0)), 1)))[:, 0]
    return TreeModel(treebank.grammar, treebank.leaf_symbol, counted(treebank, counts, smoothing))
