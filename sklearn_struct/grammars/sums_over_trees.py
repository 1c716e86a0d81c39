"""Expected counts under a probabilistic context-free grammar, without data: sums over all trees.

A tree begins with a root symbol; a symbol becomes two symbols by a rule, or a word. i_A is the
probability that the trees below A end, and o_A the expected number of A in a tree without what is
below it (Smith, Vail & Lafferty, "Computationally efficient M-estimation of log-linear structure
models", ACL 2007, section 4.1.2):

    i_A = sum_x p(A -> x) + sum_BC p(A -> B C) i_B i_C o_A = p(A is root) + sum over rules B -> A C
    of o_B p(B -> A C) i_C, and over rules B -> C A likewise.

A connected piece of a tree is expected as often as o of its root, times the probabilities of its
productions, times i of its open leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.grammars.parsing import TreeModel

__all__ = ["TreeSums", "below", "production_counts", "production_symbols", "tree_sums"]

# Newton's method needs a few steps, unless the limit is singular
MAX_ITER = 100
TIGHT = 1e-9  # by how much a sum of probabilities may differ from 1
ROUNDING = 1e-16
CLOSE = 1e-8  # how far from the solution Newton's method makes its last step
LARGEST = 1e10  # expected counts that are called finite


class TreeSums(NamedTuple):
    """i and o of each symbol (n_symbols,); both are 0 where no tree that ends has the symbol."""

    inside: np.ndarray
    outside: np.ndarray


def tree_sums(model: TreeModel) -> TreeSums:
    """Solve for i and o of a grammar without states; all are 0 if it has no trees.

    If trees end with probability 1, i is 1 and o the solution of one sparse linear system. Else
    Newton's method leads from 0 up to the smallest i, until a bound says that it is there.

    Raises
    ------
    NonFiniteError
        If trees have no finite expected size.
    """
    useful = _useful(model)
    if not useful.any():
        return TreeSums(np.zeros(len(useful)), np.zeros(len(useful)))
    # symbols without an ending tree would make the system singular
    reduced = _reduced(model, useful)
    # a proper grammar needs no iterations: i is 1 if o turns out finite
    inside: np.ndarray | None = np.ones(len(reduced.root))
    outside = _outside(reduced, inside) if _proper(reduced) else None
    if outside is None:
        inside = _smallest(reduced)
        outside = _outside(reduced, inside)
    if outside is None:
        raise NonFiniteError(
            "the grammar does not end its trees: their expected size is not finite"
        )
    sums = np.zeros((2, len(useful)))
    sums[:, useful] = inside, outside
    return TreeSums(*sums)


def production_symbols(model: TreeModel) -> np.ndarray:
    """The symbol above each production."""
    return np.concatenate([model.grammar.parent, model.symbol]).astype(np.int64)


def below(model: TreeModel, sums: TreeSums) -> np.ndarray:
    """The probability of each production, given its symbol, times that the trees below it end."""
    rules = model.grammar
    of_rules = np.exp(model.plain.rule) * sums.inside[rules.left] * sums.inside[rules.right]
    return np.concatenate([of_rules, np.exp(model.plain.leaf)])


def production_counts(model: TreeModel, sums: TreeSums) -> np.ndarray:
    """How often each production is expected in a tree."""
    counts: np.ndarray = sums.outside[production_symbols(model)] * below(model, sums)
    return counts


class _Reduced(NamedTuple):
    """Probabilities of rules between useful symbols, of all words of each, and of roots."""

    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    rule: np.ndarray
    word: np.ndarray
    root: np.ndarray


def _useful(model: TreeModel) -> np.ndarray:
    """Which symbols are in a tree that ends."""
    rules = model.grammar
    possible = model.plain.rule > -np.inf
    ends = np.zeros(len(model.plain.root), bool)
    ends[model.symbol[model.plain.leaf > -np.inf]] = True
    _spread(ends, lambda: rules.parent[possible & ends[rules.left] & ends[rules.right]])
    possible = possible & ends[rules.left] & ends[rules.right]
    reached = ends & (model.plain.root > -np.inf)
    children = np.stack([rules.left, rules.right])
    _spread(reached, lambda: children[:, possible & reached[rules.parent]])
    return reached


def _spread(mask: np.ndarray, more: Callable[[], np.ndarray]) -> None:
    """Set what `more` gives until that changes nothing."""
    n = -1
    while n != mask.sum():
        n = mask.sum()
        mask[more()] = True


def _reduced(model: TreeModel, useful: np.ndarray) -> _Reduced:
    rules = model.grammar
    number = np.cumsum(useful) - 1
    kept = (
        useful[rules.left]
        & useful[rules.right]
        & useful[rules.parent]
        & (model.plain.rule > -np.inf)
    )
    left, right, parent = (number[side[kept]] for side in (rules.left, rules.right, rules.parent))
    word = np.bincount(model.symbol, np.exp(model.plain.leaf), len(useful))
    return _Reduced(
        left,
        right,
        parent,
        np.exp(model.plain.rule[kept]),
        word[useful],
        np.exp(model.plain.root[useful]),
    )


def _proper(reduced: _Reduced) -> bool:
    """Whether the probabilities of each symbol's productions sum to 1."""
    return bool(np.all(np.abs(_right_side(reduced, np.ones(len(reduced.root))) - 1.0) <= TIGHT))


