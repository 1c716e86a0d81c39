"""Arrays of a state that go to a file: views stay views."""

from __future__ import annotations

import mmap
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import SequenceArray
from sklearn_struct.distributed import arrays_of_states
from sklearn_struct.distributed.arrays_of_states import maps_of, replaced, roots_of


class Pair(NamedTuple):
    left: object
    right: object


@pytest.fixture(autouse=True)
def eight_bytes_are_large(monkeypatch):
    monkeypatch.setattr(arrays_of_states, "LARGE", 8)


def in_a_map(roots):
    pages = mmap.mmap(-1, 4096)
    places = {}
    end = 0
    for root in roots:
        places[root.ctypes.data] = end
        pages[end : end + root.nbytes] = root.tobytes(order="A")
        end += -(-root.nbytes // 8) * 8
    return pages, places


def moved(state):
    return replaced(state, *in_a_map(roots_of(state)))


def test_values_stay():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(4, 3))
    state = Pair({"a": [dense, dense.T]}, (SequenceArray(sp.csr_array(dense), [0, 4]), "text", 3))
    new = moved(state)
    assert type(new) is Pair
    np.testing.assert_array_equal(new.left["a"][0], dense)
    np.testing.assert_array_equal(new.left["a"][1], dense.T)
    np.testing.assert_array_equal(new.right[0].tokens.toarray(), dense)
    assert new.right[1:] == ("text", 3)
    assert roots_of(new) == []
    assert len(maps_of(new)) == 1


def test_what_the_user_gave_stays():
    """Lists, dicts, matrices and sequences are others in the state, which may share them."""
    dense = np.arange(12.0).reshape(4, 3)
    X = SequenceArray(sp.csr_array(dense), [0, 4])
    given = {"X": X, "y": [dense, dense[1:]]}
    new = moved((given, X))
    assert maps_of(given) == []
    assert len(maps_of(new)) == 1
    assert new[0]["X"] is new[1] is not X
    dense[:] = -1.0
    np.testing.assert_array_equal(given["y"][1], -np.ones((3, 3)))
    np.testing.assert_array_equal(new[0]["y"][1][0], [3.0, 4.0, 5.0])
    X.tokens.data[:] = 7.0
    assert new[1].tokens.data.max() == 11.0


def test_views_of_an_array_stay_views_of_one():
    whole = np.arange(20.0)
    state = [whole, whole[3:7], whole[::2].reshape(5, 2)]
    assert len(roots_of(state)) == 1
    new = moved(state)
    new[0][4] = -1.0
    assert new[1][1] == -1.0
    assert new[2][1, 0] == -1.0
    assert whole[4] == 4.0


def test_what_stays_in_memory():
    small = np.zeros(0)
    objects = np.array([None] * 9)
    state = [small, objects, "text"]
    assert roots_of(state) == []
    state.append(state)  # a circle
    assert roots_of(state) == maps_of(state) == []
