"""What GraphCRF minimises: on paths the losses of chains, elsewhere what its answers say."""

from __future__ import annotations

import warnings
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_struct import (
    Cliques,
    FactorialCRF,
    GraphArray,
    GraphCRF,
    LinearChainCRF,
    PseudoLikelihoodCRF,
    TypedNodes,
)
from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.estimators.graphs.graph_losses import LOSSES
from sklearn_struct.exceptions import InferenceWarning
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.solvers import frank_wolfe

LABELS = np.array(["a", "b", "c"])
# each with parameters that it needs here
EACH = pytest.mark.parametrize("loss", sorted(LOSSES))


def paths(rng, lengths=(4, 1, 6, 3, 5, 2, 7) * 4):
    """Sequences of numbers, their labels, and the same as graphs."""
    X = [rng.normal(size=(n, 4)) for n in lengths]
    noise = [0.7 * rng.normal(size=n) for n in lengths]
    y = [
        LABELS[(x[:, 0] + e > 0).astype(int) + (x[:, 1] + e > 0.5)].tolist()
        for x, e in zip(X, noise)
    ]
    return X, y, [(x, list(pairwise(range(len(x))))) for x in X]


def grids(rng, n_graphs=12, height=2, width=3):
    """Noisy pictures of a bright rectangle, with edges between neighbours, and their labels."""
    number = np.arange(height * width).reshape(height, width)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    X = []
    y = []
    for _ in range(n_graphs):
        labels = np.zeros((height, width), int)
        labels[: rng.integers(1, height + 1), : rng.integers(1, width + 1)] = 1
        nodes = labels.reshape(-1, 1) + rng.normal(size=(number.size, 1))
        X.append((nodes, np.concatenate([across, down])))
        y.append(LABELS[labels.ravel()].tolist())
    return X, y


def energies(crf, graph):
    """All labellings of a graph as rows of codes, and their scores."""
    nodes, edges = graph
    scores = nodes @ crf.coef_.T + crf.intercept_
    every = np.array(list(product(range(len(crf.classes_)), repeat=len(nodes))))
    energy = scores[np.arange(len(nodes)), every].sum(axis=1)
    for a, b in edges:
        energy += crf.transition_[every[:, a], every[:, b]]
    return every, energy


def penalty(crf):
    weights = np.concatenate([crf.coef_.ravel(), crf.transition_.ravel()])
    return weights @ weights / (2 * crf.C)


@pytest.mark.parametrize(
    ("loss", "chain"),
    [("pointwise", LinearChainCRF(loss="pointwise")), ("pseudo", PseudoLikelihoodCRF())],
    ids=["pointwise", "pseudo"],
)
@pytest.mark.parametrize("solver", ["lbfgs", "owlqn"])
def test_on_paths_it_is_that_of_chains(loss, chain, solver):
    X, y, graphs = paths(np.random.default_rng(0))
    settings = {"tol": 1e-8, "max_iter": 5000, "solver": solver}
    settings["l1_ratio"] = 0.5 if solver == "owlqn" else 0.0
    chain.set_params(**settings).fit(X, y)
    crf = GraphCRF(loss=loss, **settings).fit(graphs, y)
    for name in ("coef_", "transition_", "intercept_"):
        np.testing.assert_allclose(getattr(crf, name), getattr(chain, name), atol=1e-4)
    assert crf.loss_curve_[-1] == pytest.approx(chain.loss_curve_[-1], rel=1e-9)
    assert crf.predict(graphs).tolist() == chain.predict(X).tolist()


def test_pointwise_is_the_sum_of_single_labels():
    X, y = grids(np.random.default_rng(0))
    crf = GraphCRF(loss="pointwise", C=2.0).fit(X, y)
    total = 0.0
    for graph, labels in zip(X, y):
        every, energy = energies(crf, graph)
        p = np.exp(energy - np.logaddexp.reduce(energy))
        for t, label in enumerate(labels):
            total -= np.log(p[crf.classes_[every[:, t]] == label].sum())
    assert crf.loss_curve_[-1] == pytest.approx(total + penalty(crf), rel=1e-9)


