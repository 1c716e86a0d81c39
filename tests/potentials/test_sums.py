"""log Z, gradients and marginals of given scores: by enumeration and by numerical differences."""

from __future__ import annotations

import numpy as np
import pytest
from scored_chains import CASES, NO_LABELLING, case, in_form

from sklearn_struct import potentials
from sklearn_struct.exceptions import LengthMismatchError, NonFiniteError

TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_marginals_are_sums_over_all_labellings(name):
    given = case(name)
    proba, pairs = potentials.marginals(*given.arrays, return_pairs=True, **given.ends)
    assert proba.dtype == np.float64
    np.testing.assert_array_equal(proba, potentials.marginals(*given.arrays, **given.ends))
    K = given.unary.shape[1]
    for i, twin in enumerate(given.twins()):
        np.testing.assert_allclose(proba[given.tokens(i)], twin.node.astype(float), **TOLERANCE)
        expected = twin.cliques[0].astype(float).reshape(-1, K, K)
        np.testing.assert_allclose(pairs[given.steps(i)], expected, **TOLERANCE)


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_log_partition_is_that_of_all_labellings(name):
    given = case(name)
    log_Z = potentials.log_partition(*given.arrays, **given.ends)
    expected = [float(twin.log_Z) for twin in given.twins()]
    np.testing.assert_allclose(log_Z, expected, rtol=1e-6, atol=1e-6)
    same, _ = potentials.log_partition(*given.arrays, return_gradient=True, **given.ends)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12)


@pytest.mark.twins
@pytest.mark.parametrize("name", ["shared", "tables", "ends"])
@pytest.mark.parametrize("argument", ["unary", "pairwise", "start", "stop"])
def test_gradients_are_those_of_differences(argument, name):
    """Of the weighted sum of log Z, in a random direction."""
    given = case(name)
    rng = np.random.RandomState(1)
    weight = rng.randn(len(given.lengths))
    weight[3] = 0.0
    arguments = {"unary": given.unary, "pairwise": given.pairwise, **given.ends}
    arguments = {"start": np.zeros(3), "stop": np.zeros(3), **arguments}

    def value(step):
        moved = {**arguments, argument: arguments[argument] + step * direction}
        return weight @ potentials.log_partition(lengths=given.lengths, **moved)

    direction = rng.randn(*arguments[argument].shape)
    log_Z, gradient = potentials.log_partition(
        lengths=given.lengths, return_gradient=True, sample_weight=weight, **arguments
    )
    assert weight @ log_Z == pytest.approx(value(0.0))
    slope = np.sum(getattr(gradient, argument) * direction)
    assert slope == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, abs=1e-7)


def test_log_Z_of_weight_0_is_there():
    given = case("shared")
    weight = np.zeros(len(given.lengths))
    log_Z, gradient = potentials.log_partition(
        *given.arrays, return_gradient=True, sample_weight=weight
    )
    np.testing.assert_array_equal(log_Z, potentials.log_partition(*given.arrays))
    assert not np.any(gradient.unary)
    assert gradient.start is None


@pytest.mark.parametrize("form", ["list", "padded", "SequenceArray"])
@pytest.mark.parametrize("name", ["shared", "tables"])
def test_results_have_the_form_of_the_scores(name, form):
    given = case(name)
    unary, pairwise, lengths = in_form(given, form)
    flat, pairs = potentials.marginals(*given.arrays, return_pairs=True)
    proba, pairs_in_form = potentials.marginals(unary, pairwise, lengths, return_pairs=True)
    _, gradient = potentials.log_partition(unary, pairwise, lengths, return_gradient=True)
    assert type(proba) is type(unary)
    for i, n in enumerate(given.lengths):
        np.testing.assert_array_equal(proba[i][:n], flat[given.tokens(i)])
        np.testing.assert_array_equal(gradient.unary[i][:n], flat[given.tokens(i)])
        assert not np.any(proba[i][n:])
        if form == "SequenceArray":
            np.testing.assert_array_equal(pairs_in_form, pairs)
        else:
            n_steps = max(n - 1, 0)
            np.testing.assert_array_equal(pairs_in_form[i][:n_steps], pairs[given.steps(i)])
    shapes = [np.shape(one) for one in (pairwise if type(pairwise) is list else [pairwise])]
    of_gradient = gradient.pairwise if type(pairwise) is list else [gradient.pairwise]
    assert [one.shape for one in of_gradient] == shapes


@pytest.mark.twins
@pytest.mark.parametrize("name", NO_LABELLING)
def test_log_Z_of_no_labelling_is_minus_infinity(name):
    """The gradient is that of the others."""
    arguments, _ = NO_LABELLING[name]
    log_Z, gradient = potentials.log_partition(**arguments, return_gradient=True)
    assert log_Z[1] == -np.inf
    assert np.isfinite(log_Z[0])
    n = arguments["lengths"][0]
    np.testing.assert_allclose(gradient.unary[:n].sum(axis=1), 1.0)
    assert not np.any(gradient.unary[n:])


@pytest.mark.parametrize("name", ["shared", "tables"])
def test_threads_change_no_bit(name):
    given = case(name, n_sequences=700)
    one = potentials.log_partition(*given.arrays, return_gradient=True)
    three = potentials.log_partition(*given.arrays, return_gradient=True, n_jobs=3)
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1].unary, three[1].unary)
    np.testing.assert_array_equal(one[1].pairwise, three[1].pairwise)


@pytest.mark.parametrize("name", ["shared", "tables"])
def test_blocks_are_chains_of_their_own(name):
    """Many sequences have the results that they have alone."""
    given = case(name, n_sequences=2000)
    proba, pairs = potentials.marginals(*given.arrays, return_pairs=True)
    for i in (0, 999, 1998, 1999):
        alone = given.unary[given.tokens(i)]
        table = given.pairwise if name == "shared" else given.pairwise[given.steps(i)]
        one, one_pairs = potentials.marginals(alone, table, return_pairs=True)
        np.testing.assert_allclose(one, proba[given.tokens(i)], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one_pairs, pairs[given.steps(i)], rtol=1e-9, atol=1e-12)


def test_weights_are_looked_at():
    given = case("shared")
    with pytest.raises(ValueError, match="use return_gradient=True"):
        potentials.log_partition(*given.arrays, sample_weight=[1.0])
    with pytest.raises(LengthMismatchError, match="each of the 6 sequences"):
        potentials.log_partition(*given.arrays, return_gradient=True, sample_weight=[1.0])
    weight = [1.0, 1.0, np.nan, 1.0, 1.0, 1.0]
    with pytest.raises(NonFiniteError, match=r"sample_weight\[2\] is not finite"):
        potentials.log_partition(*given.arrays, return_gradient=True, sample_weight=weight)
