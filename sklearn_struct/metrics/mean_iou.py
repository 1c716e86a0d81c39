"""Intersection over union of label images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)

__all__ = ["mean_iou_score"]


def mean_iou_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: ArrayLike | None = None,
    ignore_label: int | str | None = None,
    average: str | None = "macro",
) -> float | np.ndarray:
    """Mean intersection over union (Jaccard index) of the labels of pixels.

    For each label the pixels that have it both in truth and in prediction are divided by those that
    have it in one of both, over all images together. The score is the mean over labels. A label
    that occurs in neither does not count. Read more in :doc:`/user_guide/images`.

    Parameters
    ----------
    y_true, y_pred : list of arrays, or array of any shape
        True and predicted labels, integers or strings. Pixels that are masked in either do not
        count.
    labels : array-like, default=None
        The labels that count, and their order with ``average=None``. None: all that occur, sorted.
    ignore_label : int or str, default=None
        Pixels with this value in `y_true` do not count, such as 255.
    average : {"macro", None}, default="macro"
        "macro": the mean over labels. None: the value of each label, NaN where it occurs in
        neither.

    Returns
    -------
    score : float, or ndarray of shape (n_labels,)
        Between 0 and 1.

    Raises
    ------
    LengthMismatchError
        If the shapes of truth and prediction differ.
    EmptyDataError
        If there is no pixel to count.

    See Also
    --------
    sklearn_struct.GridCRF : Predicts such labels.
    token_accuracy_score : The share of right labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct.metrics import mean_iou_score
    >>> y_true = [np.array([[0, 0], [1, 1]])]
    >>> y_pred = [np.array([[0, 1], [1, 1]])]
    >>> print(f"{mean_iou_score(y_true, y_pred):.3f}")  # mean of 1/2 and 2/3
    0.583
    >>> mean_iou_score(y_true, y_pred, average=None).round(3).tolist()
    [0.5, 0.667]
    """
    if average not in ("macro", None):
        raise ValueError(f"average must be 'macro' or None, got {average!r}")
    true, pred = _pixels(y_true, y_pred, ignore_label)
    if not len(true):
        raise EmptyDataError("there is no pixel to count")
    occur, codes = np.unique(np.concatenate([true, pred]), return_inverse=True)
    n = len(occur)
    of_true, of_pred = np.split(codes.reshape(-1), 2)
    both = np.bincount(of_true[of_true == of_pred], minlength=n)
    either = np.bincount(of_true, minlength=n) + np.bincount(of_pred, minlength=n) - both
    iou = both / either
    if labels is not None:
        known = dict(zip(occur.tolist(), iou.tolist(), strict=True))
        wanted = np.asarray(labels).tolist()
        iou = np.array([known.get(label, np.nan) for label in wanted])
        if np.isnan(iou).all():
            raise UnknownLabelError(f"none of the labels {wanted[:20]} occurs")
    return float(np.nanmean(iou)) if average == "macro" else iou


def _pixels(y_true: Any, y_pred: Any, ignore_label: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels of all pixels that count."""
    pairs = _paired(y_true, y_pred)
    parts = []
    for place, true, pred in pairs:
        if true.shape != pred.shape:
            raise LengthMismatchError(
                f"y_true{place} has the shape {true.shape} but y_pred{place} has {pred.shape}"
            )
        counts = ~(np.ma.getmaskarray(true) | np.ma.getmaskarray(pred))
        true = np.ma.getdata(true)
        pred = np.ma.getdata(pred)
        if ignore_label is not None and (true.dtype.kind == "U") <= isinstance(ignore_label, str):
            counts &= np.asarray(true != ignore_label, dtype=bool)
        parts.append((true[counts], pred[counts]))
    both = [np.concatenate([np.ravel(part) for part in side]) for side in zip(*parts, strict=True)]
    if both and len({array.dtype.kind in "UO" for array in both}) > 1:
        raise InputTypeError(
            f"y_true has labels of dtype {both[0].dtype}, but y_pred of {both[1].dtype}"
        )
    return (both[0], both[1]) if both else (np.zeros(0), np.zeros(0))


def _paired(y_true: Any, y_pred: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Each true array and the predicted one, with their place in words."""
    whole = [isinstance(y, np.ndarray) and y.dtype != object for y in (y_true, y_pred)]
    if all(whole):
        return [("", y_true, y_pred)]
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        if not is_list(y):
            raise InputTypeError(f"{name} must be a list of arrays, got {type(y).__name__}")
    if len(y_true) != len(y_pred):
        raise LengthMismatchError(f"y_true has {len(y_true)} images but y_pred has {len(y_pred)}")
    pairs = enumerate(zip(y_true, y_pred, strict=True))
    return [(f"[{i}]", np.asanyarray(true), np.asanyarray(pred)) for i, (true, pred) in pairs]