def _right_side(reduced: _Reduced, x: np.ndarray) -> np.ndarray:
    """The right side of the equation for i, at i = x."""
    left, right, parent, rule, word, _ = reduced
    return word + np.bincount(parent, rule * x[left] * x[right], len(x))


def _system(reduced: _Reduced, x: np.ndarray) -> Any:
    """One minus the derivative of that (row A, column B: of A in B), factorised; None if it is
    singular.
    """
    left, right, parent, rule, _, _ = reduced
    value = np.concatenate([rule * x[right], rule * x[left]])
    place = np.concatenate([parent, parent]), np.concatenate([left, right])
    slope = sp.coo_array((value, place), shape=(len(x), len(x)))
    try:
        # pivots on the diagonal keep the signs of an M-matrix exact
        return splu(sp.csc_array(sp.eye_array(len(x)) - slope), diag_pivot_thresh=0.0)
    except RuntimeError:
        return None


def _outside(reduced: _Reduced, inside: np.ndarray | None) -> np.ndarray | None:
    """o, or None if it is not finite. The solution of the linear system is the sum over trees only
    if it has no negative number.

    Elimination along the diagonal adds numbers of the same sign alone, so that no rounding makes
    one negative.
    """
    system = None if inside is None else _system(reduced, inside)
    if system is None:
        return None
    # a huge count is taken for an infinite one that rounding has made finite
    visits = system.solve(reduced.root, trans="T")
    return visits if np.all((visits >= 0.0) & (visits <= LARGEST)) else None


def _smallest(reduced: _Reduced) -> np.ndarray | None:
    """The smallest i, from below (Etessami & Yannakakis 2009); None where nothing tells how far it
    is.

    Let v = (1 - slope)^-1 1. If i = x falls short of the right side by at most d, and 4 d max(right
    side's products of v) <= 1, then x + 2 d v does not fall short, so that the solution is between
    them.
    """
    x = np.zeros(len(reduced.root))
    for _ in range(MAX_ITER):
        system = _system(reduced, x)
        if system is None:
            return None
        short = _right_side(reduced, x) - x
        v = system.solve(np.ones(len(x)))
        # never 0: the right side itself is known no better
        d = max(float(np.max(short)), ROUNDING)
        products = _right_side(reduced, v) - reduced.word
        # i are probabilities; a last step may leave them by rounding
        x = np.clip(x + system.solve(short), 0.0, 1.0)
        if np.all(v > 0.0) and 8.0 * d * np.max(products) <= 1.0 and 2.0 * d * np.max(v) <= CLOSE:
            smallest: np.ndarray = x
            return smallest
    return None
