"""How often the features of a chain are expected: under a generative model, or under p(y | x) of
given inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.structures import Block, Potentials, Structure
from sklearn_struct.hidden_markov.path_sums import (
    StateChain,
    Windows,
    edge_counts,
    node_counts,
    path_sums,
)
from sklearn_struct.inference.base import Inference
from sklearn_struct.objectives.counted_features import Layout
from sklearn_struct.objectives.linear_potentials import LinearPotentials
from sklearn_struct.objectives.weight_patterns import every_clique_pair, every_node_pair

__all__ = ["Emitted", "conditional_features", "expected_features"]

LARGEST_TABLE = 4_000_000  # numbers in a table of windows and states
NOTHING = Windows([], [], np.empty((1, 0), np.int64))  # what is found around every token


class Emitted(NamedTuple):
    """The columns of X: those that show windows of values, then numbers, with their mean in each
    label (n, K).
    """

    windows: list[Windows]
    means: np.ndarray


def expected_features(
    chain: StateChain, emitted: Emitted, layout: Layout, distant: np.ndarray | None = None
) -> np.ndarray:
    """Expectation of each feature's count under a chain that emits the columns of X; those of pairs
    at any distance, `distant`, are taken as they are.

    Exact (Smith, Vail & Lafferty 2007, section 4.1).

    Raises
    ------
    NonFiniteError
        If sequences have no finite expected length.
    """
    pattern = layout.pattern
    sums = path_sums(chain)
    K = pattern.n_labels
    node = every_node_pair(pattern)
    w_node = np.zeros(len(node.indices))
    pairs = [every_clique_pair(pattern, f) for f in range(len(pattern.families))]
    w_cliques = [np.zeros(len(of_family.indices)) for of_family in pairs]
    inputs = np.empty(pattern.n_features)
    tokens = node_counts(chain, sums, NOTHING, K)
    # once for all: features of numbers are proportional to them
    moves = edge_counts(chain, sums, NOTHING, K, pattern.order)
    width = max(len(chain.start), sum(pattern.widths))
    first = 0
    # some columns at a time: a table of all would need memory for each pair of column and state
    for windows in _parts(emitted.windows, LARGEST_TABLE // width + 1):
        columns = np.arange(first, first + len(windows.codes))
        counts = node_counts(chain, sums, windows, K)
        _fill(w_node, node, columns, counts)
        inputs[columns] = counts.sum(axis=1)
        on_edges = np.flatnonzero(
            (pattern.edge_columns >= first) & (pattern.edge_columns <= columns[-1])
        )
        if len(on_edges):
            chosen = windows._replace(codes=windows.codes[pattern.edge_columns[on_edges] - first])
            tables = edge_counts(chain, sums, chosen, K, pattern.order)
            for w_family, of_family, table in zip(w_cliques, pairs, tables, strict=True):
                _fill(w_family, of_family, on_edges, table)
        first += len(columns)
    if len(emitted.means):
        numbers = tokens * emitted.means
        _fill(w_node, node, np.arange(first, pattern.n_features), numbers)
        inputs[first:] = numbers.sum(axis=1)
        on_edges = np.flatnonzero(pattern.edge_columns >= first)
        means = emitted.means[pattern.edge_columns[on_edges] - first]
        for w_family, of_family, table in zip(w_cliques, pairs, moves, strict=True):
            _fill(w_family, of_family, on_edges, table * means[:, np.arange(table.shape[1]) % K])
    w_columns = [
        table[0, family.columns] for family, table in zip(pattern.families, moves, strict=True)
    ]
    weights = np.concatenate([w_node, *w_cliques, *w_columns, *tokens[: pattern.fit_intercept]])
    return layout.join(inputs, weights, float(chain.start @ sums.ends), distant)


def _parts(every: list[Windows], n: int) -> Iterator[Windows]:
    """Windows of at most n columns each."""
    for windows in every:
        for first in range(0, len(windows.codes), n):
            yield windows._replace(codes=windows.codes[first : first + n])


def _fill(weights: np.ndarray, pairs: CSR, features: np.ndarray, counts: np.ndarray) -> None:
    """Write those of `counts` (n, width) that have a weight; row i is that of ``features[i]``."""
    n = np.diff(pairs.indptr)[features]
    row = np.repeat(np.arange(len(features)), n)
    place = np.arange(len(row)) + np.repeat(pairs.indptr[features] - np.cumsum(n) + n, n)
    weights[place] = counts[row, pairs.indices[place]]


def conditional_features(
    base: Callable[[Block], Potentials],
    potentials: LinearPotentials,
    inference: Inference,
    structure: Structure,
    weight: np.ndarray,
    pool: Pool,
) -> np.ndarray:
    """Weighted mean over given inputs of what p(y | x) expects for each weight, by
    forward-backward.

    `base` gives the potentials of p(y | x) in a block, with as many columns as `potentials`.
    """
    # as many as parts: the sum of their results has a fixed order
    cuts = inference.blocks(structure, potentials.n_labels, n_blocks=16)

    def work(b: int) -> np.ndarray:
        block = cuts[b]
        theta = base(block)
        cliques = tuple(
            np.zeros((potentials.n_rows(block, f), width))
            for f, width in enumerate(potentials.widths)
        )
        out = Potentials(np.zeros(theta.node.shape), cliques)
        of_block = weight[block.examples]
        total = np.zeros(potentials.expanded_size)
        inference.marginals(theta, block.structure, of_block, out, np.empty(len(of_block)))
        potentials.scatter(out, block, np.ones(1), total)
        return total

    total = np.zeros(potentials.expanded_size)
    for part in pool.map(work, len(cuts)):
        total += part
    mean: np.ndarray = potentials.compress(total) / weight.sum()
    return mean
