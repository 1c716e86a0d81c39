"""Precision, recall and F1 of spans, and scorers for model selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.typing import Sequences
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.metrics.spans import check_scheme, paired, spans_at, warn_of_plain

__all__ = [
    "SpanCounts",
    "average_scores",
    "check_averaging",
    "count_spans",
    "counts_of",
    "span_f1_score",
    "span_precision_recall_fscore_support",
    "span_precision_score",
    "span_recall_score",
]

_AVERAGES = ("micro", "macro", "weighted", None)


def span_precision_recall_fscore_support(
    y_true: Sequences,
    y_pred: Sequences,
    *,
    scheme: str | None = None,
    average: str | None = "micro",
    labels: Sequence[str] | None = None,
    zero_division: float = 0.0,
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F1 and support of spans: a span is right if type, start and stop are.

    With ``scheme=None`` and ``average="micro"`` these are the figures of the CoNLL shared tasks'
    conlleval.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, strings such as ``B-NP``.
    scheme : {"IO", "IOB1", "IOB2", "IOBES"}, default=None
        How spans are read, see `extract_spans`. None is conlleval's lenient reading. In this
        reading, labels without a letter and a hyphen (``RENT``) mark no spans, with a warning; for
        such labels set "IO".
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro" counts all spans alike, "macro" is the mean over types, "weighted" the mean weighted
        by support, None gives the scores of each type.
    labels : list of str, default=None
        The types to count, in this order. None counts all that occur in `y_true` or `y_pred`,
        sorted.
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The value of a score whose denominator is 0. Means leave out NaN.

    Returns
    -------
    precision, recall, f1 : float, or ndarray of shape (n_types,) if `average` is None
        The scores.
    support : None, or ndarray of shape (n_types,) if `average` is None
        Number of true spans.

    Raises
    ------
    ValueError
        If a parameter is not among its choices or a label does not belong to the scheme.
    LengthMismatchError
        If the lengths of `y_true` and `y_pred` differ, or those of two sequences.
    InputTypeError
        If something is not a sequence, or a label is not a string.

    Warns
    -----
    UserWarning
        If there is no `scheme` and labels do not begin with a letter and a hyphen.

    See Also
    --------
    span_f1_score : F1 alone.
    span_classification_report : The same as a table.
    extract_spans : The spans of one sequence.
    token_accuracy_score : Counts single labels.

    Examples
    --------
    >>> from sklearn_struct.metrics import span_precision_recall_fscore_support
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "B-PER"]]
    >>> span_precision_recall_fscore_support(y_true, y_pred)
    (0.5, 0.5, 0.5, None)
    >>> scores = span_precision_recall_fscore_support(y_true, y_pred, average=None)
    >>> scores[0], scores[1], scores[3]
    (array([0. , 0.5]), array([0., 1.]), array([1, 1]))
    """
    check_averaging(average, zero_division)
    return average_scores(count_spans(y_true, y_pred, scheme, labels), average, zero_division)


def span_precision_score(
    y_true: Sequences,
    y_pred: Sequences,
    *,
    scheme: str | None = None,
    average: str | None = "micro",
    labels: Sequence[str] | None = None,
    zero_division: float = 0.0,
) -> Any:
    """Precision of spans: how many of the predicted spans are true spans.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, strings such as ``B-NP``.
    scheme, average, labels, zero_division
        As in `span_precision_recall_fscore_support`.

    Returns
    -------
    precision : float, or ndarray of shape (n_types,) if `average` is None
        The score.

    See Also
    --------
    span_recall_score : Recall alone.
    span_f1_score : F1 alone.
    span_precision_recall_fscore_support : All scores at once.
    span_classification_report : All scores as a table.

    Examples
    --------
    >>> from sklearn_struct.metrics import span_precision_score
    >>> span_precision_score([["B-PER", "O", "O"]], [["B-PER", "O", "B-PER"]])
    0.5
    """
    options: dict[str, Any] = {
        "scheme": scheme,
        "average": average,
        "labels": labels,
        "zero_division": zero_division,
    }
    return span_precision_recall_fscore_support(y_true, y_pred, **options)[0]


def span_recall_score(
    y_true: Sequences,
    y_pred: Sequences,
    *,
    scheme: str | None = None,
    average: str | None = "micro",
    labels: Sequence[str] | None = None,
    zero_division: float = 0.0,
) -> Any:
    """Recall of spans: how many of the true spans are predicted.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, strings such as ``B-NP``.
    scheme, average, labels, zero_division
        As in `span_precision_recall_fscore_support`.

    Returns
    -------
    recall : float, or ndarray of shape (n_types,) if `average` is None
        The score.

    See Also
    --------
    span_precision_score : Precision alone.
    span_f1_score : F1 alone.
    span_precision_recall_fscore_support : All scores at once.
    span_classification_report : All scores as a table.

    Examples
    --------
    >>> from sklearn_struct.metrics import span_recall_score
    >>> span_recall_score([["B-PER", "O", "B-PER"]], [["B-PER", "O", "O"]])
    0.5
    """
    options: dict[str, Any] = {
        "scheme": scheme,
        "average": average,
        "labels": labels,
        "zero_division": zero_division,
    }
    return span_precision_recall_fscore_support(y_true, y_pred, **options)[1]


