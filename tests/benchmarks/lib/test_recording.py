"""What is noted during a fit."""

from __future__ import annotations

import numpy as np

from sklearn_struct import LinearChainCRF, SequenceVectorizer

SENTENCES = [
    [("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")],
    [("Yes", "UH")],
    [("A", "DT"), ("cat", "NN")],
]


LABELS = [["B", "I", "O", "O"], ["O"], ["B", "I"]]


def test_iterations_have_the_objective_of_the_fit():
    from lib.recording import evaluation_seconds, iterations

    X = SequenceVectorizer().fit_transform([[[w, p] for w, p in s] for s in SENTENCES])
    y = LABELS
    crf = LinearChainCRF(C=2, solver="lbfgs")
    with evaluation_seconds() as seconds, iterations(lambda w, value: -value, exact=True) as noted:
        crf.fit(X, y)
    assert len(seconds) >= crf.n_iter_ == len(noted)
    np.testing.assert_allclose([value for _, value, _ in noted], crf.loss_curve_)
    np.testing.assert_allclose([probe for _, _, probe in noted], np.negative(crf.loss_curve_))
    LinearChainCRF(solver="lbfgs").fit(X, y)
    assert len(noted) == crf.n_iter_  # nothing is noted afterwards
