"""Parameters and learned attributes that chains share, documented for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, Options, StrOptions

from sklearn_struct.encoding.features.column_choice import Features
from sklearn_struct.encoding.labels.allowed_transitions import SCHEMES
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    PenaltyParameters,
    RandomParameters,
    ThreadParameters,
)

__all__ = ["ChainParameters", "InferenceParameters"]


@with_parameters
class ChainParameters(PenaltyParameters, IterationParameters, RandomParameters, ThreadParameters):
    """What every chain has.

    Parameters
    ----------
    order : {1, 2}, default=1
        The order of the Markov chain: a label depends on one label before it, or on two. At order 2
        the score also has sum_t transition2[y_{t-2}, y_{t-1}, y_t]. Inference is exact; a token
        costs n_labels**3 operations instead of n_labels**2.
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, label) get a weight. "observed": those that occur together in the
        training data. "all": all pairs. With a dense X, which stores its zeros, both are the same.
    transition_features : {"all", "observed"}, default="all"
        Which transitions get a weight; at order 2 also which three labels in a row. The others
        keep weight 0; they are not forbidden.
    edge_features : None, "all", str, re.Pattern, or iterable of str, re.Pattern and int, \
            default=None
        Features of X that also score the transition into their token. Each gets a weight for each
        pair of labels; at order 2 also for each three labels in a row. Name them by column number,
        by name, or by a compiled pattern that matches whole names, such as ``re.compile("B.*")``.
        "all" is every feature.
    allowed_transitions : None, {"BIO", "IOB1", "BIOES"}, array-like of shape \
            (n_labels, n_labels) or dict, default=None
        Which labels may follow each other. In predictions a forbidden labelling has probability 0.
        The name of a scheme of spans also says what may come first and last ("IOB2" is "BIO",
        "IOBES" is "BIOES"). A matrix of booleans, in the order of ``classes_``, says which label
        (column) may follow which (row). A dict ``{label: [labels]}`` lists what is *forbidden*
        after each label, such as ``{"O": ["I-PER"]}``. Its key None lists what may not come first;
        None in the list of a label forbids that a sequence ends with this label.
    min_frequency : int, default=1
        Pairs (feature, label) and observed transitions that are seen fewer times get no weight. A
        sequence, or a token, of sample weight 2 counts twice. No effect on a dense X.
    fit_intercept : bool, default=True
        Give each label an unpenalised weight of its own.
    solver : str, default="auto"
        What minimises the objective.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by label and feature.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    coef_ : ndarray or csr_array of shape (n_labels, n_features)
        Feature weights; sparse if X is. All tables of weights are made when you ask for them, and
        are read-only: to start a fit from other weights, give it a fitted model as `init`.
    transition_ : ndarray of shape (n_labels, n_labels)
        Transition weights, from row label to column label.
    transition2_ : ndarray of shape (n_labels, n_labels, n_labels)
        Weights of three labels in a row, in their order; only with ``order=2``.
    intercept_ : ndarray of shape (n_labels,)
    edge_coef_ : ndarray or csr_array of shape (n_labels * n_labels, n_edge_features)
        Weights of the edge features; row j * n_labels + k for the transition from j to k. With
        ``order=2`` n_labels**3 rows follow. Among these, row (i * n_labels + j) * n_labels + k is
        for the labels i, j, k in a row.
    edge_features_ : ndarray of int
        Columns of X that also score transitions.
    n_iter_ : int
        Iterations of `fit`.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the features, if X has them.
    """

    order: int = 1
    feature_pairs: str = "observed"
    transition_features: str = "all"
    edge_features: Features | None = None
    allowed_transitions: Any = None
    min_frequency: int = 1
    fit_intercept: bool = True
    solver: str = "auto"
    warm_start: bool = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "order": [Options(Integral, {1, 2})],
        "feature_pairs": [StrOptions({"observed", "all"})],
        "transition_features": [StrOptions({"observed", "all"})],
        "edge_features": [None, str, re.Pattern, Iterable],
        "allowed_transitions": [None, StrOptions(set(SCHEMES)), dict, "array-like"],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
    }


@with_parameters
class InferenceParameters:
    """Parameters of chains that are trained by inference on their own features.

    Parameters
    ----------
    constrain_training : bool, default=False
        Whether training, too, leaves out the labellings that `allowed_transitions` forbids. Each y
        must then be allowed.
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials. Sums, weights and gradients are always
        float64.
    tol : float, default=1e-4
        Training stops when no entry of the objective's gradient, divided by C and the total sample
        weight, exceeds `tol`. With float32 a gradient has rounding errors, of about 1e-7 times the
        scores and values of features. A smaller `tol` is not reached; a warning then says how large
        the errors are.

    Attributes
    ----------
    vectorizer_ : SequenceVectorizer
        Encodes dicts and strings; only if X holds such.
    """

    constrain_training: bool = False
    dtype: str = "float64"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "constrain_training": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
    }
