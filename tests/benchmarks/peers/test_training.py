"""Time to an objective, and to an F1."""

from __future__ import annotations

import math

import pytest

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.metrics import span_f1_score


def test_time_to_a_value():
    from peers.training import first_within

    assert first_within([(0.1, 5.0), (0.2, 2.0), (0.3, 3.0)], 3.0) == 0.2
    assert first_within([(0.1, 5.0)], 3.0) == float("inf")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_f1_on_the_way_is_that_of_the_weights_then():
    from lib.recording import iterations
    from peers.training import prober

    X = SequenceVectorizer().fit_transform([[["the"], ["cat"], ["sat"]], [["cat"], ["ran"]]])
    y = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    crf = LinearChainCRF(solver="lbfgs")
    probe = prober(crf, X, y, X, y, below=math.inf)
    with iterations(probe, exact=False) as noted:
        crf.fit(X, y)
    assert noted[-1][2] == span_f1_score(y, crf.predict(X))
    assert prober(crf, X, y, X, y, below=0.0)(crf._w, 1.0) == -math.inf
