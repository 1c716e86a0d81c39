"""What chains have in common that are trained by other losses than the likelihood, on the same features."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.encoding.transitions import SCHEMES
from sklearn_struct.estimators.online import BaseOnlineChain

__all__ = ["BaseSurrogate"]


class BaseSurrogate(BaseOnlineChain):
    """The parameters that they share; each has one or two of its own."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions({"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "sag", "sgd"})],
        "feature_pairs": [StrOptions({"observed", "all"})],
        "transition_features": [StrOptions({"observed", "all"})],
        "edge_features": [None, str, Iterable],
        "allowed_transitions": [None, StrOptions(set(SCHEMES)), dict, "array-like"],
        "constrain_training": ["boolean"],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
