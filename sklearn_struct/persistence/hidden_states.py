"""Chains of hidden states in a file: the chain, the label of each state, who may follow whom; and
classifiers of whole sequences by such states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding.labels.label_states import LabelStates
from sklearn_struct.estimators.hidden_states.base_latent_chain import BaseLatentChain
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays, Json, fields

__all__ = ["put_latent", "read_classes", "read_latent"]


def put_latent(
    chain: BaseLatentChain | BaseClassPredictions, where: str, shared: Shared
) -> dict[str, Any]:
    arrays = shared.arrays
    has = vars(chain)
    states = has["_states"]
    steps = has["_steps"]
    arrays[where + "label of state"] = np.asarray(states.label, np.int64)
    arrays[where + "group of state"] = np.asarray(states.group, np.int64)
    if steps is not None:
        arrays[where + "first states"] = np.asarray(steps.start, bool)
        arrays[where + "steps"] = np.asarray(steps.pairs, bool)
    return {"chain": put_chain(chain, where, shared), "steps": steps is not None}


def read_latent(chain: Any, stored: Json, where: str, shared: Shared) -> None:
    of_chain, has_steps = fields(stored, "the model", chain=dict, steps=bool)
    label = shared.arrays.take(where + "label of state", np.int64)
    group = shared.arrays.take(where + "group of state", np.int64)
    if not len(label) or label[0] != 0 or not np.all(np.isin(np.diff(label), (0, 1))):
        raise ModelFileError("labels of states must be the numbers from 0 on, in order")
    if len(group) != len(label) or np.any(group < 0):
        raise ModelFileError("each state must have a group")
    vars(chain)["_states"] = LabelStates(label, group)
    vars(chain)["_steps"] = _steps(shared.arrays, where, len(label)) if has_steps else None
    read_chain(chain, of_chain, where, shared)
    if label[-1] + 1 != len(chain.classes_):
        raise ModelFileError("each label must have a state, and each state a label")


def read_classes(classifier: Any, stored: Json, where: str, shared: Shared) -> None:
    read_latent(classifier, stored, where, shared)
    pattern = vars(classifier)["_pattern"]
    if len(np.unique(vars(classifier)["_states"].counts)) > 1:
        raise ModelFileError("all classes must have as many states")
    if len(pattern.edge_columns):
        raise ModelFileError("moves between states of classes have no features")


def _steps(arrays: Arrays, where: str, n: int) -> Transitions:
    start = arrays.take(where + "first states", np.bool_)
    pairs = arrays.take(where + "steps", np.bool_, 2)
    if start.shape != (n,) or pairs.shape != (n, n):
        raise ModelFileError(f"the steps of {n} states have another size")
    return Transitions(start, pairs, np.ones(n, dtype=bool))
