"""What every inference, every loss and every solver must do. A test file enrols a new one in one
line:

test_contract = contracts.inference(chain)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_struct.containers import structures
from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.base import CliqueRows
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.remembered_terms import AllDerivatives

# ------------------------------------------------------------------------------- examples and tools


def random_chains(rng, lengths=(3, 0, 1, 4), n_labels=3, shared=True, order=1):
    """Potentials of a few chains, with the structure; one table for all cliques of a family, or one
    for each.
    """
    structure = chain(np.concatenate([[0], np.cumsum(lengths)]), order)
    node = rng.normal(size=(sum(lengths), n_labels))
    cliques = [rng.normal(size=shape) for shape in clique_shapes(structure, n_labels, shared)]
    return Potentials(node, tuple(cliques)), structure


def clique_shapes(structure, n_labels, shared):
    """The shape of each family's table."""
    return [
        (1 if shared else len(family.nodes), n_labels ** family.nodes.shape[1])
        for family in structure.families
    ]


def partly_shared_chains(rng, lengths, n_labels, shared):
    """Chains of second order, of which pairs share a table, or triples do, or both, or neither."""
    structure = chain(np.concatenate([[0], np.cumsum(lengths)]), 2)
    shapes = [
        clique_shapes(structure, n_labels, is_shared)[f] for f, is_shared in enumerate(shared)
    ]
    cliques = tuple(rng.normal(size=shape) for shape in shapes)
    return Potentials(rng.normal(size=(sum(lengths), n_labels)), cliques), structure


def unshared(potentials, structure):
    """The same scores, with a row for each clique."""
    cliques = tuple(
        np.repeat(table, len(family.nodes), axis=0) if len(table) == 1 else table
        for table, family in zip(potentials.cliques, structure.families, strict=True)
    )
    return potentials._replace(cliques=cliques)


def single(node, edge, dtype=np.float64):
    """A batch of one chain; `edge` is one table or one for each edge."""
    node = np.array(node, dtype=dtype, order="C")
    edge = np.array(edge, dtype=dtype, order="C").reshape(-1, node.shape[1] ** 2)
    return Potentials(node, (edge,)), chain([0, len(node)])


def log_potentials(shape):
    """Ordinary scores, extreme ones, equal ones, numbers around the limits of exp, and forbidden
    ones.
    """
    special = [0.0, 0.0, -np.inf, 1e4, -1e4, -37.5, -650.0, -700.0, -708.4, -745.2, -1400.0]
    return arrays(
        float, shape, elements=st.floats(-3, 3) | st.floats(-1e4, 1e4) | st.sampled_from(special)
    )


@st.composite
def any_chains(draw, order=1):
    """A batch of at most three chains, with one table for all cliques or one for each."""
    K = draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    structure = chain(np.concatenate([[0], np.cumsum(lengths)]), order)
    shapes = clique_shapes(structure, K, draw(st.booleans()))
    node = draw(log_potentials((sum(lengths), K)))
    return Potentials(node, tuple(draw(log_potentials(shape)) for shape in shapes)), structure


def arrays_of(value):
    """All arrays of nested tuples, such as potentials and structures."""
    if isinstance(value, tuple):
        return [array for part in value for array in arrays_of(part)]
    return [] if value is None else [value]


def mapped(function, *potentials):
    """Potentials whose tables are ``function(table, ...)`` of those given."""
    nodes = [p.node for p in potentials]
    families = zip(*(p.cliques for p in potentials), strict=True)
    return Potentials(function(*nodes), tuple(function(*tables) for tables in families))


def zeros(potentials):
    return mapped(np.zeros_like, potentials)


def flat(potentials):
    return np.concatenate([table.ravel() for table in arrays_of(potentials)])


def entropy(inference, potentials, structure):
    """Entropy of p(y | x) of each sequence of a chain of first order, in nats, from local terms."""
    n = len(potentials.node)
    edges = structure.families[0]
    pairs = np.zeros((len(edges.nodes), potentials.cliques[0].shape[1]))
    out, log_Z = marginals(
        inference, potentials, structure, out=Potentials(np.zeros(potentials.node.shape), (pairs,))
    )
    degree = np.bincount(edges.nodes.ravel(), minlength=n)
    surprise = np.zeros(structure.n_examples)
    for table, offsets, count in (
        (pairs, edges.offsets, np.ones(len(pairs))),
        (out.node, structure.offsets, 1 - degree),
    ):
        logs = np.log(table, where=table > 0, out=np.zeros_like(table))
        local = -np.sum(table * logs, axis=1) * count
        surprise += np.add.reduceat(np.append(local, 0.0), offsets[:-1]) * (np.diff(offsets) > 0)
    surprise = np.maximum(surprise, 0.0)
    surprise[log_Z == -np.inf] = np.nan
    return surprise


