"""Labellings of large scores: the best of several searches, each made better label by label."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, has_only_edges
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.expansion import Moves, best_by_moves, room_for_moves
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, flat_scores
from sklearn_struct.inference.graphs.iterated_modes import climb
from sklearn_struct.inference.graphs.max_product import best_by_max_product
from sklearn_struct.inference.graphs.search_order import TIE, ordered
from sklearn_struct.inference.graphs.search_scores import (
    SearchScores,
    like_equal_labels,
    search_scores,
)
from sklearn_struct.inference.graphs.trw_s import NOTHING, best_by_trees, labelling_score

__all__ = ["decode", "iterate_modes", "score_bound"]

# sweeps of each search
MAX_SWEEPS = 100
# Where moves come after messages, these need no good start: there are at least so many sweeps, and
# in small examples more, as long as they write no more than so many numbers.
SWEEPS_BEFORE_MOVES = 2
NUMBERS_BEFORE_MOVES = 2_000_000
# sweeps of a usual graph, to tell how long a call takes
USUAL = 50
# Parts of the largest scores of which those are multiples that max-product takes: their sums are
# exact, in any order. A search that does not settle would make last digits large.
PARTS = 2.0**30


def decode(
    potentials: Potentials,
    structure: Structure,
    labels: np.ndarray,
    start: np.ndarray | None = None,
    n_numbers: int = NUMBERS_BEFORE_MOVES,
) -> None:
    """Write the best labelling of each example that the searches for its kind of cliques and, if
    given, a start lead to, each made better label by label.

    Of edges these are sequential tree-reweighted messages, and damped max-product where those have
    not shown that theirs is the best labelling. Potts's edges that like equal labels are searched
    by expansion moves instead of the latter, after messages of about `n_numbers` numbers; with two
    labels they find the best one. Of forests of edges the labelling is the best one, too.
    """
    order, cliques, graph = ordered(potentials, structure)
    flat = _in_order(potentials, order)
    exact = search_scores(flat, cliques)
    unsolved = np.ones(structure.n_examples, bool)
    n_steps = USUAL * sum(table.shape[1] for table in potentials.cliques) * len(graph.places)
    can_move = like_equal_labels(potentials, structure)
    every = np.ones(structure.n_examples, bool)
    # moves need no start, and whether there is one must not hang on other examples
    candidates = [] if start is None else [(start[order].astype(np.int32), ~can_move)]
    if has_only_edges(structure, of_one_kind=False):
        scores = _finite(exact, cliques)
        by_trees = np.zeros(len(labels), np.int32)
        bound = np.empty(len(unsolved))
        examples = structure.offsets, can_move, bound, unsolved
        moves = room_for_moves(scores, cliques)
        patiently(
            lambda: _by_trees(scores, cliques, graph, examples, moves, n_numbers, by_trees), n_steps
        )
        candidates.append((by_trees, every))
    if np.any(unsolved):
        rounded = search_scores(_on_grids(potentials, structure, order), cliques)
        rounded = _finite(rounded, cliques)
        by_products = np.zeros(len(labels), np.int32)
        patiently(
            lambda: _by_products(
                rounded, cliques, graph, (structure.offsets, unsolved), by_products
            ),
            n_steps,
        )
        candidates.append((by_products, unsolved))
    best = np.full(len(every), -np.inf)
    unseen = every.copy()
    for candidate, has_candidate in candidates:
        _climb(exact, cliques, graph, candidate)
        score = np.empty(len(every))
        _score_all(exact, cliques, structure.offsets, candidate, score)
        least = TIE * (1.0 + np.abs(np.where(np.isfinite(score), score, 0.0)))
        better = has_candidate & ((score > best + least) | unseen)
        unseen &= ~has_candidate
        best[better] = score[better]
        of_node = np.repeat(better, np.diff(structure.offsets))
        labels[order[of_node]] = candidate[of_node]


def score_bound(potentials: Potentials, structure: Structure) -> np.ndarray:
    """What the scores of all labellings of an example are at most, (n_examples,): inf where cliques
    have more than two nodes.
    """
    bound = np.full(structure.n_examples, np.inf)
    if has_only_edges(structure, of_one_kind=False):
        order, cliques, graph = ordered(potentials, structure)
        scores = _finite(search_scores(_in_order(potentials, order), cliques), cliques)
        n_steps = USUAL * scores.node.shape[1] ** 2 * len(graph.places)
        can_move = like_equal_labels(potentials, structure)
        examples = structure.offsets, can_move, bound, np.ones(len(bound), bool)
        none = np.zeros(len(order), np.int32)
        moves = room_for_moves(scores, cliques)
        patiently(lambda: _by_trees(scores, cliques, graph, examples, moves, -1, none), n_steps)
    return bound


def iterate_modes(potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
    """Make a labelling better label by label, until no single change helps."""
    order, cliques, graph = ordered(potentials, structure)
    better = labels[order]
    _climb(search_scores(_in_order(potentials, order), cliques), cliques, graph, better)
    labels[order] = better


def _climb(scores: SearchScores, cliques: Cliques, graph: Adjacency, labels: np.ndarray) -> None:
    # there may be no nodes
    n_steps = 10 * scores.node.size
    patiently(lambda: climb(scores, cliques, graph, labels), n_steps)


def _in_order(potentials: Potentials, order: np.ndarray) -> FlatScores:
    """Copies of scores, with those of nodes in a given order."""
    scores = flat_scores(potentials)
    return scores._replace(node=scores.node[order])


def _on_grids(potentials: Potentials, structure: Structure, order: np.ndarray) -> FlatScores:
    """`_in_order`, without last digits: multiples of a power of 2, of each example and family."""
    scores = _in_order(potentials, order)
    _round(scores.node, structure.offsets)
    parts = zip(scores.starts, potentials.cliques, structure.families, strict=True)
    for start, table, family in parts:
        rows = scores.tables[start : start + table.size].reshape(table.shape)
        is_shared = len(table) != len(family.nodes)
        _round(rows, np.array([0, len(table)]) if is_shared else family.offsets)
    return scores


def _round(rows: np.ndarray, offsets: np.ndarray) -> None:
    example = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    largest = np.zeros(len(offsets) - 1)
    sizes = np.where(np.isfinite(rows), np.abs(rows), 0.0).max(axis=1, initial=0.0)
    np.maximum.at(largest, example, sizes)
    # 1.1 times, as whole numbers that are powers of 2 must not have two units
    _, exponent = np.frexp(1.1 * largest)
    unit = np.ldexp(1.0, exponent)[example, None] / PARTS
    rows[:] = np.rint(rows / unit) * unit


def _finite(scores: SearchScores, cliques: Cliques) -> SearchScores:
    """Scores that are so low that no allowed labelling has one of them, in the place of -inf."""
    node, tables, firsts, apart = scores
    forbidden = np.isneginf(node), np.isneginf(tables)
    if not any(part.any() for part in forbidden):
        return scores
    largest = 0.0
    for part, which in zip((node, tables), forbidden, strict=True):
        largest = max(largest, np.abs(np.where(which, 0.0, part)).max(initial=0.0))
    low = -4.0 * (1.0 + largest) * (1.0 + len(node) + len(cliques.row))
    return SearchScores(
        np.where(forbidden[0], low, node),
        np.where(forbidden[1], low, tables),
        firsts,
        np.where(np.isneginf(apart), low, apart),
    )


@kernel
def _score_all(
    scores: SearchScores, cliques: Cliques, offsets: np.ndarray, labels: np.ndarray, out: np.ndarray
) -> None:
    """The score of each example's labels."""
    for i in range(len(out)):
        first = offsets[i]
        out[i] = labelling_score(scores, cliques, i, first, labels[first : offsets[i + 1]])


