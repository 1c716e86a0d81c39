"""What inferences on graphs say of each other: chains, forests, bounds, and what Bethe's
approximation is (P1 5.27 and 5.28).
"""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, QUADS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration

from sklearn_struct.containers.structures import Family, Potentials, Structure, columns_of
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.decoded import decode, iterate_modes, score_bound
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.gibbs_sampling import GibbsSampling
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.mean_field import MeanField
from sklearn_struct.inference.graphs.tree_reweighted import TreeReweighted
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.pieces import Pieces

SETTLED = BeliefPropagation(2000, 1e-15)
EXACT_ON_FORESTS = [Forest(), JunctionTree(), SETTLED, TreeReweighted(2000, 1e-15)]
OF_FORESTS = pytest.mark.parametrize(
    "subject", EXACT_ON_FORESTS, ids=lambda subject: type(subject).__name__
)
# all of them, with what two calls may differ by where numbers stand in another order
OF_ANY_GRAPH = pytest.mark.parametrize(
    ("subject", "digits"),
    [
        (JunctionTree(), 1e-11),
        (SETTLED, 1e-11),
        (TreeReweighted(2000, 1e-15), 1e-11),
        (MeanField(2000, 1e-15), 1e-11),
    ],
    ids=["exact", "bp", "trw", "mean_field"],
)


