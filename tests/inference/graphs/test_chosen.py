"""The inference of each graph is chosen by the graph."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, TRIPLES

from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree

test_contract = contracts.inference(ChosenByGraph(BeliefPropagation()))
test_tangent_contract = contracts.inference_tangent(ChosenByGraph(BeliefPropagation()))


@pytest.mark.parametrize("families", [(PAIRS,), (PAIRS, TRIPLES)], ids=["pairs", "triples"])
def test_each_graph_has_the_result_of_its_inference(families):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 0, 1, 9, 2, 5), 3, families)
    messages = BeliefPropagation(500, 1e-12)
    subject = ChosenByGraph(messages, most=100.0)
    exact = contracts.marginals(JunctionTree(), potentials, structure)
    near = contracts.marginals(messages, potentials, structure)
    messages.report.clear()
    out, log_Z = contracts.marginals(subject, potentials, structure)
    n_near = messages.report.counts.n_calls
    assert 0 < n_near < 6
    # each is one or the other
    of_graph = np.isclose(log_Z, exact[1], rtol=1e-12)
    assert np.sum(~of_graph) <= n_near
    np.testing.assert_allclose(log_Z[~of_graph], near[1][~of_graph], rtol=1e-12)
    of_node = np.repeat(of_graph, np.diff(structure.offsets))[:, None]
    np.testing.assert_allclose(out.node, np.where(of_node, exact[0].node, near[0].node), atol=1e-9)


def test_small_graphs_are_exact():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 0, 1, 7), 3, (PAIRS,))
    subject = ChosenByGraph(BeliefPropagation())
    expected, log_Z = contracts.marginals(JunctionTree(), potentials, structure)
    out, same = contracts.marginals(subject, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-13)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)
    assert subject.otherwise.report.counts.n_calls == 0


def test_samples_are_those_of_each_inference():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 0, 1, 6), 3, (PAIRS,))
    trees, of_trees = graphs.random_forest(rng, (4, 3), 3)
    uniform = rng.random(12)
    subject = ChosenByGraph(JunctionTree())
    for inference, theta, examples in (
        (JunctionTree(), potentials, structure),
        (Forest(), trees, of_trees),
    ):
        n = len(theta.node)
        drawn = np.zeros((2, n), np.int32)
        score = np.zeros((2, examples.n_examples))
        subject.sample(theta, examples, uniform[:n], drawn[0], score[0])
        inference.sample(theta, examples, uniform[:n], drawn[1], score[1])
        # forests among the graphs have the same labels by either inference
        np.testing.assert_array_equal(drawn[0], drawn[1])
        np.testing.assert_allclose(score[0], score[1], atol=1e-12)


def test_approximate_inference_draws_nothing():
    potentials, structure = graphs.grid(np.random.default_rng(0), 3, 3, 2)
    subject = ChosenByGraph(BeliefPropagation(), most=4.0)
    with pytest.raises(ValueError, match="example 0: labellings are drawn exactly alone"):
        subject.sample(potentials, structure, np.zeros(9), np.zeros(9, np.int32), np.zeros(1))
