"""The weights of a fitted chain as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from sklearn_struct.containers.typing import Label
from sklearn_struct.inspection.fitted_model import is_of_graphs, linear_model_of, names_of_rows
from sklearn_struct.inspection.largest_weights import SIGNS, top_weights
from sklearn_struct.inspection.optional_imports import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["feature_weights", "transition_weights"]

CHOICE = {
    "n": [None, Interval(Integral, 1, None, closed="left")],
    "labels": [None, "array-like"],
    "sign": [StrOptions(set(SIGNS))],
}


@validate_params({**CHOICE, "transitions": ["boolean"]}, prefer_skip_nested_validation=True)
def feature_weights(
    estimator: BaseEstimator,
    n: int | None = 10,
    *,
    labels: Sequence[Label] | None = None,
    sign: str = "both",
    transitions: bool = False,
) -> DataFrame:
    """The features of the largest weights of each label, as a data frame.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    estimator : fitted chain estimator, or GraphCRF
        Also a pipeline or a search that ends in one.
    n : int or None, default=10
        Number of features for each label; None: all of them. Weights of 0 are left out.
    labels : array-like, default=None
        Only these labels, in this order.
    sign : {"both", "positive", "negative"}, default="both"
        Which weights are listed. "both": the largest by absolute value. "positive": those for the
        label. "negative": those against it.
    transitions : bool, default=False
        Whether to list the weights of edge features (``edge_coef_``) for each pair of labels,
        instead of those of features for each label.

    Returns
    -------
    pandas.DataFrame
        Columns ``label``, ``feature`` and ``weight``; with ``transitions=True`` also ``previous``,
        the label of the token before (of graphs: that of an edge's first node). The features of a
        label are sorted by falling weight.
        Features without names are ``x0``, ``x1``, ..., those of edges of graphs ``z0``, ``z1``, ...

    Raises
    ------
    ImportError
        If pandas is not installed.
    UnknownLabelError
        If one of `labels` was not seen in `fit`.

    See Also
    --------
    FeatureWeightsDisplay : The same as a picture.
    transition_weights : Weights of transitions.
    explain : Why one labelling has its score.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import feature_weights
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> feature_weights(crf, n=1).round(1)
      label feature  weight
    0   DET     the     1.1
    1  NOUN     dog     1.0
    2  VERB  sleeps     1.1
    """
    pd = pandas("feature_weights")
    tops = list(
        top_weights(
            linear_model_of(estimator), n, labels=labels, sign=sign, transitions=transitions
        )
    )
    counts = [len(top.weights) for top in tops]
    names = ["previous", "label"] if transitions else ["label"]
    frame = {
        name: pd.Series(_repeated([getattr(top, name) for top in tops], counts)) for name in names
    }
    frame["feature"] = np.concatenate([np.empty(0, dtype=object), *(top.features for top in tops)])
    frame["weight"] = np.concatenate([np.empty(0), *(top.weights for top in tops)])
    return pd.DataFrame(frame)


def _repeated(labels: list[Any], counts: list[int]) -> list[Any]:
    return [label for label, count in zip(labels, counts, strict=True) for _ in range(count)]


def transition_weights(estimator: BaseEstimator) -> DataFrame:
    """The weights of transitions as a data frame.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    estimator : fitted chain estimator, or GraphCRF
        Also a pipeline or a search that ends in one.

    Returns
    -------
    pandas.DataFrame
        ``transition_`` with labels on both axes: a row for the label of a token, a column for that
        of the next. Of graphs: rows for the first nodes of edges, columns for the second ones.

    Raises
    ------
    ImportError
        If pandas is not installed.

    See Also
    --------
    TransitionDisplay : The same as a picture.
    feature_weights : Weights of features.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import transition_weights
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> transition_weights(crf).round(1)
    next   DET  NOUN  VERB
    label
    DET   -0.6   2.1  -0.5
    NOUN  -0.7  -0.6   2.1
    VERB  -0.5  -0.7  -0.6
    """
    pd = pandas("transition_weights")
    model = linear_model_of(estimator)
    labels = names_of_rows(model).tolist()
    rows, columns = ("first", "second") if is_of_graphs(model) else ("label", "next")
    # pandas would make levels of labels that are tuples
    return pd.DataFrame(
        model.transition_,
        index=pd.Index(labels, name=rows, tupleize_cols=False),
        columns=pd.Index(labels, name=columns, tupleize_cols=False),
    )
