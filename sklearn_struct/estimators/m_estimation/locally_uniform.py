"""The base that knows nothing but what may follow what (Smith, Vail & Lafferty 2007, eq. 14)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding.sequences import as_list, form
from sklearn_struct.estimators.hidden_markov.hmm import HMM
from sklearn_struct.hidden_markov.densities import log_ratios

__all__ = ["locally_uniform", "one_label", "with_uniform_choices"]


def locally_uniform(X: Any, y: Any, sample_weight: Any) -> HMM:
    """A hidden Markov model in which all that was seen to follow a label, the end included, is
    equally probable.

    Labels emit the same: values as often as they are in X, whatever their label.
    """
    hmm = HMM().fit(X, y, sample_weight)
    everything = HMM().fit(X, one_label(X, y), sample_weight)
    return with_uniform_choices(hmm, everything)


def one_label(X: Any, y: Any) -> list[Any]:
    """Labels that are all the same: with them, all tokens emit alike."""
    return [0] * len(X) if form(X) == "flat" else [[0] * len(labels) for labels in as_list(y)]


def with_uniform_choices(hmm: HMM, everything: HMM) -> HMM:
    """The first model, with what the second one, which has `one_label`, emits, and with equal
    probabilities of all that it has seen to follow a label.
    """
    K = len(hmm.classes_)
    hmm.emission_logprob_ = [
        None if t is None else np.repeat(t, K, axis=0) for t in everything.emission_logprob_
    ]
    hmm.means_, hmm.variances_ = (
        np.repeat(t, K, axis=0) for t in (everything.means_, everything.variances_)
    )
    may = np.exp(np.column_stack([hmm.transition_logprob_, hmm.stop_logprob_])) > 0
    rows = log_ratios(may.astype(np.float64))
    hmm.transition_logprob_ = np.ascontiguousarray(rows[:, :-1])
    hmm.stop_logprob_ = rows[:, -1].copy()
    hmm.start_logprob_ = log_ratios((hmm.start_logprob_ > -np.inf).astype(np.float64))
    return hmm
