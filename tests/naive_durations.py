"""All labellings of one sequence under a hidden semi-Markov model, read off public attributes."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
from naive import Hidden


class Lasting:
    """Labellings ``y`` with their log-probabilities ``log_p``, jointly with rows of values."""

    def __init__(self, hsmm, rows):
        self.hsmm = hsmm
        self.K = len(hsmm.classes_)
        hidden = Hidden(hsmm, rows[:0])
        self.emission = [[hidden.emit(rows, t, k) for k in range(self.K)] for t in range(len(rows))]
        self.y = list(product(range(self.K), repeat=len(rows)))
        self.log_p = np.array([self.joint(y) for y in self.y])

    def duration(self, k, d, is_last):
        log_p = self.hsmm.duration_logprob_[k]
        if d > len(log_p):
            return -np.inf
        if is_last and self.hsmm.right_censored:
            with np.errstate(divide="ignore"):
                return np.log(np.exp(log_p[d - 1 :]).sum())
        return log_p[d - 1]

    def joint(self, y):
        runs = [(k, len(list(tokens))) for k, tokens in groupby(y)]
        total = sum(self.emission[t][k] for t, k in enumerate(y))
        for s, (k, d) in enumerate(runs):
            hsmm = self.hsmm
            before = hsmm.transition_logprob_[runs[s - 1][0]] if s else hsmm.start_logprob_
            total += before[k] + self.duration(k, d, s == len(runs) - 1)
        return total

    @property
    def log_Z(self):
        return np.logaddexp.reduce(self.log_p)

    @property
    def p(self):
        return np.exp(self.log_p - self.log_Z)

    @property
    def proba(self):
        """Posteriors (T, K)."""
        out = np.zeros((len(self.emission), self.K))
        for y, p in zip(self.y, self.p, strict=True):
            out[np.arange(len(y)), y] += p
        return out

    def durations(self):
        """Expected numbers (2, K, L) of durations, those of last labels apart."""
        out = np.zeros((2, *self.hsmm.duration_logprob_.shape))
        for y, p in zip(self.y, self.p, strict=True):
            runs = [(k, len(list(tokens))) for k, tokens in groupby(y)]
            for s, (k, d) in enumerate(runs):
                if p > 0:
                    out[int(s == len(runs) - 1), k, d - 1] += p
        return out
