"""Gibbs sampling: marginals as averages over sampled labellings."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, zeros
from sklearn_struct.inference.graphs.adjacency import Adjacency, read
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.graphs.decoded import decode, score_bound
from sklearn_struct.inference.graphs.flat_scores import (
    Cliques,
    FlatScores,
    add_to,
    by_example,
    first_score,
    flat_scores,
    have_forbidden,
)
from sklearn_struct.inference.graphs.log_sum import log_sum
from sklearn_struct.inference.labelling_scores import add_labelling

__all__ = ["GibbsSampling"]

Model: TypeAlias = tuple[FlatScores, Cliques, Adjacency]


@dataclass(frozen=True)
class GibbsSampling(OnGraphs):
    """Labels of nodes are drawn one after the other, given those of the others (S. Geman and D.
    Geman, IEEE Transactions on Pattern Analysis and Machine Intelligence 1984; P1 4.2).

    Marginals are means of the distributions from which labels are drawn; errors fall as 1 /
    sqrt(n_sweeps). Cliques get a mean each time that one of their nodes is drawn, so their
    marginals agree with those of nodes up to such errors only.

    The first sweeps turn the scores of cliques on, little by little. The scores met on the way make
    log Z, whose exponential is right in the mean (R. Neal, Statistics and Computing 2001). It is an
    estimate from one such way: marginals are not its derivatives, and no line search can use it.
    Where cliques forbid something sampling begins with an allowed labelling, and stays among those
    that it can reach by one label after the other; log Z is then nan. Where none is known it is
    -inf.

    Random numbers of an example are made of `seed`, its edges and its scores of nodes, so neither
    blocks nor threads show in the result, and equal calls have equal results.

    Parameters
    ----------
    n_sweeps : int, default=100
        Sweeps whose mean is taken.
    burn_in : int, default=20
        Sweeps before these, at least 1.
    seed : int, default=0
    """

    n_sweeps: int = 100
    burn_in: int = 20
    seed: int = 0

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write estimates of log Z; see `Inference.marginals`."""
        nothing = flat_scores(potentials, empty=True)
        of_reward = np.zeros((2, structure.n_examples))
        self._sample(potentials, structure, weight, (nothing, of_reward), out, log_Z)

    def tangent(
        self,
        potentials: Potentials,
        reward: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """Add weighted covariances of the same sampled labellings with a reward; see
        `Inference.tangent`.
        """
        allowed = Potentials(
            np.where(np.isneginf(potentials.node), 0.0, reward.node),
            tuple(
                np.where(np.isneginf(table), 0.0, of_table)
                for table, of_table in zip(potentials.cliques, reward.cliques, strict=True)
            ),
        )
        scores = flat_scores(allowed)
        n = structure.n_examples
        # first the mean: what is near to 0 in the sums loses no digits
        of_reward = np.zeros((2, n))
        log_Z = np.empty(n)
        self._sample(potentials, structure, weight, (scores, of_reward), zeros(out), log_Z)
        of_reward[1] = 1.0
        self._sample(potentials, structure, weight, (scores, of_reward), out, np.empty(n))
        mean[:] = np.where(log_Z == -np.inf, np.nan, of_reward[0])

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write a good labelling, and its score, by `decode`; it need not be the best."""
        decode(potentials, structure, labels)
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def score_bound(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """That of the tree-reweighted search for a labelling; see `Inference.score_bound`."""
        return score_bound(potentials, structure)

    def _sample(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        reward: tuple[FlatScores, np.ndarray],
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add means over the samples: of indicators, or where ``reward[1][1]`` is 1 of their
        products with the reward less its mean. Else that mean is written to ``reward[1][0]``.
        """
        cliques, graph = read(structure)
        model = flat_scores(potentials), cliques, graph
        into = flat_scores(out, empty=True)
        forbids = have_forbidden(potentials, structure)
        labels, allowed = _starts(potentials, structure, bool(np.any(forbids)))
        log_Z[:] = np.where(allowed | (weight == 0.0), 0.0, -np.inf)
        for i in np.flatnonzero((weight != 0.0) & allowed):
            bounds = int(i), int(structure.offsets[i]), int(structure.offsets[i + 1])
            total = self._walk(model, bounds, bool(forbids[i]), labels, (*reward, weight[i]), into)
            log_Z[i] = np.nan if forbids[i] else total
        add_to(out, into)

    def _walk(
        self,
        model: Model,
        example: tuple[int, int, int],
        forbids: bool,
        labels: np.ndarray,
        reward: tuple[FlatScores, np.ndarray, float],
        into: FlatScores,
    ) -> float:
        """Sample one example; the estimate of log Z."""
        scores, cliques, _ = model
        _, first, stop = example
        rng = np.random.default_rng([self.seed, *_digest(scores, cliques, example)])
        betas = np.ones(self.burn_in + 1 + self.n_sweeps)
        # where something is forbidden all scores count from the beginning
        if not forbids:
            betas[: self.burn_in + 1] = np.linspace(0.0, 1.0, self.burn_in + 1)
        total = np.array([np.logaddexp.reduce(scores.node[first:stop], axis=1).sum()])
        n = max(stop - first, 1)
        # as many sweeps at once as give the memory and Ctrl-C no trouble
        n_rows = max(1, STEPS // (100 * n))
        factor = np.array([reward[2], 1.0]) / self.n_sweeps
        for s in range(0, len(betas), n_rows):
            part = np.concatenate([[betas[max(s - 1, 0)]], betas[s : s + n_rows]])
            sweeps = part, rng.random((len(part) - 1, n)), max(0, self.burn_in + 1 - s)
            _walk_on(model, example, sweeps, labels, (*reward[:2], factor), total, into)
        estimate: float = total[0]
        return estimate


def _walk_on(
    model: Model,
    example: tuple[int, int, int],
    sweeps: tuple[np.ndarray, np.ndarray, int],
    labels: np.ndarray,
    reward: tuple[FlatScores, np.ndarray, np.ndarray],
    total: np.ndarray,
    into: FlatScores,
) -> None:
    """Some sweeps."""
    n_steps = sweeps[1].size * 4 * into.node.shape[1]
    patiently(lambda: _sweep(*model, example, sweeps, labels, reward, total, into), n_steps)


def _starts(
    potentials: Potentials, structure: Structure, some_forbid: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Labellings to begin with, where cliques forbid something allowed ones; and whether examples
    have an allowed labelling, as far as that is known.
    """
    labels = np.zeros(len(potentials.node), np.int32)
    empty = np.all(np.isneginf(potentials.node), axis=1)
    allowed = by_example(empty.astype(float), structure.offsets) == 0.0
    if some_forbid:
        decode(potentials, structure, labels)
        score = np.empty(structure.n_examples)
        ones = np.ones(structure.n_examples)
        add_labelling(potentials, structure, labels, ones, zeros(potentials), score)
        allowed = score > -np.inf
    return labels, allowed


def _digest(scores: FlatScores, cliques: Cliques, example: tuple[int, int, int]) -> tuple[int, int]:
    """Numbers that tell an example from others: of its nodes' scores, in single precision so that
    these give the same numbers, and of its cliques.
    """
    i, first, stop = example
    with np.errstate(over="ignore"):
        rows = scores.node[first:stop].astype(np.float32)
    digest = zlib.crc32(rows.tobytes())
    edges = 0
    for a, b in cliques.ranges[i]:
        members = cliques.members[cliques.bounds[a] : cliques.bounds[b]] - first
        edges = zlib.crc32(members.tobytes(), edges)
    return digest, edges


@kernel
def _sweep(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    example: tuple[int, int, int],
    sweeps: tuple[np.ndarray, np.ndarray, int],
    labels: np.ndarray,
    reward: tuple[FlatScores, np.ndarray, np.ndarray],
    total: np.ndarray,
    out: FlatScores,
) -> None:
    """Draw the labels of an example, some sweeps long.

    `sweeps` are the parts of the cliques' scores that count, one before the first sweep and one for
    each; random numbers for each sweep and node; and how many sweeps only warm up.
    """
    i, first, stop = example
    betas, uniform, warm = sweeps
    of_labels, of_reward, factor = reward
    row = np.empty(scores.node.shape[1])
    for s in range(len(uniform)):
        beta = betas[s + 1]
        if beta != betas[s]:
            step = beta - betas[s]
            total[0] += step * _score(scores, cliques, i, first, stop, False, labels)
        # what a sweep adds: nothing, indicators, or their products with a reward
        adds = factor[0] if s >= warm else 0.0
        products = of_reward[1, i] == 1.0
        for v in range(first, stop):
            _given(scores, cliques, graph, v, beta, labels, row)
            norm = log_sum(row)
            rest = uniform[s, v - first]
            chosen = -1
            for k in range(len(row)):
                row[k] = np.exp(row[k] - norm)
                if row[k] > 0.0 and (chosen < 0 or rest >= 0.0):
                    chosen = k
                    rest -= row[k]
            labels[v] = chosen
            if adds != 0.0 and not products:
                _add(cliques, graph, v, labels, row, adds, out)
        if s >= warm and products:
            here = _score(of_labels, cliques, i, first, stop, True, labels) - of_reward[0, i]
            for v in range(first, stop):
                for k in range(len(row)):
                    row[k] = 1.0 if k == labels[v] else 0.0
                _add(cliques, graph, v, labels, row, adds * here, out)
        elif s >= warm:
            here = _score(of_labels, cliques, i, first, stop, True, labels)
            of_reward[0, i] += factor[1] * here


@kernel
def _given(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    v: int,
    beta: float,
    labels: np.ndarray,
    row: np.ndarray,
) -> None:
    """Scores of a node's labels beside those of the others, a part of the cliques' scores."""
    K = len(row)
    for k in range(K):
        row[k] = scores.node[v, k]
    for e in range(graph.bounds[v], graph.bounds[v + 1] if beta > 0.0 else graph.bounds[v]):
        p = graph.places[e]
        c = graph.clique[p]
        start = first_score(scores, cliques, c)
        step = 1
        here = 1
        for q in range(cliques.bounds[c + 1] - 1, cliques.bounds[c] - 1, -1):
            if q == p:
                here = step
            else:
                start += step * labels[cliques.members[q]]
            step *= K
        for k in range(K):
            row[k] += beta * scores.tables[start + here * k]


@kernel
def _add(
    cliques: Cliques,
    graph: Adjacency,
    v: int,
    labels: np.ndarray,
    row: np.ndarray,
    weight: float,
    out: FlatScores,
) -> None:
    """Add the probabilities of a node's labels, and its part of those of its cliques."""
    K = len(row)
    for k in range(K):
        out.node[v, k] += weight * row[k]
    for e in range(graph.bounds[v], graph.bounds[v + 1]):
        p = graph.places[e]
        c = graph.clique[p]
        start = first_score(out, cliques, c)
        step = 1
        here = 1
        for q in range(cliques.bounds[c + 1] - 1, cliques.bounds[c] - 1, -1):
            if q == p:
                here = step
            else:
                start += step * labels[cliques.members[q]]
            step *= K
        part = weight / (cliques.bounds[c + 1] - cliques.bounds[c])
        for k in range(K):
            out.tables[start + here * k] += part * row[k]


@kernel
def _score(
    scores: FlatScores,
    cliques: Cliques,
    i: int,
    first: int,
    stop: int,
    with_nodes: bool,
    labels: np.ndarray,
) -> float:
    """The score of an example's labels, of its cliques alone or with its nodes."""
    K = scores.node.shape[1]
    total = 0.0
    for v in range(first, stop if with_nodes else first):
        total += scores.node[v, labels[v]]
    for f in range(cliques.ranges.shape[1]):
        for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
            column = 0
            for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
                column = column * K + labels[cliques.members[p]]
            total += scores.tables[first_score(scores, cliques, c) + column]
    return total
