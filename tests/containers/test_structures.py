"""Blocks, chains, CSR, grammars and packed trees."""

from __future__ import annotations

import itertools

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import (
    Blocks,
    Potentials,
    Structure,
    chain,
    columns_of,
    copies,
    ends,
    product,
    ranges,
    refuse_wider_cliques,
    zeros,
)
from sklearn_struct.containers.trees import Forest, examples, grammar, split, tensors
from sklearn_struct.inference.chains.chain import Chain

# ---- chains


def test_what_needs_pairs_alone_refuses_wider_cliques():
    error = ValueError("pairs only")
    refuse_wider_cliques(chain([0, 3]).families, error)
    with pytest.raises(ValueError, match="pairs only") as caught:
        refuse_wider_cliques(chain([0, 3], 2).families, error)
    assert caught.value is error


def test_chain():
    found = chain([0, 3, 3, 4, 6])
    assert isinstance(found, Structure)
    assert found.offsets.tolist() == [0, 3, 3, 4, 6]
    (pairs,) = found.families
    assert pairs.nodes.tolist() == [[0, 1], [1, 2], [4, 5]]
    assert pairs.offsets.tolist() == [0, 2, 2, 2, 3]
    assert found.n_examples == 4
    assert {array.dtype for array in contracts.arrays_of(found)} == {np.dtype(np.int64)}


def test_chain_of_second_order():
    """Pairs are those of first order; three in a row are a family of their own."""
    offsets = [0, 3, 3, 4, 6, 10]
    found = chain(offsets, 2)
    pairs, triples = found.families
    (expected,) = chain(offsets).families
    np.testing.assert_array_equal(pairs.nodes, expected.nodes)
    np.testing.assert_array_equal(pairs.offsets, expected.offsets)
    assert triples.nodes.tolist() == [[0, 1, 2], [6, 7, 8], [7, 8, 9]]
    assert triples.offsets.tolist() == [0, 1, 1, 1, 1, 3]
    assert {array.dtype for array in contracts.arrays_of(found)} == {np.dtype(np.int64)}


@given(st.lists(st.integers(0, 6), max_size=8), st.integers(1, 3))
def test_neighbours_of_any_chains(lengths, order):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = chain(offsets, order)
    assert len(found.families) == order
    for r, family in enumerate(found.families, 2):
        assert family.nodes.shape[1] == r
        for i in range(len(lengths)):
            nodes = family.nodes[family.offsets[i] : family.offsets[i + 1]].tolist()
            tokens = range(offsets[i], offsets[i + 1])
            assert nodes == [list(tokens[t : t + r]) for t in range(len(tokens) - r + 1)]


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 1, 2]])
def test_chain_without_edges(offsets):
    for r, family in enumerate(chain(offsets, 2).families, 2):
        assert family.nodes.shape == (0, r)
        assert len(family.offsets) == len(offsets)
        assert not family.offsets.any()


def test_ends():
    first, last = ends(chain([0, 3, 3, 4, 6]))
    assert first.tolist() == [0, 3, 4]
    assert last.tolist() == [2, 3, 5]


@pytest.mark.parametrize("order", [1, 2])
def test_columns_of(order):
    """The column counts the labels of a clique's nodes, the last one fastest."""
    rng = np.random.default_rng(0)
    structure = chain([0, 5, 5, 6, 9], order)
    labels = rng.integers(4, size=9).astype(np.int32)
    for family in structure.families:
        found = columns_of(labels, family, 4)
        columns = list(itertools.product(range(4), repeat=family.nodes.shape[1]))
        assert [columns[c] for c in found] == [tuple(y) for y in labels[family.nodes].tolist()]


def test_columns_of_many_small_labels():
    """Labels of few bits give columns of many."""
    family = chain([0, 3], 2).families[1]
    labels = np.full(3, 120, np.int8)
    assert columns_of(labels, family, 121).tolist() == [121**3 - 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros(dtype):
    """Room for sums is of float64, whatever the scores are."""
    potentials, _ = contracts.random_chains(np.random.default_rng(0), (5, 3), 2, False, 2)
    potentials = contracts.mapped(lambda table: table.astype(dtype), potentials)
    summed = zeros(potentials)
    single = zeros(potentials, shared=False)
    assert [table.shape for table in contracts.arrays_of(summed)] == [(8, 2), (1, 4), (1, 8)]
    assert [table.shape for table in contracts.arrays_of(single)] == [(8, 2), (6, 4), (4, 8)]
    for table in contracts.arrays_of((summed, single)):
        assert table.dtype == np.float64
        assert not table.any()


def test_product():
    """Scores add up, and tables that all cliques share are added to each."""
    rng = np.random.default_rng(0)
    a, structure = contracts.random_chains(rng, shared=True, order=2)
    b, _ = contracts.random_chains(rng, shared=False, order=2)
    for found in (product(a, b), product(b, a)):
        twins = (naive.twins(p, structure) for p in (found, a, b))
        for both, of_a, of_b in zip(*twins, strict=True):
            np.testing.assert_allclose(
                both.scores.astype(float), (of_a.scores + of_b.scores).astype(float), atol=1e-12
            )
    assert product(a, a).cliques[0].shape == a.cliques[0].shape
    with pytest.raises(ValueError, match="zip"):
        product(a, Potentials(b.node, b.cliques[:1]))


# ---- copies


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.data())
def test_ranges(lengths, data):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    chosen = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    for given_as in (chosen, np.array(chosen, np.int64)):
        found, bounds = ranges(offsets, np.asarray(given_as, np.int64))
        parts = [found[bounds[j] : bounds[j + 1]].tolist() for j in range(len(chosen))]
        assert parts == [list(range(offsets[i], offsets[i + 1])) for i in chosen]
        assert bounds[-1] == len(found)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("chosen", [[], [1], [3, 0], [2, 2, 0, 3, 2], [0, 1, 2, 3]])
