"""Small random graphs, and all their labellings."""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Family, Potentials, Structure


class Cliques(NamedTuple):
    """A family of random cliques: of how many nodes, and whether they share one table."""

    size: int
    shared: bool


PAIRS = Cliques(2, False)
SHARED_PAIRS = Cliques(2, True)
TRIPLES = Cliques(3, False)
SHARED_TRIPLES = Cliques(3, True)
QUADS = Cliques(4, False)


def random_graphs(rng, sizes=(5, 0, 1, 6), K=3, families=(PAIRS,), density=2.0):
    """Potentials and structure of graphs with `density` cliques of each family for each node."""
    offsets = np.cumsum([0, *sizes])
    made = []
    tables = []
    for family in families:
        nodes = []
        bounds = [0]
        for first, n in zip(offsets, sizes):
            count = int(density * n) if n >= family.size else 0
            nodes += [first + rng.permutation(n)[: family.size] for _ in range(count)]
            bounds.append(len(nodes))
        table = np.array(nodes, dtype=np.int64).reshape(-1, family.size)
        made.append(Family(table, np.array(bounds)))
        n_rows = 1 if family.shared else len(table)
        tables.append(rng.normal(size=(n_rows, K**family.size)))
    node = rng.normal(size=(offsets[-1], K))
    return Potentials(node, tuple(tables)), Structure(offsets, tuple(made))


def four_graphs(rng, shared):
    """Three graphs and an empty one, with cliques of two, three and four nodes, as
    `contracts.loss` asks for them.
    """
    families = (Cliques(2, shared), Cliques(3, shared), QUADS)
    return random_graphs(rng, (5, 0, 1, 4), families=families, density=1.2)


def random_forest(rng, sizes=(5, 0, 1, 4), K=3, shared=False):
    """A few examples, each some trees whose edges point anywhere."""
    offsets = np.cumsum([0, *sizes])
    edges = []
    bounds = [0]
    for first, n in zip(offsets, sizes):
        places = rng.permutation(n)
        for i in range(1, n):
            if rng.random() < 0.8:
                pair = [places[i], places[rng.integers(i)]]
                edges.append(first + rng.permutation(pair))
        bounds.append(len(edges))
    nodes = np.array(edges, dtype=np.int64).reshape(-1, 2)
    nodes = np.concatenate([rng.permutation(nodes[a:b]) for a, b in pairwise(bounds)])
    structure = Structure(offsets, (Family(nodes, np.array(bounds)),))
    table = rng.normal(size=(1 if shared else len(nodes), K * K))
    return Potentials(rng.normal(size=(offsets[-1], K)), (table,)), structure


def grid(rng, height, width, K, shared=True, strength=1.0):
    """Potentials and structure of a grid whose nodes are numbered row by row."""
    number = np.arange(height * width).reshape(height, width)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    edges = np.concatenate([across, down])
    table = strength * rng.normal(size=(1 if shared else len(edges), K * K))
    structure = Structure(np.array([0, number.size]), (Family(edges, np.array([0, len(edges)])),))
    return Potentials(rng.normal(size=(number.size, K)), (table,)), structure


def is_unlikely(counts, p):
    """Whether labellings of probabilities p are seldom seen this often: Pearson's statistic is
    more than six deviations above its mean; None of them may be impossible.
    """
    possible = p > 0
    assert not np.any(counts[~possible])
    expected = counts.sum() * p[possible]
    statistic = np.sum((counts[possible] - expected) ** 2 / expected)
    freedom = np.sum(possible) - 1
    return statistic > freedom + 6 * np.sqrt(2 * freedom) + 6


class Enumeration:
    """All labellings of one example, each a row of codes, with their scores.

    ``nodes`` are the example's, ``cliques`` the rows of each family, ``columns`` the column that
    each of these cliques has in each labelling.
    """

    def __init__(self, potentials, structure, i):
        K = potentials.node.shape[1]
        self.nodes = np.arange(*structure.offsets[i : i + 2])
        n = len(self.nodes)
        self.labellings = np.array(list(product(range(K), repeat=n)), int).reshape(K**n, n)
        self.cliques = [np.arange(*family.offsets[i : i + 2]) for family in structure.families]
        self.columns = []
        for family, rows in zip(structure.families, self.cliques):
            places = K ** np.arange(family.nodes.shape[1])[::-1]
            members = family.nodes[rows] - structure.offsets[i]
            self.columns.append([self.labellings[:, m] @ places for m in members])
        self.scores = self.sums(potentials)
        self.log_Z = np.logaddexp.reduce(self.scores)
        self.p = np.zeros(len(self.scores))
        if self.log_Z > -np.inf:
            self.p = np.exp(self.scores - self.log_Z)

    def sums(self, potentials):
        """The sum of potentials along each labelling."""
        total = np.zeros(len(self.labellings))
        for t, node in enumerate(self.nodes):
            total += potentials.node[node][self.labellings[:, t]]
        for table, rows, columns in zip(potentials.cliques, self.cliques, self.columns):
            for c, column in zip(rows, columns):
                total += table[0 if len(table) == 1 else c][column]
        return total

    def means(self, of_labellings, potentials):
        """Sums of a number of each labelling, over those in which nodes and cliques have each
        label: rows for nodes, and for the cliques of each family.
        """
        K = potentials.node.shape[1]
        nodes = [np.bincount(codes, of_labellings, K) for codes in self.labellings.T]
        cliques = [
            [np.bincount(column, of_labellings, table.shape[1]) for column in columns]
            for table, columns in zip(potentials.cliques, self.columns)
        ]
        return nodes, cliques
