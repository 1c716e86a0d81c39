"""Blocks, chains, CSR, grammars and packed trees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure, blocks, chain
from sklearn_struct.containers.trees import Forest, examples, grammar, split, tensors

# ---- chains


def test_chain():
    found = chain([0, 3, 3, 4, 6])
    assert isinstance(found, Structure)
    assert found.offsets.tolist() == [0, 3, 3, 4, 6]
    assert found.edges.tolist() == [[0, 1], [1, 2], [4, 5]]
    assert found.edge_offsets.tolist() == [0, 2, 2, 2, 3]
    assert {field.dtype for field in found} == {np.dtype(np.int64)}


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 1, 2]])
def test_chain_without_edges(offsets):
    assert chain(offsets).edges.shape == (0, 2)
    assert not chain(offsets).edge_offsets.any()


# ---- blocks


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 400), st.integers(1, 300))
def test_blocks_cover_everything_once(lengths, n_labels, n_tokens):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = chain(offsets)
    found = blocks(offsets, n_labels, n_tokens)
    examples, tokens, edges = (
        [r for b in found for r in range(b[i].start, b[i].stop)] for i in range(3)
    )
    assert examples == list(range(len(lengths)))
    assert tokens == list(range(offsets[-1]))
    assert edges == list(range(len(whole.edges)))
    for block in found:
        part = block.structure
        assert (
            part.offsets.tolist()
            == (
                offsets[block.examples.start : block.examples.stop + 1] - block.tokens.start
            ).tolist()
        )
        assert part.edges.tolist() == (whole.edges[block.edges] - block.tokens.start).tolist()
        assert part.edge_offsets[0] == 0


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60), st.integers(1, 300))
def test_blocks_are_bounded_by_the_longest_sequence(lengths, n_tokens):
    """A block begins a new sequence only while it is below its size: no sequence is cut."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    for block in blocks(offsets, 2, n_tokens):
        before_last = offsets[block.examples.stop - 1] - block.tokens.start
        assert before_last < n_tokens or block.examples.stop - block.examples.start == 1


def test_sizes_of_blocks():
    offsets = np.arange(0, 100_001, 10)
    few = blocks(offsets, 3)
    many = blocks(offsets, 1000)
    more = blocks(offsets * 10, 3)
    # a 64th, of whole sequences
    assert {b.tokens.stop - b.tokens.start for b in few[:-1]} == {1570}
    assert {b.tokens.stop - b.tokens.start for b in more[:-1]} == {3000}
    assert {b.tokens.stop - b.tokens.start for b in blocks(offsets[:1001], 3)} == {1000}
    assert max(b.tokens.stop - b.tokens.start for b in many) == 80


def test_long_sequences():
    """A sequence longer than a block is not cut, and closes its block."""
    found = blocks(np.array([0, 5000, 5010, 5020, 12000]), 3)
    assert [(b.examples.start, b.examples.stop) for b in found] == [(0, 1), (1, 4)]
    assert blocks(np.array([0, 5000]), 3)[0].structure.offsets.tolist() == [0, 5000]


def test_blocks_of_nothing():
    assert blocks(np.array([0]), 3) == []
    (block,) = blocks(np.array([0, 0, 0]), 3)
    assert block.examples == slice(0, 2)
    assert block.tokens == slice(0, 0)


# ---- CSR


def test_csr_is_canonical():
    """Sorted, without duplicates, and the matrix itself is untouched."""
    matrix = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4])),
        shape=(3, 3),
    )
    found = csr(matrix)
    assert found.indptr.tolist() == [0, 2, 2, 3]
    assert found.indices.tolist() == [0, 2, 1]
    assert found.data.tolist() == [2.0, 4.0, 4.0]
    assert matrix.indices.tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, np.asarray])
def test_csr_types(kind):
    """Whatever comes in, kernels see int64 indptr, int32 indices, and writable contiguous arrays."""
    dense = np.random.default_rng(0).integers(0, 2, size=(5, 4)).astype(float)
    matrix = kind(dense)
    if sp.issparse(matrix) and matrix.format == "csr":
        matrix.indices = matrix.indices.astype(np.int64)
        matrix.data.flags.writeable = False
    for dtype in (None, np.float32):
        found = csr(matrix, dtype)
        assert [array.dtype for array in found] == [np.int64, np.int32, dtype or np.float64]
        assert all(array.flags.c_contiguous and array.flags.writeable for array in found)
        np.testing.assert_array_equal(
            sp.csr_array((found.data, found.indices, found.indptr), dense.shape).toarray(), dense
        )


def memory_map(folder, name, array):
    array.tofile(folder / name)
    return np.memmap(folder / name, array.dtype, "r", shape=array.shape)


def test_memory_maps_are_not_copied(tmp_path):
    """They may be larger than the memory; and joblib gives such to its workers."""
    A = sp.csr_array(np.random.default_rng(0).integers(0, 2, size=(50, 4)).astype(float))
    mapped = sp.csr_array(
        tuple(
            memory_map(tmp_path, name, getattr(A, name)) for name in ("data", "indices", "indptr")
        )
    )
    for matrix in (mapped, SequenceArray(mapped, [0, 20, 50]).tokens):
        found = csr(matrix)
        assert np.shares_memory(found.data, mapped.data)
        assert np.shares_memory(found.indices, mapped.indices)
        assert found.data.flags.writeable  # by name: kernels are not compiled once more
    del mapped, matrix
    # the map lives as long as what was made of it
    np.testing.assert_array_equal(found.data, A.data)
    np.testing.assert_array_equal(found.indices, A.indices)


