"""Graphs cut into blocks, of connected nodes or as they are given, and what is left of cliques that
lie in several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Family, Structure
from sklearn_struct.inference.graphs.adjacency import Adjacency, adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques, cliques_of
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["GrownBlocks", "Part", "blocks_of", "given_blocks"]


class Part(NamedTuple):
    """Cliques of a family that have the same of their nodes in a block, the others outside.

    ``rows`` are these cliques, in the order of their blocks, ``inside`` the places of the nodes in
    the block. If there is one such place, ``nodes`` (n,) are these nodes in the blocks' structure;
    if there are more, the cliques are its next family.
    """

    family: int
    rows: np.ndarray
    inside: tuple[int, ...]
    nodes: np.ndarray


class GrownBlocks(NamedTuple):
    """Blocks as examples of their own, of which example each is, and where their nodes come
    from.
    """

    structure: Structure
    example: np.ndarray
    tokens: np.ndarray
    parts: list[Part]


def blocks_of(structure: Structure, size: int) -> GrownBlocks:
    """Blocks of at most `size` nodes; made once for a structure.

    A block begins at the first node without one. It takes nodes that are in a clique with one of
    its own, first those with at least two such neighbours, so that it becomes round; else those
    that were met first.
    """
    return of_structure(structure, ("blocks", size), lambda: _grown(structure, size))


def given_blocks(structure: Structure, number: np.ndarray) -> GrownBlocks:
    """The blocks whose nodes have the same number (n_nodes,) in the same example; made once."""
    key = "given blocks", number.tobytes()
    return of_structure(structure, key, lambda: _given(structure, number))


def _given(structure: Structure, number: np.ndarray) -> GrownBlocks:
    owner = np.repeat(np.arange(structure.n_examples), np.diff(structure.offsets))
    pairs = np.column_stack([owner, number])
    _, block = np.unique(pairs, axis=0, return_inverse=True)
    return _blocks(structure, block.ravel())


def _grown(structure: Structure, size: int) -> GrownBlocks:
    n = int(structure.offsets[-1])
    cliques = cliques_of(structure)
    graph = adjacency(cliques, n)
    block = np.full(n, -1)
    patiently(lambda: _grow(cliques, graph, size, block), sum(cliques.bounds[-1:]) * 4 + n)
    return _blocks(structure, block)


def _blocks(structure: Structure, block: np.ndarray) -> GrownBlocks:
    """The blocks of nodes that have these numbers, which count from 0."""
    n = len(block)
    tokens = np.argsort(block, kind="stable")
    place = np.empty(n, np.int64)
    place[tokens] = np.arange(n)
    n_blocks = int(block.max(initial=-1)) + 1
    offsets = np.searchsorted(block[tokens], np.arange(n_blocks + 1))
    owner = np.repeat(np.arange(structure.n_examples), np.diff(structure.offsets))
    parts = []
    families = []
    for f, family in enumerate(structure.families):
        for part, nodes, of_blocks in _parts(f, family, block):
            inside = place[nodes]
            if len(part.inside) == 1:
                parts.append(part._replace(nodes=inside[:, 0]))
            else:
                bounds = np.searchsorted(of_blocks, np.arange(n_blocks + 1))
                families.append(Family(inside, bounds))
                parts.append(part)
    example = owner[tokens[offsets[:-1]]]
    return GrownBlocks(Structure(offsets, tuple(families)), example, tokens, parts)


def _parts(f: int, family: Family, block: np.ndarray) -> list[tuple[Part, np.ndarray, np.ndarray]]:
    """The parts of a family's cliques, with their nodes in a block, and its number."""
    size = family.nodes.shape[1]
    of_nodes = block[family.nodes]
    none = np.empty(0, np.int64)
    parts = []
    for mask in range(1, 2**size):
        inside = tuple(p for p in range(size) if mask >> p & 1)
        outside = [p for p in range(size) if not mask >> p & 1]
        of_block = of_nodes[:, inside[0]]
        same = of_nodes == of_block[:, None]
        rows = np.flatnonzero(same[:, inside].all(axis=1) & ~same[:, outside].any(axis=1))
        # a family without cliques stays, so that no example sees which cliques others have
        if len(rows) or len(inside) > 1:
            rows = rows[np.argsort(of_block[rows], kind="stable")]
            nodes = family.nodes[rows][:, inside]
            parts.append((Part(f, rows, inside, none), nodes, of_block[rows]))
    return parts


@kernel
def _grow(cliques: Cliques, graph: Adjacency, size: int, block: np.ndarray) -> None:
    """Write the block of each node, -1 before."""
    members = cliques.members
    n = len(block)
    # nodes met by the current block, in that order: once, and at least twice
    once = np.empty(n, np.int64)
    twice = np.empty(n, np.int64)
    # by which block, and how often
    met_by = np.full(n, -1)
    n_met = np.zeros(n, np.int64)
    b = -1
    for seed in range(n):
        if block[seed] >= 0:
            continue
        b += 1
        once[0] = seed
        met_by[seed] = b
        n_met[seed] = 1
        first_once = 0
        n_once = 1
        first_twice = 0
        n_twice = 0
        n_own = 0
        while n_own < size and (first_once < n_once or first_twice < n_twice):
            if first_twice < n_twice:
                v = twice[first_twice]
                first_twice += 1
            else:
                v = once[first_once]
                first_once += 1
            if block[v] >= 0:
                continue
            block[v] = b
            n_own += 1
            for e in range(graph.bounds[v], graph.bounds[v + 1]):
                c = graph.clique[graph.places[e]]
                for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
                    u = members[p]
                    if block[u] >= 0:
                        continue
                    if met_by[u] != b:
                        met_by[u] = b
                        n_met[u] = 0
                    n_met[u] += 1
                    if n_met[u] == 1:
                        once[n_once] = u
                        n_once += 1
                    elif n_met[u] == 2:
                        twice[n_twice] = u
                        n_twice += 1