def select(potentials, structure, order):
    """The examples `order` as a batch of their own; with the tokens that they had."""
    clones = structures.copies(structure, np.asarray(order))
    return clones.cut(potentials), clones.structure, clones.tokens


def derivative(function, array, index, step=1e-5):
    """Central finite difference of `function()` in one entry of an array that it reads."""
    kept = array[index]
    array[index] = kept + step
    above = function()
    array[index] = kept - step
    below = function()
    array[index] = kept
    return (above - below) / (2 * step)


def some_entries(rng, array, n=8):
    chosen = rng.choice(array.size, min(n, array.size), replace=False)
    return [tuple(int(j) for j in np.unravel_index(i, array.shape)) for i in chosen]


def copies(*arrays):
    return [np.array(a) for a in arrays]


def _names(check):
    return check.__name__.removeprefix("check_")


# --------------------------------------------------------------------------------------- inferences


def marginals(inference, potentials, structure, weight=None, out=None):
    """Marginals added to `out`, and log Z."""
    n = len(structure.offsets) - 1
    out = zeros(potentials) if out is None else out
    log_Z = np.full(n, np.nan)
    inference.marginals(potentials, structure, np.ones(n) if weight is None else weight, out, log_Z)
    return out, log_Z


def check_marginals_are_the_derivative_of_log_Z(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    out, _ = marginals(inference, potentials, structure, weight)
    for table, expected in zip(arrays_of(potentials), arrays_of(out)):
        for index in some_entries(rng, table):
            slope = derivative(
                lambda: weight @ marginals(inference, potentials, structure)[1], table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-6)


def check_marginals_are_distributions(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    K = potentials.node.shape[1]
    shapes = clique_shapes(structure, K, shared=False)
    out = Potentials(np.zeros(potentials.node.shape), tuple(map(np.zeros, shapes)))
    marginals(inference, potentials, structure, out=out)
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-12)
    pairs = out.cliques[0].reshape(-1, K, K)
    edges = structure.families[0].nodes
    np.testing.assert_allclose(pairs.sum(axis=2), out.node[edges[:, 0]], atol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=1), out.node[edges[:, 1]], atol=1e-12)
    if order == 2:
        second = 1 + np.flatnonzero(edges[1:, 0] == edges[:-1, 1])
        triples = out.cliques[1].reshape(-1, K, K, K)
        np.testing.assert_allclose(triples.sum(axis=1), pairs[second], atol=1e-12)
        np.testing.assert_allclose(triples.sum(axis=3), pairs[second - 1], atol=1e-12)


