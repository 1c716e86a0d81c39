"""Expected counts against the enumeration of all sequences of a chain that cannot go on long."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.hidden_markov.path_sums import (
    StateChain,
    Windows,
    beside,
    edge_counts,
    node_counts,
    path_sums,
)

SIZES = (3, 2)


def forward_only(rng, labels):
    """A random chain whose state number grows, so that sequences have at most as many tokens as it
    has states.
    """
    S = len(labels)
    rows = np.triu(rng.random((S, S)), 1)
    rows = np.column_stack([rows, rng.random(S)])
    rows /= rows.sum(axis=1, keepdims=True)
    start = rng.random(S)
    emission = [rng.random((S, v)) for v in SIZES]
    emission = [table / table.sum(axis=1, keepdims=True) for table in emission]
    before = np.array([-1, 1, 0, 2])[:S]
    return StateChain(
        start / start.sum(), rows[:, :S], rows[:, S], np.asarray(labels), before, emission
    )


def sequences(chain):
    """All sequences of states with their probabilities."""
    S = len(chain.start)
    for n in range(1, S + 1):
        for path in product(range(S), repeat=n):
            p = (
                chain.start[path[0]]
                * np.prod(chain.transition[path[:-1], path[1:]])
                * chain.stop[path[-1]]
            )
            if p:
                yield path, p


def shown(chain, path, t, window, pad):
    """Probability that window (offset, column, code) is found around token t, given the states."""
    n_special = sum(pad)
    p = 1.0
    for offset, column, code in window:
        at = t + offset
        if 0 <= at < len(path):
            p *= chain.emission[column][path[at], code - n_special] if code >= n_special else 0.0
        else:
            distance = -at - 1 if at < 0 else pad[0] + at - len(path)
            p *= float(n_special > 0 and code == distance)
    return p


WINDOWS = [
    [],
    [(0, 0)],
    [(-1, 0), (0, 1)],
    [(-2, 1)],
    [(1, 0)],
    [(2, 1), (0, 0), (0, 1)],
    [(-1, 0), (1, 0)],
    [(1, 1), (2, 0)],
]


@pytest.mark.parametrize("pad", [(0, 0), (2, 2)])
@pytest.mark.parametrize("cells", WINDOWS, ids=str)
def test_counts_by_enumeration(cells, pad):
    rng = np.random.default_rng(0)
    chain = forward_only(rng, [0, 1, 0, 2])
    sizes = [SIZES[column] + sum(pad) for _, column in cells]
    codes = np.array(list(product(*map(range, sizes))), dtype=int).reshape(
        int(np.prod(sizes)), len(cells)
    )
    node = np.zeros((len(codes), 3))
    pairs = np.zeros((len(codes), 9))
    triples = np.zeros((len(codes), 27))
    for path, p in sequences(chain):
        for t in range(len(path)):
            for i, row in enumerate(codes):
                window = [
                    (offset, column, code)
                    for (offset, column), code in zip(cells, row, strict=True)
                ]
                q = p * shown(chain, path, t, window, pad)
                node[i, chain.label[path[t]]] += q
                if t:
                    before = chain.before[path[t - 1]]
                    j = chain.label[path[t - 1]]
                    k = chain.label[path[t]]
                    pairs[i, 3 * j + k] += q
                    if before >= 0:
                        triples[i, 9 * before + 3 * j + k] += q
    extended = beside(chain, *pad)
    sums = path_sums(extended)
    windows = Windows([offset for offset, _ in cells], [column for _, column in cells], codes)
    np.testing.assert_allclose(
        node_counts(extended, sums, windows, 3), node, rtol=1e-10, atol=1e-14
    )
    for order, expected in ((2, [pairs, triples]), (1, [pairs])):
        tables = edge_counts(extended, sums, windows, 3, order)
        for found, table in zip(tables, expected, strict=True):
            np.testing.assert_allclose(found, table, rtol=1e-10, atol=1e-14)


def test_visits_of_a_chain_with_loops():
    """One state that goes on with probability 0.9 is visited ten times."""
    one = np.ones((1, 1))
    sums = path_sums(
        StateChain(np.ones(1), 0.9 * one, np.array([0.1]), np.zeros(1, int), np.full(1, -1), [one])
    )
    np.testing.assert_allclose(sums, [[10.0], [1.0]])


@pytest.mark.parametrize("again", [1.0, 1.5])
def test_no_end(again):
    one = np.ones((1, 1))
    with pytest.raises(NonFiniteError, match="does not end"):
        path_sums(
            StateChain(
                np.ones(1), again * one, np.zeros(1), np.zeros(1, int), np.full(1, -1), [one]
            )
        )
