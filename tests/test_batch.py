"""Blocks, chains and CSR."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.batch import Structure, blocks, chain, csr, object_array

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
    whole, found = chain(offsets), blocks(offsets, n_labels, n_tokens)
    examples, tokens, edges = ([r for b in found for r in range(b[i].start, b[i].stop)] for i in range(3))
    assert examples == list(range(len(lengths)))
    assert tokens == list(range(offsets[-1]))
    assert edges == list(range(len(whole.edges)))
    for block in found:
        part = block.structure
        assert (
            part.offsets.tolist()
            == (offsets[block.examples.start : block.examples.stop + 1] - block.tokens.start).tolist()
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
    few, many, more = blocks(offsets, 3), blocks(offsets, 1000), blocks(offsets * 10, 3)
    assert {b.tokens.stop - b.tokens.start for b in few[:-1]} == {1570}  # a 64th, of whole sequences
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
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4])), shape=(3, 3)
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


def test_object_array():
    assert object_array([[1], [2]]).shape == (2,)
    assert object_array([np.zeros((2, 2))] * 3).shape == (3,)
    assert object_array([]).shape == (0,)
