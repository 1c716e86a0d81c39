"""Which form X has, packing of arrays, and that an estimator learns the same from every form."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from sklearn_struct import (
    HMM,
    MEMM,
    PCFG,
    FeatureTemplates,
    LinearChainCRF,
    LogLinearClassifier,
    SequenceArray,
    SequenceVectorizer,
)
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.encoding.sequences import (
    as_dtype,
    as_list,
    check_numbers,
    form,
    pack_arrays,
    refuse_frame,
)
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, NonFiniteError

# ---------------------------------------------------------------- the functions


def test_as_list_keeps_all_but_iterators():
    X = [["a"]]
    assert as_list(X) is X
    assert as_list(None) is None
    array = np.eye(2)
    assert as_list(array) is array
    assert as_list(iter(X)) == as_list(s for s in X) == X


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (SequenceArray(np.eye(2), [0, 2]), "packed"),
        (np.eye(2), "flat"),
        (np.array([["a", "b"]]), "flat"),
        (sp.eye_array(2), "flat"),
        (sp.csc_matrix(np.eye(2)), "flat"),
        (pd.DataFrame([[1.0]]), "flat"),
        ([[1.0, 2.0], [3.0, 4.0]], "flat"),
        ([[1, True], [np.float32(3), 4]], "flat"),
        ([np.ones(2), np.ones(2)], "flat"),
        ([1.0, 2.0], "flat"),
        (np.ones(3), "flat"),
        (np.ones((2, 2, 2)), "arrays"),
        ([np.eye(2)], "arrays"),
        ([sp.eye_array(2)], "arrays"),
        ([[], sp.eye_array(2)], "arrays"),
        ([np.empty((0, 2))], "arrays"),
        (object_array([np.eye(2), np.eye(2)]), "arrays"),
        ([[[1.0, 2.0]], [[3.0, 4.0]]], "arrays"),
        ([[], [], ((1, 2),)], "arrays"),
        ([[{"a": 1}]], "attributes"),
        ([["a"]], "attributes"),
        ((("a",),), "attributes"),
        ([np.array(["a", "b"])], "attributes"),
        ([[["a", "b"]]], "attributes"),
        ([[[], ["a"]]], "attributes"),
        ([[set(), frozenset()]], "attributes"),
        ([[], [[]]], "attributes"),
        ([[]], "empty"),
        ([[], ()], "empty"),
    ],
)
def test_form(X, expected):
    assert form(X) == expected


@pytest.mark.parametrize(
    ("X", "exception", "match"),
    [
        ([], EmptyDataError, "no sequences"),
        (np.array([]), EmptyDataError, "no sequences"),
        (np.array(1.0), InputTypeError, "X is a single ndarray"),
        ("text", InputTypeError, "batch of sequences or a two-dimensional array, got str"),
        (b"text", InputTypeError, "got bytes"),
        ({"a": 1}, InputTypeError, "got dict"),
        (None, InputTypeError, "got NoneType"),
        (3, InputTypeError, "got int"),
        ([[], "text"], InputTypeError, r"X\[1\] is a str, not a sequence of tokens"),
        ([{"a": 1}], InputTypeError, r"X\[0\] is a dict"),
        ([None], InputTypeError, r"X\[0\] is a NoneType"),
        ([iter("ab")], InputTypeError, r"X\[0\] is a str_.*iterator"),
    ],
)
def test_no_form(X, exception, match):
    with pytest.raises(exception, match=match):
        form(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pack_arrays(dtype):
    X = [np.array([[1, 2], [3, 4]]), [], np.empty((0, 2)), np.empty((0, 5)), [[5, 6]]]
    packed = pack_arrays(X, dtype)
    assert packed == SequenceArray(np.array([[1, 2], [3, 4], [5, 6]], dtype), [0, 2, 2, 2, 2, 3])
    assert packed.tokens.dtype == dtype
    sparse = pack_arrays(
        [sp.coo_matrix(X[0]), sp.csc_array((0, 2)), sp.csr_array((0, 5)), [], X[4]], dtype
    )
    assert sparse.tokens.dtype == dtype
    assert sp.issparse(sparse.tokens)
    np.testing.assert_array_equal(sparse.tokens.toarray(), packed.tokens)
    np.testing.assert_array_equal(sparse.offsets, [0, 2, 2, 2, 2, 3])


@pytest.mark.parametrize(
    ("X", "exception", "match"),
    [
        (
            [np.ones((1, 2)), np.ones(2)],
            InputTypeError,
            r"X\[1\] must have two dimensions \(tokens, features\), got 1",
        ),
        ([np.ones((1, 2, 2))], InputTypeError, r"X\[0\] must have two dimensions"),
        (
            [[[1.0, 2.0], [3.0]]],
            InputTypeError,
            r"X\[0\] cannot be read as a two-dimensional array of numbers",
        ),
        ([np.ones((1, 1)), [["word"]]], InputTypeError, r"X\[1\] cannot be read"),
        ([[[1j]]], InputTypeError, r"X\[0\].*complex"),
        ([np.ones((1, 1)), sp.csr_array([[1j]])], InputTypeError, r"X\[1\].*complex"),
    ],
)
def test_pack_arrays_has_the_place_of_mistakes(X, exception, match):
    with pytest.raises(exception, match=match):
        pack_arrays(X, np.float64)


def test_pack_arrays_without_tokens():
    packed = pack_arrays([np.empty((0, 3)), [], sp.csr_array((0, 2))], np.float32)
    assert packed.offsets.tolist() == [0, 0, 0, 0]
    assert (packed.tokens.shape[0], packed.tokens.dtype) == (0, np.float32)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_as_dtype(container):
    X = SequenceArray(container(np.array([[1.5, 1e300], [0.0, -2.0]])), [0, 1, 2], ["p", "q"])
    assert as_dtype(X, np.float64) is X
    small = as_dtype(X, np.float32)
    assert (small.tokens.dtype, X.tokens.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(dense(small.tokens), [[1.5, np.inf], [0, -2]])
    assert small.offsets.tolist() == [0, 1, 2]
    assert small.feature_names.tolist() == ["p", "q"]
    assert (
        as_dtype(SequenceArray(container(np.eye(2, dtype=int)), [0, 2]), np.float64).tokens.dtype
        == np.float64
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("names", [None, ["p", "q", "r"]])
def test_check_numbers_finds_the_first(container, value, names):
    tokens = np.arange(15.0).reshape(5, 3)
    offsets = [0, 2, 2, 4, 5]
    check_numbers(SequenceArray(container(tokens), offsets, names))
    tokens[4, 0] = np.inf
    for token, column, place in (
        (4, 0, "X[3], token 0"),
        (3, 1, "X[2], token 1"),
        (2, 2, "X[2], token 0"),
        (0, 1, "X[0], token 0"),
    ):
        tokens[token, column] = value
        with pytest.raises(NonFiniteError) as error:
            check_numbers(SequenceArray(container(tokens), offsets, names))
        feature = repr(names[column]) if names else column
        assert str(error.value).startswith(f"{place}, feature {feature}: not finite")


def test_check_numbers_of_infinities_that_cancel_and_of_large_numbers():
    check_numbers(SequenceArray(np.full((2, 2), 1e308), [0, 2]))
    check_numbers(SequenceArray(np.ones((2, 2), dtype=bool), [0, 2]))
    check_numbers(SequenceArray(np.empty((0, 2)), [0]))
    with pytest.raises(NonFiniteError, match="feature 1"):
        check_numbers(SequenceArray(np.array([[1, np.inf], [-np.inf, 1]]), [0, 2]))


# ---------------------------------------------------------------- an estimator reads them all


def as_dicts(X):
    return [
        [{f"f{c}": value for c, value in enumerate(token) if value} for token in s.tolist()]
        for s in X
    ]


def as_packed(X, container=np.asarray):
    return SequenceArray(container(np.concatenate(X)), np.cumsum([0, *map(len, X)]))


def crf(**options):
    return LinearChainCRF(feature_pairs="all", tol=1e-8, **options)


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def bits(model):
    """What a model has learned."""
    parts = dense(model.coef_), model.transition_, model.intercept_, np.array(model.loss_curve_)
    return [part.tobytes() for part in parts]


@pytest.fixture(scope="module")
def data():
    """Arrays (some empty) with many zeros, and labels."""
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.6) for n in (0, 3, 1, 5, 0, 4, 2)]
    return X, [[("A", "B")[int(t[0] > 0)] for t in s] for s in X]


FORMS = {
    "list of arrays": lambda X: X,
    "tuple": tuple,
    "object array": lambda X: object_array(X),
    "generator": lambda X: (s for s in X),
    "nested lists": lambda X: [s.tolist() for s in X],
    "nested tuples": lambda X: tuple(tuple(map(tuple, s.tolist())) for s in X),
    "object arrays of numbers": lambda X: [s.astype(object) for s in X],
    "csr_array": lambda X: [sp.csr_array(s) for s in X],
    "csr_matrix": lambda X: object_array([sp.csr_matrix(s) for s in X]),
    "coo and dense": lambda X: [sp.coo_array(s) if i % 2 else s for i, s in enumerate(X)],
    "SequenceArray": as_packed,
    "SequenceArray of csr": lambda X: as_packed(X, sp.csr_array),
    "dicts": as_dicts,
    "dicts in tuples": lambda X: tuple(tuple(s) for s in as_dicts(X)),
    "object arrays of dicts": lambda X: [object_array(s) for s in as_dicts(X)],
    "generator of dicts": lambda X: iter(as_dicts(X)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_sequences_mean_the_same(data, form):
    X, y = data
    expected = crf().fit(X, y)
    model = crf().fit(FORMS[form](X), y)
    assert model.n_features_in_ == 3
    found = model.predict_proba(FORMS[form](X))
    assert [p.shape for p in found] == [(len(s), 2) for s in X]
    np.testing.assert_allclose(
        np.concatenate(found), np.concatenate(expected.predict_proba(X)), atol=1e-6
    )
    assert model.predict(FORMS[form](X)).tolist() == expected.predict(X).tolist()
    assert model.score(FORMS[form](X), y) == expected.score(X, y)
    np.testing.assert_allclose(
        model.log_proba(FORMS[form](X), y), expected.log_proba(X, y), atol=1e-5
    )
    if "dict" not in form:  # where columns have another order
        learned = dense(model.coef_), dense(expected.coef_)
        np.testing.assert_allclose(*learned, atol=1e-6)
        assert sp.issparse(model.coef_) == any(word in form for word in ("csr", "coo"))
    if not sp.issparse(model.coef_):
        assert bits(model) == bits(expected)


STRINGS = {
    "strings": [["a", "b", "a"], [], ["c"]],
    "arrays of strings": [np.array(["a", "b", "a"]), np.array([], dtype=str), np.array(["c"])],
    "string lists": [[["a"], ["b"], ["a"]], [], [["c"]]],
    "string tuples": [[("a",), ("b",), ("a",)], (), [("c",)]],
    "sets": [[{"a"}, {"b"}, {"a"}], [], [{"c"}]],
    "dicts": [[{"a": 1}, {"b": True}, {"a": 1.0}], [], [{"c": np.float32(1)}]],
    "mixed": [["a", ["b"], {"a": 1}], [], [{"c"}]],
}


@pytest.mark.parametrize("form", STRINGS)
def test_forms_of_attributes_mean_the_same(form):
    y = [["A", "B", "A"], [], ["B"]]
    expected = LinearChainCRF().fit(STRINGS["strings"], y)
    model = LinearChainCRF().fit(STRINGS[form], y)
    assert bits(model) == bits(expected)
    assert (
        model.feature_names_in_.tolist()
        == model.vectorizer_.get_feature_names_out().tolist()
        == ["a", "b", "c"]
    )


def frame_of(X, y=None):
    """Sequences of rows of two columns as a table; empty ones leave no row."""
    rows = [(i, word, size) for i, s in enumerate(X) for word, size in s]
    frame = pd.DataFrame(rows, columns=["sentence", "word", "size"])
    return frame if y is None else frame.assign(label=[label for labels in y for label in labels])


def test_tables_of_words_are_dicts_or_rows():
    X = [[("a", 1.5), ("b", 0.0)], [("a", -1.0)], [("c", 0.5), ("b", 2.0)]]
    y = [["A", "B"], ["A"], ["B", "A"]]
    frame = frame_of(X, y)
    packed = SequenceArray.from_frame(frame, "sentence", ["word", "size"])
    labels = SequenceArray.from_frame(frame, "sentence", "label")
    dicts = [[{"word": word, "size": size} for word, size in s] for s in X]
    model = LinearChainCRF().fit(packed, labels)
    expected = LinearChainCRF().fit(dicts, y)
    assert bits(model) == bits(expected)
    assert model.predict(packed).tolist() == expected.predict(dicts).tolist()
    assert model.predict(packed[1:]).tolist() == expected.predict(dicts[1:]).tolist()
    templates = FeatureTemplates(["%x[0,word]/%x[0,size]"], columns=["word", "size"])
    assert templates.fit_transform(packed) == clone(templates).fit_transform(X)


def test_tables_of_numbers_are_arrays():
    X = [[(1.0, 2.0), (0.5, -1.0)], [(3.0, 0.0)]]
    frame = frame_of(X, [[1, 0], [1]])
    y = [[1, 0], [1]]
    model = LinearChainCRF().fit(SequenceArray.from_frame(frame, "sentence", ["word", "size"]), y)
    assert bits(model) == bits(LinearChainCRF().fit([np.array(s) for s in X], y))
    assert model.feature_names_in_.tolist() == ["word", "size"]


def test_mistakes_in_tables_have_a_place():
    frame = frame_of([[("a", 1.0)], [("b", 2.0), (None, 3.0)]])
    with pytest.raises((InputTypeError, NonFiniteError), match=r"X\[1\], token 1, feature 'word'"):
        LinearChainCRF().fit(SequenceArray.from_frame(frame, "sentence"), [["A"], ["B", "B"]])
    frame = frame_of([[("a", 1.0)], [("b", 2.0), ("c", np.nan)]])
    for columns in (["word", "size"], ["size"]):
        with pytest.raises(NonFiniteError, match=r"X\[1\], token 1, feature 'size': not finite"):
            LinearChainCRF().fit(
                SequenceArray.from_frame(frame, "sentence", columns), [["A"], ["B", "B"]]
            )
    with pytest.raises(InputTypeError, match="only if their columns have names"):
        SequenceVectorizer().fit(SequenceArray(np.eye(2), [0, 2]))


def test_three_dimensions_are_sequences_of_equal_length():
    X = np.random.RandomState(0).normal(size=(5, 3, 2))
    y = (X[:, :, 0] > 0).astype(int)
    model = crf().fit(X, y)
    expected = crf().fit(list(X), y.tolist())
    assert bits(model) == bits(expected)
    assert model.predict(X).tolist() == expected.predict(list(X)).tolist()
    assert [p.shape for p in model.predict_proba(X)] == [(3, 2)] * 5


FLAT = {
    "array": lambda X: X,
    "list": lambda X: X.tolist(),
    "tuple of arrays": tuple,
    "DataFrame": lambda X: pd.DataFrame(X, columns=["p", "q", "r"]),
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "float32": lambda X: X.astype(np.float32),
    "not contiguous": lambda X: np.asfortranarray(np.repeat(X, 2, axis=1))[:, ::2],
}


@pytest.mark.parametrize("form", FLAT)
def test_two_dimensions_are_sequences_of_length_one(form):
    X = np.random.RandomState(0).randint(-2, 3, size=(12, 3)).astype(float)
    y = np.array(["A", "B", "C"])[X.astype(int)[:, 0] % 3]
    model = crf().fit(FLAT[form](X), y)
    ragged = crf().fit(X[:, None], y[:, None])
    np.testing.assert_allclose(
        model.predict_proba(FLAT[form](X)), np.vstack(ragged.predict_proba(X[:, None])), atol=1e-6
    )
    assert model.predict(FLAT[form](X)).tolist() == [
        labels[0] for labels in ragged.predict(X[:, None])
    ]
    np.testing.assert_allclose(
        model.log_proba(FLAT[form](X), y), ragged.log_proba(X[:, None], y[:, None]), atol=1e-6
    )
    assert hasattr(model, "feature_names_in_") == (form == "DataFrame")


def test_dense_model_reads_sparse_tokens_and_the_reverse(data):
    X, y = data
    sparse = FORMS["csr_array"](X)
    for train, other in ((X, sparse), (sparse, X)):
        model = crf(edge_features=[1]).fit(train, y)
        for method in ("predict_proba", "predict_edge_proba"):
            for p, q in zip(
                getattr(model, method)(train), getattr(model, method)(other), strict=True
            ):
                np.testing.assert_allclose(p, q, atol=1e-12)
        assert model.predict(train).tolist() == model.predict(other).tolist()


def test_unsorted_and_duplicate_entries_are_read_and_left_alone():
    indices = np.array([2, 0, 1, 1, 2])
    indptr = np.array([0, 2, 4, 5])
    tokens = sp.csr_array((np.arange(1.0, 6.0), indices, indptr), shape=(3, 3))
    parts = [part.copy() for part in (tokens.data, tokens.indices, tokens.indptr)]
    y = [["A", "B"], ["A"]]
    model = crf().fit(SequenceArray(tokens, [0, 2, 3]), y)
    expected = crf().fit(SequenceArray(tokens.toarray(), [0, 2, 3]), y)
    np.testing.assert_allclose(model.coef_.toarray(), expected.coef_, atol=1e-6)
    for before, after in zip(parts, (tokens.data, tokens.indices, tokens.indptr), strict=True):
        np.testing.assert_array_equal(before, after)


def test_unseen_features_are_ignored():
    model = LinearChainCRF(edge_features="all").fit([["a", "b"], ["c"]], [["A", "B"], ["B"]])
    known = [["a", []], ["b"]]
    unknown = [[["a", "z"], "y"], [["b", "x", "z"]]]
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_edge_proba"):
        for p, q in zip(
            getattr(model, method)(known), getattr(model, method)(unknown), strict=True
        ):
            np.testing.assert_array_equal(p, q)


def test_tokens_without_any_feature():
    model = LinearChainCRF(C=100).fit([[{}, "b", []], [(), set()]], [["A", "B", "A"], ["A", "A"]])
    assert model.coef_.shape == (2, 1)
    for token in ({}, [], (), set(), "unseen"):
        assert model.predict([[token, token]]).tolist() == [["A", "A"]]
    without = LinearChainCRF().fit([[{}, {}], [{}]], [["A", "B"], ["A"]])
    assert without.coef_.shape == (2, 0)
    assert without.predict([[{}]]).tolist() == [["A"]]


@pytest.mark.parametrize("form", [name for name in FORMS if "generator" not in name])
def test_fit_leaves_its_input_alone(data, form):
    X = FORMS[form](data[0])
    y = deepcopy(data[1])
    kept = deepcopy(X)
    crf(edge_features="all").fit(X, y).predict(X)
    assert y == data[1]
    for before, after in zip(kept, X, strict=True):
        np.testing.assert_array_equal(dense(before), dense(after))


def test_columns_of_frames_have_names():
    """A list of data frames is read by position, so positions must mean the same in all of them,
    and in `fit`.
    """
    frames = [
        pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}),
        pd.DataFrame({"a": [1.0], "b": [0.0]}),
    ]
    y = [["x", "y"], ["y"]]
    crf = LinearChainCRF(C=10).fit(frames, y)
    assert crf.feature_names_in_.tolist() == ["a", "b"]
    assert crf.predict(frames).tolist() == y
    turned = [frame[["b", "a"]] for frame in frames]
    with pytest.raises(ValueError, match="feature names of X are not those"):
        crf.predict(turned)
    with pytest.raises(
        ValueError, match=r"X\[1\] has the columns \['b', 'a'\] but X\[0\] has \['a', 'b'\]"
    ):
        LinearChainCRF().fit([frames[0], turned[1]], y)


def test_masked_values_are_refused():
    masked = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
    with pytest.raises(InputTypeError, match=r"X\[0\] .*masked"):
        LinearChainCRF().fit([masked], [["a", "b"]])
    assert LinearChainCRF().fit([np.ma.array([[1.0], [2.0]])], [["a", "b"]]).n_features_in_ == 1


@pytest.mark.parametrize("library", [pd, polars])
def test_frames_where_sequences_are_meant(library):
    frame = library.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(
        InputTypeError, match=r"^X is a DataFrame: SequenceArray.from_frame\(X, group\)"
    ):
        refuse_frame(frame)
    with pytest.raises(
        InputTypeError, match=r"^t is a DataFrame: SequenceArray.from_frame\(t, group, column\)"
    ):
        refuse_frame(frame, "t", ", column")


@pytest.mark.parametrize("library", [pd, polars])
@pytest.mark.parametrize("model", [LinearChainCRF(), MEMM(), HMM()])
def test_frames_are_no_labels(library, model):
    """Who goes through one gets the names of its columns."""
    names = library.DataFrame({"D": [1, 2], "N": [3, 4]})
    X = [["the", "cat"], ["a", "dog"]]
    with pytest.raises(
        InputTypeError, match=r"^y\[0\] must be a sequence of labels, got DataFrame"
    ):
        model.fit(X, [names, ["D", "N"]])
    with pytest.raises(
        InputTypeError, match=r"^y must be a list of label sequences, got DataFrame"
    ):
        model.fit(X, names)


@pytest.mark.parametrize(
    "model", [LinearChainCRF(), HMM(), SequenceVectorizer(), PCFG(), LogLinearClassifier()]
)
def test_queries_are_refused(model):
    """What is a table for others has no rows here; the error says how to get them."""
    query = polars.DataFrame({"a": [1.0], "b": [2.0]}).lazy()
    with pytest.raises(InputTypeError, match=r"^X is a LazyFrame, .*: write X\.collect\(\)$"):
        model.fit(query, ["A"])


def test_queries_among_sequences_are_refused():
    frame = polars.DataFrame({"a": [1.0], "b": [2.0]})
    for X in ([frame, frame.lazy()], [[], frame.lazy()]):
        with pytest.raises(
            InputTypeError, match=r"^X\[1\] is a LazyFrame, .*: write X\[1\]\.collect\(\)$"
        ):
            LinearChainCRF().fit(X, [["A"], ["A"]])


def test_one_column_of_labels():
    """Of rows of single tokens, as scikit-learn takes them."""
    for library in (pd, polars):
        with pytest.warns(DataConversionWarning):
            model = LinearChainCRF().fit(np.eye(2), library.DataFrame({"y": ["A", "B"]}))
        assert model.classes_.tolist() == ["A", "B"]


def test_edge_features_are_no_iterator():
    with pytest.raises(
        InputTypeError, match="edge_features must be a list of names, got generator"
    ):
        LinearChainCRF(edge_features=(name for name in ["a"])).fit([["a"]], [["x"]])