@OF_FORESTS
@pytest.mark.parametrize("shared", [True, False])
def test_paths_are_chains(subject, shared):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (5, 0, 1, 30), 4, shared)
    expected, log_Z = contracts.marginals(Chain(), potentials, structure)
    out, same = contracts.marginals(subject, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


@OF_FORESTS
@pytest.mark.parametrize("seed", range(3))
def test_forests_are_enumerated(subject, seed):
    potentials, structure = graphs.random_forest(np.random.default_rng(seed), (7, 0, 1, 6))
    out, log_Z = contracts.marginals(subject, potentials, structure)
    for i in range(4):
        every = Enumeration(potentials, structure, i)
        assert log_Z[i] == pytest.approx(every.log_Z, abs=1e-12)
        nodes, cliques = every.means(every.p, potentials)
        for node, p in zip(every.nodes, nodes):
            np.testing.assert_allclose(out.node[node], p, atol=1e-12)
        for c, p in zip(every.cliques[0], cliques[0]):
            np.testing.assert_allclose(out.cliques[0][c], p, atol=1e-12)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
@pytest.mark.parametrize("strength", [0.3, 1.0])
def test_one_bound_is_above_and_one_below(families, strength):
    rng = np.random.default_rng(1)
    potentials, structure = graphs.random_graphs(rng, (5, 6, 7, 7), 2, families, 1.5)
    potentials = contracts.mapped(lambda table: strength * table, potentials)
    exact = [Enumeration(potentials, structure, i).log_Z for i in range(4)]
    # a bound only where messages have settled
    subject = TreeReweighted(5000, 1e-6)
    _, above = contracts.marginals(subject, potentials, structure)
    _, below = contracts.marginals(MeanField(100, 1e-9), potentials, structure)
    assert subject.report.counts.n_unconverged == 0
    assert np.all(above > exact)
    assert np.all(below < exact)


# ---------------------------------------------------------------- Bethe's approximation


def loopy(seed=0, strength=0.5):
    """Small graphs with many cycles, in which messages settle slowly enough to be stopped."""
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_graphs(rng, (6, 5), 3, (PAIRS, SHARED_TRIPLES), 1.0)
    return contracts.mapped(lambda table: strength * table, potentials), structure


def of_cliques(beliefs, structure):
    """The beliefs of each clique with those less one in which each node is: (d_s - 1)."""
    n = len(beliefs.node)
    degree = sum(np.bincount(f.nodes.ravel(), minlength=n) for f in structure.families)
    return degree - 1


def surrogate(potentials, beliefs, structure, i):
    """P1 5.27 without the score of y: expected scores, and the entropies of cliques and nodes."""
    surplus = of_cliques(beliefs, structure)
    value = 0.0
    for f, family in enumerate(structure.families):
        for c in range(*family.offsets[i : i + 2]):
            q = beliefs.cliques[f][c]
            scores = potentials.cliques[f][0 if len(potentials.cliques[f]) == 1 else c]
            value += q @ (scores - np.log(q))
    for v in range(*structure.offsets[i : i + 2]):
        q = beliefs.node[v]
        value += q @ (potentials.node[v] + surplus[v] * np.log(q))
    return value


def log_ratio(beliefs, structure, i, every):
    """P1 5.28 of all labellings: log of what cliques believe over what nodes do too often."""
    surplus = of_cliques(beliefs, structure)
    value = np.zeros(len(every.labellings))
    for t, v in enumerate(every.nodes):
        value -= surplus[v] * np.log(beliefs.node[v])[every.labellings[:, t]]
    for f, rows in enumerate(every.cliques):
        for c, columns in zip(rows, every.columns[f]):
            value += np.log(beliefs.cliques[f][c])[columns]
    return value


def beliefs_and_value(subject, potentials, structure):
    """With a row of beliefs for each clique."""
    tables = [np.zeros((len(f.nodes), 3 ** f.nodes.shape[1])) for f in structure.families]
    wide = Potentials(np.zeros(potentials.node.shape), tuple(tables))
    return contracts.marginals(subject, potentials, structure, out=wide)


@pytest.mark.parametrize(("sweeps", "settled"), [(0, False), (1, False), (3000, True)])
def test_both_forms_of_the_surrogate(sweeps, settled):
    """log p of each labelling is 5.28 from the first message on, and 5.27 once they have settled.

    Each message moves a factor from a node to a clique, so the ratio stays; expectations under
    beliefs that contradict each other are those of no distribution.
    """
    potentials, structure = loopy()
    subject = BeliefPropagation(sweeps, 1e-14)
    beliefs, log_Z = beliefs_and_value(subject, potentials, structure)
    assert (subject.report.counts.n_unconverged == 0) == settled
    for i in range(2):
        every = Enumeration(potentials, structure, i)
        ratio = log_ratio(beliefs, structure, i, every)
        np.testing.assert_allclose(every.scores - log_Z[i], ratio, atol=1e-9)
        apart = abs(surrogate(potentials, beliefs, structure, i) - log_Z[i])
        assert apart < 1e-8 if settled else apart > 1e-3


@pytest.mark.parametrize(("sweeps", "settled"), [(0, False), (1, False), (3000, True)])
def test_beliefs_are_the_derivative_of_the_value_or_not_yet(sweeps, settled):
    """The gradient of 5.28 is 5.25, which has beliefs, once messages have settled. The derivative
    is exact: a step along the imaginary axis.
    """
    potentials, structure = loopy(1)
    rng = np.random.default_rng(0)
    subject = BeliefPropagation(sweeps, 1e-14)
    beliefs, _ = contracts.marginals(subject, potentials, structure)
    apart = []
    for _ in range(5):
        reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
        _, slope = contracts.tangent(subject, potentials, reward, structure)
        apart.append(slope.sum() - contracts.flat(reward) @ contracts.flat(beliefs))
    assert np.all(np.abs(apart) < 1e-8) if settled else np.max(np.abs(apart)) > 1e-3


def shared_out(potentials, structure):
    """The same scores, those of nodes in equal parts among their cliques."""
    K = potentials.node.shape[1]
    degree = of_cliques(potentials, structure) + 1
    share = potentials.node / np.maximum(degree, 1)[:, None]
    tables = []
    for table, family in zip(potentials.cliques, structure.families):
        r = family.nodes.shape[1]
        moved = np.broadcast_to(table, (len(family.nodes), K**r)).reshape(-1, *(K,) * r).copy()
        for place in range(r):
            axes = [len(moved)] + [1] * r
            axes[1 + place] = K
            moved += share[family.nodes[:, place]].reshape(axes)
        tables.append(moved.reshape(len(moved), -1))
    node = np.where(degree[:, None] > 0, 0.0, potentials.node)
    return Potentials(node, tuple(tables)), degree


def test_before_the_first_sweep_it_is_pieces():
    """Piecewise training is belief propagation of no sweep, where cliques have the scores of their
    nodes in equal shares: beliefs are those of pieces, and values differ by a constant.
    """
    rng = np.random.default_rng(2)
    potentials, structure = graphs.random_graphs(rng, (6, 1, 5), 3, (PAIRS, SHARED_TRIPLES), 1.0)
    y = rng.integers(3, size=12).astype(np.int32)
    pieces, slope = contracts.evaluate(Pieces(), potentials, y, structure, np.ones(3))
    moved, degree = shared_out(potentials, structure)
    near = LogLikelihood(BeliefPropagation(0, 1e-6))
    value, of_moved = contracts.evaluate(near, moved, y, structure, np.ones(3))
    # of a node in d cliques it takes log K away d - 1 times
    per_node = np.where(degree > 0, degree - 1, 0) * np.log(3)
    constant = np.add.reduceat(per_node, structure.offsets[:-1])
    np.testing.assert_allclose(value, pieces - constant, atol=1e-12)
    # a table of one row has the sum over cliques
    np.testing.assert_allclose(of_moved.cliques[0], slope.cliques[0], atol=1e-12)
    np.testing.assert_allclose(of_moved.cliques[1].sum(axis=0), slope.cliques[1][0], atol=1e-12)


# ---------------------------------------------------------------- sampling


def gradient(inference, potentials, y, structure):
    _, out = contracts.evaluate(LogLikelihood(inference), potentials, y, structure, np.ones(20))
    return contracts.flat(out)


def test_gradients_by_sampling_come_near_with_the_square_root():
    """The error of the likelihood's gradient, over twenty graphs, is four times smaller with
    sixteen times as many sweeps.
    """
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6,) * 20, 3, (PAIRS,))
    potentials = contracts.mapped(lambda table: 0.5 * table, potentials)
    y = rng.integers(3, size=120).astype(np.int32)
    exact = gradient(JunctionTree(), potentials, y, structure)
    sizes = np.array([50, 800, 12_800])
    errors = []
    for n_sweeps in sizes:
        sampled = gradient(GibbsSampling(int(n_sweeps), 50), potentials, y, structure)
        errors.append(np.sqrt(np.mean((sampled - exact) ** 2)))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.07)


