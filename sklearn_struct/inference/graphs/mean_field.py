"""Mean field: independent nodes that are as near to the model as they can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_struct.compiled.kernel import kernel, uncounted
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.graphs.adjacency import Adjacency, read
from sklearn_struct.inference.graphs.complex_step import STEP, OnGraphs
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.inference.graphs.decoded import decode, score_bound
from sklearn_struct.inference.graphs.flat_scores import (
    Cliques,
    FlatScores,
    add_to,
    first_score,
    flat_scores,
    have_forbidden,
)
from sklearn_struct.inference.graphs.log_sum import log_sum

__all__ = ["MeanField"]

# sweeps of a usual graph, to tell how long a call takes
USUAL = 20
# first sweeps, until nodes are near their aims, in which all go a part of their way at the same
# time: which of several optima is found does not depend on who comes first, and is a better one
TOGETHER = 50
NEAR = 0.01
PART = 0.3


@dataclass(frozen=True)
class MeanField(OnGraphs):
    """Independent nodes, each the best beside the others, until nothing changes (P1 4.2).

    The value is a lower bound of log Z, exact without cliques (M. Wainwright and M. Jordan,
    Foundations and Trends in Machine Learning 1, 2008, section 5). Marginals of cliques are
    products of those of their nodes; where nothing changes any more, all are the derivatives of the
    value. It is not concave, so other starts may find other values: this one starts from the scores
    of nodes. In the first sweeps, at most half of them, all nodes move a little at the same time;
    afterwards they move one after the other, and the value rises with each. Where something is
    forbidden in cliques, that could leave a node nothing; there it starts from an allowed
    labelling, and all move one after the other. Where none is known log Z is -inf.

    Parameters
    ----------
    max_sweeps : int, default=100
        A sweep goes over all nodes.
    tol : float, default=1e-6
        It ends when no probability changes by more in a sweep.
    report : Report
        What has happened so far.
    """

    max_sweeps: int = 100
    tol: float = 1e-6
    report: Report = field(default_factory=Report, compare=False, repr=False)

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write the bound of log Z; see `Inference.marginals`."""
        cliques, graph = read(structure)
        into = flat_scores(out, empty=True)
        scores = flat_scores(potentials)
        n = structure.n_examples
        plain = ~have_forbidden(potentials, structure)
        labels = np.zeros(len(scores.node), np.int32)
        if not np.all(plain):
            real = Potentials(scores.node.real, tuple(table.real for table in potentials.cliques))
            decode(real, structure, labels)
        sweeps = np.zeros(n, np.int64)
        change = np.zeros(n)
        log_Z[:] = 0.0
        chosen = structure.offsets, np.flatnonzero(weight != 0.0), plain
        examples = weight, log_Z, sweeps, change
        limits = self.max_sweeps, self.tol
        n_steps = USUAL * sum(table.shape[1] for table in potentials.cliques) * len(graph.places)
        patiently(
            lambda: _infer(scores, cliques, graph, chosen, limits, labels, examples, into), n_steps
        )
        self.report.add(sweeps[chosen[1]], change[chosen[1]], self.tol)
        add_to(out, into)

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write a good labelling, and its score; it need not be the best."""
        decode(potentials, structure, labels)
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def score_bound(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """That of the tree-reweighted search for a labelling; see `Inference.score_bound`."""
        return score_bound(potentials, structure)


@kernel
def _infer(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    chosen: tuple[np.ndarray, np.ndarray, np.ndarray],
    limits: tuple[int, float],
    labels: np.ndarray,
    examples: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    out: FlatScores,
) -> None:
    """Infer the chosen examples; those that are not plain from the labelling."""
    offsets, which, plain = chosen
    max_sweeps, tol = limits
    weight, log_Z, sweeps, change = examples
    q = np.zeros(out.node.shape, out.node.dtype)
    aims = np.zeros(q.shape, q.dtype)
    row = np.empty(q.shape[1], q.dtype)
    for i in which:
        together = min(TOGETHER, max_sweeps // 2) if plain[i] else 0
        for v in range(offsets[i], offsets[i + 1]):
            if plain[i]:
                for k in range(len(row)):
                    row[k] = scores.node[v, k]
                _become(row, q, v)
            else:
                q[v, labels[v]] = 1.0
        change[i] = np.inf if max_sweeps == 0 else 0.0
        while sweeps[i] < max_sweeps:
            # where all move at the same time, they aim first
            if change[i] <= NEAR and sweeps[i] > 0:
                together = 0
            at = aims if sweeps[i] < together else q
            change[i] = 0.0
            for v in range(offsets[i], offsets[i + 1]):
                _expect(scores, cliques, graph, v, plain[i], q, row)
                at[v] = q[v]
                change[i] = max(change[i], _become(row, at, v))
            if sweeps[i] < together:
                for v in range(offsets[i], offsets[i + 1]):
                    for k in range(len(row)):
                        q[v, k] += PART * (aims[v, k] - q[v, k])
            sweeps[i] += 1
            if change[i] <= tol:
                break
        nodes = (offsets[i], offsets[i + 1])
        log_Z[i] = _add(scores, cliques, nodes, cliques.ranges[i], weight[i], q, out)


@uncounted
def _become(row: np.ndarray, q: np.ndarray, v: int) -> float:
    """Make a node's probabilities those of a row of scores; how much they change."""
    norm = log_sum(row)
    change = 0.0
    if norm.real > -np.inf:
        for k in range(len(row)):
            new = np.exp(row[k] - norm)
            step = new - q[v, k]
            # derivatives along the imaginary axis must settle, too
            change = max(change, abs(step.real) + abs(step.imag) / STEP)
            q[v, k] = new
    return change


