"""Windows of blocks, and gradients that are the same with several of them."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from sklearn_struct.compiled.threads import N_PARTS, Pool
from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives import windows as module
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.windows import windows


def blocks_of(n_sequences, length=10):
    structure = chain(np.arange(n_sequences + 1) * length)
    return Chain().blocks(structure, 3, n_tokens=20, n_blocks=10**6)


@pytest.mark.parametrize("numbers", [1, 10**4, 10**9])
def test_every_block_is_in_one_part(monkeypatch, numbers):
    monkeypatch.setattr(module, "NUMBERS", numbers)
    blocks = blocks_of(20_000)
    made = windows(blocks, 3)
    every = np.concatenate([part for window in made for part in window.parts])
    np.testing.assert_array_equal(every, np.arange(len(blocks)))
    first = 0
    for window in made:
        members = np.concatenate(window.parts)
        assert window.nodes.start == first == blocks[members[0]].tokens.start
        first = window.nodes.stop
        assert first == blocks[members[-1]].tokens.stop
        assert len(window.parts) <= N_PARTS
        # all threads have work
        assert len(members) >= N_PARTS
    assert first == 200_000
    assert (len(made) == 1) == (numbers == 10**9)


def test_where_evaluations_are_rare():
    blocks = blocks_of(200_000)
    assert len(windows(blocks, 20)) < len(windows(blocks, 20, rare=True))
    for window in windows(blocks, 20, rare=True):
        assert len(np.concatenate(window.parts)) >= module.FEWEST_IF_RARE


def test_no_blocks():
    assert windows([], 3) == []


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::5])
def test_the_same_gradient(monkeypatch, options):
    """Also of cliques' weights and intercepts, whose sums go over all windows; with the same bits
    for any number of threads.
    """
    rng = np.random.default_rng(0)
    lengths = np.full(1800, 20)
    model = naive.linear_model(rng, lengths, **options)
    data = TrainingData(model.structure, Evidence(model.y), rng.uniform(0, 2, size=1800))

    def objective():
        return LinearObjective(model.potentials, LogLikelihood(Chain()), Chain(), data)

    w = rng.normal(size=model.potentials.size)
    one = objective()
    value, grad = one.value_and_grad(w)
    product = one.hess_vec(w, w)
    monkeypatch.setattr(module, "NUMBERS", 2**16)
    several = objective()
    assert len(several._windows) > 1 == len(one._windows)
    found = several.value_and_grad(w)
    assert found[0] == value
    np.testing.assert_allclose(found[1], grad, atol=1e-12)
    np.testing.assert_allclose(several.hess_vec(w, w), product, atol=1e-12)
    with Pool(3) as pool:
        threaded = objective().on(pool)
        assert threaded.value_and_grad(w)[1].tobytes() == found[1].tobytes()
