"""Searches over penalties to JSON and arrays, and back: what was chosen follows from the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.estimators.chains.linear_chain_crf_cv import LinearChainCRFCV
from sklearn_struct.estimators.chains.penalty_path import Grid, best
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Json, fields

__all__ = ["put_chosen", "read_chosen"]


def put_chosen(chain: LinearChainCRFCV, where: str, shared: Shared) -> dict[str, Any]:
    arrays = shared.arrays
    arrays[where + "Cs"] = np.asarray(chain.Cs_, np.float64)
    arrays[where + "l1_ratios"] = np.asarray(chain.l1_ratios_, np.float64)
    arrays[where + "scores"] = np.asarray(chain.scores_, np.float64).ravel()
    arrays[where + "path_iterations"] = np.asarray(chain.path_iterations_, np.int64).ravel()
    return {"chain": put_chain(chain, where, shared)}


def read_chosen(chain: LinearChainCRFCV, stored: Json, where: str, shared: Shared) -> None:
    (of_chain,) = fields(stored, "the model", chain=dict)
    read_chain(chain, of_chain, where, shared)
    arrays = shared.arrays
    Cs = arrays.take(where + "Cs", np.float64)
    ratios = arrays.take(where + "l1_ratios", np.float64)
    scores = arrays.take(where + "scores", np.float64)
    iterations = arrays.take(where + "path_iterations", np.int64)
    if not (len(Cs) and len(ratios) and np.all(Cs > 0) and np.all((ratios >= 0) & (ratios <= 1))):
        raise ModelFileError("a search has positive Cs, and l1_ratios in [0, 1]")
    n_penalties = len(Cs) * len(ratios)
    if not len(scores) or len(scores) % n_penalties or len(scores) != len(iterations):
        raise ModelFileError("each penalty has one score and one number of iterations in each fold")
    if not np.all(np.isfinite(scores)) or not np.all(iterations >= 0):
        raise ModelFileError("scores must be finite, and no numbers of iterations negative")
    shape = -1, len(ratios), len(Cs)
    chain.scores_ = scores.reshape(shape)
    chain.path_iterations_ = iterations.reshape(shape)
    chain.Cs_ = Cs
    chain.l1_ratios_ = ratios
    r, c = best(chain.scores_, Grid(Cs, ratios))
    chain.C_ = float(Cs[c])
    chain.l1_ratio_ = float(ratios[r])
