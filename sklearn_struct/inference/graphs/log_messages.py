"""Belief propagation in logarithms: for cliques of any size and scores of any range.

A clique tells each of its nodes how probable labels are, given what it hears from the others. A
sweep goes over the nodes of a graph and back. On the way it sends what goes to later nodes, on the
way back what goes to earlier ones, so that on paths one sweep is exact.

Each clique may have a share below 1 (M. Wainwright, T. Jaakkola and A. Willsky, IEEE Transactions
on Information Theory 2005, equations 39 and 40).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.complex_step import STEP
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, first_score
from sklearn_struct.inference.graphs.log_sum import log_sum

__all__ = ["Messages", "Model", "add_beliefs", "exchange"]


class Model(NamedTuple):
    """Scores, who is connected by what, and the share of each clique."""

    scores: FlatScores
    cliques: Cliques
    graph: Adjacency
    share: np.ndarray


class Messages(NamedTuple):
    """Logarithms (n_places, K) of what cliques tell their nodes, and nodes their cliques."""

    to_nodes: np.ndarray
    to_cliques: np.ndarray


@kernel
def exchange(
    model: Model,
    nodes: tuple[int, int],
    settings: tuple[int, float, float],
    messages: Messages,
) -> tuple[int, float]:
    """Send messages among the nodes of one example until none changes by more than the tolerance.

    Returns how many sweeps were made, and the largest change of a probability in the last one.
    `settings` are the largest number of sweeps, the tolerance, and damping: the share of the old
    message in the new one.
    """
    first, stop = nodes
    max_sweeps, tol, damping = settings
    K = model.scores.node.shape[1]
    room = np.empty((3, K), model.scores.node.dtype)
    sweep = 0
    change = np.inf if max_sweeps == 0 else 0.0
    while sweep < max_sweeps:
        change = 0.0
        for v in range(first, stop):
            _answer(model, v, messages)
            change = max(change, _send(model, v, True, damping, messages, room))
        for v in range(stop - 1, first - 1, -1):
            _answer(model, v, messages)
            change = max(change, _send(model, v, False, damping, messages, room))
        sweep += 1
        if change <= tol:
            break
    return sweep, change


@kernel
def _answer(model: Model, v: int, messages: Messages) -> None:
    """What a node tells each of its cliques: its scores, and what it hears from the others."""
    K = model.scores.node.shape[1]
    for k in range(K):
        total = model.scores.node[v, k]
        n_forbidden = 0
        for e in range(model.graph.bounds[v], model.graph.bounds[v + 1]):
            p = model.graph.places[e]
            x = messages.to_nodes[p, k]
            if x.real > -np.inf:
                total += model.share[model.graph.clique[p]] * x
            else:
                n_forbidden += 1
        for e in range(model.graph.bounds[v], model.graph.bounds[v + 1]):
            p = model.graph.places[e]
            x = messages.to_nodes[p, k]
            here = x.real > -np.inf
            if n_forbidden > 1 or (n_forbidden == 1 and here):
                messages.to_cliques[p, k] = -np.inf
            else:
                messages.to_cliques[p, k] = total - x if here else total


@kernel
def _send(
    model: Model,
    v: int,
    forward: bool,
    damping: float,
    messages: Messages,
    room: np.ndarray,
) -> float:
    """Send the messages of a node's cliques to nodes that are the next ones on the way; the largest
    change of a probability.
    """
    change = 0.0
    new = room[0]
    K = len(new)
    cliques = model.cliques
    for e in range(model.graph.bounds[v], model.graph.bounds[v + 1]):
        c = model.graph.clique[model.graph.places[e]]
        target = -1
        for q in range(cliques.bounds[c], cliques.bounds[c + 1]):
            u = cliques.members[q]
            if (u > v) == forward and u != v:
                nearer = target < 0 or (u < cliques.members[target]) == forward
                if nearer:
                    target = q
        if target < 0:
            continue
        _message(model, c, target, messages, room)
        for k in range(K):
            old = messages.to_nodes[target, k]
            p_old = np.exp(old)
            p_new = np.exp(new[k])
            if damping > 0.0:
                p_new = (1.0 - damping) * p_new + damping * p_old
                new[k] = np.log(p_new)
            step = p_new - p_old
            # derivatives along the imaginary axis must settle, too
            change = max(change, abs(step.real) + abs(step.imag) / STEP)
            messages.to_nodes[target, k] = new[k]
    return change


@kernel
def _message(model: Model, c: int, target: int, messages: Messages, room: np.ndarray) -> None:
    """What a clique tells one of its nodes, as probabilities that sum to 1; into ``room[0]``."""
    new, top, mass = room
    K = len(new)
    row = first_score(model.scores, model.cliques, c)
    first = model.cliques.bounds[c]
    r = model.cliques.bounds[c + 1] - first
    step = _n_labellings(first + r - 1 - target, K)
    n = _n_labellings(r, K)
    for k in range(K):
        top[k] = -np.inf
        mass[k] = 0.0
    for column in range(n):
        x = _told(model, c, row, column, first, r, target, messages)
        k = column // step % K
        if x.real > top[k].real:
            top[k] = x.real
    for column in range(n):
        k = column // step % K
        if top[k].real > -np.inf:
            x = _told(model, c, row, column, first, r, target, messages)
            mass[k] += np.exp(x - top[k])
    highest = -np.inf
    for k in range(K):
        new[k] = top[k]
        if top[k].real > -np.inf:
            new[k] += np.log(mass[k])
        highest = max(highest, new[k].real)
    if not highest > -np.inf:
        return
    total = new.dtype.type(0.0)
    for k in range(K):
        total += np.exp(new[k] - highest)
    total = np.log(total) + highest
    for k in range(K):
        new[k] -= total


@kernel
def _n_labellings(r: int, K: int) -> int:
    n = 1
    for _ in range(r):
        n *= K
    return n


@kernel
def _told(
    model: Model,
    c: int,
    row: int,
    column: int,
    first: int,
    r: int,
    target: int,
    messages: Messages,
) -> Any:
    """The score of a labelling of a clique, with what its nodes but one tell it."""
    K = model.scores.node.shape[1]
    x: complex = model.scores.tables[row + column] / model.share[c]
    for p in range(first + r - 1, first - 1, -1):
        if p != target:
            x += messages.to_cliques[p, column % K]
        column //= K
    return x


@kernel
def add_beliefs(
    model: Model,
    nodes: tuple[int, int],
    of_example: np.ndarray,
    weight: float,
    messages: Messages,
    out: FlatScores,
) -> Any:
    """Add weighted beliefs to `out`; the value whose derivative they are, at convergence: Bethe's
    approximation of log Z (P1 5.27), or the bound with shares.

    `of_example` has ranges of cliques (n_families, 2).
    """
    K = model.scores.node.shape[1]
    value = model.scores.node.dtype.type(0.0)
    belief = np.empty(K, model.scores.node.dtype)
    norms = np.zeros(nodes[1] - nodes[0], model.scores.node.dtype)
    for v in range(nodes[0], nodes[1]):
        for k in range(K):
            belief[k] = model.scores.node[v, k]
            for e in range(model.graph.bounds[v], model.graph.bounds[v + 1]):
                p = model.graph.places[e]
                belief[k] += model.share[model.graph.clique[p]] * messages.to_nodes[p, k]
        norm = log_sum(belief)
        if not norm.real > -np.inf:
            return norm
        norms[v - nodes[0]] = norm
        value += norm
        for k in range(K):
            out.node[v, k] += weight * np.exp(belief[k] - norm)
        _answer(model, v, messages)
    for f in range(len(of_example)):
        for c in range(of_example[f, 0], of_example[f, 1]):
            value += model.share[c] * _add_clique(model, c, nodes, norms, weight, messages, out)
    return value


@kernel
def _add_clique(
    model: Model,
    c: int,
    nodes: tuple[int, int],
    norms: np.ndarray,
    weight: float,
    messages: Messages,
    out: FlatScores,
) -> Any:
    first = model.cliques.bounds[c]
    r = model.cliques.bounds[c + 1] - first
    row = first_score(model.scores, model.cliques, c)
    into = first_score(out, model.cliques, c)
    K = model.scores.node.shape[1]
    belief = np.empty(_n_labellings(r, K), model.scores.node.dtype)
    taken = model.scores.node.dtype.type(0.0)
    for p in range(first, first + r):
        taken += norms[model.cliques.members[p] - nodes[0]]
    for column in range(len(belief)):
        belief[column] = _told(model, c, row, column, first, r, -1, messages) - taken
    norm = log_sum(belief)
    if norm.real > -np.inf:
        for column in range(len(belief)):
            out.tables[into + column] += weight * np.exp(belief[column] - norm)
    return norm
