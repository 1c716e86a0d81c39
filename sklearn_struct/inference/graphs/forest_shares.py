"""How often each clique is in a forest, if forests that cover a graph are drawn from a distribution
that does so: a point of the spanning-tree polytope (M. Wainwright, T. Jaakkola and A. Willsky, IEEE
Transactions on Information Theory 2005, section IV).

Of edges it is nearly the most even point: no other has a larger smallest share, and so on (S.
Fujishige, Mathematics of Operations Research 1980). A set of n edges that joins r + 1 trees to one
has r / n of shares on average, so this point depends on the densest sets alone. Forests of the
edges that were used least come near to it (M. Thorup, Combinatorica 2007), and their counts put the
edges of denser sets first. From that order follows the point itself: its shares are the slopes
below the numbers of joined trees. It does not depend on how nodes and edges are numbered.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques, cliques_of_example
from sklearn_struct.inference.graphs.spanning_forests import join, root_of, unite

__all__ = ["shares_of_cliques"]

# How many forests are made of edges: so many for each edge, in these bounds, so that their counts
# tell sets apart that are nearly as dense; and of large graphs as many as this number of joins
# allows. Of larger cliques as many as the last two allow.
FOR_EACH = 16
LEAST = 256
MOST = 4096
JOINS = 40_000_000
# of a linear congruential generator
SEED = np.uint64(1)
FACTOR = np.uint64(6364136223846793005)
TERM = np.uint64(1442695040888963407)
# the part that shares of edges are below the most even ones; it makes them those of forests for
# certain
SLACK = 1.0 / 64.0


def shares_of_cliques(structure: Structure, cliques: Cliques) -> np.ndarray:
    """The share (n_cliques,) of forests that have each clique, above 0 and at most 1.

    A clique that lies on no cycle is in each forest, with share 1. What an example gets depends on
    its own graph alone. If it has edges only, it does not depend on the numbers of nodes either
    (but where two sets are so nearly as dense as each other that forests do not tell them apart: it
    may, by that difference). An example with larger cliques has the shares of forests, each made of
    the cliques that were used least, in random order where these were used as often. On 36 graphs
    of about ten cliques other numbers of nodes changed the bound by .0002 of what it is above log
    Z, in the worst case by .005.
    """
    share = np.ones(len(cliques.row))
    offsets = structure.offsets
    patiently(lambda: _fill(cliques, offsets, share), MOST * len(cliques.members))
    return share


@kernel
def _fill(cliques: Cliques, offsets: np.ndarray, share: np.ndarray) -> None:
    """Fill the shares of all examples."""
    for i in range(len(offsets) - 1):
        chosen = cliques_of_example(cliques, i)
        n_nodes = offsets[i + 1] - offsets[i]
        are_edges = True
        for c in chosen:
            are_edges &= cliques.bounds[c + 1] - cliques.bounds[c] == 2
        if are_edges:
            of_example = _most_even(cliques, chosen, offsets[i], n_nodes)
        else:
            of_example = _counted_apart(cliques, chosen, offsets[i], n_nodes)
        for o in range(len(chosen)):
            share[chosen[o]] = of_example[o]


@kernel
def _counted_apart(cliques: Cliques, chosen: np.ndarray, first: int, n_nodes: int) -> np.ndarray:
    """`_counted` of each part of a graph that hangs together, as if it were alone."""
    parent = np.arange(n_nodes)
    for c in chosen:
        unite(cliques, c, first, parent)
    part = np.empty(len(chosen), np.int64)
    for o in range(len(chosen)):
        part[o] = root_of(cliques.members[cliques.bounds[chosen[o]]] - first, parent)
    order = np.argsort(part, kind="mergesort")
    share = np.empty(len(chosen))
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and part[order[stop]] == part[order[start]]:
            stop += 1
        share[order[start:stop]] = _counted(cliques, chosen[order[start:stop]], first, parent)
        start = stop
    return share


@kernel
def _counted(cliques: Cliques, chosen: np.ndarray, first: int, parent: np.ndarray) -> np.ndarray:
    """In what share of forests each clique is."""
    n = len(chosen)
    order = np.arange(n)
    ties = np.arange(n)
    state = SEED
    used = np.zeros(n, np.int64)
    share = np.ones(n)
    # without cycles all forests are the first one
    if _add_forest(cliques, chosen, first, parent, order, n, used) == n:
        return share
    wanted = max(LEAST, min(MOST, JOINS // n))
    n_forests = 1
    while n_forests < wanted or used.min() == 0:
        state = _shuffle(ties, state)
        _sort(used, n_forests, ties, order)
        _add_forest(cliques, chosen, first, parent, order, n, used)
        n_forests += 1
    for o in range(n):
        share[o] = used[o] / n_forests
    return share


@kernel
def _most_even(cliques: Cliques, chosen: np.ndarray, first: int, n_nodes: int) -> np.ndarray:
    """The most even shares of edges, less what makes them those of forests for certain.

    The counts of forests that were made are a point of the polytope, and what is nowhere above one
    is as well, as edges may be left out of forests.
    """
    n = len(chosen)
    order = np.arange(n)
    numbers = np.arange(n)
    parent = np.empty(n_nodes, np.int64)
    used = np.zeros(n, np.int64)
    share = np.ones(n)
    n_joins = _add_forest(cliques, chosen, first, parent, order, n_nodes, used)
    if n_joins == n:
        return share
    wanted = max(LEAST, min(MOST, FOR_EACH * n, JOINS // n))
    n_forests = 1
    slack = 1.0
    while slack == 1.0:
        while n_forests < wanted:
            _sort(used, n_forests, numbers, order)
            _add_forest(cliques, chosen, first, parent, order, n_joins, used)
            n_forests += 1
        _sort(used, n_forests, numbers, order)
        _fill_slopes(cliques, chosen, first, parent, order, share)
        slack = _slack(used, n_forests, share)
        # of very dense graphs some edges are in none yet
        wanted = 2 * n_forests
    for o in range(n):
        if used[o] < n_forests or share[o] < 1.0:
            share[o] *= 1.0 - slack
    return share


@kernel
def _slack(used: np.ndarray, n_forests: int, share: np.ndarray) -> float:
    """The part that shares have to be less, so that none is above what was counted: 1 / 64, 1 / 32
    and so on. There are few values, so that orders do not show in it.
    """
    slack = SLACK
    for o in range(len(used)):
        while slack < 1.0 and used[o] < (1.0 - slack) * share[o] * n_forests:
            slack *= 2.0
    return slack


@kernel
def _fill_slopes(
    cliques: Cliques,
    chosen: np.ndarray,
    first: int,
    parent: np.ndarray,
    order: np.ndarray,
    share: np.ndarray,
) -> None:
    """Fill the slopes of the largest convex function below the number of joins that the first edges
    of an order make.
    """
    n = len(order)
    n_joins = np.zeros(n + 1, np.int64)
    corners = np.zeros(n + 1, np.int64)
    last = 0
    for v in range(len(parent)):
        parent[v] = v
    for k in range(1, n + 1):
        n_joins[k] = n_joins[k - 1] + join(cliques, chosen[order[k - 1]], first, parent)
        # a corner above the line from the one before it to here is none
        while last > 0:
            a = corners[last - 1]
            b = corners[last]
            if (n_joins[b] - n_joins[a]) * (k - b) < (n_joins[k] - n_joins[b]) * (b - a):
                break
            last -= 1
        last += 1
        corners[last] = k
    for corner in range(last):
        a = corners[corner]
        b = corners[corner + 1]
        slope = (n_joins[b] - n_joins[a]) / (b - a)
        for k in range(a, b):
            share[order[k]] = slope


@kernel
def _add_forest(
    cliques: Cliques,
    chosen: np.ndarray,
    first: int,
    parent: np.ndarray,
    order: np.ndarray,
    most: int,
    used: np.ndarray,
) -> int:
    """Count the cliques of the forest that those first in the order make, at most so many; how many
    these are.
    """
    for c in chosen:
        for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
            v = cliques.members[p] - first
            parent[v] = v
    n = 0
    for o in order:
        if n == most:
            break
        if join(cliques, chosen[o], first, parent):
            used[o] += 1
            n += 1
    return n


@kernel
def _shuffle(order: np.ndarray, state: np.uint64) -> np.uint64:
    """Put numbers into random order; the generator's next state (D. Knuth's MMIX)."""
    for last in range(len(order) - 1, 0, -1):
        state = state * FACTOR + TERM
        # the high bits are the random ones
        o = int((state >> np.uint64(33)) % np.uint64(last + 1))
        order[last], order[o] = order[o], order[last]
    return state


@kernel
def _sort(used: np.ndarray, most: int, ties: np.ndarray, order: np.ndarray) -> None:
    """Order by how often cliques were used; those that were as often in a given order."""
    bounds = np.zeros(most + 2, np.int64)
    for o in range(len(used)):
        bounds[used[o] + 1] += 1
    for b in range(most + 1):
        bounds[b + 1] += bounds[b]
    for o in ties:
        order[bounds[used[o]]] = o
        bounds[used[o]] += 1
