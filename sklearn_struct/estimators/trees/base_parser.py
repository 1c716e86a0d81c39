"""Everything that grammars over trees share: reading sentences and trees, parsing, and what they
say of both.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._warning import warn
from sklearn_struct._whole_fits import Published
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.trees import Forest, Trees
from sklearn_struct.containers.typing import Sequences
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.encoding.trees import binarization, brackets, tree_corpus
from sklearn_struct.encoding.trees.lexicon import entries, observe
from sklearn_struct.encoding.trees.sentence_checks import as_sentences, as_tags
from sklearn_struct.encoding.trees.tree_corpus import TreeCodes
from sklearn_struct.estimators.fitting.base_sequence import CallbackSupportMixin
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.shared_parameters import ThreadParameters
from sklearn_struct.grammars.parsing import (
    Candidates,
    Parses,
    TreeModel,
    best,
    log_probability,
    logarithms,
    parses,
    tree_log_probabilities,
)
from sklearn_struct.inference.trees.chart_decoding import Nodes
from sklearn_struct.metrics.bracket_scores import bracket_f1_score

__all__ = ["BaseParser"]


@with_parameters
class BaseParser(
    ThreadParameters, DocLink, Published, CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta
):
    """A grammar over binary trees, learned from ordinary ones.

    Besides its public attributes, a fitted one has `_codes` (what numbers stand for), `_model`
    (probabilities) and `_tag_counts`.

    Parameters
    ----------
    decoder : {"max-recall", "max-rule", "viterbi"}, default="max-recall"
        Which tree `predict` returns, as in `PCFG`.
    pruning : float, default=1e-5
        Parts of trees whose posterior probability under the grammar without states is smaller are
        left out. 0 leaves out none.
    n_jobs : int, default=None
        Threads over trees and sentences, in joblib's meaning. Results have the same bits for any
        number.

    Attributes
    ----------
    symbols_ : ndarray of str
        Names of the symbols of binary trees; see `PCFG`.
    tags_ : list of str
        Part-of-speech tags.
    """

    decoder: str = "max-recall"
    pruning: float = 1e-5
    _codes: TreeCodes = field(init=False)
    _model: TreeModel = field(init=False)

    _settings = ("decoder", "pruning", "n_jobs")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "decoder": [StrOptions({"viterbi", "max-recall", "max-rule"})],
        "pruning": [Interval(Real, 0, 1, closed="both")],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the grammar.

        Parameters
        ----------
        X : list of sentences
            Each a list of words.
        y : list or object array of trees
            Their trees: bracketed strings or nltk's, over the same words. Function tags and traces
            are left out.

        Returns
        -------
        self

        Raises
        ------
        InputTypeError, LengthMismatchError, EmptyDataError, ValueError
            If sentences or trees cannot be read, or have not the same words. The estimator is then
            as it was before.
        """
        progress = Progress(self, X, y, None)
        X, y, _ = progress.data
        self._learn(as_sentences(X), as_list(y), progress)
        progress.end()
        return self

    @abstractmethod
    def _learn(self, X: list[list[str]], y: Sequences, progress: Progress) -> None:
        """Set what is learned."""

    # ---- parsing

    def predict(self, X: Any, *, tags: Any = None) -> np.ndarray:
        """Parse sentences.

        Where the grammar has no tree for a sentence, words may have all tags that unknown words
        have; where it has none then, the tree is flat, and a warning says so.

        Parameters
        ----------
        X : list of sentences
            Each a list of words.
        tags : list of list of str, default=None
            Part-of-speech tags of all words, if they are known.

        Returns
        -------
        ndarray of shape (n_sentences,)
            dtype object, an nltk tree each; that of an empty sentence is a root without children.

        Raises
        ------
        UnknownLabelError
            If a tag was not seen in `fit`.
        ImportError
            If nltk is not installed.
        """
        check_is_fitted(self)
        sentences = as_sentences(X)
        return object_array(
            [
                brackets.to_nltk(tree)
                for tree in self._trees(sentences, self._allowed(tags, sentences))
            ]
        )

    def _check_decoding(self) -> None:
        """Raise unless the parameters that predictions read fit: they may change after `fit`."""
        check_params(self, *self._settings)

    def _trees(self, sentences: list[list[str]], allowed: list[Any]) -> list[brackets.Tree]:
        """The best tree of each sentence; warns of flat ones."""
        self._check_decoding()
        best_of = self._best()
        flat = []

        def parse(i: int) -> brackets.Tree:
            # first with the tags that known words have, then with those of unknown words, too
            for relaxed in (False, True) if sentences[i] else ():
                nodes = best_of(self._candidates(sentences[i], allowed[i], relaxed))
                if len(nodes.symbol):
                    return binarization.restore(
                        _as_trees(nodes), self._codes.symbols, [sentences[i]]
                    )[0]
            flat.append(i)
            return self._flat(sentences[i], allowed[i])

        trees = self._each(parse, len(sentences))
        # threads finish in any order; an empty sentence has no tree to miss
        without = sorted(i for i in flat if sentences[i])
        if without:
            warn(
                f"{len(without)} of {len(sentences)} sentences have no tree and got a flat one; "
                f"first X[{without[0]}]"
            )
        return trees

    def _best(self) -> Callable[[Candidates], Nodes]:
        """What gives the best tree of a sentence."""
        model = self._model
        logs = None
        if self.decoder == "viterbi" and model.states:
            logs = logarithms(model.states[0])
        return lambda candidates: best(model, candidates, self.decoder, self.pruning, logs)

    def _allowed(self, tags: Any, X: list[list[str]]) -> list[Any]:
        """Of each sentence None, or a mask of symbols for each word."""
        if tags is None:
            return [None] * len(X)
        names = np.array(
            [symbol.chain[-1] if symbol.tag else "" for symbol in self._codes.symbols], dtype=object
        )
        masks = {tag: names == tag for tag in self.tags_}
        return [[masks[tag] for tag in row] for row in as_tags(tags, X, masks)]

    def _candidates(self, sentence: list[str], allowed: Any, relaxed: bool = False) -> Candidates:
        words = self._codes.lexicon
        masks = allowed or [None] * len(sentence)
        leaves = [
            entries(words, o, mask, relaxed) for o, mask in zip(observe(words, sentence), masks)
        ]
        return Candidates(
            np.cumsum([0, *map(len, leaves)]), np.concatenate([np.empty(0, np.int64), *leaves])
        )

    def _flat(self, sentence: list[str], allowed: Any) -> brackets.Tree:
        """All words below one node, each with its most probable tag."""
        if not sentence:
            return brackets.Tree((binarization.ROOT,), (0,))
        indptr, leaf = self._candidates(sentence, allowed)
        symbols = self._codes.symbols
        model = self._model
        score = model.plain.leaf[leaf] + np.log(
            # a tag that only unknown words have may have count 0
            np.maximum(self._tag_counts[model.symbol[leaf]], 0.5)
        )
        top = symbols[
            int(np.argmax(np.where([symbol.tag for symbol in symbols], -np.inf, model.plain.root)))
        ]
        labels = (
            [binarization.ROOT]
            if top.tag or top.chain[0] == binarization.ROOT
            else [binarization.ROOT, top.chain[0]]
        )
        arity = (*(1,) * (len(labels) - 1), len(sentence), *(1, 0) * len(sentence))
        for word, lo, hi in zip(sentence, indptr[:-1], indptr[1:]):
            labels += symbols[model.symbol[leaf[lo + np.argmax(score[lo:hi])]]].chain[-1], word
        return brackets.Tree(tuple(labels), arity)

    def _each(self, work: Callable[[int], Any], n: int) -> list[Any]:
        def of_sentence(i: int) -> Any:
            try:
                return work(i)
            except MemoryError as error:
                raise MemoryError(
                    f"X[{i}] is too long: {error}; split it, or leave it out"
                ) from error

        with Pool(self.n_jobs) as pool:
            return pool.map(of_sentence, n)

    def score(self, X: Any, y: Any, *, tags: Any = None) -> float:
        """F1 of labelled brackets, as EVALB has it; see `sklearn_struct.metrics.bracket_f1_score`.

        Parameters
        ----------
        X, y
            As in `fit`.
        tags
            As in `predict`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        sentences = as_sentences(X)
        return float(bracket_f1_score(y, self._trees(sentences, self._allowed(tags, sentences))))

    # ---- probabilities

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of each sentence, summed over its trees.

        Words that are not known count as what they are taken for: their signatures.

        Parameters
        ----------
        X : list of sentences
            Each a list of words.

        Returns
        -------
        ndarray of shape (n_sentences,)
            -inf for a sentence without trees. A grammar with states sums over what `pruning` leaves
            of them.
        """
        check_is_fitted(self)
        self._check_decoding()
        sentences = as_sentences(X)

        def work(i: int) -> float:
            return self._log_p(self._candidates(sentences[i], None))

        return np.array(self._each(work, len(sentences)), dtype=float)

    def _log_p(self, candidates: Candidates) -> float:
        return log_probability(self._model, candidates, self.pruning)

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """log p(x, y) of each sentence and its tree, summed over states.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sentences,)
            -inf for a tree with a rule that was not seen in `fit`.

        Raises
        ------
        UnknownLabelError
            If a label was not seen in `fit`.
        """
        check_is_fitted(self)
        sentences = as_sentences(X)
        trees = binarization.read(y)
        binarization.check_words(sentences, [brackets.words(tree) for tree in trees], ("X", "y"))
        return self._log_joint(tree_corpus.forest(self._codes, sentences, trees))

    def _log_joint(self, trees: Forest) -> np.ndarray:
        return tree_log_probabilities(self._model, trees)[0]

    def marginals(self, X: Any) -> np.ndarray:
        """Posterior probability of each symbol over each span of a sentence, mu(a, i, j).

        Parameters
        ----------
        X : list of sentences
            Each a list of words.

        Returns
        -------
        ndarray of shape (n_sentences,)
            dtype object, a dict each: from (symbol, start, stop), with the words ``start:stop``, to
            the sum over all trees with that symbol there. What `pruning` leaves out is missing; of
            a sentence without trees, all is.
        """
        check_is_fitted(self)
        self._check_decoding()
        sentences = as_sentences(X)
        names = self.symbols_

        def work(i: int) -> dict[tuple[str, int, int], float]:
            of_sentence = self._parses(self._candidates(sentences[i], None))
            if not np.any(of_sentence.sign):
                return {}
            packed = of_sentence.forest
            total = Counter[tuple[str, int, int]]()
            keys = zip(names[packed.symbol].tolist(), packed.start.tolist(), packed.stop.tolist())
            for key, p in zip(keys, of_sentence.item.mean(axis=0).tolist()):
                total[key] += p  # "A+B" may be a label, too
            return dict(total)

        return object_array(self._each(work, len(sentences)))

    def _parses(self, candidates: Candidates) -> Parses:
        return parses(self._model, candidates, self.pruning)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def _as_trees(nodes: Nodes) -> Trees:
    symbol, left, right, start, stop = nodes
    return Trees(
        np.array([0, len(symbol)]),
        symbol,
        left,
        right,
        np.full(len(symbol), -1, np.int32),
        start,
        stop,
    )
