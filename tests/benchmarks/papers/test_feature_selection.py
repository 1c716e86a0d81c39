"""Features that M-estimates choose for another chain."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel

from sklearn_struct import HMM, MEstimatedCRF

X = [
    [("the", "DT"), ("dog", "NN")],
    [("a", "DT"), ("cat", "NN"), ("ran", "VB")],
    [("ran", "VB")],
    [("cats", "NN")],
]
Y = [["B", "I"], ["B", "I", "O"], ["O"], ["B"]]


def test_the_largest_weights_are_kept():
    from papers.feature_selection import size_of_weights

    model = MEstimatedCRF(["%x[0,0]", "%x[0,1]"], base=HMM(oov="smoothing")).fit(X, Y)
    size = size_of_weights(model)
    np.testing.assert_allclose(size, np.linalg.norm(model.coef_.toarray(), axis=0))
    selector = SelectFromModel(
        model,
        prefit=True,
        max_features=3,
        threshold=-np.inf,
        importance_getter=size_of_weights,
    )
    chosen = selector.get_support(indices=True)
    assert len(chosen) == 3
    assert size[chosen].min() >= np.delete(size, chosen).max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kept", [1, 3])
def test_a_chain_of_the_chosen_features(kept):
    from papers.feature_selection import _second_fit
    from papers.noun_phrase_models import Part

    from sklearn_struct import FeatureTemplates

    tokens = FeatureTemplates(["%x[0,1]"]).fit_transform(X)
    data = {name: Part(tokens, Y) for name in ("train", "tune", "test")}
    figures = _second_fit(data, np.arange(kept), 1.5)
    assert figures["features"] == kept
    assert figures["training, CPU s"] > 1.5
    # a determiner does not tell cats from what they do
    assert (figures["test F1"] == 100.0) == (kept == 3)
