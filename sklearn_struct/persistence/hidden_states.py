"""Chains of hidden states in a file: the chain, the label of each state, who may follow whom; and
classifiers of whole sequences by such states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.estimators.hidden_states.base_latent_chain import BaseLatentChain
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.label_states import check_states, put_states, take_states
from sklearn_struct.persistence.plain_values import Arrays, Json, fields

__all__ = ["put_latent", "read_classes", "read_latent"]


def put_latent(
    chain: BaseLatentChain | BaseClassPredictions, where: str, shared: Shared
) -> dict[str, Any]:
    arrays = shared.arrays
    has = vars(chain)
    steps = has["_steps"]
    put_states(chain, where, arrays)
    if steps is not None:
        arrays[where + "first states"] = np.asarray(steps.start, bool)
        arrays[where + "steps"] = np.asarray(steps.pairs, bool)
    return {"chain": put_chain(chain, where, shared), "steps": steps is not None}


def read_latent(chain: Any, stored: Json, where: str, shared: Shared) -> None:
    of_chain, has_steps = fields(stored, "the model", chain=dict, steps=bool)
    states = take_states(where, shared.arrays)
    n = len(states.label)
    vars(chain)["_states"] = states
    vars(chain)["_steps"] = _steps(shared.arrays, where, n) if has_steps else None
    read_chain(chain, of_chain, where, shared)
    check_states(chain)


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
