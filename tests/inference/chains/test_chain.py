"""The order of a chain is seen from its edge tables, and nothing of second order is compiled for
one of first order.
"""

from __future__ import annotations

import subprocess
import sys

import contracts
import numpy as np
import pytest

from sklearn_struct.inference.chains import (
    exact,
    first_order,
    first_order_decoding,
    second_order,
    second_order_decoding,
)


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
    for sums, paths in ((exact, exact), (products, decoding)):
        rng = np.random.default_rng(1)
        out, log_Z = contracts.marginals(sums, potentials, structure)
        slope, mean = contracts.tangent(sums, potentials, reward, structure)
        results.append([*out, log_Z, *slope, mean])
        for function, args, shape in (
            ("argmax", (), ()),
            ("nbest", (), (3,)),
            ("sample", (rng.random(n),), ()),
        ):
            labels = np.zeros((*shape, n), np.int32)
            score = np.zeros((*shape, 4))
            getattr(paths, function)(potentials, structure, *args, labels, score)
            results[-1] += [labels, score]
        again = np.zeros(4)
        paths.path_score(potentials, structure, labels, again)
        results[-1].append(again)
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


PROGRAM = """
from sklearn_struct import LinearChainCRF
from sklearn_struct.inference.chains import second_order, second_order_decoding, second_order_log
from sklearn_struct.losses import triples
crf = LinearChainCRF(order=ORDER).fit([["a", "b", "a"]], [["x", "y", "x"]])
crf.predict_proba([["a"]]), crf.predict([["a"]]), crf.log_proba([["a"]], [["x"]])
rooms = second_order, second_order_decoding, second_order_log, triples
kernels = [k for room in rooms for k in vars(room).values() if getattr(k, "__module__", "") == room.__name__]
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
