"""Spectral estimates against figures 4 and 5 written out, on exact expectations, and on samples;
theorem 1.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import naive_trees
import numpy as np
import pytest
import scipy.sparse as sp
from latent_trees import FINITE, RECURSIVE, Model, nested

from sklearn_struct.grammars.node_features import (
    OUTSIDE,
    Features,
    above,
    first_symbol,
    indicators,
    leaf,
    leaf_after,
    left_rule,
    nodes,
    right_rule,
    rule,
    symbol_before,
)
from sklearn_struct.grammars.spectral_states import (
    Projection,
    estimate,
    node_vectors,
    one_a_tree,
    project,
)
from sklearn_struct.inference.trees import chart_forest
from sklearn_struct.inference.trees.forest_inside_outside import inside, outside, vectors

# of small rank
FEW_INSIDE = (rule, leaf, first_symbol)
FEW_OUTSIDE = (above, symbol_before)
FEATURES = (rule, leaf, left_rule, right_rule, first_symbol), (above, leaf_after, symbol_before)


def features(forest, functions=(FEW_INSIDE, FEW_OUTSIDE), n_symbols=4, pseudo_count=None):
    return [indicators(nodes(forest), some, n_symbols, pseudo_count) for some in functions]


def run(
    model,
    forest,
    m,
    weight=None,
    smoothing=0.0,
    shrinkage=0.0,
    functions=(FEW_INSIDE, FEW_OUTSIDE),
    svd_solver="randomized",
):
    given = features(forest, functions, len(model.n_states))
    found = project(*given, forest.symbol, m, weight, svd_solver)
    return estimate(model.treebank(forest), found, model.sums(forest), smoothing, shrinkage), found


class Twin:
    """Figures 4 and 5, node by node, with the weights, the smoothing and the shrinkage of ours."""

    def __init__(
        self,
        model,
        forest,
        m,
        weight,
        smoothing,
        shrinkage,
        spread=None,
        functions=(FEW_INSIDE, FEW_OUTSIDE),
    ):
        self.model = model
        self.forest = forest
        self.weight = weight
        self.phi, self.psi = (some.rows.toarray() for some in features(forest, functions))
        self.Y = {}
        self.Z = {}
        self.sigma = {}
        symbols = range(len(model.n_states))
        for a in symbols:
            self.project(a, m, shrinkage)
        total = np.bincount(forest.symbol, weights=weight, minlength=len(symbols))
        mean_y, mean_z = (
            [
                sum(weight[p] * table[p] for p in table if forest.symbol[p] == a) / total[a]
                for a in symbols
            ]
            for table in (self.Y, self.Z)
        )
        parent = np.repeat(np.arange(len(forest.symbol)), np.diff(forest.indptr))
        self.rule = []
        self.leaf = []
        self.root = []
        for r, (b, c, a) in enumerate(zip(*model.grammar[1:4])):
            edges = [
                (
                    self.Y[forest.left[e]],
                    self.Y[forest.right[e]],
                    self.Z[parent[e]],
                    weight[parent[e]],
                )
                for e in np.flatnonzero(forest.rule == r)
            ]
            self.rule.append(
                self.smoothed(edges, (mean_y[b], mean_y[c], mean_z[a]), smoothing) / total[a]
            )
        items = np.flatnonzero(forest.leaf >= 0)
        one_hot = (forest.leaf[items] == np.arange(len(model.leaf_symbol))[:, None]).astype(float)
        spread = one_hot if spread is None else spread
        count = spread @ weight[items]
        for f, a in enumerate(model.leaf_symbol):
            own = [i for i, p in enumerate(items) if forest.symbol[p] == a]
            mean = sum(spread[f, i] * weight[items[i]] * self.Z[items[i]] for i in own) / count[f]
            trust = np.sqrt(count[f]) / (np.sqrt(count[f]) + smoothing / 20)
            share = (
                count[f] / sum(count[model.leaf_symbol == a]) * sum(weight[items[own]]) / total[a]
            )
            self.leaf.append(share * (trust * mean + (1 - trust) * mean_z[a]))
        roots = forest.offsets[1:] - 1
        for a in symbols:
            of_a = [weight[p] * self.Y[p] for p in roots if forest.symbol[p] == a]
            self.root.append(sum(of_a) / weight[roots].sum() if of_a else 0.0)

    def project(self, a, m, shrinkage):
        own = np.flatnonzero(self.forest.symbol == a)
        total = self.weight[own].sum()
        Omega = sum(self.weight[p] * np.outer(self.phi[p], self.psi[p]) for p in own) / total
        U, sigma, Vt = np.linalg.svd(Omega)
        k = min(m, int(np.sum(sigma > 1e-3 * sigma[0])))
        self.sigma[a] = sigma[:k]
        c = shrinkage**2
        inverse = (1 + c) * sigma[:k] / (sigma[:k] ** 2 + c * sigma[0] ** 2)
        for p in own:
            self.Y[p] = U[:, :k].T @ self.phi[p]
            self.Z[p] = inverse * (Vt[:k] @ self.psi[p])

    @staticmethod
    def smoothed(edges, typical, smoothing):
        """Cohen et al. (2013): four estimates of E[y2 y3 z | rule], times its weight."""
        w = np.array([edge[3] for edge in edges])
        n = w.sum()

        def product(spec, *sides):
            """The mean of the product of some sides over the edges."""
            return (
                sum(
                    weight * np.einsum(spec, *(edge[s] for s in sides))
                    for edge, weight in zip(edges, w)
                )
                / n
            )

        x, y, z = (product("i", s) for s in range(3))
        third = product("i,j,k", 0, 1, 2)
        second = np.einsum("ij,k", product("i,j", 0, 1), z) + np.einsum(
            "ik,j->ijk", product("i,k", 0, 2), y
        )
        second = (second + np.einsum("jk,i->ijk", product("j,k", 1, 2), x)) / 3
        first = np.einsum("i,j,k", x, y, z)
        none = np.einsum("i,j,k", *typical)
        n_effective = n**2 / np.sum(w**2)
        t = np.sqrt(n_effective) / (np.sqrt(n_effective) + smoothing)
        return n * (t * third + (1 - t) * (t * second + (1 - t) * (t * first + (1 - t) * none)))

    def value(self, tree):
        """Figure 2."""

        def vector(tree):
            if len(tree) == 1:
                return self.leaf[tree[0]]
            return np.einsum("ijk,i,j->k", self.rule[tree[0]], vector(tree[1]), vector(tree[2]))

        f = tree[0]
        a = self.model.leaf_symbol[f] if len(tree) == 1 else self.model.grammar.parent[f]
        return self.root[a] @ vector(tree)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("smoothing", [0.0, 2.0, 30.0])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_figures_4_and_5(m, smoothing, shrinkage):
    model = Model(m, RECURSIVE)
    forest = model.trees(60, seed=m)
    weight = np.random.default_rng(0).integers(0, 4, len(forest.symbol)).astype(float)
    found, projection = run(model, forest, m, weight, smoothing, shrinkage)
    twin = Twin(model, forest, m, weight, smoothing, shrinkage)
    for a, sigma in twin.sigma.items():
        assert projection.n_states[a] == len(sigma)
        np.testing.assert_allclose(projection.singular_values[a, : len(sigma)], sigma, rtol=1e-9)
        assert not projection.singular_values[a, len(sigma) :].any()
    expected = [twin.value(nested(forest, i)) for i in range(60)]
    np.testing.assert_allclose(model.probabilities(forest, found), expected, rtol=1e-8, atol=1e-14)
    assert any(value != 0 for value in expected)


@pytest.mark.parametrize("smoothing", [0.0, 5.0])
@pytest.mark.parametrize("m", [1, 3])
def test_decompositions_of_more_features_than_directions(m, smoothing):
    """Exactly, or nearly: three passes are not the last word on the leading directions."""
    model = Model(3, RECURSIVE)
    forest = model.trees(400, seed=m)
    weight = np.ones(len(forest.symbol))
    options = {"smoothing": smoothing, "shrinkage": 0.2, "functions": FEATURES}
    twin = Twin(model, forest, m, weight, smoothing, 0.2, functions=FEATURES)
    expected = np.array([twin.value(nested(forest, i)) for i in range(60)])
    exact_one, nearly = (
        model.probabilities(forest, run(model, forest, m, svd_solver=name, **options)[0])[:60]
        for name in ("exact", "randomized")
    )
    np.testing.assert_allclose(exact_one, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(nearly, expected, rtol=0.01, atol=1e-6)


def test_leaves_may_be_shared_out():
    """What leaf_sums gives to a leaf beyond its own tokens it takes from others of the symbol."""
    model = Model(0, RECURSIVE)
    forest = model.trees(60)
    items = np.flatnonzero(forest.leaf >= 0)
    rng = np.random.default_rng(0)
    spread = rng.random((8, len(items))) * (model.leaf_symbol[:, None] == forest.symbol[items])
    weight = rng.random(len(forest.symbol))
    projection = project(*features(forest), forest.symbol, 2, weight)
    for smoothing in (0.0, 10.0):
        found = estimate(model.treebank(forest), projection, lambda rows: spread @ rows, smoothing)
        twin = Twin(model, forest, 2, weight, smoothing, 0.0, spread)
        expected = [twin.value(nested(forest, i)) for i in range(60)]
        np.testing.assert_allclose(model.probabilities(forest, found), expected, rtol=1e-8)


# ---- theorems


@pytest.mark.parametrize("seed", range(6))
def test_theorem_1(seed):
    """Another basis of the states of each symbol changes neither trees' values nor mu."""
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng, n_symbols=4)
    scores = naive_trees.random_scores(rng, rules, 1 + seed)
    scores.root[:] = 0.0
    naive = naive_trees.Forest(rules, scores)
    tensors = naive_trees.random_tensors(rng, rules, len(scores.leaf))
    model = Model(0, FINITE)  # for its views
    model.grammar = rules
    model.leaf_symbol = scores.leaf_symbol
    new = tensors._replace(
        rule=tensors.rule.copy(), leaf=tensors.leaf.copy(), root=tensors.root.copy()
    )
    G = [rng.normal(size=(m, m)) + 2 * np.eye(m) for m in tensors.n_states]
    for r, (b, c, a) in enumerate(zip(*rules[1:4])):
        change = np.einsum(
            "xj,yk,jki,iz->xyz", G[b], G[c], model.rule(tensors, r), np.linalg.inv(G[a])
        )
        model.rule(new, r)[:] = change
    for f, a in enumerate(scores.leaf_symbol):
        model.leaf(new, f)[:] = model.leaf(tensors, f) @ np.linalg.inv(G[a])
    for a in range(4):
        model.root(new, a)[:] = G[a] @ model.root(tensors, a)
    value = [naive.tensor_root(tensors, tree) for tree in naive.trees]
    np.testing.assert_allclose(
        [naive.tensor_root(new, tree) for tree in naive.trees], value, rtol=1e-8
    )
    packed = chart_forest.forest(rules, scores, 0.0)[0]
    mu = []
    for numbers in (tensors, new):
        inner = vectors(packed, numbers.n_states)
        log_Z, sign = np.empty((2, 1))
        outer = inner._replace(row=np.zeros_like(inner.row))
        inside(rules, numbers, packed, inner)
        outside(rules, numbers, packed, inner, outer, log_Z, sign, np.empty(len(packed.rule)))
        assert sign * np.exp(log_Z) == pytest.approx(sum(value), rel=1e-8)
        mu.append(
            np.add.reduceat(inner.row * outer.row, inner.start[:-1]) if len(inner.row) else []
        )
    np.testing.assert_allclose(mu[1], mu[0], rtol=1e-7, atol=1e-12)


