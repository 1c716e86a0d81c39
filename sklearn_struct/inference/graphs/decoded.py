"""Labellings of large scores: the best of several searches, each made better label by label."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, has_only_edges
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, flat_scores
from sklearn_struct.inference.graphs.iterated_modes import climb
from sklearn_struct.inference.graphs.max_product import best_by_max_product
from sklearn_struct.inference.graphs.search_order import TIE, ordered
from sklearn_struct.inference.graphs.trw_s import best_by_trees, labelling_score

__all__ = ["decode", "iterate_modes", "score_bound"]

# sweeps of each search
MAX_SWEEPS = 100
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
) -> np.ndarray:
    """Write the best labelling of each example that sequential tree-reweighted messages, damped
    max-product and, if given, a start lead to, each made better label by label.

    A bound of all scores is returned, (n_examples,): inf where cliques have more than two nodes.
    Of forests of edges the labelling is the best one.
    """
    order, cliques, graph = ordered(potentials, structure)
    exact = _in_order(potentials, order)
    n = structure.n_examples
    bound = np.full(n, np.inf)
    unsolved = np.ones(n, bool)
    n_steps = USUAL * sum(table.shape[1] for table in potentials.cliques) * len(graph.places)
    candidates = [] if start is None else [start[order].astype(np.int32)]
    if has_only_edges(structure, of_one_kind=False):
        scores = _finite(_in_order(potentials, order), cliques)
        by_trees = np.zeros(len(labels), np.int32)
        patiently(
            lambda: _by_trees(
                scores, cliques, graph, structure.offsets, (bound, unsolved), by_trees
            ),
            n_steps,
        )
        candidates.append(by_trees)
    if np.any(unsolved):
        rounded = _finite(_on_grids(potentials, structure, order), cliques)
        by_products = np.zeros(len(labels), np.int32)
        patiently(
            lambda: _by_products(
                rounded, cliques, graph, (structure.offsets, unsolved), by_products
            ),
            n_steps,
        )
        candidates.append(by_products)
    best = np.full(n, -np.inf)
    for number, candidate in enumerate(candidates):
        _climb(exact, cliques, graph, candidate)
        score = np.empty(n)
        _score_all(exact, cliques, structure.offsets, candidate, score)
        least = TIE * (1.0 + np.abs(np.where(np.isfinite(score), score, 0.0)))
        better = (score > best + least) | (number == 0)
        best[better] = score[better]
        of_node = np.repeat(better, np.diff(structure.offsets))
        labels[order[of_node]] = candidate[of_node]
    return bound


def score_bound(potentials: Potentials, structure: Structure) -> np.ndarray:
    """The bound that `decode` returns, (n_examples,)."""
    return decode(potentials, structure, np.empty(int(structure.offsets[-1]), np.int32))


def iterate_modes(potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
    """Make a labelling better label by label, until no single change helps."""
    order, cliques, graph = ordered(potentials, structure)
    better = labels[order]
    _climb(_in_order(potentials, order), cliques, graph, better)
    labels[order] = better


def _climb(scores: FlatScores, cliques: Cliques, graph: Adjacency, labels: np.ndarray) -> None:
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


def _finite(scores: FlatScores, cliques: Cliques) -> FlatScores:
    """Scores that are so low that no allowed labelling has one of them, in the place of -inf."""
    node, tables, _, _ = scores
    forbidden = np.isneginf(node), np.isneginf(tables)
    if not any(part.any() for part in forbidden):
        return scores
    largest = 0.0
    for part, which in zip((node, tables), forbidden, strict=True):
        largest = max(largest, np.abs(np.where(which, 0.0, part)).max(initial=0.0))
    low = -4.0 * (1.0 + largest) * (1.0 + len(node) + len(cliques.row))
    node[forbidden[0]] = low
    tables[forbidden[1]] = low
    return scores


@kernel
def _score_all(
    scores: FlatScores, cliques: Cliques, offsets: np.ndarray, labels: np.ndarray, out: np.ndarray
) -> None:
    """The score of each example's labels."""
    for i in range(len(out)):
        first = offsets[i]
        out[i] = labelling_score(scores, cliques, i, first, labels[first : offsets[i + 1]])


@kernel
def _by_trees(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    offsets: np.ndarray,
    examples: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray,
) -> None:
    """Search all examples by tree-reweighted messages; their bounds, and which are unsolved."""
    bound, unsolved = examples
    messages = np.zeros((len(graph.places), scores.node.shape[1]))
    for i in range(len(bound)):
        example = (i, offsets[i], offsets[i + 1], MAX_SWEEPS)
        bound[i], solved = best_by_trees(scores, cliques, graph, example, messages, labels)
        unsolved[i] = not solved


@kernel
def _by_products(
    scores: FlatScores,
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