@uncounted
def _expect(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    v: int,
    plain: bool,
    q: np.ndarray,
    row: np.ndarray,
) -> None:
    """The expected score of each label of a node, given what the others are."""
    K = q.shape[1]
    tables = scores.tables
    for k in range(K):
        row[k] = scores.node[v, k]
    for e in range(graph.bounds[v], graph.bounds[v + 1]):
        p = graph.places[e]
        c = graph.clique[p]
        first = cliques.bounds[c]
        start = first_score(scores, cliques, c)
        if cliques.bounds[c + 1] - first > 2 or not plain:
            _expect_of_any(scores, cliques, c, p, q, row)
        elif p == first:
            u = cliques.members[first + 1]
            for k in range(K):
                x = row[k]
                for j in range(K):
                    x += q[u, j] * tables[start + k * K + j]
                row[k] = x
        else:
            u = cliques.members[first]
            for j in range(K):
                x = q[u, j]
                for k in range(K):
                    row[k] += x * tables[start + j * K + k]


@uncounted
def _expect_of_any(
    scores: FlatScores, cliques: Cliques, c: int, p: int, q: np.ndarray, row: np.ndarray
) -> None:
    """Add the expected scores of a clique, given the label at one of its places."""
    K = q.shape[1]
    first = cliques.bounds[c]
    r = cliques.bounds[c + 1] - first
    start = first_score(scores, cliques, c)
    n = 1
    for _ in range(r):
        n *= K
    for column in range(n):
        rest = column
        here = 0
        x = q.dtype.type(1.0)
        for o in range(first + r - 1, first - 1, -1):
            if o == p:
                here = rest % K
            else:
                x *= q[cliques.members[o], rest % K]
            rest //= K
        if x.real > 0.0:
            score = scores.tables[start + column]
            if score.real > -np.inf:
                row[here] += x * score
            else:
                row[here] = -np.inf


@uncounted
def _add(
    scores: FlatScores,
    cliques: Cliques,
    nodes: tuple[int, int],
    of_example: np.ndarray,
    weight: float,
    q: np.ndarray,
    out: FlatScores,
) -> Any:
    """Add weighted marginals to `out` if they are of allowed labellings; their expected score and
    entropy.
    """
    K = q.shape[1]
    value = q.dtype.type(0.0)
    for v in range(nodes[0], nodes[1]):
        mass = 0.0
        for k in range(K):
            if q[v, k].real > 0.0:
                value += q[v, k] * (scores.node[v, k] - np.log(q[v, k]))
                mass += q[v, k].real
        if not mass > 0.0:
            value -= np.inf
    # first the value: nothing is added where nothing is allowed
    for adds in range(2):
        if adds == 1 and not value.real > -np.inf:
            break
        for f in range(len(of_example)):
            for c in range(of_example[f, 0], of_example[f, 1]):
                first = first_score(scores, cliques, c)
                into = first_score(out, cliques, c)
                start = cliques.bounds[c]
                n = 1
                for _ in range(start, cliques.bounds[c + 1]):
                    n *= K
                for column in range(n):
                    rest = column
                    x = q.dtype.type(1.0)
                    for p in range(cliques.bounds[c + 1] - 1, start - 1, -1):
                        x *= q[cliques.members[p], rest % K]
                        rest //= K
                    if adds == 1:
                        out.tables[into + column] += weight * x
                    elif x.real > 0.0:
                        value += x * scores.tables[first + column]
        if adds == 0 and not value.real > -np.inf:
            value = q.dtype.type(-np.inf)
    for v in range(nodes[0], nodes[1]):
        for k in range(K if value.real > -np.inf else 0):
            out.node[v, k] += weight * q[v, k]
    return value