def whole_trees(forest):
    """Features that tell everything: the tree below a node, and the one around it."""
    below = [None] * len(forest.symbol)
    around = [()] * len(forest.symbol)
    parent = np.repeat(np.arange(len(forest.symbol)), np.diff(forest.indptr))
    for p in range(len(below)):
        e = forest.indptr[p]
        inner = forest.leaf[p] < 0
        below[p] = (
            (forest.rule[e], below[forest.left[e]], below[forest.right[e]])
            if inner
            else (forest.leaf[p],)
        )
    for e in range(len(parent))[::-1]:
        left = forest.left[e]
        right = forest.right[e]
        p = parent[e]
        around[left] = (around[p], forest.rule[e], "left", below[right])
        around[right] = (around[p], forest.rule[e], "right", below[left])
    for values in (below, around):
        codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
        yield np.array([codes[value] for value in values])


def exact(model, m, smaller=False):
    """All trees, with the estimates from their true probabilities; or from these by the number of
    nodes.
    """
    forest = model.forest(model.everything())
    p = model.probabilities(forest)
    n_nodes = np.diff(forest.offsets)
    functions = [[lambda nodes, code=code: code] for code in whole_trees(forest)]
    weight = np.repeat(p / n_nodes if smaller else p, n_nodes)
    return forest, p, run(model, forest, m, weight, functions=functions)