def test_copies(chosen, order, shared):
    """They stand one after the other, as a chain of such lengths; each has its scores."""
    lengths = np.array([4, 0, 1, 3])
    potentials, structure = contracts.random_chains(
        np.random.default_rng(0), tuple(lengths), 2, shared, order
    )
    found = copies(structure, np.array(chosen, np.int64))
    offsets = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)
    expected = contracts.arrays_of(chain(offsets, order))
    for array, wanted in zip(contracts.arrays_of(found.structure), expected, strict=True):
        np.testing.assert_array_equal(array, wanted)
        assert array.dtype == np.int64
    part = found.cut(potentials)
    if shared:
        assert all(a is b for a, b in zip(part.cliques, potentials.cliques, strict=True))
    twins = list(naive.twins(potentials, structure))
    for i, twin in zip(chosen, naive.twins(part, found.structure), strict=True):
        np.testing.assert_array_equal(twin.scores, twins[i].scores)


# ---- blocks


@given(
    st.lists(st.integers(0, 300), max_size=60),
    st.integers(1, 400),
    st.integers(1, 300),
    st.integers(1, 2),
)
def test_blocks_cover_everything_once(lengths, n_labels, n_tokens, order):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = chain(offsets, order)
    found = Chain(order).blocks(whole, n_labels, n_tokens)
    assert [r for b in found for r in _indices(b.examples)] == list(range(len(lengths)))
    assert [r for b in found for r in _indices(b.tokens)] == list(range(offsets[-1]))
    for f, family in enumerate(whole.families):
        cliques = [r for b in found for r in _indices(b.cliques[f])]
        assert cliques == list(range(len(family.nodes)))
    for block in found:
        part = block.structure
        assert (
            part.offsets.tolist()
            == (
                offsets[block.examples.start : block.examples.stop + 1] - block.tokens.start
            ).tolist()
        )
        for of_part, of_whole, cliques in zip(
            part.families, whole.families, block.cliques, strict=True
        ):
            nodes = of_whole.nodes[cliques] - block.tokens.start
            bounds = of_whole.offsets[block.examples.start : block.examples.stop + 1]
            assert of_part.nodes.tolist() == nodes.tolist()
            assert of_part.offsets.tolist() == (bounds - cliques.start).tolist()
            assert of_part.offsets[0] == 0


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60), st.integers(1, 300))
def test_blocks_are_bounded_by_the_longest_sequence(lengths, n_tokens):
    """A block begins a new sequence only while it is below its size: no sequence is cut."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    for block in Blocks(chain(offsets), n_tokens):
        before_last = offsets[block.examples.stop - 1] - block.tokens.start
        assert before_last < n_tokens or block.examples.stop - block.examples.start == 1


def test_sizes_of_blocks():
    offsets = np.arange(0, 100_001, 10)
    few = list(Chain().blocks(chain(offsets), 3))
    many = Chain().blocks(chain(offsets), 1000)
    more = list(Chain().blocks(chain(offsets * 10), 3))
    of_triples = Chain(2).blocks(chain(offsets, 2), 50)
    # a 64th, of whole sequences
    assert {b.tokens.stop - b.tokens.start for b in few[:-1]} == {1570}
    assert {b.tokens.stop - b.tokens.start for b in more[:-1]} == {3000}
    assert {b.tokens.stop - b.tokens.start for b in Chain().blocks(chain(offsets[:1001]), 3)} == {
        1000
    }
    assert max(b.tokens.stop - b.tokens.start for b in many) == 80
    assert max(b.tokens.stop - b.tokens.start for b in of_triples) == 70  # 8,000,000 / 50**3 = 64


def test_blocks_are_made_when_they_are_asked_for():
    blocks = Blocks(chain([0, 4, 6, 7, 9]), 5)
    assert blocks[1] is not blocks[1]
    assert len(blocks) == 2
    assert blocks.most_nodes == 6
    assert blocks[1].tokens == blocks[-1].tokens == slice(6, 9)
    assert blocks[0].structure.offsets.tolist() == [0, 4, 6]
    with pytest.raises(IndexError):
        blocks[2]


def test_long_sequences():
    """A sequence longer than a block is not cut, and closes its block."""
    found = Chain().blocks(chain([0, 5000, 5010, 5020, 12000]), 3)
    assert [(b.examples.start, b.examples.stop) for b in found] == [(0, 1), (1, 4)]
    (block,) = Chain().blocks(chain([0, 5000]), 3)
    assert block.structure.offsets.tolist() == [0, 5000]


def test_blocks_of_nothing():
    assert list(Blocks(chain([0]), 3)) == []
    assert Blocks(chain([0]), 3).most_nodes == 0
    (block,) = Blocks(chain([0, 0, 0], 2), 3)
    assert block.examples == slice(0, 2)
    assert block.tokens == slice(0, 0)
    assert block.cliques == (slice(0, 0), slice(0, 0))


def _indices(part):
    return range(part.start, part.stop)


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
    """Whatever comes in, kernels see int64 indptr, int32 indices, writable contiguous arrays."""
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
