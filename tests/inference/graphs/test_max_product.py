"""Damped max-product: what a perceptron cannot learn with it (A. Kulesza and F. Pereira,
"Structured learning with approximate inference", NIPS 2007).
"""

from __future__ import annotations

from itertools import combinations

import graphs
import numpy as np
import pytest

from sklearn_struct import GraphCRF
from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.flat_scores import flat_scores
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.max_product import best_by_max_product
from sklearn_struct.inference.graphs.search_order import ordered
from sklearn_struct.inference.graphs.search_scores import search_scores

# four nodes, each joined to each, and five more that hang on one of these: what the four say comes
# back to them along cycles, and counts more often than what the five say
CORE = 4
HANGING = 5
N = CORE + HANGING
EDGES = np.array([*combinations(range(CORE), 2), *((t % CORE, CORE + t) for t in range(HANGING))])
STRUCTURE = Structure(np.array([0, N]), (Family(EDGES, np.array([0, len(EDGES)])),))
# the sum of all nodes decides for all of them: five are more than four, and four more than nothing
INPUTS = [np.repeat([1.0, -1.0], [CORE, HANGING]), np.repeat([1.0, 0.0], [CORE, HANGING])]
TRUTHS = [np.zeros(N, np.int32), np.ones(N, np.int32)]
EXAMPLES = list(zip(INPUTS, TRUTHS))


def potentials(w, x):
    """Scores of labels 0 and 1, which are the signs -1 and 1: w[0] x s of a node, w[1] s s' of an
    edge.
    """
    table = w[1] * np.array([[1.0, -1.0, -1.0, 1.0]])
    return Potentials(w[0] * np.column_stack([-x, x]), (table,))


def features(x, labels):
    signs = 2.0 * labels - 1.0
    return np.array([x @ signs, np.sum(signs[EDGES[:, 0]] * signs[EDGES[:, 1]])])


def exactly(w, x):
    labels = np.zeros(N, np.int32)
    JunctionTree().argmax(potentials(w, x), STRUCTURE, labels)
    return labels


def by_max_product(w, x):
    order, cliques, graph = ordered(potentials(w, x), STRUCTURE)
    labels = np.zeros(N, np.int32)
    messages = np.zeros((2, 2 * len(EDGES), 2))
    scores = search_scores(flat_scores(potentials(w, x)), cliques)
    scores = scores._replace(node=scores.node[order])
    example = 0, 0, N, 100
    best_by_max_product(scores, cliques, graph, example, tuple(messages), labels)
    found = np.empty(N, np.int32)
    found[order] = labels
    return found


def perceptron(predict, n_passes):
    """The weights, and the number of wrong labellings in the last pass."""
    w = np.zeros(2)
    for _ in range(n_passes):
        n_wrong = 0
        for x, truth in EXAMPLES:
            labels = predict(w, x)
            if np.any(labels != truth):
                w += features(x, truth) - features(x, labels)
                n_wrong += 1
        if n_wrong == 0:
            break
    return w, n_wrong


def test_a_perceptron_learns_by_exact_inference():
    w, n_wrong = perceptron(exactly, 100)
    assert n_wrong == 0
    for x, truth in EXAMPLES:
        np.testing.assert_array_equal(exactly(w, x), truth)


def test_a_perceptron_never_learns_by_max_product():
    _, n_wrong = perceptron(by_max_product, 300)
    assert n_wrong > 0


def test_there_is_nothing_that_it_could_learn_by_max_product():
    """Only the direction of two weights matters: in none are both labellings right, whereas by
    exact inference they are in a whole sector.
    """
    right = {exactly: 0, by_max_product: 0}
    for angle in np.radians(np.arange(2.0, 362.0, 4.0)):
        w = np.array([np.cos(angle), np.sin(angle)])
        for predict in right:
            right[predict] += all(np.array_equal(predict(w, x), y) for x, y in EXAMPLES)
    assert right[by_max_product] == 0
    assert right[exactly] > 5


@pytest.mark.parametrize("inference", ["trw", "exact"])
def test_convex_surrogates_learn_it(inference):
    """Also where labellings are those of tree-reweighted messages."""
    X = [(x[:, None], EDGES) for x in INPUTS]
    y = [truth.tolist() for truth in TRUTHS]
    crf = GraphCRF(inference=inference, symmetric=True, fit_intercept=False, inference_tol=1e-3)
    crf.fit(X, y)
    assert crf.predict(X).tolist() == y


def searched(potentials, structure):
    """Labels and scores by max-product alone."""
    order, cliques, graph = ordered(potentials, structure)
    scores = search_scores(flat_scores(potentials), cliques)
    scores = scores._replace(node=scores.node[order])
    labels = np.zeros(len(order), np.int32)
    best = np.empty(structure.n_examples)
    for i in range(structure.n_examples):
        messages = np.zeros((2, len(graph.places), scores.node.shape[1]))
        example = i, *structure.offsets[i : i + 2].tolist(), 100
        best[i] = best_by_max_product(scores, cliques, graph, example, tuple(messages), labels)
    of_nodes = np.empty(len(order), np.int32)
    of_nodes[order] = labels
    return of_nodes, best


@pytest.mark.parametrize("shared", [True, False])
def test_it_is_exact_on_forests(shared):
    """Also of cliques of three nodes that share one with another at most."""
    rng = np.random.default_rng(0)
    problems = [graphs.random_forest(rng, (9, 0, 1, 12, 7), 4, shared) for _ in range(5)]
    for _ in range(5):
        places = rng.permutation(11)
        triples = [places[[rng.integers(2 * c + 1), 2 * c + 1, 2 * c + 2]] for c in range(5)]
        nodes = np.array([rng.permutation(triple) for triple in triples])
        structure = Structure(np.array([0, 11]), (Family(nodes, np.array([0, 5])),))
        table = rng.normal(size=(1 if shared else 5, 27))
        problems.append((Potentials(rng.normal(size=(11, 3)), (table,)), structure))
    for potentials, structure in problems:
        expected = np.zeros(len(potentials.node), np.int32)
        score = np.empty(structure.n_examples)
        JunctionTree().argmax(potentials, structure, expected, score)
        labels, best = searched(potentials, structure)
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_allclose(best, score, atol=1e-9)