def test_nodes_may_have_weights_of_their_own():
    """A node of weight 0 is not asked for, and the weight of a graph is the mean of its nodes."""
    X, y = grids(np.random.default_rng(1))
    weight = [np.array([2.0, 0.0, 1.0, 1.0, 1.0, 1.0])] * len(X)
    settings = {"loss": "pointwise", "tol": 1e-7}
    crf = GraphCRF(**settings).fit(X, y, sample_weight=weight)
    other = [[labels[0], "a" if labels[1] == "b" else "b", *labels[2:]] for labels in y]
    same = GraphCRF(**settings).fit(X, other, sample_weight=weight)
    np.testing.assert_array_equal(crf._w, same._w)
    with pytest.raises(
        ValueError, match="sample_weight for each node needs a loss of single nodes, such as Gr"
    ):
        GraphCRF().fit(X, y, sample_weight=weight)


def test_pointwise_by_belief_propagation():
    """Its probabilities of nodes are nearly right, and so is what is learned."""
    X, y = grids(np.random.default_rng(2), 30, 3, 4)
    exact = GraphCRF(loss="pointwise").fit(X, y)
    near = GraphCRF(loss="pointwise", inference="bp").fit(X, y)
    assert near.inference_report_["n_calls"] > 0
    assert near.converged_
    np.testing.assert_allclose(near.coef_, exact.coef_, atol=0.1)


def test_pseudolikelihood_by_enumeration():
    X, y = grids(np.random.default_rng(0))
    crf = GraphCRF(loss="pseudo", C=2.0).fit(X, y)
    total = 0.0
    for graph, labels in zip(X, y):
        every, energy = energies(crf, graph)
        same = crf.classes_[every] == np.array(labels)
        for t in range(len(labels)):
            alike = np.delete(same, t, axis=1).all(axis=1)
            total += np.logaddexp.reduce(energy[alike]) - energy[same.all(axis=1)][0]
    assert crf.loss_curve_[-1] == pytest.approx(total + penalty(crf), rel=1e-9)
    assert crf.inference_report_["n_calls"] == 0
    assert crf.converged_


def test_pseudolikelihood_needs_no_inference():
    """A grid of 3,600 nodes, on which sums over all labellings are out of reach."""
    X, y = grids(np.random.default_rng(3), 1, 60, 60)
    crf = GraphCRF(loss="pseudo", inference="bp").fit(X, y)
    assert crf.inference_report_["n_calls"] == 0
    assert crf.transition_[0, 0] > crf.transition_[0, 1]


def test_pieces_are_normalised_alone():
    X, y = grids(np.random.default_rng(0))
    X.append((np.array([[2.0]]), []))  # a node without edges
    y.append(["b"])
    crf = GraphCRF(loss="piecewise", C=2.0).fit(X, y)
    total = 0.0
    for (nodes, edges), labels in zip(X, y):
        codes = np.searchsorted(crf.classes_, labels)
        scores = nodes @ crf.coef_.T + crf.intercept_
        degree = np.bincount(np.ravel(edges).astype(int), minlength=len(nodes))
        for v in np.flatnonzero(degree == 0):
            total += np.logaddexp.reduce(scores[v]) - scores[v, codes[v]]
        share = scores / np.maximum(degree, 1)[:, None]
        for a, b in edges:
            piece = crf.transition_ + share[a][:, None] + share[b]
            total += np.logaddexp.reduce(piece.ravel()) - piece[codes[a], codes[b]]
    assert crf.loss_curve_[-1] == pytest.approx(total + penalty(crf), rel=1e-9)
    assert crf.inference_report_["n_calls"] == 0


