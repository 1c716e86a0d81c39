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
        Where training begins, unless `fit` gets `init`. "labels": at the weights of a model
        without states, plus random numbers, which make the states of a label differ. "random": at
        random numbers alone.
    n_init : int, default=1
        How many starts are tried, each with its own random numbers. The fit with the lowest
        objective is kept.
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
        How many hidden states each label has of its own. Labels that are not in a dict have 1. A
        label may have 0 if it has shared states.
    shared_states : dict of {tuple of labels: int}, default=None
        How many further states several labels share, such as ``{("A", "B"): 1}``. A shared state
        has the same weights of features under each of its labels. Its intercept and its transitions
        differ from label to label.
    state_transitions : {"all", "left-to-right", "stay"} or dict, default="all"
        Which states may follow each other while the label stays the same. "left-to-right": a label
        begins in its first state, and a state is followed by itself or by the next one. "stay": a
        state is followed by itself. A dict gives a label a matrix of booleans: which state (column)
        may follow which (row). A label that is not in the dict may use all transitions.
    """

    n_states: Any = 2
    shared_states: Mapping[Any, int] | None = None
    state_transitions: Any = "all"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_states": [Interval(Integral, 1, None, closed="left"), Mapping],
        "shared_states": [Mapping, None],
        "state_transitions": [StrOptions({"all", "left-to-right", "stay"}), Mapping],
    }
