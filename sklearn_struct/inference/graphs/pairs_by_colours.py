"""Belief propagation with numbers on one large graph, whose nodes threads share.

Nodes of one colour send their messages at the same time: none of them hears of another before the
next colour's turn. So parts of a colour may be done in any order, on any number of threads.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, workspace
from sklearn_struct.compiled.threads import N_PARTS, in_parts, parts, spare_threads
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.colours import Coloured
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores
from sklearn_struct.inference.graphs.kept_messages import Started
from sklearn_struct.inference.graphs.pair_inference import (
    DAMPING,
    LONGER,
    Examples,
    Limits,
    add_edges,
    believe,
    forget,
    send,
    width_of_beliefs,
)
from sklearn_struct.inference.graphs.pair_messages import (
    PairMessages,
    Room,
    places_of_labels,
)
from sklearn_struct.inference.graphs.pair_scores import PairScores

__all__ = ["by_colours"]

# nodes that are worth a thread
FEW = 256


def by_colours(
    scores: PairScores,
    model: Coloured,
    limits: Limits,
    examples: Examples,
    started: Started,
    out: FlatScores,
) -> None:
    """Infer the only example; as `pair_inference.by_pairs`, with messages in another order. Scores
    have nodes in the order of the model.
    """
    max_sweeps, tol = limits
    weight, log_Z, sweeps, change = examples
    messages, settled = started
    graph = _Graph(scores, model, messages, out.node.shape[1])
    if not settled[0]:
        graph.forget()
    last = graph.settle(max_sweeps, tol, 0.0)
    if settled[0] and not last[1] <= tol:
        graph.forget()
        last = graph.settle(max_sweeps, tol, 0.0)
    if not last[1] <= tol:
        graph.forget()
        last = graph.settle(LONGER * max_sweeps, tol, DAMPING)
    settled[0] = last[1] <= tol
    sweeps[0], change[0] = last
    log_Z[0] = graph.add_beliefs(float(weight[0]), out)


class _Graph:
    """What is done to all nodes, part by part."""

    def __init__(
        self, scores: PairScores, model: Coloured, messages: PairMessages, n_labels: int
    ) -> None:
        self.scores = scores
        self.model = model
        self.messages = messages
        self.n_labels = n_labels
        self.pool = spare_threads()
        every = parts(len(model.order))
        self.nodes = [(part.start, part.stop) for part in every]

    def forget(self) -> None:
        """Make all messages say that labels are equally probable."""
        n_edges = len(self.model.cliques.row)
        in_parts(
            lambda a, b: forget(self.messages, self.scores, np.array([[a, b]]), self.n_labels),
            n_edges,
        )

    def settle(self, max_sweeps: int, tol: float, damping: float) -> tuple[int, float]:
        """Send messages until they settle: how many sweeps were made, the last one's change."""
        colours = self.model.colours
        # on the way there the last colour has no later nodes, on the way back the first no earlier
        ways = [*((colour, True) for colour in colours[:-1])]
        ways += [(colour, False) for colour in colours[:0:-1]]
        change = np.inf
        n = 0
        while n < max_sweeps and not change <= tol:
            change = max(
                (self._send(colour, forward, damping) for colour, forward in ways), default=0.0
            )
            n += 1
        return n, change

    def _send(self, colour: tuple[int, int], forward: bool, damping: float) -> float:
        _, cliques, graph, _ = self.model
        way = forward, damping
        first, last = colour
        n_pieces = self.pool.n_pieces if last - first >= N_PARTS * FEW else 1
        pieces = parts(last - first, n_pieces)

        def of_piece(i: int) -> float:
            return _send_piece(
                self.scores,
                cliques,
                graph,
                (first + pieces[i].start, first + pieces[i].stop),
                way,
                self.messages,
                self.n_labels,
            )

        return max(self.pool.map(of_piece, n_pieces))

    def add_beliefs(self, weight: float, out: FlatScores) -> float:
        """Add weighted beliefs; the value whose derivative they are."""
        order, cliques, graph, _ = self.model
        beliefs = workspace((len(order), width_of_beliefs(self.messages)), np.float64)

        def of_nodes(i: int) -> float:
            first, last = self.nodes[i]
            of_part = beliefs[first:last]
            value = believe(self.scores, graph, (first, last), self.messages, of_part)
            _add_rows(of_part, order[first:last], weight, out.node)
            return value

        value = sum(self.pool.map(of_nodes, N_PARTS))
        first = 0
        for f, n in enumerate(np.diff(cliques.ranges[0]).ravel().tolist()):
            value += self._add_edges(f, first, first + n, beliefs, weight, out)
            first += n
        return float(value)

    def _add_edges(
        self,
        f: int,
        first: int,
        last: int,
        beliefs: np.ndarray,
        weight: float,
        out: FlatScores,
    ) -> float:
        """The same of the edges of a family. Where all add to one row, each part has its own."""
        cliques = self.model.cliques
        width = n_columns(self.n_labels, 2)
        every = [(first + part.start, first + part.stop) for part in parts(last - first)]
        alone = out.steps[f] == 0
        into = [out] * N_PARTS
        if alone:
            none = np.zeros_like(out.starts)
            into = [FlatScores(out.node, np.zeros(width), none, none) for _ in every]
        values = self.pool.map(
            lambda i: add_edges(
                self.scores, cliques, every[i], (beliefs, 0), weight, self.messages, into[i]
            ),
            N_PARTS,
        )
        if alone:
            start = out.starts[f]
            for part in into:
                out.tables[start : start + width] += part.tables
        return float(sum(values))


@kernel
def _add_rows(rows: np.ndarray, order: np.ndarray, weight: float, out: np.ndarray) -> None:
    """Add weighted rows, without their padding, where they stand in the other order."""
    for i in range(len(order)):
        for k in range(out.shape[1]):
            out[order[i], k] += weight * rows[i, k]


@kernel
def _send_piece(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    messages: PairMessages,
    n_labels: int,
) -> float:
    labels = places_of_labels(n_labels)
    P = len(labels)
    padding = (1.0 - labels) / n_labels
    room = Room(np.zeros(P), np.zeros(2 * P), labels, padding, np.eye(2 * LANES))
    return send(scores, cliques, graph, nodes, way, messages, room)
