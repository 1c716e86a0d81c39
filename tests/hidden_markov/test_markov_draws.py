"""Draws from chains, beside their probabilities."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hidden_markov.test_markov_chain import ORDERS, log_p, random_chain

from sklearn_struct.hidden_markov import markov_draws

pytestmark = pytest.mark.twins


@ORDERS
def test_draws_have_the_probabilities_of_the_chain(order):
    model = random_chain(order, smoothing=0.5)
    codes, offsets = markov_draws.draw(model, 20_000, np.random.RandomState(0))
    drawn = [tuple(codes[lo:hi].tolist()) for lo, hi in pairwise(offsets)]
    for y in [(0,), (2,), (1, 0), (0, 2), (2, 2, 1)]:
        p = np.exp(log_p(model, y))
        assert drawn.count(y) / len(drawn) == pytest.approx(
            p, abs=4 * np.sqrt(p / len(drawn)) + 1e-4
        )


@ORDERS
def test_draws_of_a_length(order):
    codes, offsets = markov_draws.draw(
        random_chain(order, stop=False), 5, np.random.RandomState(0), length=4
    )
    assert offsets.tolist() == [0, 4, 8, 12, 16, 20]
    assert set(codes.tolist()) <= {0, 1, 2}


def test_choices_take_no_impossible_column():
    table = np.array([[0.0, 0.5, 0.0, 0.5, 0.0], [1.0, 0, 0, 0, 0]])
    rows = np.arange(1000) % 2
    found = markov_draws.choose(table, rows, np.random.RandomState(0))
    assert set(found[rows == 0].tolist()) == {1, 3}
    assert set(found[rows == 1].tolist()) == {0}