@pytest.mark.parametrize(("size", "loss"), [(1, "pseudo"), (6, "log_likelihood")])
def test_the_ends_of_composite_likelihoods(size, loss):
    X, y = grids(np.random.default_rng(0))
    composite = GraphCRF(loss="composite", block_size=size, tol=1e-8).fit(X, y)
    other = GraphCRF(loss=loss, tol=1e-8).fit(X, y)
    assert composite.loss_curve_[-1] == pytest.approx(other.loss_curve_[-1], rel=1e-10)
    np.testing.assert_allclose(composite._w, other._w, atol=1e-6)


def test_composite_likelihood_by_enumeration():
    """On a grid of two rows and three columns, blocks of four and of two nodes."""
    X, y = grids(np.random.default_rng(0))
    crf = GraphCRF(loss="composite", C=2.0).fit(X, y)
    total = 0.0
    for graph, labels in zip(X, y):
        every, energy = energies(crf, graph)
        same = crf.classes_[every] == np.array(labels)
        for block in ([0, 1, 3, 4], [2, 5]):
            alike = np.delete(same, block, axis=1).all(axis=1)
            total += np.logaddexp.reduce(energy[alike]) - energy[same.all(axis=1)][0]
    assert crf.loss_curve_[-1] == pytest.approx(total + penalty(crf), rel=1e-9)