def check_weights_scale_and_results_are_added(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    weight = np.array([2.0, 1.0, -1.0, 0.25])
    node_weight = np.repeat(weight, np.diff(structure.offsets))[:, None]
    unit, _ = marginals(inference, potentials, structure)
    out = mapped(lambda table: np.full(table.shape, 7.0), unit)
    marginals(inference, potentials, structure, weight, out)
    np.testing.assert_allclose(out.node, 7.0 + node_weight * unit.node, atol=1e-12)
    singles = [flat(marginals(inference, potentials, structure, np.eye(4)[i])[0]) for i in range(4)]
    np.testing.assert_allclose(flat(out), 7.0 + weight @ singles, atol=1e-12)


def check_weight_zero_skips(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    out, log_Z = marginals(inference, potentials, structure, np.zeros(4))
    assert not flat(out).any()
    assert log_Z.tolist() == [0.0] * 4


def check_minus_one_takes_back(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    out, _ = marginals(inference, potentials, structure)
    marginals(inference, potentials, structure, -np.ones(4), out)
    np.testing.assert_allclose(flat(out), 0.0, atol=1e-15)


def check_examples_do_not_see_each_other(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    out, log_Z = marginals(inference, potentials, structure)
    for order in ([3, 1, 0, 2], [2], [1], [0, 0]):
        part, part_structure, tokens = select(potentials, structure, order)
        part_out, part_log_Z = marginals(inference, part, part_structure)
        np.testing.assert_array_equal(part_log_Z, log_Z[order])
        np.testing.assert_array_equal(part_out.node, out.node[tokens])


def check_no_allowed_labelling(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    _, expected_log_Z = marginals(inference, potentials, structure)
    expected, _ = marginals(inference, potentials, structure, np.array([0.0, 1.0, 1.0, 1.0]))
    potentials.node[1] = -np.inf
    out, log_Z = marginals(inference, potentials, structure)
    np.testing.assert_array_equal(log_Z, [-np.inf, *expected_log_Z[1:]])
    np.testing.assert_array_equal(flat(out), flat(expected))


def check_float32_gives_the_same(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    single = mapped(lambda table: table.astype(np.float32), potentials)
    out, log_Z = marginals(inference, single, structure)
    expected, expected_log_Z = marginals(inference, potentials, structure)
    np.testing.assert_allclose(flat(out), flat(expected), atol=1e-5)
    np.testing.assert_allclose(log_Z, expected_log_Z, atol=1e-5)


def check_inputs_stay(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    expected, expected_log_Z = marginals(inference, potentials, structure)
    weight = np.ones(4)
    given = arrays_of((potentials, structure, weight))
    before = copies(*given)
    if order == 1:  # may be read-only, too; each such kernel is compiled again, so for some
        for array in given:
            array.flags.writeable = False
    out, log_Z = marginals(inference, potentials, structure, weight)
    for array, kept in zip(given, before):
        np.testing.assert_array_equal(array, kept)
    np.testing.assert_array_equal(log_Z, expected_log_Z)
    np.testing.assert_array_equal(out.node, expected.node)


INFERENCE_CHECKS = [
    check_marginals_are_the_derivative_of_log_Z,
    check_marginals_are_distributions,
    check_weights_scale_and_results_are_added,
    check_weight_zero_skips,
    check_minus_one_takes_back,
    check_examples_do_not_see_each_other,
    check_no_allowed_labelling,
    check_float32_gives_the_same,
    check_inputs_stay,
]


def inference(subject: Any, order: int = 1) -> Callable[..., None]:
    """Enrol something with ``marginals(potentials, structure, weight, out, log_Z)``."""

    @pytest.mark.parametrize("shared", [True, False], ids=["shared", "per_edge"])
    @pytest.mark.parametrize("check", INFERENCE_CHECKS, ids=_names)
    def test(check, shared):
        check(subject, np.random.default_rng(0), shared, order)

    return test


# ------------------------------------------------------------------------- derivatives of marginals


def tangent(inference, potentials, reward, structure, weight=None, out=None):
    """Covariances added to `out`, and mean rewards."""
    n = len(structure.offsets) - 1
    out = zeros(potentials) if out is None else out
    mean = np.full(n, np.inf)
    inference.tangent(
        potentials, reward, structure, np.ones(n) if weight is None else weight, out, mean
    )
    return out, mean


def check_tangent_is_the_derivative_of_marginals(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward, _ = random_chains(rng, shared=shared, order=order)
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    step = np.zeros(1)

    def moved():
        return mapped(lambda a, b: a + step[0] * b, potentials, reward)

    out, mean = tangent(inference, potentials, reward, structure, weight)
    slope = derivative(lambda: marginals(inference, moved(), structure)[1], step, 0)
    np.testing.assert_allclose(mean, slope, atol=1e-8)
    slope = derivative(lambda: flat(marginals(inference, moved(), structure, weight)[0]), step, 0)
    np.testing.assert_allclose(flat(out), slope, atol=1e-8)


def check_tangent_is_symmetric(inference, rng, shared, order=1):
    """Cov(R, S) = Cov(S, R), and a variance is positive."""
    potentials, structure = random_chains(rng, shared=shared, order=order)
    r, s = (random_chains(rng, shared=shared, order=order)[0] for _ in range(2))
    of_r, of_s = (tangent(inference, potentials, reward, structure)[0] for reward in (r, s))

    assert flat(of_r) @ flat(s) == pytest.approx(flat(of_s) @ flat(r), rel=1e-12)
    assert flat(of_r) @ flat(r) > 0.1


def check_tangent_of_a_constant(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward = mapped(lambda table: np.full(table.shape, -1.0), potentials)
    reward.node[:] = 3.0
    out, mean = tangent(inference, potentials, reward, structure)
    np.testing.assert_allclose(flat(out), 0.0, atol=1e-14)
    n_scores = sum(np.diff(family.offsets) for family in structure.families)
    np.testing.assert_allclose(mean, 3.0 * np.diff(structure.offsets) - n_scores, rtol=1e-14)


def check_tangent_is_weighted_and_added(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward, _ = random_chains(rng, shared=shared, order=order)
    weight = np.array([2.0, 1.0, 0.0, -0.25])
    singles = [tangent(inference, potentials, reward, structure, np.eye(4)[i]) for i in range(4)]
    out = mapped(lambda table: np.full(table.shape, 7.0), potentials)
    _, mean = tangent(inference, potentials, reward, structure, weight, out)
    np.testing.assert_allclose(flat(out), 7.0 + weight @ [flat(s[0]) for s in singles], atol=1e-12)
    np.testing.assert_allclose(mean, [singles[0][1][0], 0.0, 0.0, singles[3][1][3]], rtol=1e-12)


def check_tangents_do_not_see_each_other(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward, _ = random_chains(rng, shared=shared, order=order)
    out, mean = tangent(inference, potentials, reward, structure)
    for order in ([3, 1, 0, 2], [2], [1], [0, 0]):
        part, part_structure, tokens = select(potentials, structure, order)
        part_reward, _, _ = select(reward, structure, order)
        part_out, part_mean = tangent(inference, part, part_reward, part_structure)
        np.testing.assert_array_equal(part_mean, mean[order])
        np.testing.assert_array_equal(part_out.node, out.node[tokens])


def check_tangent_without_an_allowed_labelling(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward, _ = random_chains(rng, shared=shared, order=order)
    expected, expected_mean = tangent(
        inference, potentials, reward, structure, np.array([0.0, 1.0, 1.0, 1.0])
    )
    potentials.node[1] = -np.inf
    out, mean = tangent(inference, potentials, reward, structure)
    np.testing.assert_array_equal(mean, [np.nan, *expected_mean[1:]])
    np.testing.assert_array_equal(flat(out), flat(expected))


def check_tangent_inputs_stay(inference, rng, shared, order=1):
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward, _ = random_chains(rng, shared=shared, order=order)
    weight = np.ones(4)
    given_arrays = arrays_of((potentials, reward, structure, weight))
    expected = tangent(inference, potentials, reward, structure, weight)
    before = copies(*given_arrays)
    out, mean = tangent(inference, potentials, reward, structure, weight)
    for array, kept in zip(given_arrays, before):
        np.testing.assert_array_equal(array, kept)
    np.testing.assert_array_equal(out.node, expected[0].node)
    np.testing.assert_array_equal(mean, expected[1])


def rows_of_cliques(rng, potentials):
    """Rewards that some cliques of the first family combine, and how strongly."""
    n_nodes = len(potentials.node)
    strength = rng.random((n_nodes, 3)) * (rng.random((n_nodes, 3)) < 0.4)
    table = rng.normal(size=(3, potentials.cliques[0].shape[1]))
    return CliqueRows(csr(sp.csr_array(strength)), table), strength


def check_marginals_by_row(inference, rng, shared, order=1):
    """As if those of all cliques were written out and then summed."""
    potentials, structure = random_chains(rng, shared=shared, order=order)
    weight = np.array([2.0, 1.0, -1.0, 0.0])
    rows, strength = rows_of_cliques(rng, potentials)
    before = rows.table.copy()
    width = rows.table.shape[1]
    first = np.zeros((len(structure.families[0].nodes), width))
    of_all = Potentials(np.zeros(potentials.node.shape), (first, *zeros(potentials).cliques[1:]))
    marginals(inference, potentials, structure, weight, of_all)
    node = np.full(potentials.node.shape, 7.0)
    log_Z = np.full(4, np.nan)
    inference.marginals_by_row(potentials, structure, weight, node, rows, log_Z)
    expected_log_Z = marginals(inference, potentials, structure, weight)[1]
    np.testing.assert_allclose(log_Z, expected_log_Z, atol=1e-12)
    np.testing.assert_allclose(node, 7.0 + of_all.node, atol=1e-12)
    expected = strength[structure.families[0].nodes[:, -1]].T @ first
    np.testing.assert_allclose(rows.table - before, expected, atol=1e-12)
    assert np.abs(expected).max() > 0.01


def check_tangent_by_row(inference, rng, shared, order=1):
    """As if all rewards were written out; examples do not see each other."""
    potentials, structure = random_chains(rng, shared=shared, order=order)
    reward, _ = random_chains(rng, shared=shared, order=order)
    weight = np.array([2.0, 1.0, -1.0, 0.0])
    rows, strength = rows_of_cliques(rng, potentials)
    more = strength[structure.families[0].nodes[:, -1]] @ rows.table
    written_out = Potentials(reward.node, (reward.cliques[0] + more, *reward.cliques[1:]))
    expected, expected_mean = tangent(inference, potentials, written_out, structure, weight)
    out = mapped(lambda table: np.full(table.shape, 7.0), potentials)
    mean = np.full(4, np.inf)
    inference.tangent_by_row(potentials, reward, rows, structure, weight, out, mean)
    np.testing.assert_allclose(flat(out), 7.0 + flat(expected), atol=1e-11)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-11)
    without, _ = tangent(inference, potentials, reward, structure, weight)
    assert np.abs(flat(without) - flat(expected)).max() > 0.01
    for chosen in (0, 2):
        single = zeros(potentials)
        single_mean = np.full(4, np.inf)
        alone = weight * (np.arange(4) == chosen)
        inference.tangent_by_row(potentials, reward, rows, structure, alone, single, single_mean)
        assert single_mean[chosen] == mean[chosen]


TANGENT_CHECKS = [
    check_tangent_is_the_derivative_of_marginals,
    check_tangent_is_symmetric,
    check_tangent_of_a_constant,
    check_tangent_is_weighted_and_added,
    check_tangents_do_not_see_each_other,
    check_tangent_without_an_allowed_labelling,
    check_tangent_inputs_stay,
    check_marginals_by_row,
    check_tangent_by_row,
]


def inference_tangent(subject: Any, order: int = 1) -> Callable[..., None]:
    """Enrol an inference that has ``tangent(potentials, reward, structure, weight, out, mean)``,
    too.
    """

    @pytest.mark.parametrize("shared", [True, False], ids=["shared", "per_edge"])
    @pytest.mark.parametrize("check", TANGENT_CHECKS, ids=_names)
    def test(check, shared):
        check(subject, np.random.default_rng(0), shared, order)

    return test


# ------------------------------------------------------------------------------------------- losses


def evidence(y):
    """What is known: labels, a mask of allowed ones, or the evidence itself."""
    if isinstance(y, Evidence):
        return y
    return Evidence(y) if y.ndim == 1 else Evidence(allowed=y)


def evaluate(loss, potentials, y, structure, weight, out=None):
    """Values, and derivatives added to `out`."""
    out = mapped(lambda table: np.zeros(table.shape), potentials) if out is None else out
    value = np.full(len(weight), np.nan)
    loss(Batch(potentials, evidence(y), structure, weight), out, value)
    return value, out


def second_derivative(loss, potentials, direction, y, structure, weight, out=None):
    """Second derivatives times a direction, added to `out`."""
    out = mapped(lambda table: np.zeros(table.shape), potentials) if out is None else out
    loss.hess_vec(Batch(potentials, evidence(y), structure, weight), direction, out)
    return out


def four_examples(rng, shared, order=1):
    """Chains of an order, or what a function ``order(rng, shared)`` draws."""
    return order(rng, shared) if callable(order) else random_chains(rng, shared=shared, order=order)


def labelled_chains(rng, shared, order=1):
    potentials, structure = four_examples(rng, shared, order)
    y = rng.integers(potentials.node.shape[1], size=len(potentials.node)).astype(np.int32)
    return potentials, y, structure


def check_derivative(loss, rng, shared, order=1):
    potentials, y, structure = labelled_chains(rng, shared, order)
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    _, out = evaluate(loss, potentials, y, structure, weight)
    for table, expected in zip(arrays_of(potentials), arrays_of(out)):
        for index in some_entries(rng, table, 12):
            slope = derivative(
                lambda: weight @ evaluate(loss, potentials, y, structure, weight)[0], table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-6)


def check_weight_scales_the_derivative_alone(loss, rng, shared, order=1):
    potentials, y, structure = labelled_chains(rng, shared, order)
    weight = np.array([2.0, 1.0, 0.5, 0.0])
    unit_value, _ = evaluate(loss, potentials, y, structure, np.ones(4))
    sevens = mapped(lambda table: np.full(table.shape, 7.0), potentials)
    value, out = evaluate(loss, potentials, y, structure, weight, sevens)
    singles = [evaluate(loss, potentials, y, structure, np.eye(4)[i])[1] for i in range(4)]
    np.testing.assert_array_equal(value, [*unit_value[:3], 0.0])
    np.testing.assert_allclose(flat(out), 7 + weight @ [flat(s) for s in singles], atol=1e-12)


def check_loss_examples_do_not_see_each_other(loss, rng, shared, order=1):
    potentials, y, structure = labelled_chains(rng, shared, order)
    value, out = evaluate(loss, potentials, y, structure, np.ones(4))
    for order in ([3, 1, 0, 2], [2], [1]):
        part, part_structure, tokens = select(potentials, structure, order)
        part_value, part_out = evaluate(loss, part, y[tokens], part_structure, np.ones(len(order)))
        np.testing.assert_array_equal(part_value, value[order])
        np.testing.assert_array_equal(part_out.node, out.node[tokens])


def check_empty_example_costs_nothing(loss, rng, shared, order=1):
    potentials, y, structure = labelled_chains(rng, shared, order)
    assert evaluate(loss, potentials, y, structure, np.ones(4))[0][1] == 0.0


def check_loss_inputs_stay(loss, rng, shared, order=1):
    potentials, y, structure = labelled_chains(rng, shared, order)
    weight = np.array([1.0, 0.0, 2.0, 3.0])
    given = arrays_of((potentials, y, structure, weight))
    before = copies(*given)
    evaluate(loss, potentials, y, structure, weight)
    for array, kept in zip(given, before):
        np.testing.assert_array_equal(array, kept)


def check_value_alone(loss, rng, shared, order=1):
    """To the last digit as with derivatives, also of examples without weight; inputs stay."""
    potentials, y, structure = labelled_chains(rng, shared, order)
    weight = np.array([1.0, 2.0, 0.0, 0.5])
    expected, _ = evaluate(loss, potentials, y, structure, weight)
    given = arrays_of((potentials, y, structure, weight))
    before = copies(*given)
    value = np.full(4, np.nan)
    room = mapped(lambda table: np.zeros(table.shape), potentials)
    loss.write_value(Batch(potentials, evidence(y), structure, weight), room, value)
    np.testing.assert_array_equal(value, expected)
    for array, kept in zip(given, before):
        np.testing.assert_array_equal(array, kept)


def check_second_derivative(loss, rng, shared, order=1):
    """For losses that serve Newton's method."""
    potentials, y, structure = labelled_chains(rng, shared, order)
    direction, _ = four_examples(rng, shared, order)
    weight = np.array([1.0, 1.0, 2.0, 0.0])
    step = np.zeros(1)

    def moved():
        return mapped(lambda a, b: a + step[0] * b, potentials, direction)

    sevens = mapped(lambda table: np.full(table.shape, 7.0), potentials)
    out = second_derivative(loss, potentials, direction, y, structure, weight, sevens)
    slope = derivative(lambda: flat(evaluate(loss, moved(), y, structure, weight)[1]), step, 0)
    np.testing.assert_allclose(flat(out) - 7, slope, atol=1e-8)


def check_convexity(loss, rng, shared, order=1):
    """Between any potentials the loss is at most as large as the straight line."""
    for _ in range(20):
        ends, y, structure = labelled_chains(rng, shared, order)
        others, _ = four_examples(rng, shared, order)
        ends = [mapped(lambda table: 5 * table, potentials) for potentials in (ends, others)]
        middle = mapped(lambda a, b: (a + b) / 2, *ends)
        first, between, last = (
            evaluate(loss, potentials, y, structure, np.ones(4))[0]
            for potentials in (ends[0], middle, ends[1])
        )
        assert (between <= (first + last) / 2 + 1e-9).all()


LOSS_CHECKS = [
    check_derivative,
    check_weight_scales_the_derivative_alone,
    check_loss_examples_do_not_see_each_other,
    check_empty_example_costs_nothing,
    check_loss_inputs_stay,
    check_value_alone,
]


def loss(subject: Any, order: Any = 1) -> Callable[..., None]:
    """Enrol a loss of known labels, on chains of an order, or on what a function draws: four
    examples, the second one empty, the first and the last two of all draws with equal shapes.
    """
    checks = [
        *LOSS_CHECKS,
        *[check_second_derivative] * subject.twice_differentiable,
        *[check_convexity] * subject.convex,
    ]

    @pytest.mark.parametrize("shared", [True, False], ids=["shared", "per_edge"])
    @pytest.mark.parametrize("check", checks, ids=_names)
    def test(check, shared):
        check(subject, np.random.default_rng(0), shared, order)

    return test


# ------------------------------------------------------------------------------------------ solvers


class LeastSquares:
    """mean_i (A[i] w - b[i])**2 / 2 as an objective and as a finite sum; the last entries are
    unpenalised.
    """

    def __init__(self, rng, n_terms=60, size=6, n_free=1):
        self.A = rng.normal(size=(n_terms, size))
        self.b = rng.normal(size=n_terms)
        self.A[:, size - n_free :] = 1.0
        self.b += 3.0
        self.n_terms = n_terms
        self.size = size
        self.n_free = n_free
        self.n_potentials = n_terms
        self.is_sampled = False

    def value_and_grad(self, w):
        residual = self.A @ w - self.b
        return float(residual @ residual) / (2 * self.n_terms), self.A.T @ residual / self.n_terms

    def value(self, w):
        return self.value_and_grad(w)[0]

    def hess_vec(self, w, v):
        return self.A.T @ (self.A @ v) / self.n_terms

    def expand(self, w):
        return w.copy()

    def compress(self, W):
        return W.astype(float)

    def new_memory(self, dtype, rng, sampled):
        return AllDerivatives(self.n_terms, dtype)

    def rest(self):
        pass

    def wake(self):
        pass

    def side_by_side(self, vectors, dtype):
        return self._join([vector.astype(dtype) for vector in vectors])

    def _join(self, vectors):
        return np.concatenate(
            [part for lo, hi in self._kinds for part in [v[lo:hi] for v in vectors]]
        )

    def separate(self, W, c):
        return np.concatenate([part[0, c] for part in self._parts(W)]).astype(float)

    def penalised_parts(self, W):
        return self._parts(W)[:1]

    def _parts(self, W):
        n = len(W) // self.size
        return [W[n * lo : n * hi].reshape(1, n, -1) for lo, hi in self._kinds]

    @property
    def _kinds(self):
        """Penalised and free entries."""
        return pairwise([0, self.size - self.n_free, self.size])

    def forward(self, W, i, *scales):
        parts = self._parts(W)
        penalised = self.size - self.n_free
        return (
            np.array(scales) @ parts[0][0] @ self.A[i, :penalised]
            + self.A[i, penalised:] @ parts[1][0, 0]
        )

    def term(self, theta, i):
        return (theta - self.b[i]) ** 2 / 2, theta - self.b[i]

    def add(self, gradient, i, W, *scales):
        W += self._join([scale * gradient * self.A[i] for scale in scales])

    def solution(self, l2):
        penalty = np.diag(np.arange(self.size) < self.size - self.n_free) * l2
        return np.linalg.solve(
            self.A.T @ self.A / self.n_terms + penalty, self.A.T @ self.b / self.n_terms
        )


class Hinges:
    """mean_i max(0, margin - a_i w) as a finite sum; on its kink a term counts as wrong. The last
    entry is free.
    """

    def __init__(self, rng, margin, n_terms=40, size=6, gap=0.5):
        truth = rng.normal(size=size)
        truth /= np.linalg.norm(truth)
        self.A = rng.normal(size=(n_terms, size))
        self.A *= np.sign(self.A @ truth)[:, None]
        self.A += gap * truth  # all are right by at least the gap
        self.margin = margin
        self.n_terms = n_terms
        self.size = size
        self.n_free = 1
        self.gap = gap

    def expand(self, w):
        return w

    compress = expand

    def forward(self, W, i, scale):
        assert scale == 1.0
        return float(self.A[i] @ W)

    def term(self, theta, i):
        return max(0.0, self.margin - theta), -float(theta <= self.margin)

    def add(self, gradient, i, W, scale):
        W += scale * gradient * self.A[i]

    def squared_norm(self, gradient, i):
        return gradient**2 * float(self.A[i] @ self.A[i])


def noisy(rng, margin):
    """Terms of which some contradict the others."""
    problem = Hinges(rng, margin)
    problem.A[::5] *= -1.0
    return problem


class Solver(NamedTuple):
    """A solver with the options it needs, and what may be expected of it."""

    function: Callable[..., Any]
    options: Callable[[], dict[str, Any]]  # made afresh for each run
    l1: bool  # serves an L1 penalty
    precision: float  # of the solution, with `tol`
    tol: float

    def __call__(self, problem, w0=None, *, l1=0.0, l2=0.1, max_iter=500, callback=None):
        w0 = np.zeros(problem.size) if w0 is None else w0
        common = {"l1": l1, "l2": l2, "max_iter": max_iter, "tol": self.tol, "callback": callback}
        return self.function(problem, w0, **common, **self.options())


def assert_its_generator_decides(solver, problem, max_iter):
    """A stochastic solver repeats itself with equal seeds, and with those alone."""
    w0 = np.zeros(problem.size)
    options = {"l1": 0.0, "l2": 0.1, "max_iter": max_iter, "tol": 0.0}
    same, again, other = (
        solver(problem, w0, **options, rng=np.random.RandomState(seed)).w for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(same, again)
    assert np.any(same != other)


def penalised_value(problem, w, l1=0.0, l2=0.1):
    v = w[: problem.size - problem.n_free]
    return problem.value_and_grad(w)[0] + l2 / 2 * (v @ v) + l1 * np.abs(v).sum()


def subgradient(problem, w, l1=0.0, l2=0.1):
    """The steepest descent of the penalised objective, entry by entry; 0 at its minimum."""
    grad = problem.value_and_grad(w)[1]
    n = problem.size - problem.n_free
    grad[:n] += l2 * w[:n]
    at_zero = np.sign(grad[:n]) * np.maximum(np.abs(grad[:n]) - l1, 0.0)
    grad[:n] = np.where(w[:n] != 0, grad[:n] + l1 * np.sign(w[:n]), at_zero)
    return grad


def check_finds_the_minimum(solver, problem):
    for l2 in (0.0, 0.1, 1.0):
        found = solver(problem, l2=l2)
        assert found.converged
        np.testing.assert_allclose(found.w, problem.solution(l2), atol=solver.precision)
        assert found.value == pytest.approx(penalised_value(problem, found.w, l2=l2), rel=1e-12)


def check_free_entries_are_unpenalised(solver, problem):
    problem.A[:, :-1] *= 1e-3
    found = solver(problem, l2=1.0)
    assert found.w[-1] == pytest.approx(problem.b.mean(), abs=solver.precision)
    np.testing.assert_allclose(found.w[:-1], 0.0, atol=0.01)


def check_start_at_the_minimum(solver, problem):
    w0 = problem.solution(0.1)
    found = solver(problem, w0)
    assert found.converged
    assert found.n_iter <= 3
    np.testing.assert_allclose(found.w, w0, atol=solver.precision)


def check_max_iter(solver, problem):
    found = solver(problem, max_iter=1)
    assert found.n_iter == 1
    assert not found.converged
    assert found.value < penalised_value(problem, np.zeros(problem.size))


def check_callback(solver, problem):
    seen = []
    found = solver(
        problem, callback=lambda n_iter, w, value: seen.append((n_iter, w.copy(), value))
    )
    assert [n_iter for n_iter, _, _ in seen] == list(range(1, found.n_iter + 1))
    assert all(
        value == pytest.approx(penalised_value(problem, w), rel=1e-12) for _, w, value in seen
    )
    assert all(b <= a for (_, _, a), (_, _, b) in pairwise(seen))
    assert seen[-1][2] == found.value


def check_callback_stops(solver, problem):
    found = solver(problem, callback=lambda n_iter, w, value: n_iter == 2)
    assert found.n_iter == 2
    assert not found.converged


def check_start_stays_and_runs_repeat(solver, problem):
    w0 = np.arange(6.0)
    first = solver(problem, w0)
    second = solver(problem, w0)
    np.testing.assert_array_equal(w0, np.arange(6.0))
    np.testing.assert_array_equal(first.w, second.w)
    assert first[1:] == second[1:]


def check_l1(solver, problem):
    if not solver.l1:
        with pytest.raises(ValueError, match="owlqn"):
            solver(problem, l1=0.1)
        return
    for l1, l2 in ((0.05, 0.0), (0.2, 0.1), (0.5, 1.0), (100.0, 0.0)):
        found = solver(problem, l1=l1, l2=l2)
        assert found.converged
        assert np.abs(subgradient(problem, found.w, l1, l2)).max() <= solver.tol
        assert found.value == pytest.approx(penalised_value(problem, found.w, l1, l2), rel=1e-12)
    assert found.w[:-1].tolist() == [0.0] * 5
    assert found.w[-1] == pytest.approx(problem.b.mean(), abs=solver.precision)


SOLVER_CHECKS = [
    check_finds_the_minimum,
    check_free_entries_are_unpenalised,
    check_start_at_the_minimum,
    check_max_iter,
    check_callback,
    check_callback_stops,
    check_start_stays_and_runs_repeat,
    check_l1,
]


def solver(subject: Solver) -> Callable[..., None]:
    """Enrol a solver ``(objective, w0, *, l1, l2, max_iter, tol, callback)``."""

    @pytest.mark.parametrize("check", SOLVER_CHECKS, ids=_names)
    def test(check):
        check(subject, LeastSquares(np.random.default_rng(0)))

    return test
