"""Gibbs sampling: right in the mean, with errors that fall as 1 / sqrt(number of sweeps)."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration
from scipy import stats

from sklearn_struct.inference.graphs.gibbs_sampling import GibbsSampling
from sklearn_struct.inference.graphs.junction_tree import JunctionTree


# of the contract all that does not ask for exact sums
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "check",
    [
        contracts.check_weights_scale_and_results_are_added,
        contracts.check_weight_zero_skips,
        contracts.check_minus_one_takes_back,
        contracts.check_examples_do_not_see_each_other,
        contracts.check_no_allowed_labelling,
        contracts.check_float32_gives_the_same,
        contracts.check_inputs_stay,
        contracts.check_tangent_is_weighted_and_added,
        contracts.check_tangents_do_not_see_each_other,
        contracts.check_tangent_without_an_allowed_labelling,
        contracts.check_tangent_inputs_stay,
    ],
    ids=lambda check: check.__name__.removeprefix("check_"),
)
def test_contract(check, shared):
    check(GibbsSampling(50, 5), np.random.default_rng(0), shared)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
def test_marginals_and_covariances_come_near(families):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 0, 1, 6), 3, families)
    potentials = contracts.mapped(lambda table: 0.5 * table, potentials)
    reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    subject = GibbsSampling(20_000, 100)
    out, log_Z = contracts.marginals(subject, potentials, structure)
    expected, exact = contracts.marginals(JunctionTree(), potentials, structure)
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-12)
    # twenty thousand sweeps leave errors of some 1 / sqrt(20,000)
    for table, right in zip(contracts.arrays_of(out), contracts.arrays_of(expected)):
        np.testing.assert_allclose(table, right, atol=0.05)
    np.testing.assert_allclose(log_Z, exact, atol=0.5)
    out, mean = contracts.tangent(subject, potentials, reward, structure)
    expected, exact = contracts.tangent(JunctionTree(), potentials, reward, structure)
    np.testing.assert_allclose(mean, exact, atol=0.2)
    for table, right in zip(contracts.arrays_of(out), contracts.arrays_of(expected)):
        np.testing.assert_allclose(table, right, atol=0.3)


def test_sampled_labellings_by_chi_square():
    """Single samples of many seeds: with one sweep after burning in, a covariance with a reward of
    a node's label is one, so marginals of many chains are compared.
    """
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (3,), 2, (PAIRS,), density=1.0)
    every = Enumeration(potentials, structure, 0)
    # a clique of all three nodes with score 0 shows their labels
    nodes = np.array([[0, 1, 2]])
    families = (*structure.families, graphs.Family(nodes, np.array([0, 1])))
    structure = structure._replace(families=families)
    potentials = potentials._replace(cliques=(*potentials.cliques, np.zeros((1, 8))))
    n = 4000
    out = contracts.zeros(potentials)
    counts = np.zeros(8)
    for seed in range(n):
        out = contracts.zeros(potentials)
        contracts.marginals(GibbsSampling(1, 10, seed), potentials, structure, out=out)
        # the last draw leaves two labels of the others open; one of these at random is a sample
        p = out.cliques[1][0]
        counts[rng.choice(8, p=p / p.sum())] += 1
    assert stats.chisquare(counts, n * every.p).pvalue > 1e-3


def test_errors_fall_with_the_square_root():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6,) * 20, 3, (PAIRS,))
    expected, _ = contracts.marginals(JunctionTree(), potentials, structure)
    errors = []
    for n_sweeps in (50, 800, 12_800):
        out, _ = contracts.marginals(GibbsSampling(n_sweeps, 50), potentials, structure)
        errors.append(np.sqrt(np.mean((out.node - expected.node) ** 2)))
    # four times smaller each
    assert errors[0] / 8 < errors[1] < errors[0] / 2
    assert errors[1] / 8 < errors[2] < errors[1] / 2


def test_the_estimate_of_Z_is_right_in_the_mean():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5,), 3, (PAIRS,), density=1.0)
    exact = Enumeration(potentials, structure, 0).log_Z
    ratios = [
        np.exp(contracts.marginals(GibbsSampling(1, 20, seed), potentials, structure)[1][0] - exact)
        for seed in range(1000)
    ]
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1.0) < 4.0 * error < 0.2


def test_equal_calls_and_other_seeds():
    potentials, structure = graphs.random_graphs(np.random.default_rng(0), (5, 6), 3)
    first = contracts.flat(contracts.marginals(GibbsSampling(), potentials, structure)[0])
    again = contracts.flat(contracts.marginals(GibbsSampling(), potentials, structure)[0])
    other = contracts.flat(contracts.marginals(GibbsSampling(seed=1), potentials, structure)[0])
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_many_sweeps_at_a_time_or_few(monkeypatch):
    potentials, structure = graphs.random_graphs(np.random.default_rng(0), (5, 6), 3)
    expected, log_Z = contracts.marginals(GibbsSampling(), potentials, structure)
    monkeypatch.setattr("sklearn_struct.inference.graphs.gibbs_sampling.STEPS", 3000)
    out, same = contracts.marginals(GibbsSampling(), potentials, structure)
    np.testing.assert_array_equal(same, log_Z)
    np.testing.assert_array_equal(contracts.flat(out), contracts.flat(expected))


def test_forbidden_pairs():
    """What is forbidden has no probability, and log Z is unknown."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (4, 4), 3, (PAIRS,), density=1.0)
    potentials.cliques[0][:4, [0, 4]] = -np.inf
    potentials.cliques[0][4] = -np.inf
    out, log_Z = contracts.marginals(GibbsSampling(2000), potentials, structure)
    assert np.isnan(log_Z[0])
    assert log_Z[1] == -np.inf
    assert not out.cliques[0][np.isneginf(potentials.cliques[0])].any()
    assert not out.node[4:].any()
    every = Enumeration(potentials, structure, 0)
    expected, _ = every.means(every.p, potentials)
    np.testing.assert_allclose(out.node[:4], expected, atol=0.1)


def test_labellings_are_those_of_the_searches():
    potentials, structure = graphs.random_graphs(np.random.default_rng(0), (6, 7), 3, (PAIRS,))
    labels = np.zeros(13, np.int32)
    score = np.empty(2)
    GibbsSampling().argmax(potentials, structure, labels, score)
    expected = [Enumeration(potentials, structure, i).scores.max() for i in range(2)]
    np.testing.assert_allclose(score, expected, atol=1e-10)
