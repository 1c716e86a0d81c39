"""All labellings of one sequence under a hidden Markov model whose transitions depend on inputs,
read off public attributes.
"""

from __future__ import annotations

import numpy as np
from naive import Hidden


class Driven(Hidden):
    """Labellings ``y`` with their log-probabilities ``log_p``, jointly with rows of values, of
    which the columns `inputs` drive transitions.
    """

    def __init__(self, hmm, rows, inputs):
        self.inputs = inputs
        self.rows = rows
        super().__init__(hmm, rows)

    def kinds(self):
        given = self.hmm.emissions
        n = len(self.hmm.vocabulary_)
        emitted = iter([given] * n if isinstance(given, str) else given)
        return ["input" if c in self.inputs else next(emitted) for c in range(n)]

    def step(self, y, t):
        if t == 0 or t == len(y):
            return super().step(y, t)
        u = np.array([float(self.rows[t][c]) for c in self.inputs])
        scores = self.hmm.transition_logprob_[y[t - 1]] + self.hmm.transition_coef_[y[t - 1]] @ u
        return scores[y[t]] - np.logaddexp.reduce(scores)

    @property
    def log_Z(self):
        return np.logaddexp.reduce(self.log_p)

    def pairs(self):
        """Expected transitions (n - 1, K, K)."""
        out = np.zeros((max(len(self.rows) - 1, 0), self.K, self.K))
        for y, p in zip(self.y, self.posterior(), strict=True):
            for t in range(len(out)):
                out[t, y[t], y[t + 1]] += p
        return out
