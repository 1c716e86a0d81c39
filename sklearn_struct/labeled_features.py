"""Tools for people who label features instead of sentences: what to label, and what an annotator
would find.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from sklearn_struct.containers.sequence_array import SequenceArray
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
    X: Any,
    y: Any,
    *,
    n_per_label: int = 3,
    min_label_tokens: int = 1,
    min_frequency: int = 1,
    min_precision: float = 0.0,
    features: Features | None = None,
) -> dict[Any, Any]:
    """The features that a person would label first: the most frequent ones that tell of a label.

    For each label these are the features that occur with it most often, among those that are not
    more frequent with another label; the rule of [1]_, which [2]_ uses.

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
        At most so many features for a label.
    min_label_tokens : int, default=1
        Labels of fewer tokens get no features. Features may still not be more frequent with such a
        label.
    min_frequency : int, default=1
        Least number of tokens with a feature and its label.
    min_precision : float, default=0.0
        Least share of a feature's tokens that have the label.
    features : str, re.Pattern or list of them, default=None
        Only these: names, or compiled patterns that match whole names, such as
        ``re.compile("word:.*")``; None is all.

    Returns
    -------
    dict
        The label of each feature; labels in sorted order, the features of a label by falling
        frequency, then by name. A feature that is as frequent with several labels goes to the first
        one that takes it.

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

    References
    ----------
    .. [1] A. Haghighi and D. Klein, "Prototype-driven learning for sequence models", HLT-NAACL
       2006.
    .. [2] G. S. Mann and A. McCallum, "Generalized expectation criteria for semi-supervised
       learning of conditional random fields", ACL 2008.

    Examples
    --------
    >>> from sklearn_struct.labeled_features import suggest_labeled_features
    >>> X = [["rent", "$", "900"], ["large", "kitchen"], ["$", "800", "a", "month"], ["new", "kitchen"]]
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
    found: dict[Any, Any] = {}
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
        found.update(dict.fromkeys(names[chosen].tolist(), classes.tolist()[k]))
    return found


@validate_params(
    {
        "n": [None, _POSITIVE],
        "criterion": [StrOptions({"frequency", "information_gain"})],
        "features": _FEATURES,
    },
    prefer_skip_nested_validation=True,
)
def suggest_features(
    X: Any,
    y: Any = None,
    *,
    n: int | None = 50,
    criterion: str = "frequency",
    features: Features | None = None,
) -> list[Any]:
    """Candidates for a person to label: the features that occur most often, or that tell most about
    labels.

    Parameters
    ----------
    X : list of sequences or SequenceArray
        As for `suggest_labeled_features`.
    y : list of label sequences, default=None
        Read with ``criterion="information_gain"`` alone. None stands for labels that are missing.
    n : int or None, default=50
        How many; None is all.
    criterion : {"frequency", "information_gain"}, default="frequency"
        What to sort by: the number of tokens with the feature, or how much whether a token has it
        tells about the token's label. The latter counts only tokens that have a label.
    features : str, re.Pattern or list of them, default=None
        Only these, as for `suggest_labeled_features`.

    Returns
    -------
    list of str
        The best first, equal ones by name. Features of no token that counts are left out.

    Raises
    ------
    EmptyDataError, InputTypeError, LengthMismatchError, NonFiniteError
        As `suggest_labeled_features`.
    ValueError
        If X has no such features, or y is missing but needed.

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
    return names[_ranked(there, score[there], names)[:n]].tolist()


@validate_params(
    {
        "features": [str, "array-like"],
        "n_tokens": [None, _POSITIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def sample_targets(
    X: Any, y: Any, features: Iterable[Any], n_tokens: int | None = 10, *, random_state: Any = None
) -> dict[Any, Counter]:
    """What an annotator finds who looks at a few tokens of each feature: how often each label
    occurs.

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
    found: dict[Any, Counter] = {}
    for name, start, stop in zip(wanted, tokens.indptr[:-1], tokens.indptr[1:]):
        drawn = rng.permutation(tokens.indices[start:stop])[:n_tokens]
        counts = np.bincount(codes[labelled[drawn]], minlength=len(labels))
        if len(drawn):
            found[name] = Counter({labels[k]: int(counts[k]) for k in np.flatnonzero(counts)})
    missing = [name for name in wanted if name not in found]
    if missing:
        warnings.warn(
            f"features that occur nowhere with a label are left out: {missing}",
            UserWarning,
            stacklevel=3,
        )
    return found


def _read(X: Any) -> tuple[SequenceArray, sp.csr_array]:
    """X as packed tokens with names of features, and ones where a feature's value is not 0."""
    X = as_list(X)
    kind = form(X)
    if kind == "flat":
        raise InputTypeError("X must be a list of sequences, or one SequenceArray")
    if kind == "empty":
        raise EmptyDataError("X has no tokens")
    if kind != "packed":
        X = (
            SequenceVectorizer().fit_transform(X)
            if kind == "attributes"
            else pack_arrays(X, np.float64)
        )
    if X.tokens.ndim != 2 or X.tokens.dtype.kind not in "fiub":
        raise InputTypeError(
            f"the tokens of X must be rows of real numbers, got dtype {X.tokens.dtype}"
        )
    if X.feature_names is None:
        raise InputTypeError("X has no feature names")
    check_numbers(X)
    fires = sp.csr_array(X.tokens, copy=True)
    fires.sum_duplicates()
    fires.data = (fires.data != 0).astype(np.int64)
    fires.eliminate_zeros()
    return X, fires


def _labels(y: Any, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, sorted, and the code of each token's, -1 where it is missing."""
    labels = partial_labels.flatten(as_list(y), offsets)
    if all(label is None for label in labels):
        raise EmptyDataError("y has no labels")
    classes = partial_labels.known_labels(labels, offsets)
    return classes, partial_labels.encode(labels, classes, offsets)


def _candidates(features: Any, X: SequenceArray) -> tuple[np.ndarray, np.ndarray]:
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
    """Mutual information, in nats, of each feature's presence and the label; `n_tokens` of each
    label.
    """
    N = n_tokens.sum()
    total = counts.sum(axis=1)
    of_label = n_tokens[counts.indices]
    # sums of n log n over the cells of a table (present or not, label), as differences to a feature
    # that never occurs
    stored = _n_log_n(counts.data) + _n_log_n(of_label - counts.data) - _n_log_n(of_label)
    cells = sp.csr_array((stored, counts.indices, counts.indptr), shape=counts.shape).sum(axis=1)
    return (cells + _n_log_n(N) - _n_log_n(total) - _n_log_n(N - total)) / N


def _n_log_n(n: Any) -> Any:
    return xlogy(n, n)


def _ranked(columns: np.ndarray, scores: np.ndarray, names: np.ndarray) -> list[int]:
    """Columns by falling score, equal ones by name; differences of rounding are none."""
    keys = zip(
        np.round(-scores.astype(float), 12).tolist(), names[columns].tolist(), columns.tolist()
    )
    return [column for _, _, column in sorted(keys)]