@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_exact_expectations_give_the_true_model(seed, n_states):
    """Theorem 2; directions beyond the states have singular values of 0."""
    model = Model(seed, FINITE, n_states)
    for m in (n_states, 5):
        forest, p, (found, projection) = exact(model, m)
        assert np.all(projection.n_states <= n_states)
        np.testing.assert_allclose(model.probabilities(forest, found), p, rtol=1e-6)


def test_why_a_node_of_a_tree_counts_for_all_of_it():
    """Chosen uniformly from its tree and counted once, it gives another model, with any number of
    trees.
    """
    model = Model(1, FINITE)
    forest, p, (found, _) = exact(model, 2, smaller=True)
    assert np.mean(np.abs(model.probabilities(forest, found) / p - 1)) > 0.1


def error(model, n, seed, weigh=None, **options):
    """Mean of |p / p0 - 1| over trees of the true model, with estimates from n trees."""
    forest = model.trees(n, seed)
    test = model.trees(300, 99)
    weight = weigh(forest.offsets) if weigh else None
    found, _ = run(model, forest, 2, weight, functions=FEATURES, **options)
    return np.mean(np.abs(model.probabilities(test, found) / model.probabilities(test) - 1))


def test_more_trees_give_smaller_errors():
    """Theorem 3: the error falls as 1 / sqrt(n)."""
    models = [Model(seed, RECURSIVE, concentration=0.1) for seed in (1, 2, 3)]
    few, many = (
        [error(model, n, seed) for seed, model in enumerate(models)] for n in (500, 32_000)
    )
    assert np.mean(few) / np.mean(many) > 5  # expected are 8
    assert np.mean(many) < 0.1


