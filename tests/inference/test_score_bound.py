"""What no labelling scores above, by every inference, against the best labelling."""

from __future__ import annotations

import graphs
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.estimators.graphs.graph_inference import INFERENCES, inference_of
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree

SIZES = (5, 0, 1, 7, 6)


def best(potentials, structure):
    score = np.empty(structure.n_examples)
    JunctionTree().argmax(potentials, structure, np.zeros(len(potentials.node), np.int32), score)
    return score


@pytest.mark.parametrize("name", sorted(INFERENCES))
@pytest.mark.parametrize("families", [(graphs.PAIRS,), (graphs.SHARED_PAIRS, graphs.TRIPLES)])
@pytest.mark.parametrize("seed", range(3))
def test_no_labelling_of_a_graph_is_above(name, families, seed):
    potentials, structure = graphs.random_graphs(np.random.default_rng(seed), SIZES, 3, families)
    inference = inference_of(name, 100, 1e-6, Report())
    bound = inference.score_bound(potentials, structure)
    expected = best(potentials, structure)
    assert bound.shape == (len(SIZES),)
    assert np.all(bound >= expected - 1e-9)
    if name in {"auto", "exact"}:  # small graphs, so both are exact
        np.testing.assert_allclose(bound, expected, atol=1e-9)
    elif families == (graphs.PAIRS,):
        assert np.all(np.isfinite(bound))
    else:
        # of cliques of three nodes nothing is known but where there are none
        assert np.isinf(bound[[0, 3, 4]]).all()


def test_of_chains_and_forests_it_is_the_best_score():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_forest(rng)
    expected = best(potentials, structure)
    np.testing.assert_allclose(Forest().score_bound(potentials, structure), expected, atol=1e-9)
    chains = chain(np.array([0, 4, 4, 9]))
    scores = Potentials(rng.normal(size=(9, 3)), (rng.normal(size=(1, 9)),))
    labels = np.zeros(9, np.int32)
    score = np.empty(3)
    Chain().argmax(scores, chains, labels, score)
    np.testing.assert_array_equal(Chain().score_bound(scores, chains), score)
