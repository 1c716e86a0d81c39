"""Words that stand where chosen words stand: a feature for each chosen word, the prototype."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._warning import warn
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.data_frames import is_frame
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Seed
from sklearn_struct.encoding.features.attribute_reader import chunks
from sklearn_struct.encoding.features.string_numbers import Names, as_words
from sklearn_struct.encoding.features.word_contexts import context_counts, context_vectors
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

__all__ = ["PrototypeFeatures"]

_AT_LEAST_1 = Interval(Integral, 1, None, closed="left")


class PrototypeFeatures(
    DocLink, Published, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn sequences of words into features that say which prototypes each word is like.

    Prototypes are words that you choose, such as three for each label. A word is like a prototype
    if both stand among the same words. So what is known about a few words reaches the many words
    that are like them, also words that no labelled sequence has. `fit` needs no labels, and the
    more text, the better.

    The transformer counts the frequent words around each word, and compares the counts with those
    expected if all words stood in the same contexts. A correspondence analysis, that is the first
    singular vectors of the differences over the square roots of the expected counts, gives each
    word a vector, after [1]_. A token has the feature of a prototype, with the value 1, if the
    vectors of its word and of the prototype have at least the cosine `threshold`.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    prototypes : iterable of str
        Words as they are spelt in X. A dict gives its keys, so one of labels by words is possible.
    n_components : int, default=50
        Number of singular vectors. With fewer vectors more words are alike.
    threshold : float, default=0.35
        Smallest cosine of words that are alike, above 0 and at most 1. 0.5 gives fewer words, with
        fewer errors.
    window : int, default=2
        How many tokens on either side are the context of a word.
    directions : bool, default=True
        Whether a context word counts apart for each distance and side. True finds words with the
        same use in a sentence. False, with a window of about 5, finds words of the same subject.
    n_context : int, default=500
        Number of context words that are counted: the most frequent ones. A position outside the
        sequence counts as one more word.
    column : int or str, default=0
        Where the word is, if tokens are not strings: the column of tuples or lists, or the key of
        dicts.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterations that compute the singular vectors. It only matters for words whose
        cosine is close to `threshold`.

    Attributes
    ----------
    prototypes_ : ndarray of str objects, shape ``(n_features_out_,)``
        The prototypes that occur in the training data.
    similar_words_ : dict of {str: list of str}
        For each of them the words that are like it, the nearest first; the first one is the
        prototype itself.
    n_features_out_ : int
        Number of features.

    See Also
    --------
    SequenceUnion : Puts these features beside those of `SequenceVectorizer` or `FeatureTemplates`.
    PrototypeMRF : Learns from such words without labels.
    GECRF : Takes such features as labelled ones.

    References
    ----------
    .. [1] A. Haghighi and D. Klein, "Prototype-driven learning for sequence models", HLT-NAACL
       2006.

    Examples
    --------
    >>> from sklearn_struct import PrototypeFeatures
    >>> animals, verbs = ["cat", "dog", "fox"], ["eats", "runs", "hides"]
    >>> X = [["the", animal, verb] for animal in animals for verb in verbs]
    >>> features = PrototypeFeatures(["cat", "runs"]).fit(X)
    >>> features.similar_words_
    {'cat': ['cat', 'dog', 'fox'], 'runs': ['runs', 'eats', 'hides']}
    >>> features.get_feature_names_out().tolist()
    ['prototype=cat', 'prototype=runs']
    >>> features.transform([["a", "dog", "hides"]])[0].toarray()
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "prototypes": "no_validation",  # checked by _words_of
        "n_components": [_AT_LEAST_1],
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "window": [_AT_LEAST_1],
        "directions": ["boolean"],
        "n_context": [_AT_LEAST_1],
        "column": [Integral, str],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prototypes: Iterable[str],
        *,
        n_components: int = 50,
        threshold: float = 0.35,
        window: int = 2,
        directions: bool = True,
        n_context: int = 500,
        column: int | str = 0,
        random_state: Seed = 0,
    ) -> None:
        self.prototypes = prototypes
        self.n_components = n_components
        self.threshold = threshold
        self.window = window
        self.directions = directions
        self.n_context = n_context
        self.column = column
        self.random_state = random_state

    def fit(self, X: Iterable[Any], y: object = None) -> PrototypeFeatures:
        """Learn where words stand, and which are like the prototypes.

        Parameters
        ----------
        X : iterable of sequences
            A sequence is a list, tuple or array of tokens, a token a string, or a tuple, list or
            dict that has one at `column`. A generator is read once.
        y : None
            Ignored.

        Returns
        -------
        self : PrototypeFeatures

        Raises
        ------
        ValueError
            If there are no prototypes.
        EmptyDataError
            If X has no tokens.
        InputTypeError
            If a token has no word, something in X is no sequence, or a prototype no string.

        Warns
        -----
        UserWarning
            If prototypes do not occur in X. They get no feature.
        """
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Iterable[Any], y: object = None) -> SequenceArray:
        """Learn which words are like the prototypes and encode X, in one pass over X.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        encoded : SequenceArray
            The tokens of X, in a CSR array of shape ``(n_tokens, n_features_out_)``.
        """
        prototypes = _words_of(self.prototypes)
        words, offsets = _read(X, self.column)
        if not words:
            raise EmptyDataError("X has no tokens to learn from")
        vocabulary = Names()
        codes = vocabulary.learn(as_words(words), len(words))
        counts = context_counts(codes, offsets, self.window, self.n_context, self.directions)
        vectors = context_vectors(counts, self.n_components, check_random_state(self.random_state))
        rows = vocabulary.find(as_words(prototypes), len(prototypes))
        missing = [word for word, row in zip(prototypes, rows) if row < 0]
        if missing:
            warn(f"prototypes that X does not have get no feature: {missing}")
        known = [word for word, row in zip(prototypes, rows) if row >= 0]
        self._learn(vocabulary, _similarity(vectors, rows[rows >= 0], self.threshold), known)
        return self._assemble(codes, offsets)

    def _learn(self, vocabulary: Names, similarity: sp.csr_array, prototypes: list[str]) -> None:
        """Take over the words, and how much each is like each prototype.

        The last row of `similarity`, all zeros, is for words that are not in the vocabulary.
        """
        self._vocabulary = vocabulary
        self._similarity = similarity
        self.prototypes_ = np.array(prototypes, dtype=object)
        self._names = np.array([f"prototype={word}" for word in prototypes], dtype=object)
        self._names.flags.writeable = False  # all who ask share it
        self.n_features_out_ = len(prototypes)

    def transform(self, X: Iterable[Any]) -> SequenceArray:
        """Encode X. Words that are not in the training data have no features.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.

        Returns
        -------
        encoded : SequenceArray
            The tokens of X, in a CSR array of shape ``(n_tokens, n_features_out_)``.

        Raises
        ------
        NotFittedError
            If `fit` has not been called.
        InputTypeError
            As for `fit`.
        """
        check_is_fitted(self)
        check_params(self, "column")
        words, offsets = _read(X, self.column)
        return self._assemble(self._vocabulary.find(as_words(words), len(words)), offsets)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns: ``prototype=`` and the word.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects, shape ``(n_features_out_,)``
            A read-only array.
        """
        check_is_fitted(self)
        return self._names

    @property
    def similar_words_(self) -> dict[str, list[str]]:
        """The words that are like each prototype, the nearest first."""
        if "_similarity" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} was not fitted")
        words = self._vocabulary()
        similarity = self._similarity.tocsc()
        words_like = {}
        for prototype, start, stop in zip(
            self.prototypes_, similarity.indptr[:-1], similarity.indptr[1:]
        ):
            near = words[similarity.indices[start:stop]]
            # of equal cosines, the prototype itself first
            order = np.lexsort((near != prototype, -similarity.data[start:stop]))
            words_like[prototype] = near[order].tolist()
        return words_like

    def _assemble(self, codes: np.ndarray, offsets: np.ndarray) -> SequenceArray:
        # an unknown word has the code -1, and the last row is empty
        tokens = self._similarity[codes]
        tokens.data[:] = 1
        return SequenceArray(tokens, offsets, self._names)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _words_of(prototypes: object) -> list[str]:
    """The parameter as a list of different words."""
    is_single = isinstance(prototypes, str | bytes | Iterator) or is_frame(prototypes)
    if is_single or not isinstance(prototypes, Iterable):
        raise InputTypeError(f"prototypes must be a list of words, got {type(prototypes).__name__}")
    words = list(prototypes)
    for word in words:
        if not isinstance(word, str):
            raise InputTypeError(
                f"prototypes must be words (strings), got {word!r} ({type(word).__name__})"
            )
    if not words:
        raise ValueError("prototypes is empty")
    # sets of strings have another order in each process, and columns would have, too
    return list(dict.fromkeys(sorted(words) if isinstance(prototypes, set | frozenset) else words))


