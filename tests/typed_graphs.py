"""Random graphs whose nodes are of several types, and all their labellings."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from sklearn_struct import Cliques, GraphCRF, TypedNodes

# equal strings in two types are different labels
LABELS = {"a": ["x", "y"], "b": ["x", "y", "z"], "c": [0, 1, 2, 3]}


def typed_graphs(rng, n_graphs=12, forest=False, kinds="abc", form=np.asarray, hidden=()):
    """Graphs of two to five nodes, of which an edge leads from the earlier to the later type."""
    X = []
    y = []
    for i in range(n_graphs):
        # the first graph has all types, in their order
        n = int(rng.integers(2, 6)) if i else 5
        order = rng.permutation(len(kinds) + n) if i else np.arange(n)
        types = [kinds[k % len(kinds)] for k in order[:n]]
        pairs = [rng.permutation(pair) for pair in combinations(range(n), 2)]
        if forest:
            pairs = [np.array([t, rng.integers(t)]) for t in range(1, n)]
        chosen = pairs if forest else [pairs[k] for k in rng.permutation(len(pairs))[: n + 1]]
        edges = [(s, t) if types[s] <= types[t] else (t, s) for s, t in chosen]
        features = rng.normal(size=(n, 2))
        X.append((TypedNodes(form(features), types), np.array(edges, int).reshape(-1, 2)))
        codes = [
            int(features[t, 0] > 0) + int(rng.integers(len(LABELS[name]) - 1))
            for t, name in enumerate(types)
        ]
        labels = [None if t in hidden else LABELS[t][k] for t, k in zip(types, codes)]
        y.append(labels)
    return X, y


class Spy(GraphCRF):
    """Keeps what its solver has minimised."""

    def _look_back(self, objective):
        super()._look_back(objective)
        self.objective_ = objective


class Enumerated:
    """All labellings of one graph, with the scores that the weights which users see give them."""

    def __init__(self, crf, graph):
        nodes, edges, *features = graph
        slices = crf.type_slices_
        self.types = list(nodes.types)
        codes = [range(slices[name].start, slices[name].stop) for name in self.types]
        self.labellings = list(product(*codes))
        x = nodes.features
        x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
        coef = crf.coef_
        coef = coef.toarray() if hasattr(coef, "toarray") else coef
        node = x @ coef.T + crf.intercept_
        parts = edges if any(isinstance(part, Cliques) for part in edges) else None
        parts = parts or [Cliques("edges", edges, *features)]
        tables = []
        for part in parts:
            table = crf.clique_transition_[part.name]
            scores = [(members, table) for members in np.asarray(part.nodes).tolist()]
            if part.features is not None:
                coefs = crf.clique_coef_[part.name]
                rows = [np.tensordot(z, coefs, axes=1) for z in np.asarray(part.features)]
                scores = [(m, table + row) for (m, _), row in zip(scores, rows, strict=True)]
            tables += scores
        self.scores = np.array(
            [
                sum(node[t, k] for t, k in enumerate(codes))
                + sum(table[tuple(codes[t] for t in members)] for members, table in tables)
                for codes in self.labellings
            ]
        )
        self.log_Z = np.logaddexp.reduce(self.scores)
        self.p = np.exp(self.scores - self.log_Z)
        self.crf = crf

    def log_p(self, labels):
        """The logarithm of the probability of all labellings that these labels allow."""
        return np.logaddexp.reduce(self.scores[self.allowed(labels)]) - self.log_Z

    def allowed(self, labels):
        pairs = self.crf.classes_.tolist()
        wanted = [
            None if label is None else pairs.index((name, label))
            for name, label in zip(self.types, labels, strict=True)
        ]
        return [
            i
            for i, codes in enumerate(self.labellings)
            if all(w is None or w == k for w, k in zip(wanted, codes))
        ]

    def marginals(self, members):
        """Probabilities of the labels of some nodes together, with a dimension for each."""
        K = len(self.crf.classes_)
        table = np.zeros((K,) * len(members))
        for codes, p in zip(self.labellings, self.p):
            table[tuple(codes[t] for t in members)] += p
        return table

    def best(self):
        """The codes of the best labelling."""
        return self.labellings[int(self.scores.argmax())]
