"""Words that are like others in files."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import PrototypeFeatures
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save

X = [
    f"the {animal} {verb}".split()
    for animal in ("cat", "dog", "f\0x")
    for verb in ("eats", "\ud800", "hides")
]


@pytest.mark.parametrize(
    "prototypes", [["cat", "eats"], {"dog": "NOUN", "\ud800": "VERB"}, ("the",), {"f\0x"}]
)
def test_equal_features_come_back(tmp_path, prototypes):
    features = PrototypeFeatures(prototypes, threshold=0.2).fit(X)
    save(features, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == features.get_params()
    assert loaded.transform([*X, ["a", "wolf"]]) == features.transform([*X, ["a", "wolf"]])
    assert loaded.similar_words_ == features.similar_words_
    assert loaded.prototypes_.tolist() == features.prototypes_.tolist()
    assert loaded.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()


def test_similarities_that_are_none(tmp_path):
    for wrong in (2.0, -1.0, np.nan):
        features = PrototypeFeatures(["cat"]).fit(X)
        features._similarity.data[0] = wrong
        with pytest.raises(ModelFileError, match=r"above 0 and at most 1|finite"):
            save(features, tmp_path / "model")
    features = PrototypeFeatures(["cat"]).fit(X)
    features.prototypes_ = np.array(["wolf"], dtype=object)
    with pytest.raises(ModelFileError, match="different words, which are known"):
        save(features, tmp_path / "model")
