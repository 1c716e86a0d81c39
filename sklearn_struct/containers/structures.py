"""Examples of a batch, one after the other: who depends on whom, the scores of that, and blocks of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

__all__ = [
    "Block",
    "Blocks",
    "Copies",
    "Family",
    "Potentials",
    "Structure",
    "blank",
    "block_size",
    "chain",
    "clique_sizes",
    "columns_of",
    "copies",
    "ends",
    "has_only_edges",
    "n_columns",
    "product",
    "ranges",
    "refuse_wider_cliques",
    "zeros",
]

SHORT = 500  # tokens of a sequence whose lists of neighbours are made once


class Family(NamedTuple):
    """Cliques of one kind, whose scores have one table each, or share one.

    ``nodes`` (n_cliques, r) names the r nodes of each clique, ``offsets`` (n + 1) bounds those of
    example i. Both int64.
    """

    nodes: np.ndarray
    offsets: np.ndarray


class Structure(NamedTuple):
    """Who depends on whom, for a few consecutive examples.

    ``offsets`` (n + 1), int64, bounds the nodes of example i. ``families`` are the kinds of
    cliques: of a chain of first order pairs of neighbours; of one of second order also three in a
    row. ``sizes`` (n_nodes,) are the numbers of labels that nodes have, None if each has all.
    """

    offsets: np.ndarray
    families: tuple[Family, ...]
    sizes: np.ndarray | None = None

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return len(self.offsets) - 1


class Potentials(NamedTuple):
    """Log-potentials; marginals, gradients and rewards have the same shape.

    ``node`` (n_nodes, K); ``cliques``, a table for each family: (n_cliques, K**r), or (1, K**r)
    where all cliques of the family share one row.
    """

    node: np.ndarray
    cliques: tuple[np.ndarray, ...]


class Block(NamedTuple):
    """Consecutive examples that one kernel call works on, as ranges of the whole data.

    ``cliques`` has a range for each family.
    """

    examples: slice
    tokens: slice
    cliques: tuple[slice, ...]
    structure: Structure


class Blocks:
    """Examples cut into blocks of about `size` nodes.

    The cuts depend on the data alone, never on the number of threads. A block is made when it is
    asked for: of many short examples, all blocks would take more memory than the work on one.
    """

    def __init__(self, structure: Structure, size: int) -> None:
        self.structure = structure
        self._cuts = _cuts(structure.offsets, size)

    @property
    def most_nodes(self) -> int:
        """The number of nodes of the largest block."""
        return int(np.diff(self.structure.offsets[self._cuts]).max(initial=0))

    def __len__(self) -> int:
        return len(self._cuts) - 1

    def __iter__(self) -> Iterator[Block]:
        return (self[b] for b in range(len(self)))

    def __getitem__(self, b: int) -> Block:
        b = range(len(self))[b]
        return _block(self.structure, self._cuts[b], self._cuts[b + 1])


def _cuts(offsets: np.ndarray, size: int) -> list[int]:
    """The first examples of blocks, and the number of examples."""
    n = len(offsets) - 1
    if n and offsets[n] < size and offsets[0] == 0:
        return [0, n]
    cuts = [0]
    while cuts[-1] < n:
        first = cuts[-1]
        # by nodes, as examples are of very different length
        last = int(offsets.searchsorted(offsets[first] + size, side="left"))
        # at least one, however long it is
        cuts.append(min(max(last, first + 1), n))
    return cuts


def clique_sizes(order: int) -> range:
    """How many neighbours the cliques of each family of a chain have: 2, and 3 at order 2."""
    return range(2, order + 2)


def chain(offsets: np.ndarray, order: int = 1, listed: bool = True) -> Structure:
    """The structure of linear chains: a family for each of `clique_sizes`, of neighbours in the
    same sequence.

    Pairs of a chain of first order need not be `listed`: kernels read where sequences begin and
    end, and a list takes as much memory as the scores of two labels.
    """
    offsets = np.asarray(offsets, dtype=np.int64)
    if order == 1 and not listed:
        return Structure(offsets, (Family(np.empty((0, 2), np.int64), _bounds(offsets, 2)),))
    return Structure(offsets, tuple(_neighbours(offsets, r) for r in clique_sizes(order)))


def _bounds(offsets: np.ndarray, r: int) -> np.ndarray:
    """Those of the r consecutive tokens that sequences have."""
    counts = np.maximum(np.diff(offsets) - r + 1, 0)
    return np.concatenate([[0], np.cumsum(counts)])


def _neighbours(offsets: np.ndarray, r: int) -> Family:
    """All r consecutive tokens of a sequence."""
    if len(offsets) == 2 and offsets[0] == 0:
        return _of_one(int(offsets[1]), r)
    bounds = _bounds(offsets, r)
    moved = np.repeat(offsets[:-1] - bounds[:-1], np.diff(bounds))
    nodes = np.empty((bounds[-1], r), dtype=np.int64)
    np.add(np.arange(bounds[-1]), moved, out=nodes[:, 0])
    for i in range(1, r):
        # column by column: a broadcast sum of such short rows takes ten times as long
        np.add(nodes[:, 0], i, out=nodes[:, i])
    return Family(nodes, bounds)


def _of_one(n_tokens: int, r: int) -> Family:
    """The same of a single sequence, as quickly as a prediction of one sentence wants it."""
    n = max(n_tokens - r + 1, 0)
    nodes = _short(r)[:n] if n <= SHORT else _first_neighbours(n, r)
    return Family(nodes, np.array([0, n]))


def _first_neighbours(n: int, r: int) -> np.ndarray:
    """The first n times r consecutive tokens."""
    nodes = np.empty((n, r), dtype=np.int64)
    for i in range(r):
        nodes[:, i] = np.arange(i, i + n)
    return nodes


@cache
def _short(r: int) -> np.ndarray:
    """Those of all short sequences, which nobody writes to."""
    return _first_neighbours(SHORT, r)


def refuse_wider_cliques(families: Sequence[object], error: Exception) -> None:
    """Raise `error` unless pairs are the only cliques: what needs a chain of first order asks."""
    if len(families) > 1:
        raise error


def has_only_edges(structure: Structure, of_one_kind: bool) -> bool:
    """Whether all cliques are of two nodes, and of one family if they must be of one kind."""
    sizes = [family.nodes.shape[1] for family in structure.families]
    return set(sizes) <= {2} and (not of_one_kind or len(sizes) == 1)


def n_columns(n_labels: int, size: int) -> int:
    """How many labellings a clique of `size` nodes has; its table has a column for each."""
    width: int = n_labels**size
    return width


def columns_of(labels: np.ndarray, family: Family, n_labels: int) -> np.ndarray:
    """The column, in tables of its family, that the labels (n,) of each clique's nodes have."""
    of_nodes = labels[family.nodes].astype(np.int64)
    columns: np.ndarray = of_nodes @ n_labels ** np.arange(of_nodes.shape[1])[::-1]
    return columns


