"""What kernels receive: the tokens of all examples of a batch, one after the other, as NamedTuples of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = [
    "CSR",
    "Block",
    "Forest",
    "Grammar",
    "Potentials",
    "Structure",
    "Tensors",
    "TreeScores",
    "Treebank",
    "Trees",
    "blocks",
    "chain",
    "csr",
    "cut",
    "ends",
    "examples",
    "grammar",
    "object_array",
    "split",
    "tensors",
]


class CSR(NamedTuple):
    """Compressed rows: row r holds ``indices[indptr[r]:indptr[r + 1]]`` (int64 indptr, int32 indices)."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class Structure(NamedTuple):
    """Who depends on whom, for a few consecutive examples.

    ``offsets`` (n + 1) bounds the nodes of example i, ``edge_offsets`` (n + 1) its edges, and
    ``edges`` (n_edges, r) names the r nodes of each clique. All int64.
    """

    offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray


class Potentials(NamedTuple):
    """Log-potentials; marginals, gradients and rewards have the same shape.

    ``node`` (n_nodes, K); ``edge`` (n_edges, K**r), or (1, K**r) when all edges share one table. Edges of a chain of
    second order have K**3 more columns, for the triples that end with them.
    """

    node: np.ndarray
    edge: np.ndarray


class Trees(NamedTuple):
    """Binary trees, the nodes of all in post-order: the left child's nodes, the right child's, then the node itself.

    ``offsets`` (n + 1, int64) bounds the nodes of example i, whose root is the last. ``left``, ``right`` and ``parent``
    are numbers of nodes: -1, -1 where a node stands over one word, and parent -1 at a root. ``start`` and ``stop``
    bound the words below a node, counted from the first of the sentence. All but the offsets int32.
    """

    offsets: np.ndarray
    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    start: np.ndarray
    stop: np.ndarray


class Grammar(NamedTuple):
    """Binary rules in the order of their left children: those of symbol b are ``indptr[b] : indptr[b + 1]``.

    Those below symbol a are ``down[down_indptr[a] : down_indptr[a + 1]]``. Index pointers int64, the others int32.
    """

    indptr: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    down_indptr: np.ndarray
    down: np.ndarray


class TreeScores(NamedTuple):
    """Log-scores of one sentence: of rules, of roots (n_symbols,), and of leaves.

    Token t may be one of the symbols ``leaf_symbol[leaf_indptr[t] : leaf_indptr[t + 1]]`` (int32, int64), all
    different, whose scores are the same part of ``leaf``.
    """

    rule: np.ndarray
    root: np.ndarray
    leaf_indptr: np.ndarray
    leaf_symbol: np.ndarray
    leaf: np.ndarray


class Forest(NamedTuple):
    """Trees over sentences, packed: items, children before parents, and the edges below them, in their order.

    Example i has the items ``offsets[i] : offsets[i + 1]``; its roots are those over the same tokens as the last. Item
    p is a symbol over the tokens ``start[p] : stop[p]`` of its sentence. Its edges ``indptr[p] : indptr[p + 1]`` join a
    ``left`` and a ``right`` item by a ``rule`` each; an item without is a ``leaf``, the number of a vector, else -1.
    Index pointers int64, the others int32.
    """

    offsets: np.ndarray
    symbol: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    leaf: np.ndarray
    indptr: np.ndarray
    left: np.ndarray
    right: np.ndarray
    rule: np.ndarray


class Treebank(NamedTuple):
    """Trees from which a grammar is learned: an example each, in which items have one edge or are leaves.

    ``leaf`` of an item is the number of what is emitted there, by the symbol ``leaf_symbol`` of that number.
    """

    grammar: Grammar
    forest: Forest
    leaf_symbol: np.ndarray


class Tensors(NamedTuple):
    """Numbers of a grammar whose symbols have states: of rules, leaves and roots, one behind the other.

    Symbol s has ``n_states[s]`` states; rows of numbers by state are padded with zeros to whole vectors. Rule r, at
    ``rule[rule_start[r]]``, has such a row of the parent's states for each state of the left child and, within it, of
    the right one. Leaf f, a row, is at ``leaf[leaf_start[f]]``, the row of roots s at ``root[root_start[s]]``. The
    starts have one more element than there are rows. Starts int64, n_states int32, numbers float64.
    """

    n_states: np.ndarray
    rule_start: np.ndarray
    rule: np.ndarray
    leaf_start: np.ndarray
    leaf: np.ndarray
    root_start: np.ndarray
    root: np.ndarray


class Block(NamedTuple):
    """Consecutive examples that one kernel call works on, as ranges of the whole data."""

    examples: slice
    tokens: slice
    edges: slice
    structure: Structure


def csr(matrix: Any, dtype: Any = None, canonical: bool = True) -> CSR:
    """The CSR of a scipy sparse matrix in the index types of kernels; sorted and without duplicates if `canonical`.

    In the memory of the matrix, as far as its types are these. Nobody writes to it.
    """
    if not sp.issparse(matrix) or matrix.format != "csr":
        matrix = sp.csr_array(matrix)
    if canonical and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return CSR(
        _for_kernels(matrix.indptr, np.int64),
        _for_kernels(matrix.indices, np.int32),
        _for_kernels(matrix.data, dtype or matrix.dtype),
    )