def _read(X: Iterable[Any], column: int | str) -> tuple[list[str], np.ndarray]:
    """The words of all sequences, one after the other, and the bounds of the sequences."""
    words: list[str] = []
    offsets = [0]
    for first, chunk in chunks(X):
        for i, sequence in enumerate(chunk, first):
            tokens = sequence.tolist() if isinstance(sequence, np.ndarray) else sequence
            if not isinstance(tokens, list | tuple):
                raise InputTypeError(
                    f"X[{i}]: a sequence is a list of tokens, got {type(sequence).__name__}"
                )
            if set(map(type, tokens)) <= {str}:
                words += tokens
            else:
                words += [
                    _word(token, column, f"X[{i}], token {t}") for t, token in enumerate(tokens)
                ]
            offsets.append(len(words))
    return words, np.array(offsets, np.int64)


def _word(token: Any, column: int | str, place: str) -> str:
    """The word of a token, which may be anything that has items."""
    word = token
    if not isinstance(token, str):
        try:
            word = token[column]
        # scipy raises the last one where a format cannot be indexed
        except (TypeError, LookupError, NotImplementedError):
            raise InputTypeError(
                f"{place}: a token is a string or has one at {column!r}, got {token!r}"
            ) from None
    if not isinstance(word, str):
        raise InputTypeError(f"{place}: a word is a string, got {word!r} ({type(word).__name__})")
    return word


def _similarity(vectors: np.ndarray, rows: np.ndarray, threshold: float) -> sp.csr_array:
    """Cosines (words, prototypes), 0 below the threshold, and a last row of zeros.

    `rows` are those of the prototypes among the vectors.
    """
    cosine = np.round(vectors @ vectors[rows].T, 6)  # so that equal contexts have cosine 1
    # a prototype is like itself, whatever became of its vector
    cosine[rows, np.arange(len(rows))] = 1
    cosine[cosine < threshold] = 0
    return sp.csr_array(np.vstack([cosine, np.zeros(len(rows))]))