# ---------------------------------------------------------------- what must not matter


def renumbered(rng, potentials, structure):
    """The same graphs with other numbers of nodes, cliques in another order, and where each node
    went.
    """
    place = np.concatenate(
        [
            first + rng.permutation(last - first)
            for first, last in zip(structure.offsets, structure.offsets[1:])
        ]
    )
    node = np.empty_like(potentials.node)
    node[place] = potentials.node
    families = []
    tables = []
    orders = []
    for table, family in zip(potentials.cliques, structure.families):
        bounds = zip(family.offsets, family.offsets[1:])
        order = np.concatenate([first + rng.permutation(last - first) for first, last in bounds])
        families.append(Family(place[family.nodes[order]], family.offsets))
        tables.append(table if len(table) == 1 else table[order])
        orders.append(order)
    moved = Potentials(node, tuple(tables)), Structure(structure.offsets, tuple(families))
    return *moved, place, orders


@OF_ANY_GRAPH
@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, TRIPLES)])
def test_numbers_of_nodes_do_not_matter(subject, digits, families):
    if isinstance(subject, TreeReweighted) and TRIPLES in families:
        # the shares of larger cliques are counts of forests, see below
        digits = 0.005
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 0, 1, 7), 3, families, 1.0)
    potentials = contracts.mapped(lambda table: 0.3 * table, potentials)
    moved, other, place, orders = renumbered(rng, potentials, structure)
    expected, log_Z = contracts.marginals(subject, potentials, structure)
    out, same = contracts.marginals(subject, moved, other)
    np.testing.assert_allclose(same, log_Z, atol=digits)
    np.testing.assert_allclose(out.node[place], expected.node, atol=digits)
    for a, b, order in zip(out.cliques, expected.cliques, orders):
        np.testing.assert_allclose(a, b if len(b) == 1 else b[order], atol=digits)


