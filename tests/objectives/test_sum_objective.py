"""The objective of shards of one data set: that of all its data."""

from __future__ import annotations

from itertools import pairwise

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.sum_objective import SumObjective
from sklearn_struct.solvers.lbfgs import lbfgs

N = 40
# the second shard has one sequence, the third none that counts
CUTS = [0, 13, 14, 16, N]


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


def made(lo=0, hi=N, loss=None, **options):
    """The objective of the sequences from `lo` to before `hi`, with the same pattern for all."""
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, rng.integers(0, 7, size=N), **options)
    weight = rng.uniform(0.1, 2.0, size=N)
    weight[14:16] = 0.0
    X = model.X[lo:hi]
    y = model.y[model.X.offsets[lo] : model.X.offsets[hi]]
    pattern = model.potentials.pattern
    chain = Chain(pattern.order)
    structure = chain.structure(X.offsets)
    data = TrainingData(structure, Evidence(y), weight[lo:hi])
    potentials = bind(pattern, X, structure, np.dtype(float))
    return LinearObjective(potentials, loss or LogLikelihood(chain), chain, data)


def shards(**options):
    return [made(lo, hi, **options) for lo, hi in pairwise(CUTS)]


@pytest.mark.parametrize("options", naive.LINEAR_MODELS, ids=ids)
def test_shards_add_up_to_the_whole(options):
    whole = made(**options)
    total = SumObjective(shards(**options))
    assert (total.size, total.n_free) == (whole.size, whole.n_free)
    assert total.total_weight == pytest.approx(whole.total_weight, rel=1e-15)
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=(2, whole.size))
    value, grad = whole.value_and_grad(w)
    found, found_grad = total.value_and_grad(w)
    assert found == pytest.approx(value, rel=1e-13)
    assert isinstance(found, float)
    assert np.linalg.norm(found_grad - grad) <= 1e-13 * np.linalg.norm(grad)
    product = whole.hess_vec(w, v)
    difference = total.hess_vec(w, v) - product
    assert np.linalg.norm(difference) <= 1e-13 * np.linalg.norm(product)


def test_one_shard_is_the_whole():
    whole = made()
    w = np.random.default_rng(1).normal(size=whole.size)
    value, grad = whole.value_and_grad(w)
    found, found_grad = SumObjective([whole]).value_and_grad(w)
    assert found == value
    assert found_grad.tobytes() == grad.tobytes()


def test_weights_stay_and_gradients_are_new():
    """Solvers add to the gradient they get."""
    total = SumObjective(shards())
    w = np.random.default_rng(1).normal(size=total.size)
    w.flags.writeable = False
    value, grad = total.value_and_grad(w)
    kept = grad.copy()
    grad += 100.0
    again, second = total.value_and_grad(w)
    assert again == value
    np.testing.assert_array_equal(second, kept)


def test_shards_on_threads():
    """Each shard may have threads; the sum has the same bits."""
    w = np.random.default_rng(1).normal(size=made().size)
    value, grad = SumObjective(shards()).value_and_grad(w)
    with Pool(2) as pool:
        total = SumObjective([shard.on(pool) for shard in shards()])
        found, found_grad = total.value_and_grad(w)
    assert found == value
    assert found_grad.tobytes() == grad.tobytes()


def test_the_same_minimum():
    whole = made()
    options = {"l1": 0.0, "l2": 0.1, "max_iter": 500, "tol": 1e-9}
    expected = lbfgs(whole, np.zeros(whole.size), **options)
    found = lbfgs(SumObjective(shards()), np.zeros(whole.size), **options)
    assert found.converged
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    # the intercepts may share any constant
    np.testing.assert_allclose(found.w[:-3], expected.w[:-3], atol=1e-6)
    assert np.abs(contracts.subgradient(whole, found.w, l2=0.1)).max() <= 1e-8


class Coupled(LogLikelihood):
    couples = True


def test_what_has_no_sum():
    with pytest.raises(ValueError, match="objectives of the same weights, and at least one"):
        SumObjective([])
    with pytest.raises(ValueError, match="objectives of the same weights, and at least one"):
        SumObjective([made(), made(intercept=False)])
    with pytest.raises(ValueError, match="depends on all examples at once: it has no sum"):
        SumObjective([made(loss=Coupled(Chain())), made()])
