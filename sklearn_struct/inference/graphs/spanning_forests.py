"""Forests that cover all cliques of a graph, and how often each clique is in a forest, if forests
are drawn from a distribution that does so: a point of the spanning-tree polytope (M. Wainwright, T.
Jaakkola and A. Willsky, IEEE Transactions on Information Theory 2005, section IV).
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques

__all__ = ["covering_forests", "shares_of_cliques"]

# forests that are averaged, unless more are needed to cover all cliques
LEAST = 32


def shares_of_cliques(structure: Structure, cliques: Cliques) -> np.ndarray:
    """The share (n_cliques,) of forests that have each clique, above 0 and at most 1.

    A forest is made of cliques that close no cycle. Those that few of the earlier forests have come
    first, so shares are nearly as equal as they can be. A clique that lies on no cycle is in each
    forest, with share 1. What an example gets depends on its own graph alone, but also on the order
    of its cliques: each gives a bound, and these differ in their third digit.
    """
    share = np.ones(len(cliques.row))
    offsets = structure.offsets
    patiently(lambda: _count(cliques, offsets, share), LEAST * len(cliques.members))
    return share


def covering_forests(structure: Structure, cliques: Cliques) -> list[np.ndarray]:
    """Which cliques (n_cliques,), bool, each of the first forests of all examples has, each of the
    second ones, and so on until each clique is in one.

    Those that no earlier forest has come first. An example whose cliques are all covered has none
    in later forests, so what it gets depends on its own graph alone.
    """
    used = np.zeros(len(cliques.row), bool)
    forests = [_next(structure, cliques, used)]
    while not used.all():
        forests.append(_next(structure, cliques, used))
    return forests


def _next(structure: Structure, cliques: Cliques, used: np.ndarray) -> np.ndarray:
    """The next forests' cliques, which are then used."""
    taken = np.zeros(len(used), bool)
    patiently(
        lambda: _next_forests(cliques, structure.offsets, used, taken), 2 * len(cliques.members)
    )
    used |= taken
    return taken


@kernel
def _next_forests(
    cliques: Cliques, offsets: np.ndarray, used: np.ndarray, taken: np.ndarray
) -> None:
    """Take cliques that close no cycle, first those that are not used."""
    for i in range(len(offsets) - 1):
        is_covered = True
        for f in range(cliques.ranges.shape[1]):
            for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
                is_covered &= used[c]
        if is_covered:
            continue
        parent = np.arange(offsets[i + 1] - offsets[i])
        for were_used in (False, True):
            for f in range(cliques.ranges.shape[1]):
                for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
                    if used[c] == were_used:
                        taken[c] = _join(cliques, c, offsets[i], parent)


@kernel
def _count(cliques: Cliques, offsets: np.ndarray, share: np.ndarray) -> None:
    """Fill the shares of all examples."""
    for i in range(len(offsets) - 1):
        n = 0
        for f in range(cliques.ranges.shape[1]):
            n += cliques.ranges[i, f, 1] - cliques.ranges[i, f, 0]
        chosen = np.empty(n, np.int64)
        n = 0
        for f in range(cliques.ranges.shape[1]):
            for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
                chosen[n] = c
                n += 1
        parent = np.empty(offsets[i + 1] - offsets[i], np.int64)
        used = np.zeros(n, np.int64)
        n_forests = _forests(cliques, chosen, offsets[i], parent, used)
        for o in range(n):
            share[chosen[o]] = used[o] / n_forests


@kernel
def _forests(
    cliques: Cliques, chosen: np.ndarray, first: int, parent: np.ndarray, used: np.ndarray
) -> int:
    """Make forests, count in how many each clique is; how many forests there are."""
    n = len(chosen)
    order = np.arange(n)
    n_forests = 0
    n_covered = 0
    while n_forests < LEAST or n_covered < n:
        for v in range(len(parent)):
            parent[v] = v
        before = n_covered
        for o in order:
            if _join(cliques, chosen[o], first, parent):
                n_covered += used[o] == 0
                used[o] += 1
        n_forests += 1
        # without cycles all forests are the first one
        if n_forests == 1 and n_covered == n:
            break
        if n_covered == before and n_forests >= LEAST:
            break
        _sort(used, n_forests, order)
    return n_forests


@kernel
def _join(cliques: Cliques, c: int, first: int, parent: np.ndarray) -> bool:
    """Join the trees of a clique's nodes if these are all in different ones; whether they are."""
    start = cliques.bounds[c]
    stop = cliques.bounds[c + 1]
    for p in range(start, stop):
        root = _root(cliques.members[p] - first, parent)
        for q in range(start, p):
            if _root(cliques.members[q] - first, parent) == root:
                return False
    root = _root(cliques.members[start] - first, parent)
    for p in range(start + 1, stop):
        parent[_root(cliques.members[p] - first, parent)] = root
    return True


@kernel
def _root(v: int, parent: np.ndarray) -> int:
    while parent[v] != v:
        # every other node of the way gets nearer to its root
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@kernel
def _sort(used: np.ndarray, most: int, order: np.ndarray) -> None:
    """Order by how often cliques were used; ties by their numbers."""
    bounds = np.zeros(most + 2, np.int64)
    for o in range(len(used)):
        bounds[used[o] + 1] += 1
    for b in range(most + 1):
        bounds[b + 1] += bounds[b]
    for o in range(len(used)):
        order[bounds[used[o]]] = o
        bounds[used[o]] += 1
