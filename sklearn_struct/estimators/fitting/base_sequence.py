"""What every estimator over sequences shares: reading X, y and weights; a fit that works or changes
nothing.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import (
    _check_n_features,
    check_is_fitted,
    validate_data,
)

from sklearn_struct._doc_link import DocLink
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_input import as_csr
from sklearn_struct.encoding import two_dimensional_input
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.labels import label_codes, partial_labels
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_dtype, as_list, check_numbers, form, pack_arrays
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: before scikit-learn 1.9 estimators have no callbacks."""


__all__ = ["BaseSequenceEstimator", "CallbackSupportMixin", "Sequences", "divided", "logarithms"]


class Sequences(NamedTuple):
    """X as read: packed tokens, and whether it came as a two-dimensional array of length-1
    sequences.
    """

    X: SequenceArray
    flat: bool


def divided(rows: np.ndarray, sequences: Sequences) -> np.ndarray:
    """Rows of all tokens in the form of X: an object array of those of each sequence; all together
    where X was two-dimensional.
    """
    return rows if sequences.flat else object_array(cut(rows, sequences.X.offsets))


def logarithms(proba: np.ndarray) -> np.ndarray:
    """Of probabilities in either form of `predict_proba`: one array, or an object array of them."""
    with np.errstate(divide="ignore"):
        return object_array([np.log(p) for p in proba]) if proba.dtype == object else np.log(proba)


