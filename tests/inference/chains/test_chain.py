"""The order of a chain is seen from its families, and nothing of second order is compiled for
one of first order.
"""

from __future__ import annotations

import pickle
import subprocess
import sys

import contracts
import numpy as np
import pytest

from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains import (
    first_order,
    first_order_decoding,
    second_order,
    second_order_decoding,
)
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.flat_tuples import links, tables


@pytest.mark.twins
@pytest.mark.parametrize(
    ("order", "products", "decoding"),
    [(1, first_order, first_order_decoding), (2, second_order, second_order_decoding)],
    ids=["first", "second"],
)
@pytest.mark.parametrize("n_labels", [1, 3])
def test_the_same_as_the_chain_of_that_order(order, products, decoding, n_labels):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, n_labels=n_labels, order=order)
    reward, _ = contracts.random_chains(rng, n_labels=n_labels, order=order)
    n = len(potentials.node)
    results = []
    exact = Chain(order)
    nested = potentials, reward, structure, contracts.zeros
    flat = tables(potentials), tables(reward), links(structure), _zeros_of_tables
    for (scores, rewards, place, zeros), sums, paths in (
        (nested, exact, exact),
        (flat, products, decoding),
    ):
        rng = np.random.default_rng(1)
        out = zeros(scores)
        slope = zeros(scores)
        log_Z, mean = np.zeros((2, 4))
        sums.marginals(scores, place, np.ones(4), out, log_Z)
        sums.tangent(scores, rewards, place, np.ones(4), slope, mean)
        results.append([*contracts.arrays_of((out, slope)), log_Z, mean])
        for function, args, shape in (
            ("argmax", (), ()),
            ("nbest", (), (3,)),
            ("sample", (rng.random(n),), ()),
        ):
            labels = np.zeros((*shape, n), np.int32)
            score = np.zeros((*shape, 4))
            getattr(paths, function)(scores, place, *args, labels, score)
            results[-1] += [labels, score]
        again = np.zeros(4)
        paths.path_score(scores, place, labels, again)
        results[-1].append(again)
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


def _zeros_of_tables(scores):
    return type(scores)(*map(np.zeros_like, scores))


def test_structure():
    offsets = np.array([0, 3, 3, 4])
    for order in (1, 2):
        found = contracts.arrays_of(Chain(order).structure(offsets))
        for array, expected in zip(found, contracts.arrays_of(chain(offsets, order)), strict=True):
            np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("order", [1, 2])
def test_log_partition_and_scores(order):
    potentials, structure = contracts.random_chains(np.random.default_rng(0), order=order)
    inference = Chain(order)
    _, log_Z = contracts.marginals(inference, potentials, structure)
    np.testing.assert_array_equal(inference.log_partition(potentials, structure), log_Z)
    labels = np.zeros(len(potentials.node), np.int32)
    expected = np.zeros(4)
    inference.path_score(potentials, structure, labels, expected)
    np.testing.assert_array_equal(inference.scores(potentials, structure, labels), expected)


def test_a_chain_is_a_value():
    """It pickles, compares, is hashable, and does not change."""
    for order in (1, 2):
        inference = Chain(order)
        again = pickle.loads(pickle.dumps(inference))
        assert again == inference
        assert hash(again) == hash(inference)
        assert again.order == order
        assert len(pickle.dumps(inference)) < 200
        with pytest.raises(AttributeError):
            inference.order = 3
    assert Chain() == Chain(1)
    assert Chain(1) != Chain(2)
    assert Chain() != "a chain"


PROGRAM = """
from sklearn_struct import LinearChainCRF
from sklearn_struct.inference.chains import second_order, second_order_decoding, second_order_log
crf = LinearChainCRF(order=ORDER).fit([["a", "b", "a"]], [["x", "y", "x"]])
crf.predict_proba([["a"]]), crf.predict([["a"]]), crf.log_proba([["a"]], [["x"]])
rooms = second_order, second_order_decoding, second_order_log
kernels = [
    k for room in rooms for k in vars(room).values()
    if getattr(k, "__module__", "") == room.__name__
]
print(any(getattr(kernel, "signatures", ()) for kernel in kernels))
"""


@pytest.mark.compiled
@pytest.mark.parametrize("order", [1, 2])
def test_second_order_is_compiled_for_second_order_alone(order):
    program = PROGRAM.replace("ORDER", str(order))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == str(order == 2)
