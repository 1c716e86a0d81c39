"""Chains with expectation criteria, small enough for enumeration."""

from __future__ import annotations

import contracts
import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import csr
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.evidence import Evidence, Fired
from sklearn_struct.losses.expectation_criteria import Criteria, Expectation

K = 4


def problem(seed, distance="kl", entropy_weight=0.3, shared=True, order=1):
    """Chains to length 6 with four labels, and criteria that overlap, one of them on pairs."""
    rng = np.random.default_rng(seed)
    potentials, structure = contracts.random_chains(rng, (6, 0, 1, 4, 5), K, shared, order)
    n = len(potentials.node)
    node = rng.random((n, 3)) * (rng.random((n, 3)) < 0.5) + 0.0
    # one fires everywhere; all at the chain of one token
    node[:, 0] = 1.0
    node[6] = [1.0, 0.5, 2.0]
    edge = (rng.random((n, 2)) < 0.6) * 1.0
    sizes = ((3, K), (2, K * K))
    targets = [
        Criteria(rng.dirichlet(np.ones(size), m), rng.random(m) + 0.5, distance)
        for m, size in sizes
    ]
    targets[0].target[1] = np.eye(K)[2]  # zeros in a target
    fired = Fired(csr(sp.csr_array(node)), csr(sp.csr_array(edge)))
    evidence = Evidence(fired=fired)
    return Expectation(Chain(), *targets, entropy_weight), potentials, structure, evidence


def whole(loss, potentials, structure, evidence, weight):
    """Value and derivative of the whole: statistics, outer, and the loss of examples that comes
    with it.
    """
    batch = Batch(potentials, evidence, structure, weight)
    value, inner = loss.settle(lambda asked: asked.statistics(batch))
    values, out = contracts.evaluate(inner, potentials, evidence, structure, weight)
    return value + weight @ values, out


def dense(table, n_columns):
    """How strongly criteria fire, as a matrix."""
    return sp.csr_array(
        (table.data, table.indices, table.indptr), shape=(len(table.indptr) - 1, n_columns)
    ).toarray()
