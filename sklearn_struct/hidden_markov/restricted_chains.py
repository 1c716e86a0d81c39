"""Chains of which some steps are forbidden, some probabilities are given, and priors differ from
step to step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.markov_chain import Markov, n_contexts
from sklearn_struct.inference.chains.forbidden import Transitions

__all__ = ["ChainRules", "added", "all_allowed", "allowed_steps"]


def all_allowed(K: int, order: int) -> Markov:
    """Tables of booleans that forbid nothing."""
    C = n_contexts(K, order)
    return Markov(*(np.ones(shape, dtype=bool) for shape in (K, (C, K), C)))


def allowed_steps(rule: Transitions, order: int) -> Markov:
    """Which steps a rule about pairs of labels allows: tables of booleans."""
    K = len(rule.start)
    last = np.arange(n_contexts(K, order)) % K
    return Markov(rule.start, rule.pairs[last], rule.end[last])


def added(smoothing: float | np.ndarray, K: int, order: int) -> Markov:
    """What is added to each count: a number to all, a table (K, K) to transitions alone."""
    C = n_contexts(K, order)
    table = np.asarray(smoothing, dtype=np.float64)
    if table.ndim == 0:
        return Markov(*(np.full(shape, float(table)) for shape in (K, (C, K), C)))
    return Markov(np.zeros(K), table[np.arange(C) % K], np.zeros(C))


class ChainRules(NamedTuple):
    """How a chain is estimated: which steps are `allowed`, what is `added` to counts, whether the
    end has a probability, and what is `fixed`, names of tables of ``given``.
    """

    allowed: Markov
    added: Markov
    stop: bool
    fixed: frozenset[str] = frozenset()
    given: Markov | None = None

    def estimate(self, counts: Markov) -> Markov:
        """The most probable chain, given (expected) counts."""
        raised = Markov(*(count + more for count, more in zip(counts, self.added, strict=True)))
        return self._of(raised)

    def nearest(self, markov: Markov) -> Markov:
        """A chain without what is forbidden; what is left of a row is divided by its sum."""
        if all(np.all(table) for table in self.allowed) and not self.fixed:
            return markov
        return self._of(Markov(*(np.exp(table) for table in markov)))

    def _of(self, counts: Markov) -> Markov:
        start = _shares(counts.start[None], self.allowed.start[None])[0]
        if self.given is not None and "start" in self.fixed:
            start = self.given.start
        if self.given is not None and "transition" in self.fixed:
            # what a row leaves is the end's
            return Markov(start, self.given.transition, self.given.stop)
        if not self.stop:
            transition = _shares(counts.transition, self.allowed.transition)
            return Markov(start, transition, np.zeros(len(transition)))
        if self.given is not None and "stop" in self.fixed:
            shares = _shares(counts.transition, self.allowed.transition)
            with np.errstate(divide="ignore"):
                left = np.log(-np.expm1(self.given.stop))
            return Markov(start, shares + left[:, None], self.given.stop)
        rows = _shares(
            np.column_stack([counts.transition, counts.stop]),
            np.column_stack([self.allowed.transition, self.allowed.stop]),
        )
        return Markov(start, np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy())

    def prior(self, markov: Markov) -> float:
        """Log-density of the prior that the added counts stand for, up to a constant."""
        total = 0.0
        ends = self.stop and "transition" not in self.fixed
        for name, table, more, allowed in zip(
            Markov._fields, markov, self.added, self.allowed, strict=True
        ):
            if name in self.fixed or (name == "stop" and not ends):
                continue
            counted = allowed & (more > 0)
            total += float(more[counted] @ table[counted])
        return total


def _shares(counts: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Logarithms of rows of allowed counts, each divided by its sum; rows of zeros are uniform."""
    left = np.where(allowed, counts, 0.0)
    total = left.sum(axis=1, keepdims=True)
    left = np.where(total > 0, left, allowed)
    total = left.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        # contexts that nothing may follow are never reached
        logs: np.ndarray = np.log(left / np.where(total > 0, total, 1.0))
    return logs
