"""Forests that cover all cliques of a graph."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques, cliques_of_example

__all__ = ["covering_forests", "join", "root_of", "unite"]


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
        of_example = cliques_of_example(cliques, i)
        is_covered = True
        for c in of_example:
            is_covered &= used[c]
        if is_covered:
            continue
        parent = np.arange(offsets[i + 1] - offsets[i])
        for were_used in (False, True):
            for c in of_example:
                if used[c] == were_used:
                    taken[c] = join(cliques, c, offsets[i], parent)


@kernel
def join(cliques: Cliques, c: int, first: int, parent: np.ndarray) -> bool:
    """Join the trees of a clique's nodes if these are all in different ones; whether they are."""
    start = cliques.bounds[c]
    stop = cliques.bounds[c + 1]
    for p in range(start, stop):
        root = root_of(cliques.members[p] - first, parent)
        for q in range(start, p):
            if root_of(cliques.members[q] - first, parent) == root:
                return False
    unite(cliques, c, first, parent)
    return True


@kernel
def unite(cliques: Cliques, c: int, first: int, parent: np.ndarray) -> None:
    """Make one tree of those of a clique's nodes."""
    root = root_of(cliques.members[cliques.bounds[c]] - first, parent)
    for p in range(cliques.bounds[c] + 1, cliques.bounds[c + 1]):
        parent[root_of(cliques.members[p] - first, parent)] = root


@kernel
def root_of(v: int, parent: np.ndarray) -> int:
    """The root of a node's tree."""
    while parent[v] != v:
        # every other node of the way gets nearer to its root
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v
