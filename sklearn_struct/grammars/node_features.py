"""What is seen inside and outside of the nodes of trees, as indicator features: phi and psi of
Cohen et al. (2012).

A feature function takes `Nodes` and gives an integer for each node: the code, 0 or more, of what it
sees there, or -1 where it sees nothing. A function of phi may look at the node and what is below
it, one of psi at everything else: this makes both independent given the node's state, on which the
spectral estimates rest. The node's own symbol, which both may know, need not be part of a code,
since each symbol has features of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.trees import Forest

__all__ = [
    "INSIDE",
    "OUTSIDE",
    "Feature",
    "Features",
    "Nodes",
    "at",
    "indicators",
    "joined",
    "nodes",
]


class Nodes(NamedTuple):
    """The nodes of trees in post-order, as feature functions see them.

    Each field is an array with an integer for each node. ``symbol`` is the number of its symbol,
    ``start`` and ``stop`` are its words ``start:stop``, and ``length`` is the number of words of
    its sentence. ``rule`` is the number of the rule to its children, and ``leaf`` that of its word;
    a node has one of them, and -1 in the other. The remaining fields are numbers of other nodes, -1
    where there is none: the children ``left`` and ``right``, the ``parent``, its other child
    ``sibling``, the nodes ``first`` and ``last`` over the first and the last word of the node, and
    the nodes ``before`` and ``after`` over the words next to these.

    Read more in :doc:`/user_guide/trees`.

    See Also
    --------
    at : Values at other nodes, such as at children.
    joined : Several codes as one.
    sklearn_struct.SpectralLPCFG : Takes feature functions as parameters.

    Examples
    --------
    A feature function that gives the symbols of both children:

    >>> from sklearn_struct import SpectralLPCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> from sklearn_struct.grammars.node_features import INSIDE, at, joined
    >>> def children(nodes):
    ...     return joined(at(nodes.symbol, nodes.left), at(nodes.symbol, nodes.right))
    >>> parser = SpectralLPCFG(n_states=4, inside_features=[*INSIDE, children])
    >>> parser = parser.fit(*make_treebank(n_samples=200, random_state=0))
    >>> print(parser.predict([["the", "doctor", "sleeps"]])[0])
    (ROOT (S (NP (D the) (N doctor)) (VP (V sleeps))))
    """

    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    length: np.ndarray
    rule: np.ndarray
    leaf: np.ndarray
    sibling: np.ndarray
    first: np.ndarray
    last: np.ndarray
    before: np.ndarray
    after: np.ndarray


class Features(NamedTuple):
    """Features of nodes, a row for each node: those of symbol s are the columns ``bounds[s] :
    bounds[s + 1]``.
    """

    rows: sp.csr_array
    bounds: np.ndarray


Feature = Callable[[Nodes], np.ndarray]


def nodes(forest: Forest) -> Nodes:
    """The nodes of trees: of a forest of one tree for each example."""
    items = np.diff(forest.offsets)
    n_words = (items + 1) // 2
    leaves = np.flatnonzero(forest.leaf >= 0)
    inner = np.flatnonzero(forest.leaf < 0)
    left, right, parent, rule, sibling = np.full((5, len(forest.symbol)), -1)
    left[inner] = forest.left
    right[inner] = forest.right
    rule[inner] = forest.rule
    parent[forest.left] = parent[forest.right] = inner
    sibling[forest.left] = forest.right
    sibling[forest.right] = forest.left
    length = np.repeat(n_words, items)
    first = np.repeat(np.cumsum(n_words) - n_words, items) + forest.start
    last = first + forest.stop - forest.start - 1
    # places beside a sentence are read, too, and then replaced by -1; they only have to exist
    before = np.where(forest.start > 0, leaves[first - 1], -1)
    after = np.where(forest.stop < length, leaves[np.minimum(last + 1, len(leaves) - 1)], -1)
    own = forest.symbol, left, right, parent, forest.start, forest.stop
    return Nodes(
        *own, length, rule, forest.leaf, sibling, leaves[first], leaves[last], before, after
    )


# ---- feature functions


def at(column: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Look up the values of a field at other nodes; -1 where there is no node.

    Read more in :doc:`/user_guide/trees`.

    See Also
    --------
    joined : Several codes as one.
    Nodes : What feature functions get.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct.grammars.node_features import at
    >>> symbol = np.array([3, 5, 7])
    >>> left = np.array([-1, -1, 0])  # only node 2 has children
    >>> at(symbol, left).tolist()
    [-1, -1, 3]
    """
    return np.where(where < 0, -1, column[where])


