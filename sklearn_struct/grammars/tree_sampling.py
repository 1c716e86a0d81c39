"""Trees drawn from a grammar with states, many at once, level by level."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.trees import Forest, Grammar, Tensors

__all__ = ["draw"]

MAX_ROUNDS = 100  # without a tree that is short enough


class _Choices(NamedTuple):
    """What may become of symbols in their states.

    State i of symbol s is the group ``group[s] + i``. Its choices ``start[g] : start[g + 1]`` in
    `cumulative`, whose values rise from g to g + 1 among them, are the same in each state of the
    symbol: they stand from ``first[s]`` on in `what`, numbers of rules or, above these, of leaves,
    and in `pair`, the states of a rule's two children.
    """

    group: np.ndarray
    start: np.ndarray
    cumulative: np.ndarray
    first: np.ndarray
    what: np.ndarray
    pair: np.ndarray


class _Nodes(NamedTuple):
    """Nodes as they are drawn, parents before children; `left` is -1 at leaves, the right child is
    the next node.
    """

    tree: np.ndarray
    symbol: np.ndarray
    what: np.ndarray
    left: np.ndarray


def draw(
    grammar: Grammar,
    tensors: Tensors,
    leaf_symbol: np.ndarray,
    n: int,
    rng: np.random.RandomState,
    max_length: int,
) -> Forest:
    """Draw n trees by the probabilities of roots, and of rules and leaves given symbol and state.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    tensors : Tensors
        Their probabilities, not negative. What the choices of a symbol in a state sum to need not
        be 1, nor what roots sum to: they are divided by it.
    leaf_symbol : ndarray of shape (n_leaves,)
        Symbols of the leaves.
    n : int
        Number of trees.
    rng : RandomState
        Where random numbers come from.
    max_length : int
        The most words of a tree. Longer ones are drawn again, as are those that come to a state
        without choices: the trees are those of the grammar under the condition that they are no
        longer.

    Returns
    -------
    forest : Forest
        One tree for each example, whose leaves are numbers of tensors' leaves.

    Raises
    ------
    ValueError
        If a hundred times in a row all trees were too long.
    """
    choices = _choices(grammar, tensors, leaf_symbol)
    levels = [_Nodes(*np.zeros((4, 0), dtype=np.int64))]
    n_drawn = n_nodes = n_failed = 0
    while n_drawn < n:
        drawn, gone = _round(choices, grammar, tensors, (n - n_drawn, n_nodes, max_length), rng)
        # in a row: as long as some trees are short enough, the number asked for is reached
        n_failed = n_failed + 1 if gone.all() else 0
        if n_failed == MAX_ROUNDS:
            raise ValueError(
                f"{MAX_ROUNDS} times in a row, no tree had at most {max_length} words (max_length)"
            )
        number = np.where(gone, -1, n_drawn + np.cumsum(~gone) - 1)
        levels += [level._replace(tree=number[level.tree]) for level in drawn]
        n_nodes += sum(len(level.tree) for level in drawn)
        n_drawn += int(np.sum(~gone))
    return _packed(levels, len(grammar.left))


def _choices(grammar: Grammar, tensors: Tensors, leaf_symbol: np.ndarray) -> _Choices:
    n_states = tensors.n_states
    tables = []
    whats = []
    pairs = []
    group = np.concatenate([[0], np.cumsum(n_states, dtype=np.int64)])
    for s, m in enumerate(n_states):
        rules = grammar.down[grammar.down_indptr[s] : grammar.down_indptr[s + 1]]
        leaves = np.flatnonzero(leaf_symbol == s)
        width = tensors.root_start[s + 1] - tensors.root_start[s]
        of_rules = [
            tensors.rule[slice(*tensors.rule_start[r : r + 2])].reshape(-1, width) for r in rules
        ]
        of_leaves = tensors.leaf[tensors.leaf_start[leaves][:, None] + np.arange(width)]
        mass = np.cumsum(np.concatenate([*of_rules, of_leaves])[:, :m].T, axis=1)
        total = mass[:, -1:] if mass.size else np.zeros((m, 0))
        # all zeros for a state without choices, among which no key finds one
        share = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
        # numbers that rise through all groups, so that one search serves all nodes of a level
        tables.append(share + group[s] + np.arange(m)[:, None])
        sizes = [len(table) for table in of_rules]
        whats += [np.repeat(rules, sizes), leaves + len(grammar.left)]
        pairs += [*(np.arange(size) for size in sizes), np.zeros(len(leaves), dtype=np.int64)]
    size = np.array([table.shape[1] for table in tables])
    return _Choices(
        group,
        np.concatenate([[0], np.cumsum(np.repeat(size, n_states))]),
        np.concatenate([table.ravel() for table in tables]),
        np.cumsum(size) - size,
        np.concatenate(whats),
        np.concatenate(pairs),
    )


def _round(
    choices: _Choices,
    grammar: Grammar,
    tensors: Tensors,
    sizes: tuple[int, int, int],
    rng: np.random.RandomState,
) -> tuple[list[_Nodes], np.ndarray]:
    """So many trees, whose nodes are numbered from the second of `sizes` on, and which of them to
    draw again.
    """
    n, n_nodes, max_length = sizes
    levels = []
    length = np.ones(n, dtype=np.int64)
    gone = np.zeros(n, dtype=bool)
    mass = np.cumsum(tensors.root)
    # the product may round up to the whole sum, behind the last root
    key = np.minimum(rng.random_sample(n) * mass[-1], np.nextafter(mass[-1], 0.0))
    place = np.searchsorted(mass, key, side="right")
    symbol = np.searchsorted(tensors.root_start, place, side="right") - 1
    tree = np.arange(n)
    state = place - tensors.root_start[symbol]
    while len(tree):
        group = choices.group[symbol] + state
        # the sum may round up to the next group
        key = np.minimum(group + rng.random_sample(len(group)), np.nextafter(group + 1.0, 0.0))
        choice = np.searchsorted(choices.cumulative, key, side="right")
        exists = choice < choices.start[group + 1]
        place = np.where(exists, choices.first[symbol] + choice - choices.start[group], 0)
        what = choices.what[place]
        pair = choices.pair[place]
        is_rule = exists & (what < len(grammar.left))
        length += np.bincount(tree[is_rule], minlength=n)
        # given up as soon as it is too long: trees of a bad grammar never end
        gone |= length > max_length
        gone[tree[~exists]] = True
        inner = np.flatnonzero(is_rule & ~gone[tree])
        left = np.full(len(tree), -1)
        n_nodes += len(tree)
        left[inner] = n_nodes + 2 * np.arange(len(inner))
        levels.append(_Nodes(tree, symbol, what, left))
        tree = np.repeat(tree[inner], 2)
        rule = what[inner]
        symbol = np.stack([grammar.left[rule], grammar.right[rule]], axis=1).ravel()
        state = np.stack(
            np.divmod(pair[inner], tensors.n_states[grammar.right[rule]]), axis=1
        ).ravel()
    return levels, gone


def _packed(levels: list[_Nodes], n_rules: int) -> Forest:
    """Drawn trees in post-order; what has the number -1 is left out."""
    tree, symbol, what, left = (np.concatenate(columns) for columns in zip(*levels))
    n_below = np.ones(len(tree), dtype=np.int64)
    is_root = np.ones(len(tree), dtype=bool)
    bounds = np.cumsum([0, *(len(level.tree) for level in levels)])
    inner = [lo + np.flatnonzero(left[lo:hi] >= 0) for lo, hi in pairwise(bounds)]
    # level by level from below, so that no recursion is needed
    for parent in reversed(inner):
        n_below[parent] += n_below[left[parent]] + n_below[left[parent] + 1]
        is_root[left[parent]] = is_root[left[parent] + 1] = False
    root = np.flatnonzero(is_root & (tree >= 0))
    offsets = np.concatenate([[0], np.cumsum(n_below[root])])
    place, start = np.zeros((2, len(tree)), dtype=np.int64)
    place[root] = offsets[1:] - 1
    for parent in inner:
        a = left[parent]
        b = left[parent] + 1
        # children come before their parent, the right one directly
        place[b] = place[parent] - 1
        place[a] = place[b] - n_below[b]
        start[a] = start[parent]
        start[b] = start[parent] + (n_below[a] + 1) // 2
    node = np.empty(offsets[-1], dtype=np.int64)
    node[place[tree >= 0]] = np.flatnonzero(tree >= 0)
    edge = node[left[node] >= 0]
    n_words = (n_below[node] + 1) // 2
    leaf = np.where(left[node] < 0, what[node] - n_rules, -1)
    indptr = np.concatenate([[0], np.cumsum(left[node] >= 0)])
    columns = (
        symbol[node],
        start[node],
        start[node] + n_words,
        leaf,
        place[left[edge]],
        place[left[edge] + 1],
        what[edge],
    )
    of = [column.astype(np.int32) for column in columns]
    return Forest(offsets, of[0], of[1], of[2], of[3], indptr, of[4], of[5], of[6])
