"""Embeddings in token dicts against the same numbers as attributes of their own."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct import SequenceArray, SequenceVectorizer
from sklearn_struct.containers.sparse_and_dense import SparseAndDense
from sklearn_struct.encoding.features import attribute_reader
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError


def written_out(X, separator=":"):
    """The same tokens with an attribute for each number."""

    def token(t):
        plain = {}
        for key, value in t.items():
            if isinstance(value, dict):
                plain[key] = token(value)
            elif key.startswith("v"):
                plain |= {f"{key}{separator}{j}": float(v) for j, v in enumerate(value)}
            else:
                plain[key] = value
        return plain

    return [[token(t) for t in sequence] for sequence in X]


def columns_by_name(encoded):
    return dict(zip(encoded.feature_names.tolist(), encoded.tokens.toarray().T, strict=True))


def assert_same(encoded, expected):
    """Equal columns by name."""
    columns = columns_by_name(encoded)
    of_expected = columns_by_name(expected)
    # numbers that are 0 everywhere have a column here, and none there
    for name in columns.keys() | of_expected.keys():
        zeros = np.zeros(encoded.stored.shape[0])
        column = columns.get(name, zeros)
        np.testing.assert_array_equal(column, of_expected.get(name, zeros), err_msg=name)


VECTORS = st.lists(st.floats(-2, 2), min_size=3, max_size=3)
TOKENS = st.fixed_dictionaries(
    {},
    optional={
        "w": st.sampled_from(["a", "b", "c"]),
        "n": st.floats(-2, 2),
        "l": st.lists(st.sampled_from("xy"), max_size=2),
        "v": VECTORS.map(np.array),
        "v2": st.lists(st.floats(-2, 2), min_size=2, max_size=2),
        "d": st.fixed_dictionaries({}, optional={"v": VECTORS.map(tuple)}),
    },
)
CORPORA = st.lists(st.lists(TOKENS, max_size=4), min_size=1, max_size=60)


@settings(max_examples=100, deadline=None)
@given(CORPORA, CORPORA, st.integers(1, 5))
def test_equals_attributes_of_their_own(X, X_new, chunk):
    if not any(X):
        return
    old = attribute_reader._CHUNK
    attribute_reader._CHUNK = chunk
    try:
        vectorizer = SequenceVectorizer()
        encoded = vectorizer.fit_transform(X)
        new = vectorizer.transform(X_new)
    finally:
        attribute_reader._CHUNK = old
    plain = SequenceVectorizer().fit(written_out(X))
    assert_same(encoded, plain.transform(written_out(X)))
    known = set(vectorizer.get_feature_names_out())
    every = SequenceVectorizer().fit(written_out(X + X_new)).transform(written_out(X_new))
    of_new = columns_by_name(new)
    for name, column in columns_by_name(every).items():
        if name in known:
            np.testing.assert_array_equal(of_new[name], column)
    assert encoded.tokens.has_canonical_format


@pytest.mark.parametrize(
    "value",
    [
        np.array([0.5, -1.0]),
        np.array([0.5, -1.0], np.float32),
        np.array([0.5, -1.0], np.float16),
        np.array([0.5, -1.0], np.longdouble),
        np.array([0.5, 7.0, -1.0])[::2],
        np.ma.MaskedArray([0.5, -1.0]),
        [0.5, -1],
        (0.5, -1.0),
        [np.float32(0.5), -1],
        [0.5, np.int64(-1)],
    ],
)
def test_forms_of_embeddings(value):
    encoded = SequenceVectorizer().fit_transform([[{"w": "a", "k": value}, {"w": "b"}]])
    assert encoded.feature_names.tolist() == ["w:a", "w:b", "k:0", "k:1"]
    np.testing.assert_array_equal(encoded.tokens.toarray(), [[1, 0, 0.5, -1], [0, 1, 0, 0]])


def test_embeddings_stay_dense_and_attributes_sparse():
    vectors = np.random.default_rng(0).normal(size=(3, 50))
    X = [[{"w": str(i), "v": vector} for i, vector in enumerate(vectors)]]
    encoded = SequenceVectorizer(dtype=np.float32).fit_transform(X)
    assert isinstance(encoded.stored, SparseAndDense)
    assert encoded.stored.sparse.nnz == 3
    assert encoded.stored.dense.dtype == np.float32
    np.testing.assert_array_equal(encoded.stored.dense, vectors.astype(np.float32))
    assert sp.issparse(encoded.tokens)


def test_tokens_without_the_key_have_zeros():
    vectorizer = SequenceVectorizer().fit([[{"v": [0.5, 1.0], "n": 1.0}]])
    encoded = vectorizer.transform([[{"n": 2.0}, "n", ["n"], {"unknown": [0.5]}], []])
    expected = [[2, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(encoded.tokens.toarray(), expected)


def test_lists_of_strings_are_names_still():
    X = [
        [
            {"v": [0.5, 1], "l": ["a", "b"], "s": {"c"}, "none": []},
            {"l": ["3", "17"], "v": [2, 0.0]},
        ]
    ]
    vectorizer = SequenceVectorizer().fit(X)
    names = ["l:a", "l:b", "s:c", "l:3", "l:17", "v:0", "v:1"]
    assert vectorizer.get_feature_names_out().tolist() == names
    assert vectorizer.embedding_lengths_ == {"v": 2}
    expected = [[1, 1, 1, 0, 0, 0.5, 1], [0, 0, 0, 1, 1, 2, 0]]
    np.testing.assert_array_equal(vectorizer.transform(X).tokens.toarray(), expected)


def test_values_of_one_token_and_name_add_up():
    X = [[{"d:v": [0.5, 1.0], "d": {"v": [1.0, 0.5]}}]]
    assert SequenceVectorizer().fit_transform(X).tokens.toarray().tolist() == [[1.5, 1.5]]


def test_min_frequency_counts_tokens_with_the_key():
    X = [[{"v": [0.5], "u": [1.5]}, {"v": [1.0]}]]
    encoded = SequenceVectorizer(min_frequency=2).fit_transform(X)
    assert encoded.feature_names.tolist() == ["v:0"]
    assert encoded.tokens.toarray().tolist() == [[0.5], [1.0]]


def test_hashing_is_that_of_the_written_out_attributes():
    X = [[{"w": "a", "v": [0.5, 1.0]}, {"v": np.array([0.0, 2.0])}], [{"n": 1.0}]]
    vectorizer = SequenceVectorizer(n_features=4)
    encoded = vectorizer.transform(X)
    expected = vectorizer.transform(written_out(X))
    np.testing.assert_array_equal(encoded.tokens.toarray(), expected.tokens.toarray())


def test_cells_of_a_table_may_be_arrays():
    table = np.empty((2, 2), dtype=object)
    table[:, 0] = ["a", "b"]
    for row, vector in enumerate(([0.5, 1.0], [1.5, 2.0])):
        table[row, 1] = np.array(vector)
    encoded = SequenceVectorizer().fit_transform(SequenceArray(table, [0, 2], ["w", "v"]))
    assert encoded.feature_names.tolist() == ["w:a", "w:b", "v:0", "v:1"]


def test_vocabulary_has_their_columns():
    vectorizer = SequenceVectorizer(separator="=").fit([[{"v": [0.5, 1.0], "w": "a"}]])
    assert vectorizer.vocabulary_ == {"w=a": 0, "v=0": 1, "v=1": 2}
    assert vectorizer.n_features_out_ == 3


GOOD = [{"v": np.array([0.5, 1.0]), "w": "a"}]
BAD = [
    ([0.5, 1.0, 2.0], LengthMismatchError, "an embedding of 3 numbers, but others .* have 2"),
    (np.ones(1), LengthMismatchError, "an embedding of 1 numbers, but others of this name have 2"),
    ([0.5, np.nan], NonFiniteError, r"number 1: not finite \(nan\)"),
    (np.array([-np.inf, 0.5]), NonFiniteError, r"number 0: not finite \(-inf\)"),
    (np.ones((1, 2)), InputTypeError, r"a one-dimensional array of floats, .* shape \(1, 2\)"),
    (np.array(0.5), InputTypeError, r"a one-dimensional array of floats, .* shape \(\)"),
    (np.empty(0), InputTypeError, r"a one-dimensional array of floats, .* shape \(0,\)"),
    (np.array([1, 2]), InputTypeError, r"one of int64; array.astype\(float\) makes one of floats"),
    (np.array(["a", "b"]), InputTypeError, "an array of floats, got one of <U1"),
    (np.array([0.5, None]), InputTypeError, r"got one of object; array.astype\(float\) makes one"),
    (np.ma.MaskedArray([0.5, 1.0], [True, False]), InputTypeError, "has no masked numbers"),
    ([0.5, "a"], InputTypeError, r"a list of numbers is an embedding, and has no 'a' \(str\)"),
    ([0.5, None], InputTypeError, r"a list of numbers is an embedding, and has no None"),
    ([0.5, [1.0]], InputTypeError, r"a list of numbers is an embedding, and has no \[1.0\]"),
    ([1, 2], InputTypeError, r"write \[float\(i\) .* for an embedding, \[str\(i\) .* for names"),
    ((0, 10**400), InputTypeError, "a list of whole numbers may mean an embedding or names"),
    ([np.int64(3), True], InputTypeError, "a list of whole numbers may mean an embedding or names"),
    (["a", 1], InputTypeError, r"names of features must be strings, got 1 \(int\)"),
]


@pytest.mark.parametrize(("value", "error", "message"), BAD)
@pytest.mark.parametrize("n_features", [None, 8])
def test_bad_embeddings_are_refused_with_their_place(value, error, message, n_features):
    vectorizer = SequenceVectorizer(n_features=n_features).fit([GOOD])
    before = dict(vars(vectorizer))
    # in another chunk than the good ones, too
    for n in (1, 60):
        X = [GOOD] * n + [[*GOOD, {"v": value}]]
        for call in (vectorizer.fit_transform, vectorizer.transform):
            with pytest.raises(error, match=rf"^X\[{n}\], token 1, feature 'v'.*{message}"):
                call(X)
    assert vars(vectorizer) == before


def test_what_overflows_float32_is_refused():
    with pytest.raises(NonFiniteError, match=r"feature 'v', number 1: not finite \(1e\+300\)"):
        SequenceVectorizer(dtype=np.float32).fit([[{"v": [0.5, 1e300]}]])


def test_transform_asks_for_the_length_of_fit():
    vectorizer = SequenceVectorizer().fit([GOOD])
    with pytest.raises(LengthMismatchError, match=r"X\[0\], token 0, feature 'v': .* of 3 numbers"):
        vectorizer.transform([[{"v": [0.5, 0.5, 0.5]}]])


def test_a_name_of_two_kinds_is_refused():
    with pytest.raises(ValueError, match="'v:1' is the name of an attribute and of a number"):
        SequenceVectorizer().fit([[{"v": [0.5, 1.0]}, {"v:1": 2.0}]])
