"""How many numbers of the emissions are free."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import HMM

RNG = np.random.RandomState(0)
Y = [[0, 1, 0, 1, 1, 0, 1, 0, 0, 1]]
NUMBERS = [RNG.normal(size=(10, 3))]
COUNTS = [RNG.poisson(3.0, size=(10, 3))]
ROWS = [[("ab"[t % 2], t % 3, 2, 3 + t % 2, float(t)) for t in range(10)]]


@pytest.mark.parametrize(
    ("options", "X", "expected"),
    [
        ({}, NUMBERS, 2 * 3 + 2 * 3),
        ({"covariance_type": "full"}, NUMBERS, 2 * 3 + 2 * 6),
        ({"covariance_type": "tied"}, NUMBERS, 2 * 3 + 6),
        ({"covariance_type": "spherical"}, NUMBERS, 2 * 3 + 2),
        ({"n_mixtures": 2}, NUMBERS, 2 * 2 * 6 + 2),
        ({"n_mixtures": 2, "covariance_type": "full"}, NUMBERS, 2 * 2 * 9 + 2),
        ({"n_mixtures": 2, "covariance_type": "tied"}, NUMBERS, 2 * 2 * 3 + 2 * 6 + 2),
        ({"n_mixtures": 2, "covariance_type": "spherical"}, NUMBERS, 2 * 2 * 4 + 2),
        ({"autoregression": 2, "covariance_type": "tied"}, NUMBERS, 2 * 3 + 6 + 2 * 2 * 9),
        ({"emissions": "poisson"}, COUNTS, 2 * 3),
        ({"emissions": "multinomial"}, COUNTS, 2 * 2),
        # both letters and what is out of vocabulary; a rate; two outcomes; a mean and a variance
        (
            {"emissions": ["auto", "poisson", "multinomial", "multinomial", "gaussian"]},
            ROWS,
            2 * 2 + 2 + 2 * 1 + 2 * 2,
        ),
        ({"oov": None}, [list("abcabcabca")], 2 * 2),
    ],
)
def test_free_numbers(options, X, expected):
    hmm = HMM(random_state=0, max_iter=5, tol=1e3, **options).fit(X, Y)
    assert hmm._model().n_emission_parameters == expected