def joined(*codes: np.ndarray) -> np.ndarray:
    """Join several codes into one; -1 where one of them is -1.

    The product of their numbers of values may be at most 2**63.

    Read more in :doc:`/user_guide/trees`.

    See Also
    --------
    at : Values at other nodes, such as at children.
    Nodes : What feature functions get.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct.grammars.node_features import joined
    >>> joined(np.array([0, 1, -1, 1]), np.array([2, 2, 0, 2])).tolist()
    [2, 5, -1, 5]
    """
    pairs = codes[0].astype(np.int64)
    for code in codes[1:]:
        # as few values as there are, as products of several codes must fit 64 bits
        n = int(code.max(initial=-1)) + 1
        pairs = np.where((pairs < 0) | (code < 0), -1, pairs * n + code)
    return pairs


def binned(n: np.ndarray) -> np.ndarray:
    """Numbers of words, those that are large in classes."""
    # short phrases one by one, long ones by their size
    codes: np.ndarray = np.digitize(n, (1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 41))
    return codes


def rule(nodes: Nodes) -> np.ndarray:
    """How the node continues: the rule to its children."""
    return nodes.rule


def leaf(nodes: Nodes) -> np.ndarray:
    """What stands below a node over one word."""
    return nodes.leaf


def left_symbol(nodes: Nodes) -> np.ndarray:
    """The symbol of the left child."""
    return at(nodes.symbol, nodes.left)


def right_symbol(nodes: Nodes) -> np.ndarray:
    """The symbol of the right child."""
    return at(nodes.symbol, nodes.right)


def left_rule(nodes: Nodes) -> np.ndarray:
    """The rules of the node and of its left child."""
    return joined(nodes.rule, at(nodes.rule, nodes.left))


def right_rule(nodes: Nodes) -> np.ndarray:
    """The rules of the node and of its right child."""
    return joined(nodes.rule, at(nodes.rule, nodes.right))


def first_symbol(nodes: Nodes) -> np.ndarray:
    """The symbol over the first word."""
    codes: np.ndarray = nodes.symbol[nodes.first]
    return codes


def last_symbol(nodes: Nodes) -> np.ndarray:
    """The symbol over the last word."""
    codes: np.ndarray = nodes.symbol[nodes.last]
    return codes


def first_leaf(nodes: Nodes) -> np.ndarray:
    """The first word of the node."""
    codes: np.ndarray = nodes.leaf[nodes.first]
    return codes


def right_leaf(nodes: Nodes) -> np.ndarray:
    """The first word of the right child."""
    return at(nodes.leaf, at(nodes.first, nodes.right))


def last_leaf(nodes: Nodes) -> np.ndarray:
    """The last word of the node."""
    codes: np.ndarray = nodes.leaf[nodes.last]
    return codes


def n_words(nodes: Nodes) -> np.ndarray:
    """The number of words, many in classes."""
    return binned(nodes.stop - nodes.start)


def above(nodes: Nodes) -> np.ndarray:
    """The rule of the parent, and which of its children the node is; 0 at the root."""
    # that a node is the root is a feature, too, so it must not have -1, which says that there is
    # none
    is_right = at(nodes.right, nodes.parent) == np.arange(len(nodes.symbol))
    return joined(at(nodes.rule, nodes.parent), is_right) + 1


def two_above(nodes: Nodes) -> np.ndarray:
    """`above` of the node and of its parent."""
    return joined(above(nodes), at(above(nodes), nodes.parent))


def three_above(nodes: Nodes) -> np.ndarray:
    """`above` of the node, its parent and its grandparent."""
    return joined(above(nodes), at(two_above(nodes), nodes.parent))


def parent_symbol(nodes: Nodes) -> np.ndarray:
    """The symbol of the parent."""
    return at(nodes.symbol, nodes.parent)


def two_symbols_above(nodes: Nodes) -> np.ndarray:
    """The symbols of parent and grandparent."""
    return joined(parent_symbol(nodes), at(parent_symbol(nodes), nodes.parent))