def span_f1_score(
    y_true: Sequences,
    y_pred: Sequences,
    *,
    scheme: str | None = None,
    average: str | None = "micro",
    labels: Sequence[str] | None = None,
    zero_division: float = 0.0,
) -> Any:
    """F1 of spans, the harmonic mean of precision and recall.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, strings such as ``B-NP``.
    scheme, average, labels, zero_division
        As in `span_precision_recall_fscore_support`.

    Returns
    -------
    f1 : float, or ndarray of shape (n_types,) if `average` is None
        The score.

    See Also
    --------
    span_precision_score : Precision alone.
    span_recall_score : Recall alone.
    span_precision_recall_fscore_support : All scores at once.
    span_classification_report : All scores as a table.

    Examples
    --------
    >>> from sklearn_struct.metrics import span_f1_score
    >>> span_f1_score([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]])
    0.5
    """
    options: dict[str, Any] = {
        "scheme": scheme,
        "average": average,
        "labels": labels,
        "zero_division": zero_division,
    }
    return span_precision_recall_fscore_support(y_true, y_pred, **options)[2]


class SpanCounts(NamedTuple):
    """Numbers of spans of each type: those that are predicted and true, all predicted, all true."""

    types: list[str]
    hits: np.ndarray
    pred: np.ndarray
    true: np.ndarray


def check_averaging(average: str | None, zero_division: float) -> None:
    """Raise ValueError unless both parameters are among their choices."""
    if average not in _AVERAGES:
        raise ValueError(
            f"average must be one of {', '.join(map(repr, _AVERAGES))}, got {average!r}"
        )
    if zero_division not in (0, 1) and zero_division == zero_division:  # NaN differs from itself
        raise ValueError(f"zero_division must be 0.0, 1.0 or np.nan, got {zero_division!r}")


def count_spans(
    y_true: Sequences, y_pred: Sequences, scheme: str | None, labels: Sequence[str] | None
) -> SpanCounts:
    """Count the spans of both sides; `labels` chooses the types."""
    check_scheme(scheme)
    counters: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    pairs = paired(y_true, y_pred)
    for i, (true, pred) in enumerate(pairs):
        true_spans = set(spans_at(f"y_true[{i}]", true, scheme))
        pred_spans = set(spans_at(f"y_pred[{i}]", pred, scheme))
        for counter, spans in zip(counters, (true_spans & pred_spans, pred_spans, true_spans)):
            counter.update(kind for kind, _, _ in spans)
    warn_of_plain({label for pair in pairs for side in pair for label in side}, scheme)
    return counts_of(counters, labels)


def counts_of(counters: Sequence[Counter[str]], labels: Sequence[str] | None) -> SpanCounts:
    """Counts of hits, predicted and true spans by type; `labels` chooses the types."""
    if isinstance(labels, str):
        raise InputTypeError(f"labels is the string {labels!r}, expected a list of span types")
    # types that are only predicted count, too: their precision is 0
    types = sorted(counters[1].keys() | counters[2].keys()) if labels is None else list(labels)
    return SpanCounts(
        types,
        *(np.array([counter[kind] for kind in types], dtype=np.int64) for counter in counters),
    )


def average_scores(
    counts: SpanCounts, average: str | None, zero_division: float
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F1 and support, averaged or of each type."""
    hits = counts.hits
    pred = counts.pred
    true = counts.true
    if average == "micro":
        hits, pred, true = (column.sum(keepdims=True) for column in (hits, pred, true))
    # F1 from counts, as it has a value where precision or recall has none
    pairs = ((hits, pred), (hits, true), (2 * hits, pred + true))
    scores = [
        # no warning for a division whose result is not used
        np.where(below > 0, above / np.maximum(below, 1), zero_division)
        for above, below in pairs
    ]
    if average is None:
        return scores[0], scores[1], scores[2], true
    weights = true if average == "weighted" else np.ones_like(true)
    means = [_mean(score, weights, zero_division) for score in scores]
    return means[0], means[1], means[2], None


def _mean(values: np.ndarray, weights: np.ndarray, empty: float) -> float:
    """Mean without NaNs. If all weights are 0, all types count alike, as in scikit-learn."""
    if len(values) == 0:
        return float(empty)
    kept = ~np.isnan(values)
    if not kept.any():
        return float("nan")
    values = values[kept]
    weights = weights[kept]
    # support may be 0 for all types, with predicted spans alone
    return float(np.average(values, weights=weights if weights.any() else None))
