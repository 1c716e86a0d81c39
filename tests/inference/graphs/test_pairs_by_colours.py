"""One large graph, whose nodes threads share: the same bits on any number of them, and what the
ordinary order of messages arrives at.
"""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest

from sklearn_struct import GraphCRF
from sklearn_struct.compiled import threads
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs import colours, pairs_by_colours
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.colours import coloured, is_large
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.tree_reweighted import TreeReweighted

SETTLED = BeliefPropagation(1000, 1e-13)


@pytest.fixture
def small_is_large(monkeypatch):
    """Graphs of a few edges are shared by threads; how often they were is counted."""
    monkeypatch.setattr(colours, "LARGE", 5)
    monkeypatch.setattr(pairs_by_colours, "FEW", 1)
    monkeypatch.setattr(threads, "MANY", 5)


def random_graph(rng, K, shared=(True, False)):
    families = [graphs.SHARED_PAIRS if each else graphs.PAIRS for each in shared]
    potentials, structure = graphs.random_graphs(rng, (60,), K, families, density=1.0)
    return contracts.mapped(lambda table: 0.5 * table, potentials), structure


@pytest.mark.parametrize("inference", [SETTLED, TreeReweighted(1000, 1e-13)])
@pytest.mark.parametrize("K", [2, 5, 11, 17])
def test_messages_settle_where_those_in_another_order_do(monkeypatch, K, inference):
    rng = np.random.default_rng(0)
    batch = random_graph(rng, K)
    batch[0].node[rng.random((60, K)) < 0.1] = -np.inf
    expected, log_Z = contracts.marginals(inference, *batch)
    monkeypatch.setattr(colours, "LARGE", 5)
    monkeypatch.setattr(pairs_by_colours, "FEW", 1)
    assert is_large(batch[1])
    out, same = contracts.marginals(inference, *batch)
    np.testing.assert_allclose(same, log_Z, rtol=1e-11)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-10)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("shared", [(True,), (True, False)])
@pytest.mark.parametrize("K", [2, 3, 9, 17])
def test_bits_do_not_depend_on_threads(K, shared):
    """Also where messages have not settled."""
    potentials, structure = random_graph(np.random.default_rng(0), K, shared)
    inference = BeliefPropagation(2, 0.0)
    results = []
    for n_jobs in (1, 2, 3):
        with Pool(n_jobs) as pool:
            (result,) = pool.map(lambda _: contracts.marginals(inference, potentials, structure), 1)
        results.append((*contracts.arrays_of(result[0]), result[1]))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("K", [2, 4])
def test_forests_are_exact(K):
    potentials, structure = graphs.random_forest(np.random.default_rng(0), (40,), K)
    assert is_large(structure)
    expected, log_Z = contracts.marginals(Forest(), potentials, structure)
    out, same = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


def test_neighbours_have_different_colours():
    _, structure = graphs.random_graphs(np.random.default_rng(0), (80,), 2, density=2.5)
    order, cliques, _, ranges = coloured(structure)
    assert sorted(order) == list(range(80))
    colour = np.empty(80, int)
    for number, (first, last) in enumerate(ranges):
        colour[first:last] = number
    ends = colour[cliques.members].reshape(-1, 2)
    assert np.all(ends[:, 0] != ends[:, 1])
    np.testing.assert_array_equal(order[cliques.members], structure.families[0].nodes.ravel())


def test_what_is_large_depends_on_edges_and_colours(monkeypatch):
    number = np.arange(400).reshape(20, 20)
    edges = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    path = Structure(np.array([0, 400]), (Family(edges, np.array([0, len(edges)])),))
    assert not is_large(path)
    monkeypatch.setattr(colours, "LARGE", 100)
    assert is_large(path)
    every = np.column_stack(np.triu_indices(70, 1))
    dense = Structure(np.array([0, 70]), (Family(every, np.array([0, len(every)])),))
    assert not is_large(dense)
    two = Structure(np.array([0, 200, 400]), (Family(edges, np.array([0, 190, 380])),))
    assert not is_large(two)


@pytest.mark.usefixtures("small_is_large")
def test_fits_and_predictions_have_the_same_bits(monkeypatch):
    calls = []
    by_colours = pairs_by_colours.by_colours
    monkeypatch.setattr(
        "sklearn_struct.inference.graphs.message_passing.by_colours",
        lambda *arguments: calls.append(0) or by_colours(*arguments),
    )
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(36, 3))
    _, structure = graphs.grid(rng, 6, 6, 2)
    X = [(nodes, structure.families[0].nodes)]
    y = [rng.integers(0, 3, 36)]
    first, *others = (
        GraphCRF(inference="bp", n_jobs=n, C=0.1, tol=0.1).fit(X, y) for n in (1, 2, 3)
    )
    assert calls
    for crf in others:
        np.testing.assert_array_equal(crf.coef_, first.coef_)
        np.testing.assert_array_equal(crf.predict_proba(X)[0], first.predict_proba(X)[0])


@pytest.mark.usefixtures("small_is_large")
def test_messages_that_do_not_settle_are_damped():
    """As in the ordinary order, and the report says so."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 5, 5, 3, shared=False, strength=8.0)
    inference = BeliefPropagation(3, 1e-12)
    out, _ = contracts.marginals(inference, potentials, structure)
    counts = inference.report.counts
    assert counts.n_unconverged == 1
    assert counts.most_sweeps == 12
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0)


def test_a_graph_of_one_colour():
    """Without edges there is nobody to tell anything."""
    potentials = Potentials(np.zeros((3, 2)), (np.zeros((0, 4)),))
    structure = Structure(np.array([0, 3]), (Family(np.zeros((0, 2), int), np.array([0, 0])),))
    assert len(coloured(structure).colours) == 1
    _, log_Z = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(log_Z, 3 * np.log(2.0))
