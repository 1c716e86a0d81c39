"""Chains of hidden states: small data, fitted models, and their enumeration."""

from __future__ import annotations

import naive
import numpy as np
import scipy.sparse as sp

from sklearn_struct import LatentChainCRF

LENGTHS = (3, 1, 4, 2, 3, 4, 2, 3)


def data(seed=0, labels="abc", n=3):
    rng = np.random.RandomState(seed)
    X = [rng.normal(size=(k, n)) for k in LENGTHS]
    y = [rng.choice(list(labels), size=k).tolist() for k in LENGTHS]
    return X, y


def fitted(options, X, y, **more):
    given = {"C": 2.0, "random_state": 0, "tol": 1e-3, "max_iter": 200} | options | more
    return LatentChainCRF(**given).fit(X, y)


def twins(crf, X):
    """The enumeration of each sequence under the public attributes of a fitted model."""
    K = len(crf.states_)
    coef = crf.coef_.toarray() if sp.issparse(crf.coef_) else crf.coef_
    edge_coef = crf.edge_coef_.toarray() if sp.issparse(crf.edge_coef_) else crf.edge_coef_
    labels = [label for label, _ in crf.states_]
    codes = [crf.classes_.tolist().index(label) for label in labels]
    for x in X:
        x = x.toarray() if sp.issparse(x) else x
        node = x @ coef.T + crf.intercept_
        tables = [crf.transition_.reshape(1, -1)]
        if crf.edge_features_.size:
            tables[0] = x[1:, crf.edge_features_] @ edge_coef.T + tables[0]
        if hasattr(crf, "transition2_"):
            tables.append(crf.transition2_.reshape(1, -1))
        steps = allowed_steps(crf)
        tables[0] = np.where(steps.ravel(), tables[0], -np.inf)
        if crf.state_transitions == "left-to-right":
            late = [number > 0 for _, number in crf.states_]
            node[0, late] = -np.inf
        assert node.shape[1] == K
        yield naive.LatentChain(codes, node, *tables)


def allowed_steps(crf):
    """Which state may follow which, by the meaning of the parameter."""
    rule = crf.state_transitions
    steps = np.ones((len(crf.states_),) * 2, bool)
    for i, (a, h) in enumerate(crf.states_):
        for j, (b, g) in enumerate(crf.states_):
            if rule == "left-to-right":
                steps[i, j] = g in (h, h + 1) if a == b else g == 0
            elif rule == "stay":
                steps[i, j] = a != b or h == g
            elif isinstance(rule, dict) and a == b and a in rule:
                steps[i, j] = rule[a][h][g]
    return steps
