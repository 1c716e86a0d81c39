"""scikit-learn's transformers of tables in files."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from fuzz import files
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save

X = np.random.RandomState(0).normal(size=(12, 3))
HOLES = np.where(np.eye(12, 3, dtype=bool), np.nan, X)


@pytest.mark.parametrize(
    ("transformer", "data"),
    [
        (StandardScaler(), X),
        (StandardScaler(with_mean=False, with_std=False), X),
        (StandardScaler(with_std=False), X.astype(np.float32)),
        (StandardScaler(), HOLES),
        (MinMaxScaler(feature_range=(-1, 2), clip=True), X),
        (MaxAbsScaler(), X.astype(np.float32)),
        (RobustScaler(with_centering=False, quantile_range=(10.0, 90.0)), X),
        (RobustScaler(with_scaling=False), X),
        (Normalizer("l1"), X),
        (PCA(2, whiten=True), X),
        (PCA(0.9), X.astype(np.float32)),
        (TruncatedSVD(2, random_state=0), X),
        (
            FunctionTransformer(
                np.log1p, kw_args={"dtype": "float32"}, feature_names_out="one-to-one"
            ),
            np.abs(X),
        ),
    ],
)
def test_an_equal_one_comes_back(tmp_path, transformer, data):
    path = tmp_path / "model"
    functions = {"log": np.log1p}
    transformer.fit(data)
    save(transformer, path, functions=functions)
    loaded = load(path, functions=functions)
    found = loaded.transform(data)
    expected = transformer.transform(data)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert repr(loaded) == repr(transformer)
    assert loaded.get_feature_names_out().tolist() == transformer.get_feature_names_out().tolist()
    if hasattr(transformer, "partial_fit"):
        np.testing.assert_array_equal(
            loaded.partial_fit(data).transform(data), transformer.partial_fit(data).transform(data)
        )


def test_names_of_a_frame(tmp_path):
    frame = pandas.DataFrame(X, columns=["a", "b\0", "ü"])
    scaler = StandardScaler().fit(frame)
    save(scaler, tmp_path / "model")
    assert load(tmp_path / "model").feature_names_in_.tolist() == ["a", "b\0", "ü"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda state: state["learned"].update(mean_=None), "mean_ cannot be None"),
        (lambda state: state["learned"].update(scale_=1.0), "scale_ cannot be 1.0"),
        (lambda state: state["learned"].pop("var_"), "a StandardScaler has learned mean_, var_"),
        (lambda state: state.update(n_features=4), "no array 'mean_' of shape"),
        (lambda state: state.update(n_features=None), "of how many features"),
        (lambda state: state["learned"].update(n_samples_seen_=-1), "n_samples_seen_ cannot be -1"),
    ],
)
def test_what_no_scaler_learns(tmp_path, how, said):
    path = tmp_path / "model"
    save(StandardScaler().fit(X), path)
    header, model, arrays = files.taken_apart(path.read_bytes())
    how(model["estimator"]["state"])
    path.write_bytes(files.sealed(files.put_together(header, model, arrays)))
    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_numbers_that_are_not_finite(tmp_path):
    scaler = StandardScaler().fit(X)
    scaler.mean_[1] = np.inf
    with pytest.raises(ModelFileError, match="mean_ must have finite numbers"):
        save(scaler, tmp_path / "model")
