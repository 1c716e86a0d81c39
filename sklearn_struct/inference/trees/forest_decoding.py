"""The best tree of a packed forest by scores of items and edges.

With log-scores that is Viterbi decoding; with posteriors, the tree of most expected spans or rules.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.trees import Forest, Grammar, Tensors
from sklearn_struct.inference.trees.chart_decoding import Nodes, no_nodes, nodes
from sklearn_struct.inference.trees.forest_inside_outside import vectors

__all__ = ["argmax", "argmax_states"]


def argmax(forest: Forest, item: np.ndarray, edge: np.ndarray) -> tuple[Nodes, float]:
    """The tree of one sentence whose items and edges have the largest sum of scores.

    A score of -inf forbids. Of equal trees it is the first; no nodes and -inf if there is none.
    """
    if len(forest.symbol) == 0:
        return no_nodes(), -np.inf
    best = item.copy()
    back = np.full((len(item), 2), -1, np.int64)
    done = 0
    while done < len(item):
        go_on()
        done = _fill(forest, edge, best, back, done, STEPS)
    # children come before their parents, roots last
    root = _first_root(forest) + int(np.argmax(best[_first_root(forest) :]))
    if best[root] == -np.inf:
        return no_nodes(), -np.inf
    return nodes(int(forest.stop[-1]), forest.symbol, back, root), float(best[root])


def argmax_states(grammar: Grammar, logs: Tensors, forest: Forest) -> tuple[Nodes, float]:
    """The same by the best states of each tree.

    `logs` are logarithms of tensors, -inf where these are not positive.
    """
    if len(forest.symbol) == 0:
        return no_nodes(), -np.inf
    places = vectors(forest, logs.n_states)
    best = np.full(places.start[-1], -np.inf)
    back = np.full((places.start[-1], 2), -1, np.int64)
    done = 0
    while done < len(forest.symbol):
        go_on()
        done = _fill_states(grammar, logs, forest, (places.start, best, back), done, STEPS)
    symbols = np.repeat(forest.symbol, np.diff(places.start))
    first = places.start[_first_root(forest)]
    roots = np.concatenate(
        [
            logs.root[logs.root_start[s] : logs.root_start[s + 1]]
            for s in forest.symbol[_first_root(forest) :]
        ]
    )
    total = best[first:] + roots
    if total.max() == -np.inf:
        return no_nodes(), -np.inf
    root = first + int(np.argmax(total))
    return nodes(int(forest.stop[-1]), symbols, back, root), float(total.max())


def _first_root(forest: Forest) -> int:
    """The first of the items over all tokens, which are the last ones."""
    n_roots = int(np.sum((forest.start == 0) & (forest.stop == forest.stop[-1])))
    return len(forest.symbol) - n_roots


@kernel
def _fill(
    forest: Forest, edge: np.ndarray, best: np.ndarray, back: np.ndarray, first: int, steps: int
) -> int:
    """Write the best score of each item from `first` on, and its children.

    Return the item before which it stopped. `best` starts with what the item itself adds.
    """
    for p in range(first, len(best)):
        if steps <= 0:
            return p
        own = best[p]
        # items without a word need children; tokens have their own score alone
        if forest.leaf[p] < 0:
            best[p] = -np.inf
        for e in range(forest.indptr[p], forest.indptr[p + 1]):
            score = own + edge[e] + best[forest.left[e]] + best[forest.right[e]]
            if score > best[p]:
                best[p] = score
                back[p, 0] = forest.left[e]
                back[p, 1] = forest.right[e]
        steps -= 1 + forest.indptr[p + 1] - forest.indptr[p]
    return len(best)


@kernel
def _fill_states(
    grammar: Grammar,
    logs: Tensors,
    forest: Forest,
    vectors: tuple[np.ndarray, np.ndarray, np.ndarray],
    first: int,
    steps: int,
) -> int:
    """The same for each state of each item, in the places of their vectors."""
    rule = logs.rule
    start, best, back = vectors
    for p in range(first, len(forest.symbol)):
        if steps <= 0:
            return p
        a = start[p]
        m = logs.n_states[forest.symbol[p]]
        for i in range(m if forest.leaf[p] >= 0 else 0):
            best[a + i] = logs.leaf[logs.leaf_start[forest.leaf[p]] + i]
        for e in range(forest.indptr[p], forest.indptr[p + 1]):
            b = start[forest.left[e]]
            c = start[forest.right[e]]
            r = forest.rule[e]
            n = logs.n_states[grammar.right[r]]
            t = logs.rule_start[r]
            steps -= n * m * logs.n_states[grammar.left[r]]
            for j in range(logs.n_states[grammar.left[r]]):
                for k in range(n):
                    below = best[b + j] + best[c + k]
                    for i in range(m if below > -np.inf else 0):
                        score = below + rule[t + i]
                        if score > best[a + i]:
                            best[a + i] = score
                            back[a + i, 0] = b + j
                            back[a + i, 1] = c + k
                    # rows over the parent's states are padded to whole vectors
                    t += start[p + 1] - a
        steps -= 1
    return len(forest.symbol)
