"""SequenceArray as a one-dimensional array."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, ShuffleSplit, train_test_split
from sklearn.utils import _safe_indexing, shuffle

from sklearn_struct import HMM, LinearChainCRF, SequenceArray
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.exceptions import InputTypeError

TOKENS = np.arange(12.0).reshape(6, 2)
OFFSETS = [0, 2, 2, 5, 6]
PARTS = [TOKENS[0:2], TOKENS[2:2], TOKENS[2:5], TOKENS[5:6]]


@pytest.fixture(params=["dense", "sparse", "labels"])
def array(request):
    """Four sequences of 2, 0, 3 and 1 tokens, and the list of them."""
    if request.param == "sparse":
        return SequenceArray(sp.csr_array(TOKENS), OFFSETS), [sp.csr_array(part) for part in PARTS]
    if request.param == "labels":
        labels = np.array(["B", "I", "O", "long-label", "O", "B"])
        return SequenceArray(labels, OFFSETS), [labels[0:2], labels[2:2], labels[2:5], labels[5:6]]
    return SequenceArray(TOKENS, OFFSETS), PARTS


def assert_sequence(found, expected):
    assert type(found) is type(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if sp.issparse(found):
        found = found.toarray()
        expected = expected.toarray()
    np.testing.assert_array_equal(found, expected)


def assert_holds(found, expected):
    """`found` is a SequenceArray of the sequences `expected`."""
    assert isinstance(found, SequenceArray)
    assert found.shape == (len(expected),)
    for a, b in zip(found, expected, strict=True):
        assert_sequence(a, b)


# ---- as an array


def test_is_a_one_dimensional_array(array):
    X, parts = array
    assert X.shape == (4,)
    assert X.ndim == 1
    assert len(X) == 4
    assert X.lengths.tolist() == [2, 0, 3, 1]
    assert X.offsets.dtype == np.int64
    assert_holds(X, parts)


@pytest.mark.parametrize("i", [0, 1, 3, -1, -4, np.int8(2), np.uint64(2), np.int64(-1)])
def test_integer_gives_a_sequence(array, i):
    X, parts = array
    assert_sequence(X[i], parts[int(i)])
    assert_sequence(X[i, ...], parts[int(i)])


def test_zero_dimensional_index_is_an_integer(array):
    """As numpy does it."""
    X, parts = array
    assert_sequence(X[np.array(2)], parts[2])
    assert_sequence(np.take(X, 2), parts[2])


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(1, 3),
        slice(2, 2),
        slice(3, 1),
        slice(-2, None),
        slice(0, 100),
        slice(None, None, 2),
        slice(1, None, 2),
        slice(0, None, 3),
        slice(None, None, -1),
        slice(3, 0, -2),
        [2, 0],
        [0, 0, 0],
        [-1, -4],
        [],
        np.array([3, 1]),
        np.array([], dtype=int),
        np.array([2], dtype=np.uint8),
        [True, False, True, True],
        np.zeros(4, dtype=bool),
        np.array([False, True, False, False]),
        range(1, 3),
        ...,
    ],
    ids=repr,
)
def test_other_keys_give_a_sequence_array(array, key):
    X, parts = array
    expected = object_array(parts)[key]
    assert_holds(X[key], expected)
    if key is not ...:
        assert_holds(X[key, ...], expected)


@pytest.mark.parametrize(
    "key",
    [
        4,
        -5,
        1.0,
        "a",
        [4],
        [-5],
        [0.5],
        [True, False],
        (0, 0),
        (..., 0),
        (0, 1, ...),
        None,
        [[0, 1]],
    ],
    ids=repr,
)
def test_bad_keys(array, key):
    with pytest.raises(IndexError):
        array[0][np.array(key) if isinstance(key, list) else key]


def test_slices_share_memory():
    X = SequenceArray(TOKENS, OFFSETS)
    assert np.shares_memory(X[1:3].tokens, TOKENS)
    assert np.shares_memory(X[2], TOKENS)


def test_becomes_an_object_array(array):
    X, parts = array
    for dtype in (None, object):
        found = np.asarray(X, dtype=dtype)
        assert found.dtype == object
        assert found.shape == (4,)
        for a, b in zip(found, parts, strict=True):
            assert_sequence(a, b)
    assert np.asarray(X[[0, 0]]).shape == (2,)
    with pytest.raises(ValueError, match="dtype object"):
        np.asarray(X, dtype=float)
    with pytest.raises(ValueError, match="without a copy"):
        X.__array__(copy=False)  # what np.array(X, copy=False) means since numpy 2


def test_concatenate(array):
    X, parts = array
    assert_holds(np.concatenate([X, X[:0], X[2:]]), [*parts, *parts[2:]])
    assert_holds(np.concatenate((X[:1],), axis=0), parts[:1])
    assert_holds(np.concatenate([X, [parts[0]]]), [*parts, parts[0]])


def test_concatenate_dense_and_sparse():
    X = SequenceArray(TOKENS, OFFSETS)
    S = SequenceArray(sp.csr_array(TOKENS), OFFSETS)
    for arrays in ([S, X], [X, S]):
        assert np.concatenate(arrays) == SequenceArray(
            np.tile(TOKENS, (2, 1)), [0, 2, 2, 5, 6, 8, 8, 11, 12]
        )


def test_take(array):
    X, parts = array
    assert_holds(np.take(X, [2, 0, 2]), [parts[2], parts[0], parts[2]])
    assert_holds(np.take(X, np.array([3]), axis=0), [parts[3]])
    assert_holds(np.take(X, np.array([], dtype=int)), [])


@pytest.mark.parametrize("function", [np.sum, np.sort, np.unique, np.vstack])
def test_other_numpy_functions_are_refused(array, function):
    with pytest.raises(TypeError, match="SequenceArray"):
        function(array[0] if function is not np.vstack else [array[0]])


def test_array_namespace(array):
    assert array[0].__array_namespace__() is np
    assert array[0].__array_namespace__(api_version="2022.12") is np
    assert array[0].device == "cpu"


def test_equality(array):
    X, _ = array
    same = X[[0, 1, 2, 3]]
    assert same == X
    assert not (same != X)  # noqa: SIM202
    assert X[::-1] != X
    assert X[:3] != X
    assert SequenceArray(X.tokens, [0, 2, 5, 5, 6]) != X
    assert X[:0] == X[[]]
    assert X != "a"
    assert [*X] != X
    with pytest.raises(TypeError, match="unhashable"):
        hash(X)


def test_equality_of_values_not_of_storage():
    dense = SequenceArray(TOKENS, OFFSETS)
    sparse = SequenceArray(sp.coo_array(TOKENS), OFFSETS)
    assert dense == sparse
    assert sparse == dense
    assert sparse != SequenceArray(TOKENS + 1, OFFSETS)
    assert dense != SequenceArray(TOKENS[:, :1], OFFSETS)
    stored_zero = sp.csr_array((np.zeros(1), [0], [0, 1, 1]), shape=(2, 2))
    assert SequenceArray(stored_zero, [0, 2]) == SequenceArray(np.zeros((2, 2)), [0, 2])


def test_repr_is_one_line(array):
    X, _ = array
    features = ", n_features=2" if X.tokens.ndim == 2 else ""
    assert repr(X) == f"SequenceArray(n_sequences=4, n_tokens=6{features})"
    assert repr(X[:0]) == f"SequenceArray(n_sequences=0, n_tokens=0{features})"


def test_pickles_and_copies(array):
    X, parts = array
    for twin in (pickle.loads(pickle.dumps(X)), copy.copy(X), copy.deepcopy(X)):
        assert twin == X
        assert_holds(twin, parts)


def test_feature_names_stay():
    X = SequenceArray(TOKENS, OFFSETS, feature_names=["a", "b"])
    for part in (
        X[1:3],
        X[[0, 2]],
        X[:0],
        np.concatenate([X, X]),
        np.take(X, [1]),
        pickle.loads(pickle.dumps(X)),
    ):
        assert part.feature_names.tolist() == ["a", "b"]
    assert X[:2][0].shape == (2, 2)


# ---- construction


@pytest.mark.parametrize(
    ("tokens", "offsets", "names", "match"),
    [
        (np.zeros((2, 2, 2)), [0, 2], None, "one or two dimensions, got 3"),
        (np.zeros(()), [0], None, "one or two dimensions, got 0"),
        (TOKENS, [0, 5], None, "offsets end at 5, but there are 6 tokens"),
        (TOKENS, [1, 6], None, "start at 0"),
        (TOKENS, [0, 4, 3, 6], None, "never decrease"),
        (TOKENS, [], None, "offsets must be"),
        (TOKENS, [[0, 6]], None, "one-dimensional"),
        (TOKENS, OFFSETS, ["a"], "1 feature names for tokens of shape"),
        (np.zeros(6), OFFSETS, ["a"], "1 feature names for tokens of shape"),
    ],
)
def test_bad_construction(tokens, offsets, names, match):
    with pytest.raises(ValueError, match=match):
        SequenceArray(tokens, offsets, names)


def test_from_sequences(array):
    X, parts = array
    assert_holds(SequenceArray.from_sequences(parts), parts)
    assert SequenceArray.from_sequences(list(X)) == X


def test_from_label_lists():
    y = SequenceArray.from_sequences([["B", "I"], [], ("O",), np.array(["longer"])])
    assert [part.tolist() for part in y] == [["B", "I"], [], ["O"], ["longer"]]
    assert SequenceArray.from_sequences([[], [1, 2]]).tokens.dtype.kind == "i"
    assert SequenceArray.from_sequences([["a", None], ["b"]]).tokens.tolist() == ["a", None, "b"]


@pytest.mark.parametrize("sequences", [[], [[]], [[], []]])
def test_from_nothing(sequences):
    y = SequenceArray.from_sequences(sequences)
    assert y.shape == (len(sequences),)
    assert len(y.tokens) == 0


def test_from_sequences_of_several_widths():
    with pytest.raises(ValueError, match="dimension"):
        SequenceArray.from_sequences([np.zeros((1, 2)), np.zeros((1, 3))])


# ---- from one long matrix, and from tables


@pytest.mark.parametrize(
    "kind", [np.asarray, list, lambda X: X.tolist(), sp.csr_array, sp.coo_matrix, pd.DataFrame]
)
def test_from_flat(kind):
    X = SequenceArray.from_flat(kind(TOKENS), [2, 0, 3, 1])
    assert SequenceArray(TOKENS, OFFSETS) == X
    assert X.feature_names is None or X.feature_names.tolist() == ["0", "1"]


def test_from_flat_labels_and_names():
    y = SequenceArray.from_flat(["a", "b", "c"], np.array([1, 2], dtype=np.uint8))
    assert [part.tolist() for part in y] == [["a"], ["b", "c"]]
    assert SequenceArray.from_flat(pd.Series(["a", "b"]), [2])[0].tolist() == ["a", "b"]
    assert SequenceArray.from_flat(pd.DataFrame({"p": [1.0]}), [1]).feature_names.tolist() == ["p"]
    assert SequenceArray.from_flat(TOKENS, [6], ["v", "w"]).feature_names.tolist() == ["v", "w"]
    assert len(SequenceArray.from_flat(np.empty((0, 2)), [])) == 0


@pytest.mark.parametrize(
    ("lengths", "match"),
    [
        ([2, 3], "lengths sum to 5, but there are 6 tokens"),
        ([2, 5, -1], "whole numbers, none below 0"),
        ([2.0, 4.0], "whole numbers"),
        ([[2, 4]], "whole numbers"),
        (6, "whole numbers"),
    ],
)
def test_from_flat_of_wrong_lengths(lengths, match):
    with pytest.raises(ValueError, match=match):
        SequenceArray.from_flat(TOKENS, lengths)


FRAME = pd.DataFrame(
    {
        "sentence": [7, 7, 3, 3, 3, 5],
        "word": ["It", "rains", "Why", "not", "?", "So"],
        "length": [2, 5, 3, 3, 1, 2],
        "upper": [True, False, True, False, False, True],
        "size": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5],
    },
    index=list("fedcba"),
)


POLARS = pl.DataFrame({name: FRAME[name].tolist() for name in FRAME})


def test_from_frame_labels():
    y = SequenceArray.from_frame(FRAME, "sentence", "word")
    assert [part.tolist() for part in y] == [["It", "rains"], ["Why", "not", "?"], ["So"]]
    assert [part.tolist() for part in SequenceArray.from_frame(FRAME, "sentence", "length")] == [
        [2, 5],
        [3, 3, 1],
        [2],
    ]
    category = FRAME.astype({"word": "category"})
    assert SequenceArray.from_frame(category, "sentence", "word")[2].tolist() == ["So"]


@pytest.mark.parametrize("kind", [list, pd.Index, np.array])
def test_from_frame_numbers(kind):
    X = SequenceArray.from_frame(FRAME, "sentence", kind(["length", "upper", "size"]))
    assert X.tokens.dtype == float
    assert X.feature_names.tolist() == ["length", "upper", "size"]
    assert X[1].tolist() == [[3, 1, 2.5], [3, 0, 3.5], [1, 0, 4.5]]
    missing = FRAME.astype({"length": "Int64"})
    missing.loc["c", "length"] = pd.NA
    assert np.isnan(SequenceArray.from_frame(missing, "sentence", ["length"]).tokens[3, 0])


def test_from_frame_all_columns():
    X = SequenceArray.from_frame(FRAME, "sentence")
    assert X.tokens.dtype == object
    assert X.feature_names.tolist() == ["word", "length", "upper", "size"]
    assert X[2].tolist() == [["So", 2, True, 5.5]]
    assert len(SequenceArray.from_frame(FRAME[:0], "sentence")) == 0


@pytest.mark.parametrize(
    "columns", [None, "word", "length", ["length", "upper", "size"], ["word"], []]
)
def test_from_frame_of_polars(columns):
    of_pandas, of_polars = (
        SequenceArray.from_frame(f, "sentence", columns) for f in (FRAME, POLARS)
    )
    assert of_polars == of_pandas
    assert of_polars.tokens.dtype.kind == of_pandas.tokens.dtype.kind or columns == "word"
    assert np.array_equal(of_polars.feature_names, of_pandas.feature_names)
    if columns is None:
        y = SequenceArray.from_frame(POLARS, "sentence", "word")
        model = LinearChainCRF(C=100).fit(of_polars, y)
        assert model.predict(of_pandas).tolist() == [part.tolist() for part in y]


def test_from_flat_of_polars_has_names():
    frame = POLARS[["size", "length"]]
    assert SequenceArray.from_flat(frame, [2, 4]).feature_names.tolist() == ["size", "length"]


@pytest.mark.parametrize("make", [SequenceArray.from_frame, SequenceArray.from_flat])
def test_queries_are_refused(make):
    with pytest.raises(InputTypeError, match=r"is a LazyFrame, .*: write (frame|X)\.collect\(\)$"):
        make(POLARS.lazy(), "sentence" if make == SequenceArray.from_frame else [6])


def test_from_frame_of_several_groups():
    frame = FRAME.assign(document=["a", "b", "b", "b", "c", "c"])
    X = SequenceArray.from_frame(frame, ["document", "sentence"], ["size"])
    assert X.lengths.tolist() == [1, 1, 2, 1, 1]
    assert X.feature_names.tolist() == ["size"]
    assert SequenceArray.from_frame(
        frame.rename(columns={"document": 0}), 0, "size"
    ).lengths.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("group", "columns", "match"),
    [
        ("sentence_id", None, "the frame has no column 'sentence_id'"),
        (["sentence", "document"], None, "the frame has no column 'document'"),
        ("sentence", "tag", "the frame has no column 'tag'"),
        ("sentence", ["word", "tag"], "the frame has no column 'tag'"),
        (
            "again",
            None,
            "row 4: again='x' has come before, with other sequences in between; sort the rows",
        ),
        (["upper", "again"], None, r"row 5: upper=True, again='x' has come before"),
        ("missing", None, "row 1 belongs to no sequence: missing=nan"),
        (["sentence", "missing"], None, "row 1 belongs to no sequence: sentence=7, missing=nan"),
    ],
)
def test_from_frame_of_mistakes(group, columns, match):
    frame = FRAME.assign(again=list("xxyyxx"), missing=[1.0, np.nan, 2.0, 2.0, 3.0, 3.0])
    if group == ["upper", "again"]:
        frame["again"] = list("xxyyzx")
    with pytest.raises(ValueError, match=match):
        SequenceArray.from_frame(frame, group, columns)


def test_any_sparse_format_becomes_csr():
    for kind in (sp.coo_array, sp.csc_matrix, sp.lil_array):
        X = SequenceArray(kind(TOKENS), OFFSETS)
        assert isinstance(X.tokens, sp.csr_array)
        assert SequenceArray(TOKENS, OFFSETS) == X


# ---- in scikit-learn


def test_splitters_take_it_as_X_and_as_y(array):
    X, parts = array
    y = SequenceArray.from_sequences([["a"] * part.shape[0] for part in parts])
    seen = []
    for train, test in KFold(2).split(X, y):
        assert_holds(_safe_indexing(X, test), [parts[i] for i in test])
        assert_holds(_safe_indexing(X, train), [parts[i] for i in train])
        assert _safe_indexing(y, test).lengths.tolist() == [parts[i].shape[0] for i in test]
        seen.extend(test)
    assert sorted(seen) == [0, 1, 2, 3]
    assert sum(1 for _ in ShuffleSplit(3, random_state=0).split(X, y)) == 3


def test_train_test_split_keeps_X_and_y_together(array):
    X, _ = array
    y = SequenceArray(np.arange(6), OFFSETS)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    for found_X, found_y in ((X_train, y_train), (X_test, y_test)):
        assert isinstance(found_X, SequenceArray)
        for a, b in zip(found_X, found_y, strict=True):
            assert_sequence(a, X.tokens[b[0] : b[-1] + 1] if len(b) else X.tokens[:0])


def test_shuffle_and_mask(array):
    X, parts = array
    assert shuffle(X, random_state=0).shape == (4,)
    assert_holds(_safe_indexing(X, np.array([True, False, False, True])), [parts[0], parts[3]])
    assert_sequence(_safe_indexing(X, 2), parts[2])
    assert_holds(_safe_indexing(X, slice(1, 3)), parts[1:3])


@pytest.mark.parametrize("lengths", [[2**63 - 1, 2**63 - 1, 4], [-1, 3]])
def test_lengths_that_overflow(lengths):
    with pytest.raises(ValueError, match="lengths"):
        SequenceArray.from_flat([[1.0], [2.0]], lengths)


def test_offsets_that_overflow():
    with pytest.raises(ValueError, match="never decrease"):
        SequenceArray(np.ones((2, 1)), [0, 2**63 - 1, -2, 2])


def test_no_frames():
    with pytest.raises(
        ValueError, match="frame must be a data frame of pandas or polars, got list"
    ):
        SequenceArray.from_frame([1, 2], "s")
    with pytest.raises(ValueError, match="X must be a matrix or a list of labels"):
        SequenceArray.from_flat(5, [1])
    twice = pd.DataFrame([[1, 2.0, 3.0]], columns=["s", "a", "a"])
    with pytest.raises(ValueError, match="the frame has a column twice: 'a'"):
        SequenceArray.from_frame(twice, "s")
    with pytest.raises(ValueError, match="the frame has a column twice: 'a'"):
        SequenceArray.from_flat(twice, [1])


# ---- series in three dimensions


def test_layouts_of_three_dimensions():
    series = np.arange(24.0).reshape(2, 4, 3)  # 2 series, 4 steps, 3 channels
    for X in (
        SequenceArray.from_3d(series),
        SequenceArray.from_3d(series.swapaxes(1, 2), layout="nct"),
        SequenceArray.from_3d(series.tolist(), "ntc"),
        SequenceArray.from_3d(iter(series)),
        SequenceArray.from_3d([part.T for part in series], "nct", feature_names=["a", "b", "c"]),
    ):
        assert_holds(X, list(series))
        assert X.tokens.flags["C_CONTIGUOUS"]
    assert X.feature_names.tolist() == ["a", "b", "c"]
    assert np.shares_memory(SequenceArray.from_3d(series).tokens, series)


def test_series_of_different_lengths():
    parts = [np.ones((2, 5)), np.zeros((2, 3))]
    X = SequenceArray.from_3d(parts, "nct")
    assert X.lengths.tolist() == [5, 3]
    with pytest.raises(ValueError, match=r"X\[1\] has 3 channels, X\[0\] has 5"):
        SequenceArray.from_3d(parts)


def test_no_three_dimensions():
    with pytest.raises(InputTypeError, match="X must have three dimensions, got 2"):
        SequenceArray.from_3d(TOKENS)
    with pytest.raises(InputTypeError, match="X must have three dimensions, got NoneType"):
        SequenceArray.from_3d(None)
    with pytest.raises(InputTypeError, match=r"X\[1\] must be a 2-D array, got 1 dimensions"):
        SequenceArray.from_3d([TOKENS, TOKENS[0]])
    with pytest.raises(ValueError, match=r"layout must be .* got 'tnc'"):
        SequenceArray.from_3d(TOKENS[None], "tnc")


def test_estimators_read_time_first():
    rng = np.random.RandomState(0)
    series = rng.normal(size=(3, 5, 2))
    y = [rng.randint(2, size=5) for _ in range(3)]
    whole = HMM().fit(series, y)
    listed = HMM().fit(list(series), y)
    packed = HMM().fit(SequenceArray.from_3d(series.swapaxes(1, 2), layout="nct"), y)
    for one in (listed, packed):
        np.testing.assert_array_equal(one.means_, whole.means_)
        np.testing.assert_array_equal(one.score_samples(series), whole.score_samples(series))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("tokens", lambda rows: SequenceArray(rows, [0, 3])),
        ("X", lambda rows: SequenceArray.from_flat(rows, [3])),
        ("X", lambda rows: SequenceArray.from_3d(rows[None], layout="ntc")),
        ("X", lambda rows: SequenceArray.from_3d([rows], layout="ntc")),
    ],
)
def test_masked_values_are_refused(name, make):
    rows = np.ma.masked_array(np.ones((3, 1)), mask=[[False], [True], [False]])
    with pytest.raises(InputTypeError, match=rf"{name} has masked values.*filled"):
        make(rows)
    # a mask that hides nothing is no matter
    rows.mask = False
    np.testing.assert_array_equal(make(rows).tokens, np.ones((3, 1)))
