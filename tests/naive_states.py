"""Hidden states of classes, by enumeration of all paths of states of each class."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

__all__ = ["StatesOfClasses", "objective"]


class StatesOfClasses:
    """All paths of one sequence of rows under weights of states; ``states`` are pairs (class,
    number), of which a path has one class.
    """

    def __init__(self, states, rows, coef, transition, intercept, allowed=None):
        self.rows = np.asarray(rows, dtype=float)
        self.n_states = len(states)
        self.classes = sorted({c for c, _ in states})
        T = len(self.rows)
        own = {c: [s for s, (k, _) in enumerate(states) if k == c] for c in self.classes}
        self.paths = [(c, path) for c in self.classes for path in product(own[c], repeat=T)]
        if allowed is not None:
            self.paths = [(c, path) for c, path in self.paths if allowed([states[s] for s in path])]
        self.scores = np.array(
            [self._score(path, coef, transition, intercept) for _, path in self.paths],
            dtype=np.longdouble,
        )
        self.of_class = {
            c: np.array([k == c for k, _ in self.paths], dtype=bool) for c in self.classes
        }
        self.log_Z = np.array([self._log_sum(self.of_class[c]) for c in self.classes])
        self.log_p = (self.log_Z - np.logaddexp.reduce(self.log_Z)).astype(float)

    def _score(self, path, coef, transition, intercept):
        tokens = sum(coef[s] @ row + intercept[s] for s, row in zip(path, self.rows, strict=True))
        return tokens + sum(transition[a, b] for a, b in pairwise(path))

    def _log_sum(self, chosen):
        return np.logaddexp.reduce(self.scores[chosen]) if np.any(chosen) else -np.inf

    def loss(self, c):
        """-log p(c | x)."""
        return -self.log_p[self.classes.index(c)]

    def best_path(self, c):
        """The best states of a class."""
        chosen = np.flatnonzero(self.of_class[c])
        return self.paths[chosen[np.argmax(self.scores[chosen])]][1]

    def posterior(self, c=None):
        """The probability of each path, given the class if there is one."""
        scores = self.scores if c is None else np.where(self.of_class[c], self.scores, -np.inf)
        p = np.exp(scores - np.logaddexp.reduce(scores))
        return p.astype(float)

    def expected(self, p):
        """Expected sums of features of states, of moves and of states under probabilities of
        paths.
        """
        S = self.n_states
        coef = np.zeros((S, self.rows.shape[1]))
        transition = np.zeros((S, S))
        intercept = np.zeros(S)
        for probability, (_, path) in zip(p, self.paths, strict=True):
            for s, row in zip(path, self.rows, strict=True):
                coef[s] += probability * row
                intercept[s] += probability
            for a, b in pairwise(path):
                transition[a, b] += probability
        return coef, transition, intercept

    def marginals(self, c=None):
        """Probabilities (n_tokens, n_states) of the states of tokens."""
        table = np.zeros((len(self.rows), self.n_states))
        for probability, (_, path) in zip(self.posterior(c), self.paths, strict=True):
            table[np.arange(len(path)), list(path)] += probability
        return table

    def gradient(self, c):
        """The derivatives of the loss in coef, transition and intercept (P1 5.18)."""
        free = self.expected(self.posterior())
        known = self.expected(self.posterior(c))
        return [a - b for a, b in zip(free, known, strict=True)]


def objective(model, X, y, weight=None, allowed=None):
    """Sum of losses + penalty / C of a fitted model without shared weights."""
    weight = np.ones(len(y)) if weight is None else weight
    tables = model.coef_, model.transition_, model.intercept_
    twins = [StatesOfClasses(model.states_.tolist(), rows, *tables, allowed) for rows in X]
    losses = sum(w * twin.loss(c) for w, twin, c in zip(weight, twins, y, strict=True))
    of_weights = [np.ravel(table) for table in tables[:2]]
    squares = sum(float(table @ table) for table in of_weights)
    sizes = sum(float(np.sum(np.abs(table))) for table in of_weights)
    penalty = (1 - model.l1_ratio) * squares / 2 + model.l1_ratio * sizes
    return losses + penalty / model.C
