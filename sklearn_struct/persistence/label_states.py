"""Hidden states of labels in a file: the label of each, and which share their weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding.labels.label_states import LabelStates
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.plain_values import Arrays

__all__ = ["check_states", "put_states", "take_states"]


def put_states(model: Any, where: str, arrays: Arrays) -> dict[str, Any]:
    """The states of a model's labels, and a field that says so; nothing where there are none."""
    states = vars(model).get("_states")
    if states is None:
        return {}
    arrays[where + "label of state"] = np.asarray(states.label, np.int64)
    arrays[where + "group of state"] = np.asarray(states.group, np.int64)
    return {"states": True}


def take_states(where: str, arrays: Arrays) -> LabelStates:
    """The states that `put_states` has written."""
    label = arrays.take(where + "label of state", np.int64)
    group = arrays.take(where + "group of state", np.int64)
    if not len(label) or label[0] != 0 or not np.all(np.isin(np.diff(label), (0, 1))):
        raise ModelFileError("labels of states must be the numbers from 0 on, in order")
    if len(group) != len(label) or np.any(group < 0):
        raise ModelFileError("each state must have a group")
    return LabelStates(label, group)


def check_states(model: Any) -> None:
    """Raise unless each label of a model that has been read has a state, if it has states."""
    states = vars(model).get("_states")
    if states is not None and states.label[-1] + 1 != len(model.classes_):
        raise ModelFileError("each label must have a state, and each state a label")