def test_one_node_a_tree_is_enough_with_more_trees():
    model = Model(1, RECURSIVE, concentration=0.1)
    rng = np.random.RandomState(0)
    every, few, many = (
        error(model, n, 0, weigh)
        for n, weigh in (
            (30_000, None),
            *((n, lambda offsets: one_a_tree(offsets, rng)) for n in (1_000, 30_000)),
        )
    )
    assert every < many < few / 2


def test_a_node_that_counts_once_is_biased():
    """Drawn as section 6.1 says, estimates stay wrong with more trees."""
    model = Model(2, FINITE, concentration=0.1)
    errors = [
        error(model, 30_000, 0, partial(one_a_tree, rng=np.random.RandomState(0), once=once))
        for once in (False, True)
    ]
    assert errors[0] < 0.1
    assert errors[1] > 0.2


def test_one_a_tree():
    offsets = np.array([0, 1, 4, 9])
    weights = np.array([one_a_tree(offsets, np.random.RandomState(seed)) for seed in range(400)])
    for lo, hi in pairwise(offsets):
        assert np.all(np.sum(weights[:, lo:hi] > 0, axis=1) == 1)
        assert np.all(weights[:, lo:hi].sum(axis=1) == hi - lo)
    once = one_a_tree(offsets, np.random.RandomState(7), once=True)
    np.testing.assert_array_equal(once, weights[7] > 0)
    np.testing.assert_allclose(weights.mean(axis=0), 1.0, atol=0.35)


# ---- what is left where there is little to see


def test_symbols_with_few_nodes_have_one_state():
    model = Model(0, RECURSIVE)
    forest = model.trees(40)
    weight = np.ones(len(forest.symbol))
    own = np.flatnonzero(forest.symbol == 3)
    weight[own[2:]] = 0.0
    found, projection = run(model, forest, 4, weight)
    assert projection.n_states[3] == 1
    assert np.all(projection.n_states[:3] > 1)
    assert np.all(projection.inside[own, 0] == 1)
    assert np.all(projection.outside[own, 0] == 1)
    assert projection.singular_values[3].tolist() == [1] + [0] * 7
    assert [model.leaf(found, f)[0] for f in range(4, 8)] == [
        np.mean(forest.leaf[own[:2]] == f) for f in range(4, 8)
    ]


