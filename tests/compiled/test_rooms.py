"""Memory that is used again."""

from __future__ import annotations

from threading import Thread

import numpy as np

from sklearn_struct.compiled.rooms import Room


def test_zeros_in_the_place_of_what_was_there():
    room = Room()
    first = room.zeros((3, 4))
    first[:] = 7.0
    second = room.zeros((2, 5))
    assert np.shares_memory(first, second)
    assert second.shape == (2, 5)
    assert not second.any()
    assert not np.shares_memory(second, room.zeros((20, 5)))


def test_threads_have_memory_of_their_own():
    room = Room()
    here = room.zeros((5,))
    there = []
    thread = Thread(target=lambda: there.append(room.zeros((5,))))
    thread.start()
    thread.join()
    assert not np.shares_memory(here, there[0])