class BaseSequenceEstimator(
    DocLink, Published, CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta
):
    """Reads every documented form of X and y; see the table in the user guide.

    ``_settings`` names the parameters that predictions read, which may be changed after `fit`; all
    others have effect in the next one.
    """

    _settings: ClassVar[tuple[str, ...]] = ("n_jobs",)
    # whether labels are masks of what may stand at tokens, even where all are known
    _masks_of_labels = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of sequences, SequenceArray, array-like or sparse matrix of shape (n, n_features)
            A sequence is a list of tokens (each a dict of features, a string, or several strings),
            a 2-D array or a sparse matrix (tokens, features). A two-dimensional X is a batch of
            sequences of length 1.
        y : list of label sequences, SequenceArray, or array-like of shape (n,)
            A label for each token; one-dimensional if X is two-dimensional. For `LinearChainCRF`
            and `GECRF`, None in the place of a label, or of a sequence's labels, says that nothing
            is known. A set says that one of its labels is right.
        sample_weight : array-like of shape (n_sequences,), list or SequenceArray, default=None
            Weight of the loss of each sequence. If the loss takes weights of tokens, it may also be
            a sequence of weights for each sequence, of the same length.
        init : fitted estimator of the same family, default=None
            Start from its weights, matched by label and by feature name (by position where there
            are no names).

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place; a two-dimensional X or a wrong `sample_weight` may get scikit-learn's
            own ValueError. The estimator is then as it was before.
        """
        progress = Progress(self, X, y, sample_weight)
        self._fit(*progress.data, init, progress)
        progress.end()
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None: ...

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`, in the same form.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray
            -inf where a probability is 0, or below the smallest float.
        """
        return logarithms(self.predict_proba(X))

    def _read_X(self, X: Any, reset: bool) -> Sequences:
        """Pack X and check it; with `reset`, learn its features."""
        if not reset:
            # scikit-learn's check asks for all tags, which takes longer than to label a sentence
            if "classes_" not in vars(self) or hasattr(self, "__sklearn_is_fitted__"):
                check_is_fitted(self)
            check_params(self, *self._settings)
        X = as_list(X)
        kind = form(X)
        # of an earlier fit on dicts; it would not belong to these weights
        if reset and kind != "attributes":
            self.__dict__.pop("vectorizer_", None)
        if kind == "flat":
            self._accept_rows(X, reset)
            X = as_csr(X) if sp.issparse(X) else X
            two_dimensional_input.check_table(X)
            tokens = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
            )
            names = getattr(self, "feature_names_in_", None)
            packed = as_dtype(
                SequenceArray(tokens, np.arange(tokens.shape[0] + 1), names), self.dtype
            )
            check_numbers(packed)
            return Sequences(packed, True)
        if kind == "attributes":
            packed = self._vectorize(X, reset)
            if reset:
                self._learn_lengths(packed.lengths, reset)
            return Sequences(packed, False)
        # a SequenceArray may be used again by the caller: it is not copied, and never written to
        packed = X if kind == "packed" else pack_arrays(X, self.dtype)
        if packed.stored.shape[0] == 0:
            if reset:
                raise EmptyDataError("X has no tokens")
            return Sequences(
                SequenceArray(np.empty((0, self.n_features_in_)), packed.offsets), False
            )
        if packed.stored.ndim != 2 or packed.stored.dtype.kind not in "fiub":
            raise InputTypeError(
                f"the tokens of X must be rows of real numbers, got dtype {packed.stored.dtype}"
            )
        packed = as_dtype(packed, self.dtype)
        check_numbers(packed)
        self._learn_features(packed, reset)
        if reset:
            self._learn_lengths(packed.lengths, reset)
        return Sequences(packed, False)

    def _learn_lengths(self, lengths: np.ndarray, reset: bool) -> None:
        """With `reset`, learn whether sequences are single tokens, as the rows of a two-dimensional
        X are.
        """
        if reset:
            self._rows_in = bool(lengths.max(initial=0) <= 1)

    def _accept_rows(self, X: Any, reset: bool) -> None:
        """Learn that X has rows, or refuse them: who fits longer sequences seldom means single
        tokens by a matrix.
        """
        if reset:
            self._rows_in = True
        elif not getattr(self, "_rows_in", True):
            two_dimensional_input.refuse_after_sequences(X, type(self).__name__)

    def _vectorize(self, X: Any, reset: bool) -> SequenceArray:
        if reset:
            self.vectorizer_ = SequenceVectorizer(dtype=np.dtype(self.dtype).type)
            packed: SequenceArray = self.vectorizer_.fit_transform(X)
            self._learn_features(packed, reset)
            return packed
        if not hasattr(self, "vectorizer_"):
            raise InputTypeError(
                "X holds attributes (dicts or strings), but the estimator was fitted on numbers; "
                "encode X as in fit"
            )
        packed = self.vectorizer_.transform(X)
        self._check_names(packed)
        return packed

    def _learn_features(self, X: SequenceArray, reset: bool) -> None:
        _check_n_features(self, X.stored, reset=reset)
        if reset:
            self._names_in = X.names
        self._check_names(X)

    def _check_names(self, X: SequenceArray) -> None:
        if _differ(self.__dict__.get("_names_in"), X.names):
            raise ValueError(
                "the feature names of X are not those that the estimator was fitted on"
            )

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, where X had any."""
        names = self.__dict__.get("_names_in")
        if names is None:
            raise AttributeError(
                f"this {type(self).__name__} was not fitted on features with names"
            )
        if callable(names):  # long lists of names are spelt out when they are asked for
            self._names_in = names = np.asarray(names(), dtype=object)
        return names

    @feature_names_in_.setter
    def feature_names_in_(self, names: np.ndarray) -> None:
        self._names_in = names

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        self._names_in = None

    def _read_y(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """Codes of the labels, `unseen` for other labels if it is given; with `reset`, learn
        ``classes_``.
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        offsets = sequences.X.offsets
        flat = (
            label_codes.as_labels(two_dimensional_input.column(y, offsets))
            if sequences.flat
            else label_codes.flatten(as_list(y), offsets)
        )
        codes = self._known_codes(flat, offsets, reset, unseen)
        if reset and sequences.flat:
            two_dimensional_input.check_targets(flat)
        return codes

    def _known_codes(
        self, labels: list[Any], offsets: np.ndarray, reset: bool, unseen: int | None
    ) -> np.ndarray:
        """Codes of all labels; with `reset`, learn ``classes_``."""
        if reset:
            self.classes_, codes = label_codes.classes_and_codes(labels, offsets)
            return codes
        return label_codes.encode(labels, self.classes_, offsets, unseen)

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """What is known of labels; here `_read_y`, see BasePartlyLabelled."""
        return self._read_y(y, sequences, reset, unseen)

    def _distinct_labels(self, y: Any, sequences: Sequences) -> tuple[list[Any], bool]:
        """The labels of a part of the data, sorted, and whether some of its tokens lack theirs."""
        self._read_y(y, sequences, reset=True)
        return label_codes.as_labels(self.classes_), False

    def _class_set(self, labels: list[Any]) -> np.ndarray:
        """The classes, of the distinct labels of all parts of the data."""
        if not labels:
            raise EmptyDataError("y has no labels")
        return label_codes.unique_labels(labels, np.array([0, len(labels)]))

    def _flat_labels(self, y: Any, offsets: np.ndarray, flat: bool) -> list[Any]:
        """All labels of y, None where they are missing, sets where several may stand."""
        if not flat:
            return partial_labels.flatten(as_list(y), offsets)
        if y is None:
            return [None] * (len(offsets) - 1)
        labels = label_codes.as_labels(two_dimensional_input.column(y, offsets))
        labels = partial_labels.flatten([[label] for label in labels], offsets)
        known = [label for label in labels if not partial_labels.is_partial([label])]
        if known:
            two_dimensional_input.check_targets(known)
        return labels

    def _read_weight(self, sample_weight: Any, n: int) -> np.ndarray:
        return sample_weights.of_examples(sample_weight, n, "sequence")

    def _read_token_weight(self, sample_weight: Any, sequences: Sequences) -> np.ndarray:
        """Weights of all tokens: their own, or those of their sequences."""
        return sample_weights.of_tokens(sample_weight, sequences.X, sequences.flat)

    def _labels(self, codes: np.ndarray, sequences: Sequences) -> np.ndarray:
        """Codes -> labels in the form of X: an array for flat X, else an object array of lists."""
        if sequences.flat:
            labels: np.ndarray = self.classes_[codes]
            return labels
        return label_codes.decode(codes, self.classes_, sequences.X.offsets)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Token accuracy of `predict`; a label that was not seen in `fit` is one that is not found.

        Where y may be partly unknown, tokens of which nothing is known do not count, and any label
        of a set is right.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,), list or SequenceArray, default=None
            Weight of each sequence's tokens, or of each token.

        Returns
        -------
        float

        Raises
        ------
        UnknownLabelError
            If y holds something that is no label, or of another type than those seen in `fit`.
        """
        sequences = self._read_X(as_list(X), reset=False)
        return self._score_read(sequences, y, sample_weight)

    def _score_read(self, sequences: Sequences, y: Any, sample_weight: Any = None) -> float:
        """The same of an X that has been read."""
        truth = self._read_labels(y, sequences, reset=False, unseen=-1)
        weight = self._read_token_weight(as_list(sample_weight), sequences)
        if truth.ndim == 2:
            # any label is right where nothing is known
            weight = weight * ~truth.all(axis=1)
        if not np.any(weight):
            raise EmptyDataError("there are no tokens of positive weight to score")
        codes = self._predict_codes(sequences)
        right = codes == truth if truth.ndim == 1 else truth[np.arange(len(codes)), codes]
        return float(np.average(right, weights=weight))

    @abstractmethod
    def _predict_codes(self, sequences: Sequences) -> np.ndarray: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        # it predicts labels, but check_cv must not look into ragged y
        tags.classifier_tags = ClassifierTags()
        return tags


def _differ(a: Any, b: Any) -> bool:
    """Whether both are names, and not the same; what gives names when it is called is asked as a
    last resort.
    """
    if a is None or b is None or a is b:
        return False
    # the same source of names, which need not be spelt out: lists may have millions
    if callable(a) and callable(b) and a == b:
        return False
    a, b = (names() if callable(names) else names for names in (a, b))
    return not np.array_equal(a, b)
