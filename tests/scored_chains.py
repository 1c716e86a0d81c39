"""Scores of a few short chains, in flat arrays and in the other forms, and their enumeration."""

from __future__ import annotations

from typing import NamedTuple

import naive
import numpy as np

from sklearn_struct import SequenceArray

LENGTHS = (3, 0, 1, 4, 2, 5)
CASES = ("shared", "tables", "ends", "forbidden", "float32", "one label", "strided", "read-only")


class Case(NamedTuple):
    """Arguments of all functions, as flat arrays."""

    unary: np.ndarray
    pairwise: np.ndarray
    lengths: list[int]
    ends: dict[str, np.ndarray]

    @property
    def arrays(self):
        """unary, pairwise, lengths."""
        return self.unary, self.pairwise, self.lengths

    def tokens(self, i):
        """Where the tokens of sequence i stand."""
        first = sum(self.lengths[:i])
        return slice(first, first + self.lengths[i])

    def steps(self, i):
        """Where the tables of its pairs of neighbours stand."""
        counts = [max(n - 1, 0) for n in self.lengths]
        first = sum(counts[:i])
        return slice(first, first + counts[i])

    def twins(self):
        """The enumeration of each sequence, with scores of ends in those of its tokens."""
        K = self.unary.shape[1]
        for i, n in enumerate(self.lengths):
            node = np.array(self.unary[self.tokens(i)], dtype=float)
            if n:
                node[0] += self.ends.get("start", np.zeros(K))
                node[-1] += self.ends.get("stop", np.zeros(K))
            shared = self.pairwise.ndim == 2
            table = self.pairwise[None] if shared else self.pairwise[self.steps(i)]
            yield naive.Chain(node, table.reshape(len(table), table.shape[1] ** 2))


def case(name, n_sequences=6):
    """Scores of a kind; the lengths repeat."""
    rng = np.random.RandomState(0)
    K = 1 if name == "one label" else 3
    lengths = [LENGTHS[i % len(LENGTHS)] for i in range(n_sequences)]
    n_steps = sum(max(n - 1, 0) for n in lengths)
    unary = rng.randn(sum(lengths), K)
    pairwise = rng.randn(n_steps, K, K) if name == "tables" else rng.randn(K, K)
    ends = {}
    if name == "ends":
        ends = {"start": np.array([0.5, -1.0, -np.inf]), "stop": rng.randn(K)}
    if name == "forbidden":
        pairwise[0, 1] = -np.inf
        unary[::3, 2] = -np.inf
    if name == "float32":
        unary = unary.astype(np.float32)
    if name == "strided":
        unary = np.asfortranarray(unary)
        pairwise = np.asfortranarray(pairwise)
    if name == "read-only":
        unary.flags.writeable = False
        pairwise.flags.writeable = False
    return Case(unary, pairwise, lengths, ends)


def in_form(given, form):
    """unary, pairwise and lengths in another form."""
    rows = [given.unary[given.tokens(i)] for i in range(len(given.lengths))]
    tables = [given.pairwise[given.steps(i)] for i in range(len(given.lengths))]
    shared = given.pairwise.ndim == 2
    if form == "list":
        return rows, given.pairwise if shared else tables, None
    if form == "SequenceArray":
        return SequenceArray.from_sequences(rows), given.pairwise, None
    longest = max(given.lengths)
    # NaN where there is no token: it must not be looked at
    unary = np.full((len(rows), longest, given.unary.shape[1]), np.nan)
    pairwise = np.full((len(rows), longest - 1, *given.pairwise.shape[-2:]), np.nan)
    for i, row in enumerate(rows):
        unary[i, : len(row)] = row
        if not shared:
            pairwise[i, : len(tables[i])] = tables[i]
    return unary, given.pairwise if shared else pairwise, given.lengths


LOW = -np.inf
FREE = np.zeros((5, 2))
BLOCKED = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [LOW, LOW], [0.0, 0.0]])
ALTERNATING = np.array([[LOW, 0.0], [0.0, LOW]])
# arguments, and the first token that nothing reaches
NO_LABELLING = {
    "no label at a token": ({"unary": BLOCKED, "pairwise": np.eye(2), "lengths": [2, 3]}, 1),
    "no pair": ({"unary": FREE, "pairwise": np.full((2, 2), LOW), "lengths": [1, 4]}, 1),
    "no table": (
        {
            "unary": FREE,
            "pairwise": np.array([np.eye(2), np.full((2, 2), LOW), np.eye(2)]),
            "lengths": [2, 3],
        },
        1,
    ),
    "the ends": (
        {
            "unary": FREE,
            "pairwise": ALTERNATING,
            "lengths": [3, 2],
            "start": np.array([0.0, LOW]),
            "stop": np.array([0.0, LOW]),
        },
        1,
    ),
}
