"""Images of one row are chains: they pass the ragged twins of scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import ragged_checks

from sklearn_struct import GridCRF
from sklearn_struct.containers.ragged import object_array

# errors speak of pixels, and labels of images are no floats
OTHERS = (
    ragged_checks.check_lengths,
    ragged_checks.check_nan_and_infinity,
    ragged_checks.check_kinds_of_labels,
)


class Rows(GridCRF):
    """Reads sequences as images of one row, and answers in lists."""

    def fit(self, X, y, sample_weight=None, *, init=None):
        # the words of checks of sequences
        y = None if y is None else [None if labels is None else [list(labels)] for labels in y]
        return super().fit(_images(X), y, sample_weight, init=init)

    def predict(self, X):
        return object_array([labels[0].tolist() for labels in super().predict(_images(X))])

    def predict_proba(self, X):
        return object_array([table[0] for table in super().predict_proba(_images(X))])

    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return object_array(list(map(np.log, self.predict_proba(X))))

    def score(self, X, y, sample_weight=None):
        return super().score(_images(X), [[list(labels)] for labels in y], sample_weight)


def _images(X):
    return [np.asarray(rows)[None] for rows in X]


@ragged_checks.ragged_checks(
    [
        Rows(),
        Rows(pairwise="contrast", neighbours=8, n_jobs=2),
        Rows(pairwise="table", directions=True, loss="pseudo", dtype="float32"),
    ],
    forms=["arrays"],
    but=OTHERS,
)
def test_rows_of_pixels(estimator, check, form):
    check(estimator, form)