def rows_of(graph):
    """The row of each node of a grid of three columns."""
    return [v // 3 for v in range(len(graph[0]))]


def test_blocks_of_a_users_own():
    """Rows of a grid, by enumeration; one block is the likelihood, and each node's own the
    pseudolikelihood.
    """
    X, y = grids(np.random.default_rng(0))
    crf = GraphCRF(loss="composite", blocks=rows_of, C=2.0).fit(X, y)
    total = 0.0
    for graph, labels in zip(X, y):
        every, energy = energies(crf, graph)
        same = crf.classes_[every] == np.array(labels)
        for block in ([0, 1, 2], [3, 4, 5]):
            alike = np.delete(same, block, axis=1).all(axis=1)
            total += np.logaddexp.reduce(energy[alike]) - energy[same.all(axis=1)][0]
    assert crf.loss_curve_[-1] == pytest.approx(total + penalty(crf), rel=1e-9)
    for blocks, loss in ((lambda graph: [0] * 6, "log_likelihood"), (lambda _: range(6), "pseudo")):
        composite = GraphCRF(loss="composite", blocks=blocks, tol=1e-8).fit(X, y)
        other = GraphCRF(loss=loss, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(composite._w, other._w, atol=1e-6)


def test_blocks_that_are_wrong_or_for_another_loss():
    X, y = grids(np.random.default_rng(0))
    crf = GraphCRF(loss="composite", blocks=lambda graph: [0])
    with pytest.raises(ValueError, match=r"X\[0\] has 6 nodes but blocks gives"):
        crf.fit(X, y)
    assert not hasattr(crf, "classes_")
    with pytest.raises(ValueError, match="blocks are for loss='composite', got loss='pseudo'"):
        GraphCRF(loss="pseudo", blocks=rows_of).fit(X, y)


def test_blocks_of_other_forms_of_graphs():
    """A GraphArray gives tuples; nodes without a graph are blocks of their own; with several labels
    a token, blocks may be those of tokens.
    """
    X, y = grids(np.random.default_rng(0))
    lists = GraphCRF(loss="composite", blocks=rows_of).fit(X, y)
    array = GraphArray.from_graphs(X)
    np.testing.assert_array_equal(lists._w, clone(lists).fit(array, y)._w)
    nodes = np.concatenate([nodes for nodes, _ in X])
    labels = np.concatenate(y)
    flat = clone(lists).fit(nodes, labels)
    np.testing.assert_array_equal(flat._w, GraphCRF(loss="composite").fit(nodes, labels)._w)
    words = [["a", "b", "a"], ["b", "a"]]
    pairs = [[("x", "u"), ("y", "v"), ("x", "u")], [("y", "v"), ("y", "u")]]

    def tokens(sentence):
        return [[t, t] for t in range(len(sentence))]

    whole = FactorialCRF(loss="composite", blocks=lambda x: np.zeros((len(x), 2))).fit(words, pairs)
    likelihood = FactorialCRF(inference="exact").fit(words, pairs)
    np.testing.assert_allclose(whole._w, likelihood._w, atol=1e-3)
    by_tokens = FactorialCRF(loss="composite", blocks=tokens).fit(words, pairs)
    assert by_tokens.loss_curve_[0] == pytest.approx(whole.loss_curve_[0], rel=0.5)
    assert np.any(np.abs(by_tokens._w - whole._w) > 1e-3)


def test_trees_of_paths_are_the_likelihood():
    _, y, graphs = paths(np.random.default_rng(0))
    trees = GraphCRF(loss="piecewise", pieces="trees", tol=1e-8).fit(graphs, y)
    np.testing.assert_allclose(trees._w, GraphCRF(tol=1e-8).fit(graphs, y)._w, atol=1e-6)


def test_trees_of_grids_are_between_edges_and_the_likelihood():
    """Of the same weights."""
    X, y = grids(np.random.default_rng(0))
    exact = GraphCRF().fit(X, y)
    same = {"init": exact}
    losses = [
        GraphCRF(max_iter=1, C=1e12, tol=1e6, **settings).fit(X, y, **same).loss_curve_[-1]
        for settings in (
            {},
            {"loss": "piecewise", "pieces": "trees"},
            {"loss": "piecewise"},
        )
    ]
    assert losses[0] < losses[1] < losses[2]


@pytest.mark.parametrize("loss", ["pseudo", "piecewise", "composite"])
def test_convex_losses_have_one_minimum(loss):
    """Whichever solver looks for it."""
    X, y = grids(np.random.default_rng(6), 20)
    fits = [
        GraphCRF(loss=loss, solver=solver, tol=1e-7, max_iter=3000, random_state=0).fit(X, y)
        for solver in ("lbfgs", "newton-cg", "sag")
    ]
    for crf in fits[1:]:
        np.testing.assert_allclose(crf._w, fits[0]._w, atol=1e-4)


def drawn_grids(rng, n_graphs):
    """Grids of 3 x 3 nodes whose labels are drawn from a model of two labels."""
    X, _ = grids(rng, n_graphs, 3, 3)
    structure = Structure(np.array([0, 9]), (Family(X[0][1], np.array([0, len(X[0][1])])),))
    table = np.array([[0.6, -0.6, -0.6, 0.6]])
    y = []
    for i, (_, edges) in enumerate(X):
        nodes = rng.normal(size=(9, 2))
        X[i] = nodes, edges
        potentials = Potentials(np.column_stack([np.zeros(9), nodes @ [1.5, -0.5]]), (table,))
        labels = np.empty(9, np.int32)
        JunctionTree().sample(potentials, structure, rng.random(9), labels, np.empty(1))
        y.append(LABELS[labels].tolist())
    return X, y


def of_edges(crf):
    """How much more equal labels score than different ones."""
    return (np.trace(crf.transition_) - np.trace(crf.transition_[::-1])) / 4


@pytest.mark.parametrize("n_steps", [1, 5])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_contrastive_divergence_finds_the_model(n_steps):
    """As the likelihood does, up to what is drawn."""
    X, y = drawn_grids(np.random.default_rng(7), 500)
    exact = GraphCRF().fit(X, y)
    crf = GraphCRF(loss="contrastive", n_steps=n_steps, max_iter=31).fit(X, y)
    assert of_edges(exact) == pytest.approx(0.6, abs=0.1)
    assert of_edges(crf) == pytest.approx(of_edges(exact), abs=0.1)
    difference = [model.coef_[1] - model.coef_[0] for model in (crf, exact)]
    np.testing.assert_allclose(*difference, atol=0.2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samplerank_predicts_as_well():
    """It ranks labellings, so its scores need not be those of the model, but their signs are."""
    X, y = drawn_grids(np.random.default_rng(7), 500)
    X_new, y_new = drawn_grids(np.random.default_rng(8), 200)
    truth = np.concatenate(y_new)
    right = [
        np.mean(np.concatenate(crf.fit(X, y).predict(X_new)) == truth)
        for crf in (GraphCRF(), GraphCRF(loss="samplerank", n_steps=3, max_iter=15))
    ]
    assert right[1] > right[0] - 0.02


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samplerank_recovers_a_small_model():
    """Its labellings are those of the model whose best ones it has seen, by enumeration."""
    rng = np.random.default_rng(0)
    edges = [[0, 1], [1, 2], [0, 2], [2, 3]]
    coef = np.array([[1.5, 0.0], [0.0, 1.5], [-1.0, -1.0]])
    transition = np.array([[1.0, -0.5, 0.0], [0.5, 0.8, -1.0], [-0.6, 0.0, 1.2]])

    def best(x):
        scores = x @ coef.T
        return max(
            product(range(3), repeat=4),
            key=lambda k: scores[range(4), k].sum() + sum(transition[k[a], k[b]] for a, b in edges),
        )

    nodes = rng.normal(size=(500, 4, 2))
    truth = np.array([best(x) for x in nodes])
    X = [(x, edges) for x in nodes]
    crf = GraphCRF(loss="samplerank", C=10.0, max_iter=15, random_state=0)
    crf.fit(X[:400], LABELS[truth[:400]].tolist())
    predicted = np.array(crf.predict(X[400:]).tolist())
    right = predicted == LABELS[truth[400:]]
    assert right.mean() > 0.95
    assert right.all(axis=1).mean() > 0.85
    # without edges they are not
    alone = np.argmax(nodes[400:] @ coef.T, axis=2)
    assert np.mean(alone == truth[400:]) < 0.85


@pytest.mark.parametrize("loss", ["contrastive", "samplerank"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_drawn_hangs_on_the_seed(loss):
    X, y = grids(np.random.default_rng(4), 40)

    def fitted(**settings):
        return GraphCRF(loss=loss, max_iter=3, **settings).fit(X, y)._w

    np.testing.assert_array_equal(fitted(), fitted())
    np.testing.assert_array_equal(fitted(random_state=1), fitted(random_state=1))
    assert np.any(fitted(random_state=1) != fitted(random_state=2))
    assert np.any(fitted(solver="sgd") != fitted(solver="sgd"))


@pytest.mark.parametrize("loss", ["contrastive", "samplerank"])
@pytest.mark.parametrize(
    "settings", [{"solver": "lbfgs"}, {"solver": "sag"}, {"solver": "sgd", "l1_ratio": 0.5}]
)
def test_what_is_drawn_is_for_sgd_alone(loss, settings):
    X, y = grids(np.random.default_rng(4))
    with pytest.raises(ValueError, match=r"this loss draws labellings, .* solver='sgd' or 'auto'"):
        GraphCRF(loss=loss, **settings).fit(X, y)


@EACH
@pytest.mark.parametrize("solver", ["auto", "sgd"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_bits_for_any_number_of_threads(loss, solver):
    X, y = grids(np.random.default_rng(4), 40)
    fits = [
        GraphCRF(loss=loss, solver=solver, max_iter=4, n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0]._w, fits[1]._w)


@EACH
def test_missing_labels_are_for_the_likelihood_and_the_hinge(loss):
    X, y = grids(np.random.default_rng(5))
    y[0][0] = None
    crf = GraphCRF(loss=loss)
    if loss in ("log_likelihood", "hinge"):
        assert crf.fit(X, y).classes_.tolist() == ["a", "b"]
        return
    with pytest.raises(ValueError, match=f"need loss='log_likelihood' or .*, got loss='{loss}'"):
        crf.fit(X, y)
    assert not hasattr(crf, "classes_")


def test_what_does_not_go_together():
    X, y = grids(np.random.default_rng(5))
    with pytest.raises(ValueError, match="loss='pointwise' is not convex"):
        GraphCRF(loss="pointwise", solver="sag").fit(X, y)
    with pytest.raises(ValueError, match="needs second derivatives"):
        GraphCRF(loss="pointwise", solver="newton-cg").fit(X, y)
    with pytest.raises(ValueError, match="The 'loss' parameter of GraphCRF"):
        GraphCRF(loss="logistic").fit(X, y)


@pytest.mark.parametrize("parameter", ["n_steps", "block_size"])
@pytest.mark.parametrize("loss", ["composite", "contrastive", "samplerank"])
def test_more_than_can_be_counted(parameter, loss):
    X, y = drawn_grids(np.random.default_rng(7), 3)
    crf = GraphCRF().fit(X, y)
    before = crf.coef_.copy()
    crf.set_params(loss=loss, **{parameter: 10**80})
    with pytest.raises(ValueError, match=rf"{parameter} must be at most 2,147,483,647, got 1000"):
        crf.fit(X[:2], y[:2])
    np.testing.assert_array_equal(crf.coef_, before)


def _typed(rng, n_graphs=20):
    """Two words below a text, each kind with labels of its own."""
    types = ["word", "word", "text"]
    X = [(TypedNodes(rng.normal(size=(3, 3)), types), [[0, 2], [1, 2]]) for _ in range(n_graphs)]
    y = [
        ["A" if row[0] > 0 else "N" for row in graph.features[:2]]
        + ["p" if graph.features[2][1] > 0 else "n"]
        for graph, _ in X
    ]
    return X, y


def _two_rows(rng, n_sequences=20):
    X = [rng.normal(size=(4, 3)) for _ in range(n_sequences)]
    return X, [[(int(row[0] > 0), int(row[1] > 0)) for row in x] for x in X]


@pytest.mark.parametrize("few", [0, frank_wolfe.FEW], ids=["in potentials", "in weights"])
@pytest.mark.parametrize(
    ("data", "crf"),
    [
        (_typed, GraphCRF()),
        (_two_rows, FactorialCRF()),
        (_two_rows, FactorialCRF(inference="exact")),
        (_two_rows, FactorialCRF(reach=1)),
    ],
    ids=["types", "rows", "rows, exact", "rows, reach"],
)
def test_a_hinge_of_nodes_that_have_not_all_labels(data, crf, few, monkeypatch):
    """The scores of labels that a node cannot have are -inf; two solvers find one minimum."""
    monkeypatch.setattr(frank_wolfe, "FEW", few)
    X, y = data(np.random.default_rng(0))
    crf = clone(crf).set_params(loss="hinge", C=1.0, random_state=0, tol=1e-3, max_iter=200)
    crf.fit(X, y)
    value = crf.loss_curve_[-1]
    assert crf.gap_certified_
    assert 0 <= crf.gap_ <= 2e-3 * value
    assert crf.score(X, y) > 0.9
    other = clone(crf).set_params(solver="sgd").fit(X, y)
    assert value - crf.gap_ <= other.loss_curve_[-1] * (1 + 1e-9)
    assert value <= other.loss_curve_[-1] * (1 + 2e-3)


def test_rivals_that_are_not_found_for_sure_add_to_the_gap():
    """Where all nodes are neighbours the bound of messages is above the best rival. With all
    weights doubled and half the C, the objective / C and the gap are twice as much.
    """
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(5, 2)), list(combinations(range(5), 2))) for _ in range(6)]
    y = [rng.integers(0, 2, 5).tolist() for _ in X]
    crf = GraphCRF(loss="hinge", symmetric=True, C=1.0, random_state=0, tol=1e-2, max_iter=50)
    exact = clone(crf).set_params(inference="exact").fit(X, y)
    with pytest.warns(InferenceWarning, match="more than the .* that tol asks for"):
        crf.set_params(inference="bp").fit(X, y)
    assert crf.gap_certified_
    assert crf.loss_curve_[-1] - crf.gap_ <= exact.loss_curve_[-1] * (1 + 1e-9)
    assert crf.gap_ > 1.5 * exact.gap_
    with pytest.warns(InferenceWarning, match="more than the .* that tol asks for"):
        twice = clone(crf).set_params(C=0.5).fit(X, y, sample_weight=np.full(6, 2.0))
    assert twice.loss_curve_[-1] == pytest.approx(2 * crf.loss_curve_[-1])
    assert twice.gap_ == pytest.approx(2 * crf.gap_)


def test_without_a_bound_for_rivals_the_gap_is_unknown():
    """Messages have none where cliques have three nodes."""
    rng = np.random.default_rng(0)
    cliques = [Cliques("triple", [[0, 1, 2], [1, 2, 3], [0, 2, 3]])]
    X = [(rng.normal(size=(4, 2)), cliques) for _ in range(4)]
    y = [rng.integers(0, 2, 4).tolist() for _ in X]
    crf = GraphCRF(loss="hinge", inference="bp", random_state=0, tol=1e-1, max_iter=50)
    with pytest.warns(InferenceWarning, match="gap_ is unknown"):
        crf.fit(X, y)
    assert crf.gap_certified_ is False
    assert np.isnan(crf.gap_)
    crf.set_params(inference="exact").fit(X, y)
    assert crf.gap_certified_ is True
    assert 0 <= crf.gap_ <= 0.1 * crf.loss_curve_[-1]


@pytest.mark.parametrize("few", [0, frank_wolfe.FEW], ids=["in potentials", "in weights"])
@pytest.mark.parametrize("states", ["hidden nodes", "states of typed labels"])
def test_a_latent_hinge_of_nodes_that_have_not_all_labels(states, few, monkeypatch):
    monkeypatch.setattr(frank_wolfe, "FEW", few)
    X, y = _typed(np.random.default_rng(0))
    crf = GraphCRF(loss="hinge", C=1.0, random_state=0, tol=1e-3, max_iter=50)
    if states == "hidden nodes":
        types = ["word", "word", "text", "hidden"]
        X = [
            (TypedNodes(np.vstack([g.features, np.zeros((1, 3))]), types), [*edges, [0, 3], [1, 3]])
            for g, edges in X
        ]
        y = [[*labels, None] for labels in y]
        crf.set_params(hidden={"hidden": 2})
    else:
        crf.set_params(n_states={("word", "A"): 2}, decoder="states")
    crf.fit(X, y)
    # at w = 0 each of three labels costs 1
    assert crf.loss_curve_[-1] < 0.25 * 3 * len(X)
    assert np.all(np.diff(crf.loss_curve_) <= 0)
    truth = [labels[:3] for labels in y]
    predicted = [labels[:3] for labels in crf.predict(X)]
    assert np.mean(np.array(predicted) == np.array(truth)) > 0.9


def test_a_bound_that_is_far_away_warns():
    """On full graphs of labels at random the relaxation's bound is far above the best rivals."""
    rng = np.random.default_rng(0)
    edges = [[a, b] for a in range(8) for b in range(a)]
    X = [(rng.normal(size=(8, 2)), edges, rng.normal(size=(28, 2))) for _ in range(6)]
    y = [rng.integers(2, size=8).tolist() for _ in X]
    crf = GraphCRF(loss="hinge", C=1.0, tol=0.01, max_iter=200, random_state=0, inference="bp")
    with pytest.warns(InferenceWarning, match="gap_ is .*, more than the .* that tol asks for"):
        crf.fit(X, y)
    assert crf.gap_certified_
    value = crf.loss_curve_[-1]
    assert 0.01 * value < crf.gap_ < value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = clone(crf).set_params(inference="exact").fit(X, y)
    assert exact.gap_ <= 0.01 * exact.loss_curve_[-1]
    # the bound is one also of the exact objective
    assert value - crf.gap_ <= exact.loss_curve_[-1]
