"""Parameters of models whose labels have hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.estimators.fitting.parameters import with_parameters

__all__ = ["RestartParameters", "StateParameters"]


@with_parameters
class RestartParameters:
    """Random starts.

    Parameters
    ----------
    init : {"labels", "random"}, default="labels"
        Where training begins, unless `fit` is given a model. "labels": at the weights that labels
        have if their states are alike, and random numbers, which tell states apart. "random": at
        random numbers alone.
    n_init : int, default=1
        How many starts are tried, with other random numbers; the lowest objective wins.
    random_state : int, RandomState or None, default=None
        For random starts, and for the order in which "sgd" visits the sequences.
    """

    init: str = "labels"
    n_init: int = 1
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [StrOptions({"labels", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }


@with_parameters
class StateParameters:
    """The states of labels.

    Parameters
    ----------
    n_states : int or dict of {label: int}, default=2
        How many hidden states each label has of its own; 1 for labels that a dict has not, 0 for
        labels that have shared states alone.
    shared_states : dict of {tuple of labels: int}, default=None
        How many further states several labels share. Such a state has the same weights of features
        whatever the label, while intercept and transitions are those of label and state.
    state_transitions : {"all", "left-to-right", "stay"} or dict, default="all"
        Which states may follow each other while the label stays the same. "left-to-right": a label
        begins in its first state, and a state is followed by itself or the next one. "stay": by
        itself. A dict has a matrix of booleans for a label: which state (column) may follow which
        (row); labels that it has not may do all.
    """

    n_states: Any = 2
    shared_states: Mapping[Any, int] | None = None
    state_transitions: Any = "all"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_states": [Interval(Integral, 1, None, closed="left"), Mapping],
        "shared_states": [Mapping, None],
        "state_transitions": [StrOptions({"all", "left-to-right", "stay"}), Mapping],
    }
