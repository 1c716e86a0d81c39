"""What is made of a structure is made once, for that structure, and goes with it."""

from __future__ import annotations

import gc
import weakref

import contracts
import graphs
import numpy as np
import pytest

from sklearn_struct.containers.structures import Family, Structure
from sklearn_struct.inference.graphs import remembered
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.gibbs_sampling import GibbsSampling
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.mean_field import MeanField
from sklearn_struct.inference.graphs.remembered import of_structure
from sklearn_struct.inference.graphs.tree_reweighted import TreeReweighted


def test_once_for_each_structure_and_key():
    _, structure = graphs.random_graphs(np.random.default_rng(0))
    made = []
    for key in ("a", "b", "a", "b"):
        of_structure(structure, key, lambda: made.append(0))
    assert len(made) == 2
    # of the same offsets, but with other edges
    other = structure._replace(
        families=tuple(Family(family.nodes.copy(), family.offsets) for family in structure.families)
    )
    of_structure(other, "a", lambda: made.append(0))
    of_structure(structure, "a", lambda: made.append(0))
    assert len(made) == 4


@pytest.mark.parametrize(
    "inference",
    [
        Forest(),
        JunctionTree(),
        BeliefPropagation(),
        TreeReweighted(),
        MeanField(),
        GibbsSampling(),
        ChosenByGraph(BeliefPropagation(), 50.0),
    ],
    ids=lambda subject: type(subject).__name__,
)
def test_nothing_outlives_its_structure(inference):
    rng = np.random.default_rng(0)
    make = graphs.random_forest if isinstance(inference, Forest) else graphs.random_graphs
    potentials, structure = make(rng, (5, 0, 1, 6))
    contracts.marginals(inference, potentials, structure)
    labels = np.zeros(12, np.int32)
    inference.argmax(potentials, structure, labels)
    offsets = weakref.ref(structure.offsets)
    number = id(structure.offsets)
    assert number in remembered._KEPT
    del structure
    gc.collect()
    assert offsets() is None
    assert number not in remembered._KEPT


def test_other_edges_on_the_same_nodes():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6,), 2)
    nodes = structure.families[0].nodes
    turned = Structure(structure.offsets, (Family(5 - nodes, structure.families[0].offsets),))
    for inference in (JunctionTree(), BeliefPropagation(1000, 1e-13)):
        first, _ = contracts.marginals(inference, potentials, structure)
        second, _ = contracts.marginals(inference, potentials, turned)
        moved = potentials._replace(node=potentials.node[::-1].copy())
        expected, _ = contracts.marginals(inference, moved, structure)
        np.testing.assert_allclose(second.node[::-1], expected.node, atol=1e-9)
        assert not np.allclose(first.node, second.node, atol=1e-3)