class _Writeable:
    """The memory of an array as numpy reads it from other objects, without the mark that it is read-only."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array  # lives as long as this does
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def _for_kernels(array: np.ndarray, dtype: Any) -> np.ndarray:
    """An array of this type, in the same memory if it is of it: a memory map is not read here.

    Kernels would be compiled once more for read-only arrays; none writes to a CSR, which a test makes sure of.
    """
    array = np.require(array, dtype, ["C", "A"])
    return array if array.flags.writeable else np.asarray(_Writeable(array))


def chain(offsets: np.ndarray) -> Structure:
    """The structure of linear chains: an edge between each token and the next of the same sequence."""
    offsets = np.asarray(offsets, dtype=np.int64)
    lengths = np.diff(offsets)
    n_edges = np.maximum(lengths - 1, 0)
    edge_offsets = np.concatenate([[0], np.cumsum(n_edges)])
    is_left = np.ones(offsets[-1], dtype=bool)
    is_left[offsets[1:][lengths > 0] - 1] = False
    edges = np.empty((edge_offsets[-1], 2), dtype=np.int64)
    edges[:, 0] = np.flatnonzero(is_left)
    np.add(edges[:, 0], 1, out=edges[:, 1])
    return Structure(offsets, edges, edge_offsets)


def grammar(left: np.ndarray, right: np.ndarray, parent: np.ndarray, n_symbols: int) -> Grammar:
    """The Grammar of rules, given in the order of their left children."""
    bounds = np.arange(n_symbols + 1)
    down = np.argsort(parent, kind="stable").astype(np.int32)
    left, right, parent = (column.astype(np.int32) for column in (left, right, parent))
    return Grammar(
        np.searchsorted(left, bounds).astype(np.int64),
        left,
        right,
        parent,
        np.searchsorted(parent[down], bounds).astype(np.int64),
        down,
    )


def tensors(grammar: Grammar, n_states: np.ndarray, leaf_symbol: np.ndarray) -> Tensors:
    """Zeros for the rules of a grammar, for leaves of these symbols, and for roots."""
    n_states = n_states.astype(np.int32)
    width = (n_states.astype(np.int64) + 7) // 8 * 8
    sizes = n_states[grammar.left] * n_states[grammar.right] * width[grammar.parent], width[leaf_symbol], width
    starts = [np.concatenate([[0], np.cumsum(size, dtype=np.int64)]) for size in sizes]
    of_rules, of_leaves, of_roots = ((start, np.zeros(start[-1])) for start in starts)
    return Tensors(n_states, *of_rules, *of_leaves, *of_roots)


def split(forest: Forest, n_parts: int) -> list[Forest]:
    """Consecutive examples with about equally many items."""
    bounds = np.searchsorted(forest.offsets, np.linspace(0, forest.offsets[-1], n_parts + 1))
    return [examples(forest, first, last) for first, last in pairwise(np.unique(bounds).tolist())]


def examples(forest: Forest, first: int, last: int) -> Forest:
    """The examples ``first : last``."""
    offsets = forest.offsets[first : last + 1]
    items = slice(int(offsets[0]), int(offsets[-1]))
    indptr = forest.indptr[items.start : items.stop + 1]
    edges = slice(int(indptr[0]), int(indptr[-1]))
    left, right = ((column[edges] - items.start).astype(np.int32) for column in (forest.left, forest.right))
    symbol, start, stop, leaf = (column[items] for column in (forest.symbol, forest.start, forest.stop, forest.leaf))
    rule, indptr = forest.rule[edges], indptr - edges.start
    return Forest(offsets - items.start, symbol, start, stop, leaf, indptr, left, right, rule)


def ends(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """First and last tokens of the sequences that are not empty."""
    first, stop = structure.offsets[:-1], structure.offsets[1:]
    return first[first < stop], stop[first < stop] - 1


def blocks(offsets: np.ndarray, n_labels: int, n_tokens: int = 3000, n_blocks: int = 64, order: int = 1) -> list[Block]:
    """Cut sequences into blocks of about `n_tokens` tokens.

    Fewer with many labels, to keep calls short, and with little data, to make `n_blocks` of it, so that many threads
    have work. The cuts depend on the data alone, never on the number of threads.
    """
    largest = 80_000_000 // n_labels**2 if order == 1 else 8_000_000 // n_labels**3
    size = max(1, min(n_tokens, max(1000, int(offsets[-1]) // n_blocks), largest))
    found = []
    first, n, (_, edges, n_edges) = 0, len(offsets) - 1, chain(offsets)
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + size, side="left"))
        last = min(max(last, first + 1), n)
        tokens, of_edges = (slice(int(bounds[first]), int(bounds[last])) for bounds in (offsets, n_edges))
        structure = Structure(
            offsets[first : last + 1] - tokens.start,
            edges[of_edges] - tokens.start,
            n_edges[first : last + 1] - of_edges.start,
        )
        found.append(Block(slice(first, last), tokens, of_edges, structure))
        first = last
    return found


def cut(items: Any, offsets: np.ndarray) -> list[Any]:
    """The items of each sequence, of a list or an array of all."""
    return [items[lo:hi] for lo, hi in pairwise(offsets.tolist())]


def object_array(items: Sequence[Any]) -> np.ndarray:
    """One-dimensional object array of `items`; equal lengths never make it two-dimensional."""
    return np.fromiter(items, dtype=object, count=len(items))
