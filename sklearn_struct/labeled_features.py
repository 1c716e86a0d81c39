"""Tools for people who label features instead of sentences: which features to label, and how."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Label, Seed, SequenceInput, Sequences
from sklearn_struct.encoding.features.column_choice import Features, columns_named
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.labels import partial_labels
from sklearn_struct.encoding.sequences import as_list, check_numbers, form, pack_arrays
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

__all__ = ["sample_targets", "suggest_features", "suggest_labeled_features"]

_POSITIVE = Interval(Integral, 1, None, closed="left")
_FEATURES = [None, str, re.Pattern, "array-like"]


@validate_params(
    {
        "n_per_label": [_POSITIVE],
        "min_label_tokens": [_POSITIVE],
        "min_frequency": [_POSITIVE],
        "min_precision": [Interval(Real, 0, 1, closed="both")],
        "features": _FEATURES,
    },
    prefer_skip_nested_validation=True,
)
def suggest_labeled_features(
    X: SequenceInput,
    y: SequenceInput,
    *,
    n_per_label: int = 3,
    min_label_tokens: int = 1,
    min_frequency: int = 1,
    min_precision: float = 0.0,
    features: Features | None = None,
) -> dict[str, Label]:
    """Label the features that a person would label first: frequent ones that indicate a label.

    Each label gets the features that occur with it most often, among those that are not more
    frequent with another label. The rule is that of [1]_, and [2]_ uses it, too.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    X : list of sequences or SequenceArray
        Sequences as the chain estimators take them, with names of features: a token is a dict, a
        string or several strings; or a SequenceArray of `SequenceVectorizer`, `FeatureTemplates` or
        `SequenceUnion`. A feature occurs where its value is not 0.
    y : list of label sequences
        None stands for labels that are missing, of a token or of a whole sequence. Such tokens do
        not count.
    n_per_label : int, default=3
        Largest number of features for a label.
    min_label_tokens : int, default=1
        Labels of fewer tokens get no features. A feature that is most frequent with such a label is
        then given to no label.
    min_frequency : int, default=1
        Smallest number of tokens with a feature and its label.
    min_precision : float, default=0.0
        Smallest share of the tokens of a feature that have its label.
    features : str, re.Pattern or list of them, default=None
        Choose among these only: names, or compiled patterns that match whole names, such as
        ``re.compile("word:.*")``; None is all.

    Returns
    -------
    dict
        The label of each feature. Labels are in sorted order, the features of a label by falling
        frequency, then by name. A feature that is equally frequent with several labels goes to the
        first of them that has less than `n_per_label` features.

    Raises
    ------
    EmptyDataError
        If X has no tokens, or y no labels.
    InputTypeError, LengthMismatchError, NonFiniteError
        If something in X or y cannot be read, or their lengths differ.
    ValueError
        If X has no such features.

    See Also
    --------
    suggest_features : Candidates for a person to label, without labels.
    sample_targets : Proportions of labels from a few tokens of each feature.
    sklearn_struct.GECRF : Learns from labelled features.

    References
    ----------
    .. [1] A. Haghighi and D. Klein, "Prototype-driven learning for sequence models", HLT-NAACL
       2006.
    .. [2] G. S. Mann and A. McCallum, "Generalized expectation criteria for semi-supervised
       learning of conditional random fields", ACL 2008.

    Examples
    --------
    >>> from sklearn_struct.labeled_features import suggest_labeled_features
    >>> texts = ["rent $ 900", "large kitchen", "$ 800 a month", "new kitchen"]
    >>> X = [text.split() for text in texts]
    >>> y = [["RENT"] * 3, ["FEATURES"] * 2, ["RENT"] * 4, None]
    >>> suggest_labeled_features(X, y, n_per_label=2)
    {'kitchen': 'FEATURES', 'large': 'FEATURES', '$': 'RENT', '800': 'RENT'}
    """
    packed, fires = _read(X)
    classes, codes = _labels(y, packed.offsets)
    columns, names = _candidates(features, packed)
    counts = _counts(fires[:, columns], codes, len(classes)).tocsc()
    most = counts.max(axis=1).toarray().ravel()
    total = counts.sum(axis=1)
    n_tokens = np.bincount(codes[codes >= 0], minlength=len(classes))
    free = np.ones(len(names), dtype=bool)
    label_of: dict[str, Label] = {}
    for k in np.flatnonzero(n_tokens >= min_label_tokens).tolist():
        stored = slice(counts.indptr[k], counts.indptr[k + 1])
        rows = counts.indices[stored]
        count = counts.data[stored]
        best = (
            free[rows]
            & (count == most[rows])
            & (count >= min_frequency)
            & (count / total[rows] >= min_precision)
        )
        chosen = _ranked(rows[best], count[best], names)[:n_per_label]
        free[chosen] = False
        label_of.update(dict.fromkeys(names[chosen].tolist(), classes.tolist()[k]))
    return label_of


@validate_params(
    {
        "n": [None, _POSITIVE],
        "criterion": [StrOptions({"frequency", "information_gain"})],
        "features": _FEATURES,
    },
    prefer_skip_nested_validation=True,
)
def suggest_features(
    X: SequenceInput,
    y: SequenceInput | None = None,
    *,
    n: int | None = 50,
    criterion: str = "frequency",
    features: Features | None = None,
) -> list[str]:
    """Suggest features for a person to label: the most frequent or the most informative ones.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    X : list of sequences or SequenceArray
        As for `suggest_labeled_features`.
    y : list of label sequences, default=None
        Only read with ``criterion="information_gain"``. None stands for labels that are missing.
    n : int or None, default=50
        How many; None is all.
    criterion : {"frequency", "information_gain"}, default="frequency"
        What to sort by: the number of tokens with the feature, or the mutual information of a
        token's label and whether the token has the feature. The latter is taken over tokens that
        have a label.
    features : str, re.Pattern or list of them, default=None
        Choose among these only, as for `suggest_labeled_features`.

    Returns
    -------
    list of str
        The best first, ties by name. A feature that occurs in no such token is left out.

    Raises
    ------
    EmptyDataError, InputTypeError, LengthMismatchError, NonFiniteError
        As `suggest_labeled_features`.
    ValueError
        If X has no such features, or y is missing but needed.

    See Also
    --------
    suggest_labeled_features : Features together with their labels.
    sample_targets : Proportions of labels from a few tokens of each feature.

    Examples
    --------
    >>> from sklearn_struct.labeled_features import suggest_features
    >>> X = [["a", "large", "kitchen"], ["a", "large", "garden"], ["a", "new", "kitchen"]]
    >>> suggest_features(X, n=3)
    ['a', 'kitchen', 'large']
    """
    if criterion == "information_gain" and y is None:
        raise ValueError("criterion='information_gain' needs labels, but y is None")
    packed, fires = _read(X)
    columns, names = _candidates(features, packed)
    if criterion == "frequency":
        frequency = score = fires[:, columns].sum(axis=0)
    else:
        classes, codes = _labels(y, packed.offsets)
        counts = _counts(fires[:, columns], codes, len(classes))
        frequency = counts.sum(axis=1)
        score = _information_gain(counts, np.bincount(codes[codes >= 0], minlength=len(classes)))
    there = np.flatnonzero(frequency)
    best: list[str] = names[_ranked(there, score[there], names)[:n]].tolist()
    return best


@validate_params(
    {
        "features": [str, "array-like"],
        "n_tokens": [None, _POSITIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def sample_targets(
    X: SequenceInput,
    y: SequenceInput,
    features: Iterable[str],
    n_tokens: int | None = 10,
    *,
    random_state: Seed = None,
) -> dict[str, Counter[Label]]:
    """Count the labels of a few tokens of each feature, as an annotator would.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    X, y
        As for `suggest_labeled_features`.
    features : iterable of str
        Names of features. A dict gives its keys.
    n_tokens : int or None, default=10
        How many labelled tokens to look at for each feature, drawn without replacement; None is
        all.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With the same int, a larger sample contains a smaller one.

    Returns
    -------
    dict of {str: Counter}
        For each feature, in the order given, the numbers of tokens with each label. A feature that
        occurs nowhere with a label is left out, with a warning.

    Raises
    ------
    EmptyDataError, InputTypeError, LengthMismatchError, NonFiniteError
        As `suggest_labeled_features`.
    ValueError
        If X has no feature of that name.

    Warns
    -----
    UserWarning
        If features occur nowhere with a label.

    See Also
    --------
    suggest_features : Which features to label.
    sklearn_struct.GECRF : Takes the counts as labelled features.

    Examples
    --------
    >>> from sklearn_struct.labeled_features import sample_targets
    >>> X = [["call", "me"], ["a", "call"], ["call", "now"]]
    >>> y = [["CONTACT", "CONTACT"], ["O", "O"], ["CONTACT", "CONTACT"]]
    >>> sample_targets(X, y, ["call"])
    {'call': Counter({'CONTACT': 2, 'O': 1})}
    """
    packed, fires = _read(X)
    classes, codes = _labels(y, packed.offsets)
    known = {name: column for column, name in enumerate(packed.feature_names)}  # type: ignore[arg-type]
    wanted = [features] if isinstance(features, str) else list(features)
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise ValueError(f"features: X has no feature {name!r}")
    labelled = np.flatnonzero(codes >= 0)
    tokens = fires[labelled][:, np.array([known[name] for name in wanted], dtype=np.int64)].tocsc()
    rng = check_random_state(random_state)
    labels = classes.tolist()
    n_with: dict[str, Counter[Label]] = {}
    for name, start, stop in zip(wanted, tokens.indptr[:-1], tokens.indptr[1:]):
        drawn = rng.permutation(tokens.indices[start:stop])[:n_tokens]
        counts = np.bincount(codes[labelled[drawn]], minlength=len(labels))
        if len(drawn):
            n_with[name] = Counter({labels[k]: int(counts[k]) for k in np.flatnonzero(counts)})
    missing = [name for name in wanted if name not in n_with]
    if missing:
        warnings.warn(
            f"features that occur nowhere with a label are left out: {missing}",
            UserWarning,
            stacklevel=3,  # the caller of the function that validate_params wraps
        )
    return n_with


def _read(X: SequenceInput) -> tuple[SequenceArray, sp.csr_array]:
    """X as packed tokens with names of features, and ones where a feature's value is not 0."""
    sequences = as_list(X)
    packed = _packed(sequences, form(sequences))
    if packed.tokens.ndim != 2 or packed.tokens.dtype.kind not in "fiub":
        raise InputTypeError(
            f"the tokens of X must be rows of real numbers, got dtype {packed.tokens.dtype}"
        )
    if packed.feature_names is None:
        raise InputTypeError("X has no feature names")
    check_numbers(packed)
    fires = sp.csr_array(packed.tokens, copy=True)
    fires.sum_duplicates()
    fires.data = (fires.data != 0).astype(np.int64)
    fires.eliminate_zeros()
    return packed, fires


