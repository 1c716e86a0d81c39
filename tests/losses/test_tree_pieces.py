"""The mean loss of forests that cover a graph, against enumeration (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from graphs import (
    PAIRS,
    SHARED_PAIRS,
    SHARED_TRIPLES,
    Enumeration,
    four_graphs,
    grid,
    random_forest,
    random_graphs,
)

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.flat_scores import cliques_of
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.spanning_forests import covering_forests
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.pieces import Pieces
from sklearn_struct.losses.tree_pieces import TreePieces

LIKELIHOOD = LogLikelihood(ChosenByGraph(JunctionTree()))
LOSS = TreePieces(LIKELIHOOD)

test_contract = contracts.loss(LOSS)
test_contract_on_graphs = contracts.loss(LOSS, four_graphs)


def forests_of(potentials, structure, i):
    """The potentials and the structure of each forest of one example."""
    cliques = cliques_of(structure)
    every = covering_forests(structure, cliques)
    bounds = np.cumsum([0, *(len(family.nodes) for family in structure.families)])
    own = [slice(*(cliques.ranges[i, f])) for f in range(len(structure.families))]
    every = [taken for t, taken in enumerate(every) if t == 0 or any(taken[o].any() for o in own)]
    share = np.mean(every, axis=0)
    for taken in every:
        families = []
        tables = []
        for f, (family, table) in enumerate(zip(structure.families, potentials.cliques)):
            rows = np.arange(*family.offsets[i : i + 2])
            rows = rows[taken[bounds[f] + rows]]
            of_rows = table[rows if len(table) > 1 else np.zeros(len(rows), int)]
            tables.append(of_rows / share[bounds[f] + rows][:, None])
            families.append(Family(family.nodes[rows], np.array([0] * (i + 1) + [len(rows)])))
        offsets = structure.offsets[: i + 2]
        yield Potentials(potentials.node, tuple(tables)), Structure(offsets, tuple(families))


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS,), (PAIRS, SHARED_TRIPLES)])
@pytest.mark.parametrize("seed", range(2))
def test_by_enumeration(families, seed):
    rng = np.random.default_rng(seed)
    density = 2.0 / len(families)
    potentials, structure = random_graphs(rng, (4, 0, 1, 5), 3, families, density)
    y = rng.integers(3, size=10).astype(np.int32)
    expected = np.zeros(4)
    scores = np.zeros(4)
    for i in range(4):
        forests = list(forests_of(potentials, structure, i))
        assert len(forests) > 1 or i in (1, 2)
        for forest in forests:
            every = Enumeration(*forest, i)
            right = np.all(every.labellings == y[every.nodes], axis=1)
            expected[i] += (every.log_Z - every.scores[right][0]) / len(forests)
            scores[i] += every.scores[right][0] / len(forests)
        whole = Enumeration(potentials, structure, i)
        right = np.all(whole.labellings == y[whole.nodes], axis=1)
        # the mean score of the pieces is the score
        assert scores[i] == pytest.approx(whole.scores[right][0], abs=1e-10)
    value, _ = contracts.evaluate(LOSS, potentials, y, structure, np.ones(4))
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_a_forest_is_one_piece(shared):
    """The likelihood: value, derivative and second derivative."""
    rng = np.random.default_rng(0)
    potentials, structure = random_forest(rng, shared=shared)
    direction, _ = random_forest(np.random.default_rng(0), shared=shared)
    y = rng.integers(3, size=10).astype(np.int32)
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    value, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    same, expected = contracts.evaluate(LIKELIHOOD, potentials, y, structure, weight)
    np.testing.assert_allclose(value, same, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)
    out, expected = (
        contracts.second_derivative(one, potentials, direction, y, structure, weight)
        for one in (LOSS, LIKELIHOOD)
    )
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


def test_it_bounds_the_likelihood():
    """And from nearer than single edges do."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        potentials, structure = grid(rng, 3, 3, 2, shared=seed % 2 == 0)
        y = rng.integers(2, size=9).astype(np.int32)
        least, value, most = (
            contracts.evaluate(one, potentials, y, structure, np.ones(1))[0][0]
            for one in (LIKELIHOOD, LOSS, Pieces())
        )
        assert least < value < most


def test_two_or_three_forests_cover_a_grid():
    _, structure = grid(np.random.default_rng(0), 6, 6, 2)
    forests = covering_forests(structure, cliques_of(structure))
    assert len(forests) in (2, 3)
    # spanning trees
    assert [int(taken.sum()) for taken in forests] == [35] * len(forests)
    assert np.all(np.any(forests, axis=0))


def test_a_table_for_all_and_derivatives_for_each():
    rng = np.random.default_rng(0)
    potentials, structure = grid(rng, 2, 3, 2)
    y = rng.integers(2, size=6).astype(np.int32)
    _, out = contracts.evaluate(LOSS, potentials, y, structure, np.ones(1))
    each = Potentials(np.zeros((6, 2)), (np.zeros((7, 4)),))
    contracts.evaluate(LOSS, potentials, y, structure, np.ones(1), each)
    np.testing.assert_allclose(each.cliques[0].sum(axis=0), out.cliques[0][0], atol=1e-12)


def test_certain_and_forbidden_labels():
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, -np.inf]] * 2)
    y = np.array([0, 1, 0, 1, 1, 0], dtype=np.int32)
    edges = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]])
    structure = Structure(np.array([0, 3, 6]), (Family(edges, np.array([0, 3, 6])),))
    potentials = Potentials(node, (np.zeros((1, 4)),))
    value, out = contracts.evaluate(LOSS, potentials, y, structure, np.ones(2))
    assert value.tolist() == [0.0, np.inf]
    assert not np.isnan(contracts.flat(out)).any()