def test_no_copy_is_made_of_a_matrix_of_other_types_than_those_of_kernels():
    A = sp.csr_array(np.eye(3))
    A.indices.flags.writeable = False
    unaligned = np.frombuffer(b"." + A.data.tobytes(), np.uint8)[1:].view(np.float64)
    A.data = unaligned
    found = csr(A)
    assert np.shares_memory(found.indices, A.indices)
    assert found.data.flags.aligned
    np.testing.assert_array_equal(found.data, A.data)


def test_object_array():
    assert object_array([[1], [2]]).shape == (2,)
    assert object_array([np.zeros((2, 2))] * 3).shape == (3,)
    assert object_array([]).shape == (0,)


# ---- grammars and packed trees


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=20))
def test_grammar(rules):
    """Rules by their left children, as they were given, and by their parents."""
    rules = sorted(rules, key=lambda rule: rule[0])
    found = grammar(*np.array(rules, dtype=np.int64).reshape(-1, 3).T, 5)
    assert list(zip(found.left.tolist(), found.right.tolist(), found.parent.tolist())) == rules
    for s in range(5):
        assert [r for r, rule in enumerate(rules) if rule[0] == s] == list(
            range(*found.indptr[s : s + 2])
        )
        below = found.down[slice(*found.down_indptr[s : s + 2])].tolist()
        assert below == [r for r, rule in enumerate(rules) if rule[2] == s]
    assert [column.dtype for column in found] == [np.int64, *[np.int32] * 3, np.int64, np.int32]


def test_tensors():
    """Rows by state of the parent, of leaf and root have whole vectors of eight."""
    rules = grammar(np.array([0, 0, 2]), np.array([1, 2, 2]), np.array([2, 3, 2]), 4)
    found = tensors(rules, np.array([2, 3, 9, 8]), np.array([3, 2, 0]))
    assert np.diff(found.rule_start).tolist() == [2 * 3 * 16, 2 * 9 * 8, 9 * 9 * 16]
    assert np.diff(found.leaf_start).tolist() == [8, 16, 8]
    assert np.diff(found.root_start).tolist() == [8, 8, 16, 8]
    for name in ("rule", "leaf", "root"):
        numbers = getattr(found, name)
        start = getattr(found, f"{name}_start")
        assert (numbers.dtype, start.dtype, start[0], start[-1]) == (
            np.float64,
            np.int64,
            0,
            len(numbers),
        )
        assert not numbers.any()
    assert found.n_states.dtype == np.int32


def test_tensors_of_nothing():
    found = tensors(grammar(*np.empty((3, 0), int), 1), np.array([3]), np.empty(0, int))
    assert (found.rule_start.tolist(), found.leaf_start.tolist(), found.root_start.tolist()) == (
        [0],
        [0],
        [0, 8],
    )


def forest(sizes):
    """Trees of so many words that branch to the right; every number of it is another one."""
    items = [0]
    edges = []
    columns = []
    for n in sizes:
        first = items[-1]
        words = [(t, t + 1) for t in range(n)]
        phrases = [(t, n) for t in range(n - 2, -1, -1)]
        edges += [(first + n - 2 - k, first + n - 1 + k) for k in range(n - 1)]
        columns += [(*span, k < n) for k, span in enumerate(words + phrases)]
        items.append(first + len(words + phrases))
    start, stop, is_word = np.array(columns, dtype=np.int32).reshape(-1, 3).T
    indptr = np.concatenate([[0], np.cumsum(is_word == 0)])
    leaf = np.where(is_word, np.arange(len(start)) + 100, -1).astype(np.int32)
    left, right = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    symbol = np.arange(len(start), dtype=np.int32)
    rule = np.arange(len(left), dtype=np.int32) + 200
    return Forest(np.array(items), symbol, start, stop, leaf, indptr, left, right, rule)


def tree(packed, p):
    """What is below an item, its numbers included."""
    below = [
        (packed.rule[e], tree(packed, packed.left[e]), tree(packed, packed.right[e]))
        for e in range(packed.indptr[p], packed.indptr[p + 1])
    ]
    return packed.symbol[p], packed.start[p], packed.stop[p], packed.leaf[p], below


def trees(packed):
    return [tree(packed, last - 1) for last in packed.offsets[1:]]


SIZES = st.lists(st.integers(1, 6), max_size=12)


@given(SIZES, st.data())
def test_examples(sizes, data):
    whole = forest(sizes)
    first = data.draw(st.integers(0, len(sizes)))
    last = data.draw(st.integers(first, len(sizes)))
    part = examples(whole, first, last)
    assert part.offsets[0] == part.indptr[0] == 0
    assert (part.offsets[-1], part.indptr[-1]) == (len(part.symbol), len(part.rule))
    assert trees(part) == trees(whole)[first:last]
    assert [column.dtype for column in part] == [column.dtype for column in whole]


@given(SIZES, st.integers(1, 8))
def test_parts_of_a_forest(sizes, n_parts):
    """All examples once, in their order, and about equally many items."""
    whole = forest(sizes)
    parts = split(whole, n_parts)
    assert [found for part in parts for found in trees(part)] == trees(whole)
    assert len(parts) <= n_parts
    for part in parts:
        # the largest tree at either end
        assert len(part.symbol) < whole.offsets[-1] / n_parts + 2 * 11
