"""Messages that begin where those of an earlier call for the same structure have ended."""

from __future__ import annotations

import pickle

import contracts
import graphs
import numpy as np

from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.inference.graphs.kept_messages import MOST_KEPT, KeptMessages


def kept(**settings):
    return BeliefPropagation(**settings, report=Report(), kept=KeptMessages())


def test_they_settle_sooner_at_the_same_marginals():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 6, 6, 3, strength=0.5)
    near = contracts.mapped(lambda table: 1.001 * table, potentials)
    inference = kept(max_sweeps=1000, tol=1e-12)
    contracts.marginals(inference, potentials, structure)
    before = inference.report.counts
    out, log_Z = contracts.marginals(inference, near, structure)
    after = inference.report.counts.since(before)
    afresh = BeliefPropagation(1000, 1e-12)
    expected, same = contracts.marginals(afresh, near, structure)
    assert after.n_sweeps < afresh.report.counts.n_sweeps
    np.testing.assert_allclose(log_Z, same, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-10)


def test_other_objects_and_other_allowed_labels_begin_afresh():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 4, 4, 3)
    masked = potentials._replace(node=potentials.node.copy())
    masked.node[3, 1] = -np.inf
    inference = kept(max_sweeps=3, tol=1e-3)
    contracts.marginals(inference, potentials, structure)
    expected = contracts.flat(contracts.marginals(BeliefPropagation(3, 1e-3), masked, structure)[0])
    for subject in (inference, kept(max_sweeps=3, tol=1e-3)):
        out, _ = contracts.marginals(subject, masked, structure)
        np.testing.assert_array_equal(contracts.flat(out), expected)


def test_what_has_not_settled_is_not_kept():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 5, 5, 3, shared=False, strength=8.0)
    inference = kept(max_sweeps=2, tol=1e-12)
    first, second = (contracts.marginals(inference, potentials, structure)[0] for _ in range(2))
    assert inference.report.counts.n_unconverged == 2
    np.testing.assert_array_equal(contracts.flat(first), contracts.flat(second))


def test_messages_are_not_pickled():
    inference = kept(max_sweeps=100, tol=1e-6)
    again = pickle.loads(pickle.dumps(inference))
    assert again == inference
    assert again.kept is not inference.kept


def test_only_the_last_few_are_kept():
    """Else a caller that forbids other labels each time would fill the memory."""
    potentials, structure = graphs.grid(np.random.default_rng(0), 3, 3, 3)
    messages = KeptMessages()
    shape = 24, 8
    kept_ones = [messages.of(potentials, structure, shape, False)]
    for v in range(MOST_KEPT):
        node = potentials.node.copy()
        node[v, 0] = -np.inf
        masked = potentials._replace(node=node)
        kept_ones.append(messages.of(masked, structure, shape, False))
        assert messages.of(masked, structure, shape, False) is kept_ones[-1]
    assert messages.of(potentials, structure, shape, False) is not kept_ones[0]
