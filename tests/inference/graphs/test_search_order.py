"""The order of visits: that of scores and neighbours, whatever the numbers of nodes are."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.search_order import ordered

# all nodes have the same scores
NODE = np.zeros((6, 2))
PATH = np.column_stack([np.arange(5), np.arange(1, 6)])
DIRECTED = np.array([[0.0, 1.0, -1.0, 0.5]])
SYMMETRIC = np.array([[0.0, 1.0, 1.0, 0.5]])


def visits(nodes, table, number):
    """The nodes in the order of visits, by their own names, where they are numbered otherwise."""
    structure = Structure(np.array([0, 6]), (Family(number[nodes], np.array([0, len(nodes)])),))
    order = ordered(Potentials(NODE, (table,)), structure).order
    name = np.argsort(number)
    return name[order].tolist()


def test_directions_of_edges_tell_nodes_apart():
    """The ends of a path, of which one is a first node alone, and one a second."""
    rng = np.random.default_rng(0)
    expected = visits(PATH, DIRECTED, np.arange(6))
    for _ in range(20):
        assert visits(rng.permutation(PATH), DIRECTED, rng.permutation(6)) == expected


@pytest.mark.parametrize("nodes", [PATH, PATH[:, ::-1]])
def test_ends_of_a_path_without_directions_are_alike(nodes):
    """Whichever comes first, which their numbers decide, the order is the same seen from there."""
    rng = np.random.default_rng(0)
    expected = visits(PATH, SYMMETRIC, np.arange(6))
    mirrored = [5 - v for v in expected]
    seen = {tuple(visits(nodes, SYMMETRIC, rng.permutation(6))) for _ in range(40)}
    assert seen == {tuple(expected), tuple(mirrored)}