@kernel
def _by_trees(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    examples: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    moves: Moves,
    n_numbers: int,
    labels: np.ndarray,
) -> None:
    """Search all examples by tree-reweighted messages; their bounds, and which are unsolved. Where
    moves can be made, and `n_numbers` is not negative, so many numbers of messages lead to a start.
    """
    offsets, may_move, bound, unsolved = examples
    K = scores.node.shape[1]
    messages = np.zeros((len(graph.places) // 2, K))
    for i in range(len(bound)):
        can_move = may_move[i]
        by_moves = n_numbers >= 0 and can_move
        n_sweeps = MAX_SWEEPS
        if by_moves:
            affordable = n_numbers // (K * max(offsets[i + 1] - offsets[i], 1))
            n_sweeps = min(max(affordable, SWEEPS_BEFORE_MOVES), MAX_SWEEPS)
        example = (i, offsets[i], offsets[i + 1], n_sweeps)
        if K != 2 or not can_move:
            bound[i], solved = best_by_trees(scores, cliques, graph, example, messages, labels)
            unsolved[i] = not solved
            if solved or not by_moves:
                continue
        best_by_moves(scores, cliques, graph, (i, offsets[i], offsets[i + 1]), moves, labels)
        unsolved[i] = False
        if K == 2:
            best = labelling_score(
                scores, cliques, i, offsets[i], labels[offsets[i] : offsets[i + 1]]
            )
            bound[i] = best + NOTHING * (1.0 + abs(best))


@kernel
def _by_products(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    examples: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray,
) -> None:
    """Search the unsolved examples by damped max-product."""
    offsets, unsolved = examples
    shape = len(graph.places), scores.node.shape[1]
    messages = (np.zeros(shape), np.zeros(shape))
    for i in range(len(unsolved)):
        if unsolved[i]:
            example = (i, offsets[i], offsets[i + 1], MAX_SWEEPS)
            best_by_max_product(scores, cliques, graph, example, messages, labels)
