"""Hidden Markov models whose labels have states to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.csr import CSR
from sklearn_struct.encoding.trees.labels_as_trees import LabelCodes, rules_of
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.grammars.parsing import Plain, TreeModel, one_state
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import (
    fields,
    labels,
    natural,
    optional,
    put_labels,
    put_optional,
    take_optional,
)
from sklearn_struct.persistence.trees import lexicon, put_lexicon, put_states, states

__all__ = ["put_spectral_hmm", "spectral_hmm"]


def put_spectral_hmm(hmm: Any, where: str, shared: Shared) -> dict[str, Any]:
    arrays = shared.arrays
    (_, words, rule) = hmm._codes
    put_lexicon(words, where, arrays)
    first, second = np.nonzero(rule >= 0)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=len(rule)))])
    checks.put_pairs(arrays, where + "moves", CSR(indptr, second, np.empty(0)))
    for name, table in hmm._model.plain._asdict().items():
        arrays[f"{where}log_p/{name}"] = np.asarray(table, np.float64)
    put_states(hmm._model, where, arrays)
    arrays[where + "frequency"] = np.asarray(hmm._frequency, np.float64)
    arrays[where + "singular_values"] = np.ascontiguousarray(hmm.singular_values_)
    return {
        "labels": put_labels(arrays, where + "labels", hmm.classes_),
        "n_negative": int(hmm.n_negative_),
        **put_optional(hmm, "rows_in"),
    }


def spectral_hmm(hmm: Any, stored: Any, where: str, shared: Shared) -> None:
    kinds = {"labels": (str, list), "n_negative": int, **optional(stored, rows_in=bool)}
    _, n_negative, *_ = fields(stored, "the model", **kinds)
    take_optional(hmm, stored, "rows_in")
    hmm.n_features_in_ = 1
    arrays = shared.arrays
    hmm.classes_ = labels(arrays, where + "labels", stored["labels"])
    hmm.n_negative_ = natural(n_negative, "n_negative")
    K = len(hmm.classes_)
    words = lexicon(arrays, where, K)
    indptr, second, _ = checks.pairs(arrays, where + "moves", K, K + 1)
    rules, table = rules_of(np.repeat(np.arange(K), np.diff(indptr)), second.astype(np.int64), K)
    hmm._codes = LabelCodes(rules, words, table)
    symbol = np.append(words.symbol, K).astype(np.int32)
    sizes = {"rule": len(second), "root": 2 * K + 1, "leaf": len(symbol)}
    tables = (
        checks.log_probabilities(arrays, f"{where}log_p/{name}", (sizes[name],))
        for name in Plain._fields
    )
    hmm._model = states(TreeModel(rules, symbol, Plain(*tables)), 1, where, arrays)
    hmm._plain_states = one_state(hmm._model)
    hmm.n_states_ = hmm._model.states[0].n_states[K + 1 :].astype(int)
    hmm._frequency = checks.weights(arrays, where + "frequency", K)
    if np.any(hmm._frequency < 0) or abs(hmm._frequency.sum() - 1) > 1e-6:
        raise ModelFileError(f"{where}frequency must be probabilities of labels")
    hmm.singular_values_ = arrays.take(where + "singular_values", np.float64, 2)
    if len(hmm.singular_values_) != K:
        raise ModelFileError(f"{where}singular_values: not a row for each label")
