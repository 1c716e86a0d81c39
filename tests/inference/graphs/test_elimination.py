"""Orders of elimination: scopes hold what they must, and tables are small where they can be."""

from __future__ import annotations

import graphs
import numpy as np
import pytest
from graphs import PAIRS, TRIPLES
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.inference.graphs.elimination import eliminated, linked


def cliques_of(structure):
    return [family.nodes for family in structure.families]


def scopes(steps):
    return [
        steps.scopes[a:b].tolist() for a, b in zip(steps.bounds, steps.bounds[1:], strict=False)
    ]


@given(st.integers(0, 2**32 - 1), st.integers(0, 8))
def test_each_clique_is_in_the_scope_of_its_first_node(seed, n):
    rng = np.random.default_rng(seed)
    _, structure = graphs.random_graphs(rng, (n,), 2, (PAIRS, TRIPLES), density=1.0)
    sizes = rng.integers(1, 4, size=n)
    steps = eliminated(linked(n, cliques_of(structure)), sizes, np.inf)
    assert sorted(steps.nodes) == list(range(n))
    rank = np.argsort(steps.nodes)
    found = scopes(steps)
    assert steps.numbers == sum(np.prod(sizes[scope]) for scope in found)
    for s, scope in enumerate(found):
        assert scope[0] == steps.nodes[s]
        # in the order of steps, and all but the node itself are in the parent's, too
        assert np.all(np.diff(rank[scope]) > 0)
        parent = steps.parent[s]
        assert parent == (rank[scope[1]] if len(scope) > 1 else -1)
        assert set(scope[1:]) <= set(found[parent] if parent >= 0 else [])
    for nodes in cliques_of(structure):
        for clique in nodes:
            free = [v for v in clique if sizes[v] > 1]
            if free:
                first = min(free, key=lambda v: rank[v])
                assert set(free) <= set(found[rank[first]])


@pytest.mark.parametrize(
    ("height", "width", "K", "most"), [(1, 100, 5, 2500), (3, 30, 2, 2000), (10, 10, 2, 70_000)]
)
def test_narrow_graphs_have_small_tables(height, width, K, most):
    """However nodes are numbered."""
    rng = np.random.default_rng(0)
    _, structure = graphs.grid(rng, height, width, K)
    n = height * width
    for order in (np.arange(n), rng.permutation(n)):
        links = linked(n, [order[nodes] for nodes in cliques_of(structure)])
        assert eliminated(links, np.full(n, K), np.inf).numbers <= most


def test_a_star_is_summed_out_from_its_leaves():
    n = 5000
    links = linked(n, [np.column_stack([np.zeros(n - 1, int), np.arange(1, n)])])
    steps = eliminated(links, np.full(n, 3), np.inf)
    assert steps.numbers == 9 * (n - 1) + 3
    assert np.diff(steps.bounds).max() == 2


def test_too_large_tables_are_given_up():
    _, structure = graphs.grid(np.random.default_rng(0), 20, 20, 2)
    links = linked(400, cliques_of(structure))
    assert eliminated(links, np.full(400, 2), 2.0**17) is None
    assert eliminated(links, np.full(400, 1), 2.0**17).numbers == 400
