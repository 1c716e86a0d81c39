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
    nodes: tuple[int, int],
    moves: Moves,
    labels: np.ndarray,
) -> None:
    """Make the labels of an example's nodes better until no label wins many."""
    first, stop = nodes
    K = scores.node.shape[1]
    _look_for_labels(scores, graph, nodes, moves.may)
    network = Network(graph, cliques.members, moves.arc, moves.terminal)
    in_vain = 0
    n_of_round = 0
    turn = 0
    while turn < MAX_ROUNDS * K and in_vain < K:
        label = turn % K
        _move(scores, network, nodes, label, moves.may, labels)
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
    nodes: tuple[int, int],
    label: int,
    may: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the network in which those nodes are on the sink's side that change to a label."""
    node, tables, firsts, aparts = scores
    graph, members, arc, terminal = network
    K = node.shape[1]
    for v in range(nodes[0], nodes[1]):
        own = labels[v]
        changes = own != label and may[v, label]
        loss = node[v, own] - node[v, label] if changes else 0.0
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            p = graph.places[e]
            arc[p] = 0.0
            if not changes:
                continue
            u = members[p ^ 1]
            other = labels[u]
            c = p >> 1
            won = tables[firsts[c] + label * (K + 1)] - aparts[c]
            lost = tables[firsts[c] + own * (K + 1)] - aparts[c] if other == own else 0.0
            if other == label:
                loss -= won
            elif not may[u, label]:
                loss += lost
            elif u < v:
                loss -= won
            else:
                arc[p] = won + lost
                loss += lost
        terminal[v] = loss
