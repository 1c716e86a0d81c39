"""What is known of tokens: cut for parts of the data, and asked for by losses of other kinds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.csr import csr
from sklearn_struct.losses.evidence import Evidence, Fired

N = 6
ARRAYS = [name for name in Evidence._fields if name != "fired"]


def fired(edge=None):
    node = np.arange(2.0 * N).reshape(N, 2) % 3
    edge = np.arange(3.0 * N).reshape(N, 3) % 2 if edge is None else edge
    return Fired(csr(sp.csr_array(node)), csr(sp.csr_array(edge)))


def full():
    labels = np.arange(N, dtype=np.int32) % 3
    beliefs = np.arange(3.0 * N).reshape(N, 3)
    return Evidence(
        labels,
        np.eye(3, dtype=bool)[labels],
        np.linspace(0.0, 1.0, N),
        fired(),
        block=np.arange(N) // 2,
        beliefs=beliefs,
        scores=-beliefs,
    )


def rows(table):
    """A list of (criterion, strength) for each token."""
    return [
        list(zip(table.indices[a:b].tolist(), table.data[a:b].tolist(), strict=True))
        for a, b in zip(table.indptr[:-1], table.indptr[1:], strict=True)
    ]


@pytest.mark.parametrize("tokens", [slice(0, N), slice(2, 5), slice(3, 3), slice(N, N)], ids=str)
def test_a_part_has_the_rows_of_its_tokens(tokens):
    evidence = full()
    part = evidence.part(tokens)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(part, name), getattr(evidence, name)[tokens])
    assert rows(part.fired.node) == rows(evidence.fired.node)[tokens]
    assert rows(part.fired.edge) == rows(evidence.fired.edge)[tokens]


def test_a_part_of_a_part():
    found = full().part(slice(1, 6)).part(slice(2, 4))
    expected = full().part(slice(3, 5))
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert rows(found.fired.node) == rows(expected.fired.node)


def test_a_part_is_no_copy():
    evidence = full()
    part = evidence.part(slice(2, 5))
    for name in ARRAYS:
        assert np.shares_memory(getattr(part, name), getattr(evidence, name))
    assert part.fired.node.data is evidence.fired.node.data


@pytest.mark.parametrize("name", Evidence._fields)
def test_what_is_missing_is_missing_in_a_part(name):
    part = full()._replace(**{name: None}).part(slice(1, 4))
    assert [field for field in Evidence._fields if getattr(part, field) is None] == [name]


def test_nothing_is_known_by_default():
    assert set(Evidence()) == {None}
    assert Evidence().part(slice(0, 3)) == Evidence()


def test_labels_and_masks_that_are_asked_for():
    evidence = full()
    assert evidence.known_labels() is evidence.labels
    assert evidence.allowed_labels() is evidence.allowed
    with pytest.raises(TypeError, match="one of known labels; the evidence has none"):
        evidence._replace(labels=None).known_labels()
    with pytest.raises(TypeError, match="partly known labels; the evidence has no mask"):
        evidence._replace(allowed=None).allowed_labels()


def test_whether_a_criterion_on_pairs_fires():
    assert fired().has_edges
    assert not fired(np.zeros((N, 2))).has_edges
    some = np.zeros((N, 2))
    some[4, 1] = 0.5
    assert fired(some).has_edges
    assert fired(some).part(slice(4, 5)).has_edges
    assert not fired(some).part(slice(0, 4)).has_edges
    assert not fired(some).part(slice(5, N)).has_edges
    assert not fired(some).part(slice(4, 4)).has_edges
