"""Expansion moves: labellings of Potts's model that get better by cuts (Y. Boykov, O. Veksler and
R. Zabih, IEEE Transactions on Pattern Analysis and Machine Intelligence 2001).

A move lets any nodes at once change to one label; the best such change is a smallest cut. Where
there are two labels, one cut finds the best labelling of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import uncounted
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.max_flow import SINK, Network, Trees, cut, no_trees
from sklearn_struct.inference.graphs.search_scores import SearchScores

__all__ = ["Moves", "best_by_moves", "room_for_moves"]

# rounds over all labels, of which few are needed
MAX_ROUNDS = 20
# the part of nodes that must change in a round if there is to be another one
ENOUGH = 1e-2


class Moves(NamedTuple):
    """What a move needs: what arcs let through (n_places,), what comes from the terminals
    (n_nodes,), trees, and which labels a node may get (n_nodes, K).
    """

    arc: np.ndarray
    terminal: np.ndarray
    trees: Trees
    may: np.ndarray


def room_for_moves(scores: SearchScores, cliques: Cliques) -> Moves:
    """Room for moves."""
    n, K = scores.node.shape
    may = np.empty((n, K), bool)
    return Moves(np.empty(len(cliques.members)), np.empty(n), no_trees(n), may)


@uncounted
def best_by_moves(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    example: tuple[int, int, int],
    moves: Moves,
    labels: np.ndarray,
) -> None:
    """Make the labels of an example's nodes better until no label wins many. `example` is its
    number, and its nodes from the first to before the last.
    """
    _, first, stop = example
    K = scores.node.shape[1]
    _look_for_labels(scores, graph, (first, stop), moves.may)
    network = Network(graph, cliques.members, moves.arc, moves.terminal)
    in_vain = 0
    n_of_round = 0
    turn = 0
    while turn < MAX_ROUNDS * K and in_vain < K:
        label = turn % K
        _move(scores, network, example, cliques, label, moves, labels)
        cut(network, first, stop, moves.trees)
        n_changed = 0
        for v in range(first, stop):
            if moves.trees.side[v] == SINK and labels[v] != label and moves.may[v, label]:
                labels[v] = label
                n_changed += 1
        in_vain = 0 if n_changed else in_vain + 1
        n_of_round += n_changed
        turn += 1
        if turn % K == 0:
            if n_of_round < ENOUGH * (stop - first):
                break
            n_of_round = 0


@uncounted
def _look_for_labels(
    scores: SearchScores, graph: Adjacency, nodes: tuple[int, int], may: np.ndarray
) -> None:
    """Find labels that are worse than another one whatever the neighbours have (J. Desmet et al.,
    Nature 1992).
    """
    K = scores.node.shape[1]
    for v in range(nodes[0], nodes[1]):
        top = scores.node[v, 0]
        for k in range(1, K):
            top = max(top, scores.node[v, k])
        for k in range(K):
            most = scores.node[v, k]
            for e in range(graph.bounds[v], graph.bounds[v + 1]):
                c = graph.places[e] >> 1
                most += scores.tables[scores.firsts[c] + k * (K + 1)] - scores.apart[c]
            may[v, k] = most >= top


@uncounted
def _move(
    scores: SearchScores,
    network: Network,
    example: tuple[int, int, int],
    cliques: Cliques,
    label: int,
    moves: Moves,
    labels: np.ndarray,
) -> None:
    """Write the network in which those nodes are on the sink's side that change to a label."""
    node, tables, firsts, aparts = scores
    _, members, arc, terminal = network
    i, first, stop = example
    K = node.shape[1]
    changes = moves.trees.side
    for v in range(first, stop):
        own = labels[v]
        changes[v] = own != label and moves.may[v, label]
        terminal[v] = node[v, own] - node[v, label] if changes[v] else 0.0
    for f in range(cliques.ranges.shape[1]):
        for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
            p = 2 * c
            arc[p] = 0.0
            arc[p + 1] = 0.0
            u = members[p]
            v = members[p + 1]
            if not (changes[u] or changes[v]):
                continue
            won = tables[firsts[c] + label * (K + 1)] - aparts[c]
            lost = 0.0
            if labels[u] == labels[v]:
                lost = tables[firsts[c] + labels[u] * (K + 1)] - aparts[c]
            if changes[u] and changes[v]:
                p += u > v
                arc[p] = won + lost
                terminal[members[p]] += lost
                terminal[members[p ^ 1]] -= won
            else:
                p += not changes[u]
                if labels[members[p ^ 1]] == label:
                    terminal[members[p]] -= won
                else:
                    terminal[members[p]] += lost
