"""Draws of labellings from Markov chains."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.markov_chain import Markov, following

__all__ = ["choose", "draw"]


def draw(
    markov: Markov, n: int, rng: np.random.RandomState, length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Codes and offsets of n labellings, that end by themselves or have the same length."""
    C, K = markov.transition.shape
    leads_to = following(C, K)
    rows = np.exp(
        np.column_stack([markov.transition, markov.stop if length is None else np.full(C, -np.inf)])
    )
    steps = [choose(np.exp(markov.start)[None], np.zeros(n, dtype=int), rng)]
    alive = np.arange(n)
    taken = [alive]
    context = C - K + steps[0]
    while len(alive) and (length is None or len(steps) < length):
        labels = choose(rows, context, rng)
        alive = alive[labels < K]
        context = context[labels < K]
        labels = labels[labels < K]
        context = leads_to[context, labels]
        steps.append(labels)
        taken.append(alive)
    sequences = np.concatenate(taken)
    # stable: tokens of one sequence stay in the order in which they were drawn
    codes = np.concatenate(steps)[np.argsort(sequences, kind="stable")]
    return codes.astype(np.int32), np.concatenate(
        [[0], np.cumsum(np.bincount(sequences, minlength=n))]
    )


def choose(table: np.ndarray, rows: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each entry of `rows` a column of that row of the table, with the probabilities (up to a
    factor) there.
    """
    cumulated = np.cumsum(table, axis=1)
    passed = rng.random_sample(len(rows)) * cumulated[rows, -1]
    states = np.empty(len(rows), dtype=np.int64)
    for row in np.unique(rows):
        here = rows == row
        # "right": what has probability 0 ends where the one before it ends, and is never chosen
        states[here] = np.searchsorted(cumulated[row], passed[here], side="right")
    return states
