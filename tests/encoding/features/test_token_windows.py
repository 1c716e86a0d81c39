"""Windows of numbers against loops over tokens."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sklearn_struct import (
    FeatureTemplates,
    LinearChainCRF,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
    TokenWindows,
)
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)
from sklearn_struct.persistence import load, save

LENGTHS = [3, 0, 1, 5, 2]
RNG = np.random.default_rng(0)
X = [RNG.normal(size=(n, 2)) * (RNG.random((n, 2)) < 0.7) for n in LENGTHS]


def naive(X, offsets, padding, indicator):
    result = []
    for rows in X:
        tokens = []
        for t in range(len(rows)):
            token = []
            for d in offsets:
                inside = 0 <= t + d < len(rows)
                nearest = rows[min(max(t + d, 0), len(rows) - 1)]
                token += list(nearest if inside or padding == "edge" else [0.0] * rows.shape[1])
            if indicator:
                token += [float(not 0 <= t + d < len(rows)) for d in offsets if d]
            tokens.append(token)
        result += tokens
    return np.array(result)


FORMS = {
    "arrays": lambda X: X,
    "generator": lambda X: (rows for rows in X),
    "csr": lambda X: [sp.csr_array(rows) for rows in X],
    "coo": lambda X: [sp.coo_array(rows) for rows in X],
    "packed": SequenceArray.from_sequences,
    "packed csr": lambda X: SequenceArray.from_sequences([sp.csr_array(rows) for rows in X]),
}
WINDOWS = [(-2, -1, 0, 1, 2), [1], [0], [3, -1], [-(10**30), 0, 2]]


@pytest.mark.parametrize("offsets", WINDOWS, ids=str)
@pytest.mark.parametrize("padding", ["zeros", "edge"])
@pytest.mark.parametrize("form", FORMS)
def test_equals_a_loop(form, padding, offsets):
    for indicator in (False, True):
        windows = TokenWindows(offsets, padding=padding, indicator=indicator)
        result = windows.fit_transform(FORMS[form](X))
        expected = naive(X, offsets, padding, indicator)
        tokens = result.tokens
        assert sp.issparse(tokens) == ("c" in form.replace("packed", ""))
        assert_array_equal(tokens.toarray() if sp.issparse(tokens) else tokens, expected)
        assert_array_equal(result.lengths, LENGTHS)
        again = windows.transform(FORMS[form](X))
        assert again == result
        assert len(windows.get_feature_names_out()) == windows.n_features_out_ == expected.shape[1]


def test_names():
    windows = TokenWindows([-1, 0, 2], indicator=True).fit(X)
    expected = ["x0[-1]", "x1[-1]", "x0[0]", "x1[0]", "x0[2]", "x1[2]", "outside[-1]", "outside[2]"]
    assert windows.get_feature_names_out().tolist() == expected
    assert windows.transform(X).feature_names.tolist() == expected
    assert windows.get_feature_names_out(["a", "b"]).tolist()[:2] == ["a[-1]", "b[-1]"]
    with pytest.raises(ValueError, match="input_features should have length"):
        windows.get_feature_names_out(["a"])
    named = SequenceArray.from_sequences(X, ["f", "g"])
    windows = TokenWindows([0, 1]).fit(named)
    assert windows.get_feature_names_out().tolist() == ["f[0]", "g[0]", "f[1]", "g[1]"]


@pytest.mark.parametrize("form", ["arrays", "csr", "packed", "packed csr"])
def test_float32_stays(form):
    single = FORMS[form]([rows.astype(np.float32) for rows in X])
    result = TokenWindows(indicator=True).fit_transform(single)
    assert result.tokens.dtype == np.float32


def test_X_is_not_changed():
    packed = SequenceArray.from_sequences(X)
    before = packed.tokens.copy()
    TokenWindows(offsets=[0]).fit_transform(packed).tokens[:] = 7.0
    assert_array_equal(packed.tokens, before)


def test_windows_of_one_hot_words_are_those_of_templates():
    words = [["a", "b", "a"], ["c"], [], ["b", "c"]]
    one_hot = SequenceVectorizer().fit_transform(words)
    windows = TokenWindows([-1, 0]).fit_transform(one_hot).tokens.toarray()
    templates = FeatureTemplates(["%x[-1,0]", "%x[0,0]"])
    expected = templates.fit_transform([[(word,) for word in x] for x in words]).tokens.toarray()
    # the same columns in another order, but for those that no token has
    windows = windows[:, windows.any(axis=0)]
    assert sorted(map(tuple, windows.T)) == sorted(map(tuple, expected.T))


def test_windows_of_embeddings_in_dicts():
    dicts = [[{"w": str(t % 2), "v": row} for t, row in enumerate(rows)] for rows in X]
    encoded = SequenceVectorizer().fit_transform(dicts)
    result = TokenWindows([-1, 0]).fit_transform(encoded)
    expected = naive([rows.toarray() for rows in encoded], [-1, 0], "zeros", False)
    assert_array_equal(result.tokens.toarray(), expected)


def test_in_a_pipeline_and_a_union(tmp_path):
    y = [["A" if value > 0 else "B" for value in rows[:, 0]] for rows in X]
    union = SequenceUnion([("windows", TokenWindows([-1, 1])), ("own", "passthrough")])
    model = make_pipeline(union, LinearChainCRF()).fit(X, y)
    save(model, tmp_path / "model")
    for copy in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert copy.predict(X).tolist() == model.predict(X).tolist()
        names = ["windows__x0[-1]", "windows__x1[-1]", "windows__x0[1]", "windows__x1[1]"]
        assert copy[-1].feature_names_in_.tolist()[:4] == names


@pytest.mark.parametrize("names", [None, ["f", "g"]])
def test_files(names, tmp_path):
    packed = SequenceArray.from_sequences(X, names)
    windows = TokenWindows(offsets=[-(10**30), 3], padding="edge", indicator=True).fit(packed)
    save(windows, tmp_path / "windows")
    copy = load(tmp_path / "windows")
    assert copy.transform(packed) == windows.transform(packed)
    assert copy.n_features_out_ == windows.n_features_out_


def test_parameters_count_in_the_next_fit():
    windows = TokenWindows([0]).fit(X)
    windows.set_params(offsets=[-1, 0])
    assert windows.transform(X).tokens.shape[1] == 2
    assert windows.fit_transform(X).tokens.shape[1] == 4


def test_empty_sequences():
    windows = TokenWindows([-1]).fit(X)
    nothing = windows.transform([np.empty((0, 2)), np.empty((0, 2))])
    assert nothing.tokens.shape == (0, 2)
    assert nothing.offsets.tolist() == [0, 0, 0]
    for empty in ([], [np.empty((0, 2))]):
        with pytest.raises(EmptyDataError):
            TokenWindows().fit(empty)


BAD = [
    (X[0], InputTypeError, r"\[X\] is one sequence"),
    (sp.csr_array(X[0]), InputTypeError, r"\[X\] is one sequence"),
    ([["a"], ["b"]], InputTypeError, "SequenceVectorizer makes numbers"),
    ([np.array([[np.nan, 0.0]])], NonFiniteError, r"X\[0\], token 0, feature 0: not finite"),
    ([np.ones((1, 2)), np.array([["a", "b"]])], InputTypeError, r"X\[1\]"),
    ([np.ones((1, 3))], LengthMismatchError, "X has 3 features, but TokenWindows is expecting 2"),
    (SequenceArray(["a"], [0, 1]), InputTypeError, "rows of real numbers"),
    (5, InputTypeError, "batch of sequences"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_bad_input(bad, error, message):
    windows = TokenWindows().fit(X)
    before = dict(vars(windows))
    with pytest.raises(error, match=message):
        windows.transform(bad)
    if error is not LengthMismatchError:
        with pytest.raises(error, match=message):
            windows.fit(bad)
    assert vars(windows) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"offsets": []}, "different numbers, at least one"),
        ({"offsets": [1, 1]}, "different numbers"),
        ({"offsets": [0.5]}, "whole numbers, got 0.5"),
        ({"offsets": [True]}, "whole numbers, got True"),
        ({"offsets": "12"}, "list of whole numbers, got '12'"),
        ({"offsets": 2}, "list of whole numbers, got 2"),
        ({"offsets": iter([1])}, "list of whole numbers"),
        ({"padding": "wrap"}, "padding"),
        ({"indicator": 3}, "indicator"),
    ],
)
def test_bad_parameters(parameters, message):
    for call in ("fit", "fit_transform"):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(TokenWindows(**parameters), call)(X)


def test_not_fitted():
    for call in (lambda w: w.transform(X), lambda w: w.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(TokenWindows())
