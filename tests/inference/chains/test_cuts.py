"""Where tokens are cut into pieces."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.simd import LANES
from sklearn_struct.inference.chains import cuts

LENGTHS = {
    "one": [3001],
    "alike": [1000] * 30,
    "seven": [1000] * 7,
    "short": [1, 2, 3] * 800,
    "empty": [0, 0, 700, 0, 1300, 5, 0],
    "one behind": [5000, 3],
    "ragged": [int(n) for n in np.random.RandomState(3).randint(0, 60, size=300)],
}


IDLE = 0.35


def cut_up(offsets, idle=IDLE):
    starts, first, last = np.empty((3, LANES * cuts.rounds(offsets[-1], cuts.STEPS) + 1), np.int64)
    n, n_steps, at_begins = cuts.cut(offsets, cuts.STEPS, idle, starts, first, last)
    assert n_steps <= cuts.most_steps(offsets[-1], cuts.STEPS, idle)
    return cuts.Cuts(starts[: n + 1], first[:n], last[:n], n_steps, at_begins)


SHORT = ["alike", "seven", "short", "ragged"]


@pytest.mark.parametrize("name", LENGTHS)
def test_pieces_cover_all_tokens_once(name):
    offsets = np.cumsum([0, *LENGTHS[name]])
    cut = cut_up(offsets)
    lengths = np.diff(cut.starts)
    assert len(lengths) % LANES == 0
    assert (cut.starts[0], cut.starts[-1]) == (0, offsets[-1])
    assert lengths.min() >= 0
    assert lengths.max() == cut.n_steps
    assert len(lengths) * cut.n_steps <= (1 + IDLE) * offsets[-1] + LANES * LANES
    assert cut.at_begins == (name in SHORT)
    if cut.at_begins:
        assert set(cut.starts) <= set(offsets)


@pytest.mark.parametrize("name", LENGTHS)
def test_sequences_of_the_first_and_the_last_token(name):
    offsets = np.cumsum([0, *LENGTHS[name]])
    sequence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    cut = cut_up(offsets)
    for p in np.flatnonzero(np.diff(cut.starts)):
        assert cut.first[p] == sequence[cut.starts[p]]
        assert cut.last[p] == sequence[cut.starts[p + 1] - 1]
    # pieces without tokens have a sequence, too
    assert cut.last.max() < len(offsets) - 1


def test_lanes_may_be_idle_for_longer():
    """So that four sequences are cut nowhere."""
    offsets = np.arange(0, 4001, 1000)
    assert not cut_up(offsets).at_begins
    cut = cut_up(offsets, 1.0)
    assert cut.at_begins
    assert set(cut.starts) == set(offsets)
    assert not cut_up(offsets[:-1], 1.0).at_begins
