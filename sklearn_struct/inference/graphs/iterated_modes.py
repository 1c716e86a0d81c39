"""Iterated conditional modes: labellings that get better by one label after the other."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.search_order import TIE
from sklearn_struct.inference.graphs.search_scores import SearchScores

__all__ = ["climb"]

# rounds after which a labelling is good enough; each makes it better, and few are needed
MAX_ROUNDS = 100


@kernel
def climb(scores: SearchScores, cliques: Cliques, graph: Adjacency, labels: np.ndarray) -> None:
    """Give each node the best label beside those of the others, until none changes (J. Besag,
    Journal of the Royal Statistical Society B 1986). Ties leave a label as it is.
    """
    n, K = scores.node.shape
    row = np.empty(K)
    # where no neighbour has changed since the last visit, the label is the best one still
    is_best = np.zeros(n, np.bool_)
    for _ in range(MAX_ROUNDS):
        n_changed = 0
        for v in range(n):
            if is_best[v]:
                continue
            is_best[v] = True
            for k in range(K):
                row[k] = scores.node[v, k]
            for e in range(graph.bounds[v], graph.bounds[v + 1]):
                p = graph.places[e]
                c = graph.clique[p]
                start = scores.firsts[c]
                step = 1
                here = 1
                for q in range(cliques.bounds[c + 1] - 1, cliques.bounds[c] - 1, -1):
                    if q == p:
                        here = step
                    else:
                        start += step * labels[cliques.members[q]]
                    step *= K
                for k in range(K):
                    row[k] += scores.tables[start + here * k]
            best = labels[v]
            for k in range(K):
                if row[k] > row[best] + TIE * (1.0 + abs(row[best])):
                    best = k
            if best != labels[v]:
                labels[v] = best
                n_changed += 1
                for e in range(graph.bounds[v], graph.bounds[v + 1]):
                    c = graph.clique[graph.places[e]]
                    for q in range(cliques.bounds[c], cliques.bounds[c + 1]):
                        u = cliques.members[q]
                        is_best[u] = u == v
        if n_changed == 0:
            break
