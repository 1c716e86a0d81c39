"""States of nodes to start EM from: clusters of their spectral coordinates."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklearn_struct.containers.trees import Treebank
from sklearn_struct.grammars.node_features import INSIDE, OUTSIDE, indicators, nodes
from sklearn_struct.grammars.spectral_states import node_vectors, project

__all__ = ["clustered", "coordinates"]

# EM leaves zeros as they are: without doubt no node would ever change its state
DOUBT = 0.1  # of the mass of a node is spread over all states


def coordinates(treebank: Treebank, n_states: int) -> np.ndarray:
    """Where nodes are, inside and outside, in the directions of their symbols' largest singular
    values.
    """
    n_symbols = len(treebank.grammar.indptr) - 1
    forest = treebank.forest
    given = nodes(forest)
    phi, psi = (indicators(given, functions, n_symbols) for functions in (INSIDE, OUTSIDE))
    return node_vectors(project(phi, psi, forest.symbol, n_states))


def clustered(
    treebank: Treebank, rows: np.ndarray, n_states: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Distributions of states of all nodes: those of a cluster have the same state, but for a
    doubt.
    """
    from sklearn.cluster import KMeans  # slow to import, and seldom needed

    symbol = treebank.forest.symbol
    states = np.full((len(symbol), n_states.max()), DOUBT / n_states.max())
    order = np.argsort(symbol, kind="stable")
    bounds = np.searchsorted(symbol[order], np.arange(len(n_states) + 1))
    with threadpool_limits(1):  # sums of several threads have no fixed order
        for s, m in enumerate(n_states.tolist()):
            here = order[bounds[s] : bounds[s + 1]]
            label = np.zeros(len(here), int)
            if m > 1:
                # nodes that are all alike have fewer clusters, and that is right
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    label = KMeans(m, n_init=1, random_state=rng).fit(rows[here]).labels_
            states[here, label] += 1 - DOUBT
    return states
