"""Markov chains of order 1 and 2 over K labels, as chains over contexts that the kernels of order 1 can take.

A context is what the next label depends on: in order 1 the label before it, c = k. In order 2 the two labels before
it, c = j * K + k for j before k, where j = K stands for the beginning of the sequence: (K + 1) * K contexts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.generative import log_prior, log_ratios

__all__ = [
    "Markov",
    "by_label",
    "contexts",
    "draw",
    "estimate",
    "lift",
    "n_contexts",
    "prior",
    "read_counts",
    "tally",
    "terminates",
]


class Markov(NamedTuple):
    """Log-probabilities; counts have the same shape.

    ``start`` (K,) of the first label, ``transition`` (C, K) of the next label in each context, ``stop`` (C,) of the
    end there. A row of ``transition`` and its ``stop`` sum to 1, or the row alone where ``stop`` is 1 throughout.
    """

    start: np.ndarray
    transition: np.ndarray
    stop: np.ndarray


def n_contexts(K: int, order: int) -> int:
    return K if order == 1 else (K + 1) * K


def _following(C: int, K: int) -> np.ndarray:
    """The context (C, K) to which each label leads from each context."""
    labels = np.arange(K)
    return np.broadcast_to(labels, (C, K)) if C == K else (np.arange(C) % K)[:, None] * K + labels


def _ends(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """First and last tokens of the sequences that are not empty."""
    first, stop = structure.offsets[:-1], structure.offsets[1:]
    return first[first < stop], stop[first < stop] - 1


def contexts(codes: np.ndarray, structure: Structure, K: int, order: int) -> np.ndarray:
    """The context (int32) that each token makes with what is before it, -1 where a label of it is not known (-1)."""
    if order == 1:
        return codes.astype(np.int32)
    before = np.full(len(codes), K)
    before[structure.edges[:, 1]] = codes[structure.edges[:, 0]]
    return np.where((before < 0) | (codes < 0), -1, before * K + codes).astype(np.int32)


def lift(markov: Markov, emission: np.ndarray, structure: Structure) -> Potentials:
    """Potentials of contexts: exp of a labelling's score is its joint probability with what was emitted."""
    C, K = markov.transition.shape
    first, last = _ends(structure)
    node = np.tile(emission, (1, C // K))
    node[first, : C - K] = -np.inf
    node[first, C - K :] += markov.start
    node[last] += markov.stop
    edge = np.full((C, C), -np.inf)
    edge[np.arange(C)[:, None], _following(C, K)] = markov.transition
    return Potentials(node, edge.reshape(1, -1))


def by_label(node: np.ndarray, K: int) -> np.ndarray:
    """Marginals of contexts (n, C) -> of labels (n, K)."""
    return node.reshape(len(node), node.shape[1] // K, K).sum(axis=1)


def read_counts(marginals: Potentials, structure: Structure, K: int) -> Markov:
    """Expected counts of marginals of contexts."""
    C = marginals.node.shape[1]
    first, last = _ends(structure)
    pairs = marginals.edge.reshape(C, C)[np.arange(C)[:, None], _following(C, K)]
    return Markov(marginals.node[first, C - K :].sum(axis=0), pairs, marginals.node[last].sum(axis=0))


def tally(codes: np.ndarray, structure: Structure, weight: np.ndarray, K: int, order: int) -> Markov:
    """Counts of known labels (unknown ones are -1), those of sequence i times ``weight[i]``."""
    C, (first, last), (left, right) = n_contexts(K, order), _ends(structure), structure.edges.T
    found = contexts(codes, structure, K, order)
    weight = np.repeat(weight, np.diff(structure.offsets))

    def count(events: np.ndarray, tokens: np.ndarray, size: int) -> np.ndarray:
        known = events >= 0
        return np.bincount(events[known], weights=weight[tokens[known]], minlength=size).astype(np.float64)

    steps = np.where((found[left] < 0) | (codes[right] < 0), -1, found[left].astype(np.int64) * K + codes[right])
    return Markov(count(codes[first], first, K), count(steps, right, C * K).reshape(C, K), count(found[last], last, C))


def estimate(counts: Markov, smoothing: float, stop: bool) -> Markov:
    """The most probable chain given (expected) counts; without `stop`, ends have no probability of their own."""
    if not stop:
        transition = log_ratios(counts.transition, smoothing)
        return Markov(log_ratios(counts.start, smoothing), transition, np.zeros(len(transition)))
    rows = log_ratios(np.column_stack([counts.transition, counts.stop]), smoothing)
    return Markov(log_ratios(counts.start, smoothing), np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy())


def prior(markov: Markov, smoothing: float) -> float:
    """Log-density of the prior under which `estimate` is the most probable, up to a constant."""
    return sum(log_prior(log_p, smoothing) for log_p in markov)


def terminates(markov: Markov) -> bool:
    """Whether from every context that can be reached there is a way to the end."""
    C, K = markov.transition.shape
    leads = np.zeros((C, C), dtype=bool)
    leads[np.arange(C)[:, None], _following(C, K)] = markov.transition > -np.inf
    reached, ends = np.zeros(C, dtype=bool), markov.stop > -np.inf
    reached[C - K :] = markov.start > -np.inf
    for _ in range(C):
        reached |= leads[reached].any(axis=0)
        ends |= leads[:, ends].any(axis=1)
    return bool(np.all(ends[reached]))


def draw(
    markov: Markov, n: int, rng: np.random.RandomState, length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Codes and offsets of n labellings, that end by themselves or have the same length."""
    C, K = markov.transition.shape
    following = _following(C, K)
    rows = np.exp(np.column_stack([markov.transition, markov.stop if length is None else np.full(C, -np.inf)]))
    steps, alive = [choose(np.exp(markov.start)[None], np.zeros(n, dtype=int), rng)], np.arange(n)
    taken, context = [alive], C - K + steps[0]
    while len(alive) and (length is None or len(steps) < length):
        labels = choose(rows, context, rng)
        alive, context, labels = alive[labels < K], context[labels < K], labels[labels < K]
        context = following[context, labels]
        steps.append(labels)
        taken.append(alive)
    sequences = np.concatenate(taken)
    codes = np.concatenate(steps)[np.argsort(sequences, kind="stable")]
    return codes.astype(np.int32), np.concatenate([[0], np.cumsum(np.bincount(sequences, minlength=n))])


def choose(table: np.ndarray, rows: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each entry of `rows` a column of that row of the table, with the probabilities (up to a factor) there."""
    cumulated = np.cumsum(table, axis=1)
    passed = rng.random_sample(len(rows)) * cumulated[rows, -1]
    found = np.empty(len(rows), dtype=np.int64)
    for row in np.unique(rows):
        here = rows == row
        found[here] = np.searchsorted(cumulated[row], passed[here], side="right")
    return found
