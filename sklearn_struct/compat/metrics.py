"""The metrics of sklearn-crfsuite: those of scikit-learn, on the labels of all sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from sklearn_struct.containers.typing import Sequences
from sklearn_struct.metrics.accuracy import sequence_accuracy_score
from sklearn_struct.metrics.spans import paired

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]


def flat_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """Fraction of tokens with the right label.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    y_true, y_pred : list or object array of label sequences

    Returns
    -------
    float

    Raises
    ------
    LengthMismatchError
        If the numbers of sequences or of labels differ; as in all metrics here.

    See Also
    --------
    sklearn_struct.metrics.token_accuracy_score : The same, with weights of sequences.

    Examples
    --------
    >>> from sklearn_struct.compat import metrics
    >>> metrics.flat_accuracy_score([["O", "B"], ["O"]], [["O", "B"], ["B"]])
    0.666...
    """
    return float(_flat("accuracy_score", y_true, y_pred))


def flat_precision_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """Precision of tokens.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    y_true, y_pred : list or object array of label sequences
    **kwargs
        As for `sklearn.metrics.precision_score`: ``average``, ``labels`` and so on.

    Returns
    -------
    float or ndarray

    See Also
    --------
    sklearn.metrics.precision_score : What it calls.
    sklearn_struct.metrics.span_precision_score : Precision of spans.

    Examples
    --------
    >>> from sklearn_struct.compat import metrics
    >>> y_true, y_pred = [["O", "B"], ["O"]], [["O", "B"], ["B"]]
    >>> metrics.flat_precision_score(y_true, y_pred, average="macro")
    0.75
    """
    return _flat("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """Recall of tokens.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    y_true, y_pred : list or object array of label sequences
    **kwargs
        As for `sklearn.metrics.recall_score`: ``average``, ``labels`` and so on.

    Returns
    -------
    float or ndarray

    See Also
    --------
    sklearn.metrics.recall_score : What it calls.
    sklearn_struct.metrics.span_recall_score : Recall of spans.

    Examples
    --------
    >>> from sklearn_struct.compat import metrics
    >>> metrics.flat_recall_score([["O", "B"], ["O"]], [["O", "B"], ["B"]], average="macro")
    0.75
    """
    return _flat("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """F1 of tokens.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    y_true, y_pred : list or object array of label sequences
    **kwargs
        As for `sklearn.metrics.f1_score`: ``average``, ``labels`` and so on.

    Returns
    -------
    float or ndarray

    See Also
    --------
    sklearn.metrics.f1_score : What it calls.
    sklearn_struct.metrics.span_f1_score : F1 of spans.

    Examples
    --------
    >>> from sklearn_struct.compat import metrics
    >>> metrics.flat_f1_score([["O", "B"], ["O"]], [["O", "B"], ["B"]], average="micro")
    0.666...
    """
    return _flat("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Sequences, y_pred: Sequences, beta: float, **kwargs: Any) -> Any:
    """F-beta of tokens.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    y_true, y_pred : list or object array of label sequences
    beta : float
        Weight of recall.
    **kwargs
        As for `sklearn.metrics.fbeta_score`: ``average``, ``labels`` and so on.

    Returns
    -------
    float or ndarray

    See Also
    --------
    sklearn.metrics.fbeta_score : What it calls.
    flat_f1_score : The same with ``beta=1``.

    Examples
    --------
    >>> from sklearn_struct.compat import metrics
    >>> y_true, y_pred = [["O", "B"], ["O"]], [["O", "B"], ["B"]]
    >>> metrics.flat_fbeta_score(y_true, y_pred, beta=2, average="weighted")
    0.648...
    """
    return _flat("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(
    y_true: Sequences, y_pred: Sequences, labels: ArrayLike | None = None, **kwargs: Any
) -> Any:
    """Table of the scores of each label.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    y_true, y_pred : list or object array of label sequences
    labels : array-like, default=None
        Only these, in this order.
    **kwargs
        As for `sklearn.metrics.classification_report`: ``digits``, ``output_dict`` and so on.

    Returns
    -------
    str or dict

    See Also
    --------
    sklearn.metrics.classification_report : What it calls.
    sklearn_struct.metrics.span_classification_report : Scores of spans.

    Examples
    --------
    >>> from sklearn_struct.compat import metrics
    >>> y_true, y_pred = [["O", "B"], ["O"]], [["O", "B"], ["B"]]
    >>> print(metrics.flat_classification_report(y_true, y_pred, labels=["B"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
               B       0.50      1.00      0.67         1
    ...
    """
    return _flat("classification_report", y_true, y_pred, labels=labels, **kwargs)


def _flat(name: str, y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    from sklearn import metrics  # here, since it takes a while

    pairs = paired(y_true, y_pred)
    true, pred = ([label for pair in pairs for label in pair[side]] for side in (0, 1))
    score: Callable[..., Any] = getattr(metrics, name)
    return score(true, pred, **kwargs)
