"""The order of a chain is seen from its families, and nothing of second order is compiled for
one of first order.
"""

from __future__ import annotations

import pickle
import subprocess
import sys

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains import (
    first_order,
    first_order_decoding,
    second_order,
    second_order_decoding,
    second_order_tangent,
)
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.flat_tuples import links, tables


@pytest.mark.twins
@pytest.mark.parametrize(
    ("order", "products", "slopes", "decoding"),
    [
        (1, first_order, first_order, first_order_decoding),
        (2, second_order, second_order_tangent, second_order_decoding),
    ],
    ids=["first", "second"],
)
@pytest.mark.parametrize("n_labels", [1, 3])
def test_the_same_as_the_chain_of_that_order(order, products, slopes, decoding, n_labels):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, n_labels=n_labels, order=order)
    reward, _ = contracts.random_chains(rng, n_labels=n_labels, order=order)
    n = len(potentials.node)
    results = []
    exact = Chain(order)
    nested = potentials, reward, structure, contracts.zeros
    flat = tables(potentials), tables(reward), links(structure), _zeros_of_tables
    for (scores, rewards, place, zeros), sums, derivatives, paths in (
        (nested, exact, exact, exact),
        (flat, products, slopes, decoding),
    ):
        rng = np.random.default_rng(1)
        out = zeros(scores)
        slope = zeros(scores)
        log_Z, mean = np.zeros((2, 4))
        sums.marginals(scores, place, np.ones(4), out, log_Z)
        derivatives.tangent(scores, rewards, place, np.ones(4), slope, mean)
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


def check_in_place(potentials, structure, weight, digits=1e-10):
    """Expectations are the marginals that enumeration finds, in the place of scores."""
    twins = list(naive.twins(potentials, structure))
    sizes = [len(family.nodes) for family in structure.families]
    for each in (False, True):
        sums = tuple(
            np.full((n if each or len(table) != 1 else 1, table.shape[1]), 0.5)
            for n, table in zip(sizes, potentials.cliques, strict=True)
        )
        room = potentials._replace(node=potentials.node.copy())
        log_Z = np.full(len(weight), 7.0)
        Chain(len(sums)).expectations(room, structure, weight, sums, log_Z)
        node = np.concatenate([w * twin.node for w, twin in zip(weight, twins, strict=True)])
        np.testing.assert_allclose(room.node, node, atol=digits)
        for f, table in enumerate(sums):
            wanted = [w * twin.cliques[f] for w, twin in zip(weight, twins, strict=True)]
            of_all = np.concatenate(wanted)
            if len(table) != len(of_all):
                of_all = of_all.sum(axis=0)[None]
            np.testing.assert_allclose(table, 0.5 + of_all, atol=digits)
        counted = [float(twin.log_Z) if w else 0.0 for w, twin in zip(weight, twins, strict=True)]
        np.testing.assert_allclose(log_Z, counted, rtol=digits / 100, atol=digits)


WEIGHT = np.array([1.0, 2.5, 0.5, 0.0])


@pytest.mark.twins
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "each"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_expectations_by_enumeration(n_labels, order, shared):
    """Of sequences of several, one and no tokens, one of which does not count."""
    rng = np.random.default_rng(order)
    lengths = (3, 1, 0, 2)
    batch = contracts.random_chains(rng, lengths, n_labels, shared, order=order)
    check_in_place(*batch, WEIGHT)
    check_in_place(*batch, np.zeros(4))


@pytest.mark.twins
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "each"])
@pytest.mark.parametrize("order", [1, 2])
def test_expectations_of_what_is_impossible(order, shared):
    """Pairs are forbidden; a sequence has no labelling; another one needs its scores again."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (4, 2, 1, 3), 3, shared, order=order)
    potentials.cliques[0][:, [1, 3]] = -np.inf
    potentials.node[5] = -np.inf
    potentials.node[0] += [0.0, 900.0, 0.0]
    potentials.node[2] += [900.0, 0.0, 0.0]
    check_in_place(potentials, structure, WEIGHT)


@pytest.mark.twins
def test_expectations_of_an_empty_call():
    for lengths in ((), (0, 0)):
        potentials, structure = contracts.random_chains(np.random.default_rng(0), lengths, 2)
        sums = np.zeros((1, 4))
        log_Z = np.full(len(lengths), 7.0)
        Chain().expectations(potentials, structure, np.ones(len(lengths)), (sums,), log_Z)
        assert not np.any(sums)
        assert not np.any(log_Z)


@pytest.mark.twins
def test_expectations_of_float32():
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (4, 2, 1, 3), 3)
    check_in_place(
        contracts.mapped(lambda table: table.astype(np.float32), potentials),
        structure,
        WEIGHT,
        1e-5,
    )


@pytest.mark.parametrize("n_labels", [2, 5, 13])
@pytest.mark.parametrize("lengths", [(1500,), (0, 3, 900, 1, 0, 700)], ids=["one", "six"])
@pytest.mark.parametrize("harm", ["nothing", "forbidden", "impossible", "weight 0", "far apart"])
def test_expectations_beside_marginals(harm, lengths, n_labels):
    """Of so many tokens that they may be cut into pieces."""
    rng = np.random.default_rng(n_labels)
    potentials, structure = contracts.random_chains(rng, lengths, n_labels)
    weight = rng.uniform(0.5, 2.0, size=len(lengths))
    if harm == "forbidden":
        potentials.cliques[0][0, 1] = -np.inf
    elif harm == "impossible":
        potentials.node[structure.offsets[-1] // 3] = -np.inf
    elif harm == "weight 0":
        weight[len(lengths) // 2] = 0.0
    elif harm == "far apart":
        potentials.cliques[0][0, 1] = -400.0
        potentials.node[::7, 0] += 900.0
    out, of_marginals = contracts.marginals(Chain(), potentials, structure, weight)
    sums = np.zeros_like(out.cliques[0])
    log_Z = np.empty(len(lengths))
    Chain().expectations(potentials, structure, weight, (sums,), log_Z)
    np.testing.assert_allclose(potentials.node, out.node, atol=1e-10)
    np.testing.assert_allclose(sums, out.cliques[0], rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(log_Z, of_marginals, rtol=1e-12, atol=1e-10)


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
from sklearn_struct.inference.chains import (
    second_order, second_order_decoding, second_order_log, second_order_tangent
)
crf = LinearChainCRF(order=ORDER).fit([["a", "b", "a"]], [["x", "y", "x"]])
crf.predict_proba([["a"]]), crf.predict([["a"]]), crf.log_proba([["a"]], [["x"]])
rooms = second_order, second_order_decoding, second_order_log, second_order_tangent
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