def n_words_before(nodes: Nodes) -> np.ndarray:
    """The number of words before the node, many in classes."""
    return binned(nodes.start)


def n_words_after(nodes: Nodes) -> np.ndarray:
    """The number of words behind the node, many in classes."""
    return binned(nodes.length - nodes.stop)


def symbol_before(nodes: Nodes) -> np.ndarray:
    """The symbol over the word before the node."""
    return at(nodes.symbol, nodes.before)


def symbol_after(nodes: Nodes) -> np.ndarray:
    """The symbol over the word behind the node."""
    return at(nodes.symbol, nodes.after)


def leaf_before(nodes: Nodes) -> np.ndarray:
    """The word before the node."""
    return at(nodes.leaf, nodes.before)


def second_leaf_before(nodes: Nodes) -> np.ndarray:
    """The word before the word before the node."""
    return at(nodes.leaf, at(nodes.before, nodes.before))


def leaf_after(nodes: Nodes) -> np.ndarray:
    """The word behind the node."""
    return at(nodes.leaf, nodes.after)


INSIDE: tuple[Feature, ...] = (
    *(rule, leaf, left_symbol, right_symbol, left_rule, right_rule),
    *(first_symbol, last_symbol, n_words),
)
OUTSIDE: tuple[Feature, ...] = (
    *(above, two_above, three_above, parent_symbol, two_symbols_above),
    *(n_words_before, n_words_after, symbol_before, symbol_after, leaf_after),
)


# ---- and what becomes of them


def indicators(
    nodes: Nodes, functions: Sequence[Feature], n_symbols: int, pseudo_count: float | None = 5.0
) -> Features:
    """What the functions see at each node: a column for each symbol, function and code that occur
    together.

    Parameters
    ----------
    nodes : Nodes
        Those of all trees.
    functions : sequence of callable
        Feature functions, each ``nodes -> codes``, integers of shape (n_nodes,).
    n_symbols : int
        Number of symbols that nodes may have.
    pseudo_count : float or None, default=5.0
        A feature that n of the symbol's M nodes have gets the value ``sqrt(M / (n +
        pseudo_count))``, so that rare features, which tell more, count for as much as frequent
        ones. With None all values are 1.

    Returns
    -------
    features : Features
        Columns in the order of symbols, functions and codes.
    """
    ranks = []
    sizes = []
    for function in functions:
        code = function(nodes)
        n_codes = max(int(code.max(initial=-1)) + 1, 1)
        values, rank = _distinct(joined(nodes.symbol, code))
        sizes.append(np.bincount(values // n_codes, minlength=n_symbols))
        ranks.append(rank)
    size = np.array(sizes, dtype=np.int64).reshape(len(functions), n_symbols)
    bounds = np.concatenate([[0], np.cumsum(size.sum(axis=0))])
    shift = bounds[:-1] + (np.cumsum(size, axis=0) - size) - (np.cumsum(size, axis=1) - size)
    rank = np.array(ranks, dtype=np.int64).reshape(len(functions), len(nodes.symbol)).T
    seen = rank >= 0
    column = (rank + shift.T[nodes.symbol])[seen]
    value = np.ones(bounds[-1])
    if pseudo_count is not None:
        n_nodes = np.repeat(np.bincount(nodes.symbol, minlength=n_symbols), np.diff(bounds))
        # rare features count for more (Cohen et al. 2013), and the pseudo-count bounds by how much
        value = np.sqrt(n_nodes / (np.bincount(column, minlength=len(value)) + pseudo_count))
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    rows = value[column], column.astype(np.int32), indptr.astype(np.int32)
    return Features(sp.csr_array(rows, shape=(len(rank), len(value))), bounds)


def _distinct(code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different codes in their order, and of each code its place among them; -1 stays -1."""
    n = int(code.max(initial=-1)) + 1
    # a table of all codes would be mostly empty, so they are sorted instead
    if n > 20 * len(code):
        values, rank = np.unique(code, return_inverse=True)
        n_missing = int(len(values) > 0 and values[0] < 0)
        return values[n_missing:], rank - n_missing
    occurs = np.zeros(n + 1, dtype=bool)  # the last place is that of -1
    occurs[code] = True
    occurs[-1] = False
    rank = np.cumsum(occurs) - 1
    rank[-1] = -1
    return np.flatnonzero(occurs), rank[code]