@pytest.mark.parametrize("whole", [True, False], ids=["ties", "no ties"])
@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS,), (SHARED_PAIRS, TRIPLES)])
def test_numbers_of_nodes_do_not_matter_to_searches(families, whole):
    """Also of problems so hard that searches of other orders end elsewhere."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (0, 1, *[15] * 20), 3, families, 1.0)
    if whole:
        # the scores of nodes tell these apart
        potentials = potentials._replace(cliques=contracts.mapped(np.round, potentials).cliques)
    moved, other, place, _ = renumbered(rng, potentials, structure)
    expected = np.zeros(len(place), np.int32)
    labels = np.zeros(len(place), np.int32)
    decode(potentials, structure, expected)
    decode(moved, other, labels)
    bound = score_bound(potentials, structure)
    np.testing.assert_allclose(score_bound(moved, other), bound, rtol=1e-9)
    np.testing.assert_array_equal(labels[place], expected)
    modes = np.zeros(len(place), np.int32)
    iterate_modes(potentials, structure, modes)
    labels[:] = 0
    iterate_modes(moved, other, labels)
    np.testing.assert_array_equal(labels[place], modes)


def test_last_digits_do_not_matter_to_searches_that_do_not_settle():
    """Nor does the order of so many cliques that max-product never settles."""
    rng = np.random.default_rng(4)
    families = (PAIRS, TRIPLES, QUADS)
    potentials, structure = graphs.random_graphs(rng, [40] * 30, 4, families, 1.5)
    expected = np.zeros(1200, np.int32)
    labels = np.zeros(1200, np.int32)
    decode(potentials, structure, expected)
    moved, other, place, _ = renumbered(rng, potentials, structure)
    node = moved.node * (1.0 + 1e-15 * rng.normal(size=moved.node.shape))
    decode(moved._replace(node=node), other, labels)
    np.testing.assert_array_equal(labels[place], expected)


def test_one_node_that_differs_tells_all_apart():
    """All other scores are the same, and each node has two edges to it and two from it."""
    rng = np.random.default_rng(0)
    cycles = [rng.permutation(200) for _ in range(2)]
    nodes = np.concatenate([np.column_stack([cycle, np.roll(cycle, 1)]) for cycle in cycles])
    structure = Structure(np.array([0, 200]), (Family(nodes, np.array([0, len(nodes)])),))
    potentials = Potentials(np.zeros((200, 3)), (-np.eye(3).reshape(1, 9) + 0.1 * np.arange(9),))
    potentials.node[17, 1] = 1.0
    expected = np.zeros(200, np.int32)
    labels = np.zeros(200, np.int32)
    decode(potentials, structure, expected)
    for _ in range(5):
        moved, other, place, _ = renumbered(rng, potentials, structure)
        decode(moved, other, labels)
        np.testing.assert_array_equal(labels[place], expected)


@pytest.mark.parametrize("shared", [True, False])
def test_directions_of_symmetric_edges_do_not_matter_to_searches(shared):
    """Graphs whose edges have none are numbered from smaller to larger nodes."""
    rng = np.random.default_rng(0)
    family = SHARED_PAIRS if shared else PAIRS
    potentials, structure = graphs.random_graphs(rng, [15] * 20, 3, (family,), 1.0)
    tables = potentials.cliques[0].reshape(-1, 3, 3)
    symmetric = (tables + tables.swapaxes(1, 2)).reshape(-1, 9)
    potentials = Potentials(potentials.node, (symmetric,))
    moved, other, place, _ = renumbered(rng, potentials, structure)
    nodes, offsets = other.families[0]
    sorted_ends = Structure(other.offsets, (Family(np.sort(nodes, axis=1), offsets),))
    expected = np.zeros(len(place), np.int32)
    labels = np.zeros(len(place), np.int32)
    decode(potentials, structure, expected)
    decode(moved, sorted_ends, labels)
    bound = score_bound(potentials, structure)
    np.testing.assert_allclose(score_bound(moved, sorted_ends), bound, rtol=1e-9)
    np.testing.assert_array_equal(labels[place], expected)


@pytest.mark.parametrize("scale", [1.5, 4.0, 8.0])
def test_strong_edges_have_one_mean_field(scale):
    """There are several optima; numbers do not tell which is found."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (4, 6, 8, 9, 9), 3, (PAIRS,), 1.5)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    _, log_Z = contracts.marginals(MeanField(2000, 1e-12), potentials, structure)
    for _ in range(5):
        moved, other, _, _ = renumbered(rng, potentials, structure)
        _, same = contracts.marginals(MeanField(2000, 1e-12), moved, other)
        np.testing.assert_allclose(same, log_Z, rtol=1e-9)


def test_shares_of_larger_cliques_hardly_depend_on_numbers():
    """Each numbering gives a bound, a little lower or higher: forests are drawn."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (7,), 3, (PAIRS, TRIPLES), 0.8)
    exact = Enumeration(potentials, structure, 0).log_Z
    bounds = []
    for _ in range(10):
        moved, other, _, _ = renumbered(rng, potentials, structure)
        bounds.append(contracts.marginals(TreeReweighted(3000, 1e-9), moved, other)[1][0])
    assert np.min(bounds) > exact
    assert np.ptp(bounds) < 0.01 * (np.min(bounds) - exact)


@OF_ANY_GRAPH
def test_two_graphs_in_one_example_are_two_examples(subject, digits):
    """Where shares are those of the same forests, as the two do not meet."""
    rng = np.random.default_rng(3)
    potentials, structure = graphs.random_graphs(rng, (6, 5), 3, (SHARED_PAIRS, TRIPLES), 1.0)
    potentials = contracts.mapped(lambda table: 0.3 * table, potentials)
    joined = Structure(
        structure.offsets[[0, 2]],
        tuple(Family(f.nodes, f.offsets[[0, 2]]) for f in structure.families),
    )
    expected, log_Z = contracts.marginals(subject, potentials, structure)
    out, same = contracts.marginals(subject, potentials, joined)
    assert same[0] == pytest.approx(log_Z.sum(), abs=digits)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=digits)
    labels = np.zeros((2, 11), np.int32)
    score = np.zeros(2), np.zeros(1)
    subject.argmax(potentials, structure, labels[0], score[0])
    subject.argmax(potentials, joined, labels[1], score[1])
    assert score[1][0] == pytest.approx(score[0].sum(), abs=1e-10)
    for family in structure.families:
        a, b = (columns_of(row, family, 3) for row in labels)
        np.testing.assert_array_equal(a, b)
