"""Sums over all sets of labels, beside the junction tree."""

from __future__ import annotations

import contracts
import numpy as np
import pytest

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.label_sets import LabelSets

SETS = LabelSets(ChosenByGraph(JunctionTree()))

test_contract = contracts.inference(SETS)


def rows(n, m, edges=None):
    """m examples of n nodes with the same edges, all by default."""
    pairs = np.column_stack(np.triu_indices(n, 1)) if edges is None else np.array(edges)
    nodes = (pairs + n * np.arange(m)[:, None, None]).reshape(-1, 2)
    return Structure(n * np.arange(m + 1), (Family(nodes, len(pairs) * np.arange(m + 1)),))


CYCLE = [[0, 1], [1, 2], [2, 3], [0, 3]]
STRUCTURES = {
    "three": rows(3, 30),
    "six": rows(6, 20),
    "eleven": rows(11, 3),
    "a cycle": rows(4, 25, CYCLE),
    "a tree": rows(4, 10, CYCLE[:3]),
    "an edge": rows(2, 10),
}


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize("tables", ["of rows", "alike", "one"])
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_as_the_junction_tree(structure, tables, forbidden):
    rng = np.random.default_rng(0)
    n_nodes = structure.offsets[-1]
    m = structure.n_examples
    n_edges = len(structure.families[0].nodes)
    table = rng.normal(size=(n_edges, 4))
    if tables != "of rows":
        alike = np.tile(table[: n_edges // m], (m, 1))
        table = alike if tables == "alike" else table[:1]
    node = 3 * rng.normal(size=(n_nodes, 2))
    if forbidden:
        node[rng.random(node.shape) < 0.1] = -np.inf
    theta = Potentials(node, (table,))
    weight = rng.random(m)
    weight[1] = 0.0
    results = []
    for inference in (SETS, JunctionTree()):
        out = Potentials(np.zeros((n_nodes, 2)), (np.zeros((len(table), 4)),))
        log_Z = np.empty(m)
        inference.marginals(theta, structure, weight, out, log_Z)
        labels = np.empty(n_nodes, np.int32)
        score = np.empty(m)
        inference.argmax(theta, structure, labels, score)
        results.append((out, log_Z, score))
    (out, log_Z, score), (twin, twin_log_Z, twin_score) = results
    np.testing.assert_allclose(out.node, twin.node, atol=1e-11)
    np.testing.assert_allclose(out.cliques[0], twin.cliques[0], atol=1e-11)
    np.testing.assert_allclose(log_Z, twin_log_Z, atol=1e-11)
    np.testing.assert_allclose(score, twin_score, atol=1e-11)
    some = np.isfinite(twin_score)
    bound = SETS.score_bound(theta, structure)
    np.testing.assert_allclose(bound[some], twin_score[some], atol=1e-11)


def test_improbable_labels_have_all_their_digits():
    structure = rows(3, 1)
    theta = Potentials(np.array([[0.0, 60.0], [0.0, 1.0], [2.0, 0.0]]), (np.zeros((1, 4)),))
    out = Potentials(np.zeros((3, 2)), (np.zeros((1, 4)),))
    SETS.marginals(theta, structure, np.ones(1), out, np.empty(1))
    np.testing.assert_allclose(out.node[0, 0], np.exp(-60.0) / (1 + np.exp(-60.0)), rtol=1e-12)


def test_larger_sets_go_elsewhere():
    structure = rows(5, 2)
    rng = np.random.default_rng(0)
    theta = Potentials(rng.normal(size=(10, 2)), (rng.normal(size=(20, 4)),))
    few = LabelSets(ChosenByGraph(JunctionTree()), most=16.0)
    for inference in (few, SETS):
        log_Z = np.empty(2)
        out = Potentials(np.zeros((10, 2)), (np.zeros((20, 4)),))
        inference.marginals(theta, structure, np.ones(2), out, log_Z)
        np.testing.assert_allclose(out.node.sum(axis=1), 1.0)