def _packed(X: Sequences, kind: str) -> SequenceArray:
    """X, of a form that `form` tells, as a SequenceArray."""
    if isinstance(X, SequenceArray) and kind == "packed":
        return X
    if kind == "flat":
        raise InputTypeError("X must be a list of sequences, or one SequenceArray")
    if kind == "empty":
        raise EmptyDataError("X has no tokens")
    if kind == "attributes":
        encoded: SequenceArray = SequenceVectorizer().fit_transform(X)
        return encoded
    return pack_arrays(X, np.float64)


def _labels(y: SequenceInput | None, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, sorted, and the code of each token's label, -1 where it is missing."""
    if y is None:
        raise EmptyDataError("y has no labels")
    labels = partial_labels.flatten(as_list(y), offsets)
    if all(label is None for label in labels):
        raise EmptyDataError("y has no labels")
    classes = partial_labels.known_labels(labels, offsets)
    return classes, partial_labels.encode(labels, classes, offsets)


def _candidates(features: Features | None, X: SequenceArray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that the parameter `features` names, and their names."""
    names: np.ndarray = X.feature_names  # type: ignore[assignment]
    columns = np.arange(len(names)) if features is None else columns_named(features, X, "features")
    return columns, names[columns]


def _counts(fires: sp.csr_array, codes: np.ndarray, n_labels: int) -> sp.csr_array:
    """How many tokens have each feature and each label, (n_features, n_labels)."""
    labelled = np.flatnonzero(codes >= 0)
    ones = np.ones(len(labelled), dtype=np.int64)
    labels = sp.csr_array((ones, (labelled, codes[labelled])), shape=(len(codes), n_labels))
    return sp.csr_array(fires.T @ labels)


def _information_gain(counts: sp.csr_array, n_tokens: np.ndarray) -> np.ndarray:
    """Mutual information, in nats, of a feature's presence and the label.

    `n_tokens` is the number of tokens of each label.
    """
    N = n_tokens.sum()
    total = counts.sum(axis=1)
    of_label = n_tokens[counts.indices]
    # Sums of n log n over the cells of a table (present or not, label), as differences to a feature
    # that never occurs: these are 0 for all labels that a feature does not have.
    stored = _n_log_n(counts.data) + _n_log_n(of_label - counts.data) - _n_log_n(of_label)
    cells = sp.csr_array((stored, counts.indices, counts.indptr), shape=counts.shape).sum(axis=1)
    gain: np.ndarray = (cells + _n_log_n(N) - _n_log_n(total) - _n_log_n(N - total)) / N
    return gain


def _n_log_n(n: np.ndarray) -> np.ndarray:
    product: np.ndarray = xlogy(n, n)
    return product


def _ranked(columns: np.ndarray, scores: np.ndarray, names: np.ndarray) -> list[int]:
    """Columns by falling score, equal ones by name."""
    # scores that differ by rounding alone are equal
    keys = zip(
        np.round(-scores.astype(float), 12).tolist(), names[columns].tolist(), columns.tolist()
    )
    return [column for _, _, column in sorted(keys)]
