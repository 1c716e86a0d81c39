"""Two processes that learn together: what their jobs answer, and how their curves are read."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest


def halves():
    from papers.worker_processes import Problem

    from sklearn_struct.inference.chains.chain import Chain
    from sklearn_struct.losses.evidence import Evidence
    from sklearn_struct.losses.log_likelihood import LogLikelihood
    from sklearn_struct.objectives.linear_objective import TrainingData
    from sklearn_struct.objectives.linear_potentials import bind
    from sklearn_struct.objectives.linear_terms import LinearTerms

    rng = np.random.default_rng(0)
    n = 40
    model = naive.linear_model(rng, rng.integers(2, 7, size=n), intercept=False)
    pattern = model.potentials.pattern
    chain = Chain(pattern.order)

    def objective(lo, hi):
        X = model.X[lo:hi]
        y = model.y[model.X.offsets[lo] : model.X.offsets[hi]]
        structure = chain.structure(X.offsets)
        data = TrainingData(structure, Evidence(y), np.ones(hi - lo))
        potentials = bind(pattern, X, structure, np.dtype(float))
        return LinearTerms(potentials, LogLikelihood(chain), chain, data, term_tokens=1)

    return Problem(objective(0, n), [objective(0, n // 2), objective(n // 2, n)], 1.0 / n)


def test_a_batch_of_all_terms_has_the_gradient_of_a_shard():
    from papers.worker_processes import batch_gradient, gradient

    shard = halves().shards[0]
    w = np.random.default_rng(1).normal(size=shard.size)
    whole, batch = np.zeros((2, shard.size))
    value = gradient(shard, w, whole)
    assert value == pytest.approx(shard.value_and_grad(w)[0])
    batch_gradient(shard, w, batch, np.arange(shard.n_terms))
    assert np.abs(whole).max() > 1e-3
    np.testing.assert_allclose(batch, whole, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["synchronous L-BFGS", "local SGD", "delayed SGD", "lock-free threads"]
)
def test_every_way_comes_near_the_optimum(name):
    from papers.worker_processes import WAYS

    from sklearn_struct.solvers.lbfgs import lbfgs

    given = halves()
    size = given.whole.size
    w0 = np.zeros(size)
    best = lbfgs(given.whole, w0, l1=0.0, l2=given.l2, max_iter=300, tol=1e-9).w
    start = given.value(w0)
    points = list(WAYS[name](given, 0))
    seconds = [at for at, _ in points]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0
    lowest = given.value(best)
    last = given.value(points[-1][1])
    # how far delayed gradients get hangs on how busy the machine is
    assert last - lowest < (0.5 if name == "delayed SGD" else 0.1) * (start - lowest)


def test_seconds_to_near_the_lowest():
    from lib.side_by_side import Medians, Run
    from papers.worker_processes import RIVAL, finish, goals, seconds_to

    curve = [(1.0, 120.0), (2.0, 100.5), (3.0, 100.04), (4.0, 100.0)]
    assert seconds_to(curve, 101.0) == 2.0
    assert seconds_to(curve, 99.0) == math.inf
    runs = {RIVAL: [Run({}, curve)], "local SGD": [Run({}, [(1.0, 110.0), (1.5, 100.9)])]}
    finish(runs)
    figures = runs["local SGD"][0].figures
    assert figures["to 1 %, s"] == 1.5
    assert figures["to 0.1 %, s"] == math.inf
    assert figures["above the lowest at the end, %"] == pytest.approx(0.9)
    promised = goals(Medians({name: several[0].figures for name, several in runs.items()}))
    values = {goal.what: goal.value for goal in promised}
    assert values["to 1 %, s: sag / local SGD"] == pytest.approx(2.0 / 1.5)
    assert values["to 1 %, s: sag / delayed SGD"] is None