@pytest.mark.parametrize("seen", [(), (rule, leaf)])
def test_without_correlations_it_is_the_grammar_itself(seen):
    """Features that see nothing of most nodes, or of none."""
    model = Model(0, RECURSIVE)
    forest = model.trees(200)
    found, projection = run(model, forest, 4, smoothing=3.0, functions=(seen, ()))
    assert projection.n_states.tolist() == [1] * 4
    n_nodes = np.bincount(forest.symbol)
    n_rules = np.bincount(forest.rule, minlength=6)
    for r, a in enumerate(model.grammar.parent):
        np.testing.assert_allclose(model.rule(found, r), n_rules[r] / n_nodes[a], rtol=1e-12)
    for f, a in enumerate(model.leaf_symbol):
        np.testing.assert_allclose(
            model.leaf(found, f), np.sum(forest.leaf == f) / n_nodes[a], rtol=1e-12
        )
    assert [model.root(found, a)[0] for a in range(4)] == pytest.approx([1, 0, 0, 0])


def test_one_tree():
    model = Model(0, RECURSIVE)
    forest = model.trees(1)
    for smoothing in (0.0, 5.0):
        for weight in (None, one_a_tree(forest.offsets, np.random.RandomState(0))):
            found, _ = run(model, forest, 3, weight, smoothing, 0.1)
            assert all(np.all(np.isfinite(numbers)) for numbers in found)


def test_no_drawn_node_is_a_root():
    """Then all roots are averaged."""
    model = Model(0, RECURSIVE)
    forest = model.trees(30)
    weight = np.ones(len(forest.symbol))
    weight[forest.offsets[1:] - 1] = 0.0
    found, projection = run(model, forest, 2, weight)
    expected = projection.inside[forest.offsets[1:] - 1].mean(axis=0)
    np.testing.assert_allclose(model.root(found, 0), expected[: projection.n_states[0]])


def test_symbols_that_do_not_occur():
    model = Model(0, (5, RECURSIVE[1], RECURSIVE[2]))
    forest = model.trees(50)
    found, projection = run(model, forest, 3)
    assert projection.n_states[4] == 1
    assert not model.root(found, 4).any()
    assert np.all(np.isfinite(model.probabilities(forest, found)))


def test_more_states_than_a_vector_has():
    """Rows are padded to whole vectors; what is behind the states is 0."""
    model = Model(0, RECURSIVE, 2)
    forest = model.trees(400)
    phi, psi = (indicators(nodes(forest), some, 4) for some in (FEATURES[0], OUTSIDE))
    projection = project(phi, psi, forest.symbol, 11)
    assert projection.inside.shape == projection.outside.shape == (len(forest.symbol), 16)
    assert projection.n_states.max() > 8
    lane = np.arange(16) >= projection.n_states[forest.symbol][:, None]
    assert not projection.inside[lane].any()
    assert not projection.outside[lane].any()
    found = estimate(model.treebank(forest), projection, model.sums(forest), 3.0, 0.1)
    for s, n in enumerate(projection.n_states):
        assert not found.root[found.root_start[s] + n : found.root_start[s + 1]].any()


def test_truncated_decomposition():
    """Of a large matrix whose singular values fall, the leading vectors are found."""
    rng = np.random.default_rng(0)
    n = 300
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    middle = left * 0.7 ** np.arange(n) @ right.T
    phi, psi = (Features(sp.csr_array(rows), np.array([0, n])) for rows in (np.eye(n), middle))
    found = project(phi, psi, np.zeros(n, np.int32), 6)
    np.testing.assert_allclose(found.singular_values[0, :6], 0.7 ** np.arange(6) / n, rtol=1e-9)
    np.testing.assert_allclose(np.abs(left[:, :6].T @ found.inside[:, :6]), np.eye(6), atol=1e-4)


def test_the_same_bits_twice():
    model = Model(0, RECURSIVE)
    forest = model.trees(300)
    one, other = (run(model, forest, 3, smoothing=2.0, shrinkage=0.1) for _ in range(2))
    for numbers, same in zip((*one[0], *one[1]), (*other[0], *other[1])):
        np.testing.assert_array_equal(numbers, same)


def test_coordinates_of_nodes():
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(size=(2, 5, 8))
    sigma = rng.random((2, 8))
    symbol = np.array([0, 1, 1, 0, 1])
    found = node_vectors(Projection(symbol, np.ones(5), inside, outside, sigma, np.array([8, 8])))
    for row, y, z, s in zip(found, inside, outside, symbol):
        np.testing.assert_allclose(row, [*y, *(np.diag(sigma[s]) @ z)])