def ends(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """First and last tokens of the sequences that are not empty."""
    first = structure.offsets[:-1]
    stop = structure.offsets[1:]
    return first[first < stop], stop[first < stop] - 1


def blank(structure: Structure, n_labels: int) -> Potentials:
    """Scores of 0 for all labellings; the cliques of a family share one row."""
    sizes = [family.nodes.shape[1] for family in structure.families]
    return Potentials(
        np.zeros((structure.offsets[-1], n_labels)),
        tuple(np.zeros((1, n_columns(n_labels, size))) for size in sizes),
    )


def zeros(potentials: Potentials, shared: bool = True) -> Potentials:
    """Room for sums: of the node scores' shape, and one row a family, or as many as it has."""
    return Potentials(
        np.zeros(potentials.node.shape),
        tuple(
            np.zeros((1 if shared else len(table), table.shape[1])) for table in potentials.cliques
        ),
    )


def product(a: Potentials, b: Potentials) -> Potentials:
    """Potentials of the product of two models of the same labels and families."""
    cliques = tuple(x + y for x, y in zip(a.cliques, b.cliques, strict=True))
    return Potentials(a.node + b.node, cliques)


def block_size(n_tokens: int, largest: int, of_all: int, n_blocks: int) -> int:
    """How many tokens a block has: `n_tokens`, but at most `largest`, to keep calls short, and with
    little data fewer, to make `n_blocks` of it, so that many threads have work.
    """
    return max(1, min(n_tokens, max(1000, of_all // n_blocks), largest))


def _block(structure: Structure, first: int, last: int) -> Block:
    """The examples from `first` to before `last`, counted from 0."""
    if last - first == structure.n_examples:
        # nothing is copied
        whole = tuple(_all(family.offsets) for family in structure.families)
        return Block(slice(first, last), _all(structure.offsets), whole, structure)
    tokens, offsets = _range(structure.offsets, first, last)
    parts: dict[int, tuple[slice, Family]] = {}
    for family in structure.families:
        # families without cliques are often one and the same
        if id(family) not in parts:
            parts[id(family)] = _part(family, first, last, tokens.start)
    of_families = [parts[id(family)] for family in structure.families]
    # lists, as Python keeps the memory of thousands of tuples that generators have made
    ranges = [cliques for cliques, _ in of_families]
    families = [part for _, part in of_families]
    sizes = None if structure.sizes is None else structure.sizes[tokens]
    part_of_all = Structure(offsets, tuple(families), sizes)
    return Block(slice(first, last), tokens, tuple(ranges), part_of_all)


def _part(family: Family, first: int, last: int, first_token: int) -> tuple[slice, Family]:
    """The range of the cliques of some examples, and these with nodes counted from a token on."""
    cliques, offsets = _range(family.offsets, first, last)
    # pairs of chains that are not listed have no rows at all: all parts share that array
    nodes = family.nodes[cliques] if len(family.nodes) else family.nodes
    # cliques of which only the number counts have rows without nodes
    return cliques, Family(nodes - first_token if nodes.size else nodes, offsets)


def _all(offsets: np.ndarray) -> slice:
    """The range of all examples."""
    return slice(int(offsets[0]), int(offsets[-1]))


def _range(offsets: np.ndarray, first: int, last: int) -> tuple[slice, np.ndarray]:
    """What stands in the range of some examples, and its bounds counted from there."""
    bounds = offsets[first : last + 1]
    start = int(bounds[0])
    return slice(start, int(bounds[-1])), bounds - start


class Copies(NamedTuple):
    """Copies of some examples, one after the other, and where their nodes and cliques come from."""

    structure: Structure
    tokens: np.ndarray
    cliques: tuple[np.ndarray, ...]

    def cut(self, potentials: Potentials) -> Potentials:
        """The potentials of the copies; shared tables stay shared."""
        cliques = tuple(
            table if len(table) == 1 else table[rows]
            for table, rows in zip(potentials.cliques, self.cliques, strict=True)
        )
        return Potentials(potentials.node[self.tokens], cliques)


def copies(structure: Structure, examples: np.ndarray) -> Copies:
    """Copies of the chosen examples; one may be chosen many times."""
    tokens, offsets = ranges(structure.offsets, examples)
    families = []
    origins = []
    for family in structure.families:
        rows, bounds = ranges(family.offsets, examples)
        moved = np.repeat(offsets[:-1] - structure.offsets[examples], np.diff(bounds))
        families.append(Family(family.nodes[rows] + moved[:, None], bounds))
        origins.append(rows)
    sizes = None if structure.sizes is None else structure.sizes[tokens]
    return Copies(Structure(offsets, tuple(families), sizes), tokens, tuple(origins))


def ranges(
    offsets: np.ndarray, chosen: Iterable[int] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What stands in the chosen ranges, one after the other, and the bounds of the ranges there."""
    chosen = np.asarray(chosen)
    lengths = np.diff(offsets)[chosen]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(bounds[-1]) + np.repeat(offsets[chosen] - bounds[:-1], lengths), bounds
