import os
import pickle
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_struct import LinearChainCRF
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features import attribute_reader
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, NonFiniteError

# --- A naive twin: names by recursion, sums by dict


def naive_pairs(token, prefix="", separator=":"):
    if isinstance(token, str):
        return [(prefix + token, 1.0)]
    if isinstance(token, dict):
        pairs = []
        for key, value in token.items():
            if isinstance(value, bool | int | float | np.generic) and not isinstance(value, str):
                pairs.append((prefix + key, float(value)))
            else:
                pairs += naive_pairs(value, prefix + key + separator, separator)
        return pairs
    return [
        (prefix + name, 1.0)
        for name in (sorted(token) if isinstance(token, set | frozenset) else token)
    ]


def naive_fit_transform(X, min_frequency=1, separator=":"):
    """Names in order of appearance, and a dict for each token."""
    names = {}
    rows = []
    for sequence in X:
        for token in sequence:
            row = {}
            for name, value in naive_pairs(token, separator=separator):
                if value:
                    names.setdefault(name)
                    row[name] = row.get(name, 0.0) + value
            rows.append({name: value for name, value in row.items() if value})
    counts = Counter(name for row in rows for name in row)
    kept = [name for name in names if counts[name] >= min_frequency]
    return kept, [{name: value for name, value in row.items() if name in set(kept)} for row in rows]


def as_rows(X, names):
    tokens = X.tokens
    bounds = zip(tokens.indptr, tokens.indptr[1:])
    return [
        {
            names[j]: value
            for j, value in zip(tokens.indices[a:b].tolist(), tokens.data[a:b].tolist())
        }
        for a, b in bounds
    ]


def is_canonical(tokens):
    rows = (tokens.indices[a:b] for a, b in zip(tokens.indptr, tokens.indptr[1:]))
    return all((np.diff(row) > 0).all() for row in rows) and (tokens.data != 0).all()


# --- Random tokens: texts that collide once they are joined

texts = st.sampled_from(["a", "b", "a:b", "", "é", "long name", ":"])
numbers = st.sampled_from(
    [True, False, 1, 0, 1.0, -1.0, 0.5, -0.0, 3, np.float32(0.25), np.int64(2), np.True_]
)
text_groups = st.lists(texts, max_size=4)
flat_dicts = st.dictionaries(texts, texts | st.booleans(), max_size=4)
number_dicts = st.dictionaries(texts, numbers, max_size=4)
mixed_dicts = st.dictionaries(texts, texts | numbers, max_size=4)
nested_dicts = st.recursive(
    mixed_dicts,
    lambda inner: st.dictionaries(
        texts, texts | numbers | text_groups | st.sets(texts) | inner, max_size=4
    ),
    max_leaves=4,
)
kinds = [
    texts,
    text_groups,
    text_groups.map(tuple),
    st.sets(texts),
    flat_dicts,
    number_dicts,
    mixed_dicts,
]
tokens_of_a_kind = st.sampled_from(
    [*kinds, nested_dicts, nested_dicts.map(lambda d: d), st.one_of(*kinds)]
)
corpora = tokens_of_a_kind.flatmap(lambda token: st.lists(st.lists(token, max_size=3), max_size=5))
filled = corpora.filter(any)


@pytest.mark.twins
@settings(max_examples=200, deadline=None)
@given(filled, st.integers(1, 3), st.sampled_from([":", "=", ""]))
def test_equals_the_naive_twin(X, min_frequency, separator):
    vectorizer = SequenceVectorizer(min_frequency=min_frequency, separator=separator)
    encoded = vectorizer.fit_transform(X)
    names, rows = naive_fit_transform(X, min_frequency, separator)
    assert vectorizer.get_feature_names_out().tolist() == names
    assert vectorizer.vocabulary_ == {name: j for j, name in enumerate(names)}
    assert vectorizer.n_features_out_ == len(names)
    assert as_rows(encoded, names) == rows
    assert is_canonical(encoded.tokens)
    assert encoded.lengths.tolist() == [len(sequence) for sequence in X]
    assert vectorizer.transform(X) == encoded


def slow(monkeypatch_context):
    def refuse(*args):
        raise attribute_reader._Unexpected

    monkeypatch_context.setattr(attribute_reader, "_quick", refuse)


@pytest.mark.twins
@pytest.mark.filterwarnings("ignore:the tokens of X are strings")
@settings(max_examples=200, deadline=None)
@given(filled, corpora, st.integers(1, 5))
def test_quick_and_careful_reader_agree(X, X_new, chunk):
    results = []
    manners = []
    for careful in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attribute_reader, "_CHUNK", chunk)
            if careful:
                slow(patch)
            vectorizer = SequenceVectorizer()
            hashing = SequenceVectorizer(n_features=7, dtype=np.float32)
            encoded = vectorizer.fit_transform(X), vectorizer.transform(X_new), hashing.transform(X)
            results.append((vectorizer.vocabulary_, encoded))
            manners.append(vectorizer._tokens_in)
    (quick_vocabulary, quick), (careful_vocabulary, careful_encoded) = results
    assert list(quick_vocabulary.items()) == list(careful_vocabulary.items())
    assert manners[0] == manners[1]
    for one, other in zip(quick, careful_encoded):
        assert one == other
        assert_array_equal(one.tokens.indices, other.tokens.indices)
        assert one.tokens.dtype == other.tokens.dtype


@settings(max_examples=200, deadline=None)
@given(filled, st.integers(1, 30))
def test_hashing_adds_up_what_shares_a_column(X, n_features):
    exact = SequenceVectorizer().fit(X)
    encoded = SequenceVectorizer(n_features=n_features).transform(X)
    single = SequenceVectorizer(n_features=n_features).transform(
        [[[name]] for name in exact.vocabulary_]
    )
    folded = exact.transform(X).tokens @ single.tokens
    assert encoded.tokens.shape == (sum(map(len, X)), n_features)
    assert is_canonical(encoded.tokens)
    np.testing.assert_allclose(encoded.tokens.toarray(), folded.toarray(), atol=1e-12)


crf_tokens = st.one_of(
    st.dictionaries(
        texts,
        st.recursive(
            texts | st.floats(-9, 9) | st.booleans(),
            lambda v: st.dictionaries(texts, v, max_size=3),
        )
        | st.lists(texts, unique=True, max_size=3)
        | st.sets(texts),
        max_size=4,
    ),
    st.lists(texts, unique=True),
    st.sets(texts),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(crf_tokens, min_size=1).filter(
        lambda tokens: all(no_duplicates(token) for token in tokens)
    )
)
def test_names_and_values_are_python_crfsuites(tokens):
    vectorizer = SequenceVectorizer()
    rows = as_rows(vectorizer.fit_transform([tokens]), vectorizer.get_feature_names_out())
    theirs = pycrfsuite.ItemSequence(tokens).items()
    assert rows == [{name: value for name, value in item.items() if value} for item in theirs]


def no_duplicates(token):
    names = [name for name, _ in naive_pairs(token)]
    return len(set(names)) == len(names)


def test_documented_forms():
    token = {
        "n": 2.5,
        "t": True,
        "f": False,
        "s": "v",
        "d": {"x": 1, "y": {"z": "w"}},
        "l": ["a", "b"],
        "e": {"q", "p"},
    }
    vectorizer = SequenceVectorizer()
    encoded = vectorizer.fit_transform([[token]])
    assert as_rows(encoded, vectorizer.get_feature_names_out()) == [
        {"n": 2.5, "t": 1, "s:v": 1, "d:x": 1, "d:y:z:w": 1, "l:a": 1, "l:b": 1, "e:p": 1, "e:q": 1}
    ]
    assert list(vectorizer.vocabulary_)[-2:] == ["e:p", "e:q"]


def test_kinds_of_tokens_may_be_mixed():
    X = [["a", ["a", "b"]], ({"a": 1.0}, ("b",), {"b", "a"}, frozenset("b"))]
    encoded = SequenceVectorizer().fit_transform(X)
    assert encoded.tokens.toarray().tolist() == [[1, 0], [1, 1], [1, 0], [0, 1], [1, 1], [0, 1]]


def test_equal_numbers_share_a_column_and_strings_have_their_own():
    X = [
        [
            {"k": 1},
            {"k": True},
            {"k": 1.0},
            {"k": "1"},
            {"k": "True"},
            {"k": "1.0"},
            {"k": False},
            {"k": "k"},
        ]
    ]
    vectorizer = SequenceVectorizer()
    encoded = vectorizer.fit_transform(X)
    assert vectorizer.vocabulary_ == {"k": 0, "k:1": 1, "k:True": 2, "k:1.0": 3, "k:k": 4}
    assert encoded.tokens.sum(axis=1).tolist() == [1, 1, 1, 1, 1, 1, 0, 1]
    assert encoded.tokens.indices.tolist() == [0, 0, 0, 1, 2, 3, 4]
    assert vectorizer.transform(X) == encoded


def test_what_is_named_alike_is_one_attribute():
    vectorizer = SequenceVectorizer()
    encoded = vectorizer.fit_transform([[{"a:b": "c", "a": "b:c"}, {"a:b:c": 0.5}, ["a:b:c"]]])
    assert vectorizer.vocabulary_ == {"a:b:c": 0}
    assert encoded.tokens.toarray().tolist() == [[2], [0.5], [1]]


@pytest.mark.parametrize("separator", [":", "\0", "", "longer than a word", "\ud800"])
def test_any_string_is_a_name(separator):
    strings = ["", "\0", "a\0", "\0a", "\ud800", "\udc00", "é" * 9, "x" * 100]
    pairs = list(pairwise(strings))
    names = list(dict.fromkeys(map(separator.join, pairs)))
    for token, expected in (
        (strings, strings),
        (dict(pairs), names),
        ({**dict(pairs), "x": []}, names),
    ):
        vectorizer = SequenceVectorizer(separator=separator)
        encoded = vectorizer.fit_transform([[token]])
        assert list(vectorizer.vocabulary_) == expected
        assert vectorizer.transform([[token]]) == encoded


@pytest.mark.parametrize("token", [{"a": 1e-60, "b": 1}, {"a": 1e-60, "b": [""]}])
def test_what_rounds_to_zero_is_not_learnt(token):
    assert list(SequenceVectorizer(dtype=np.float32, separator="").fit([[token]]).vocabulary_) == [
        "b"
    ]


def test_duplicates_add_up_and_may_cancel():
    X = [
        [{"a:b": 1, "a": {"b": 2}}, ["c", "c"], {"d": 1.5, "": {"": 0}}],
        [{"a:b": 1, "a": {"b": -1}, "x": 0}],
    ]
    vectorizer = SequenceVectorizer()
    encoded = vectorizer.fit_transform(X)
    assert vectorizer.vocabulary_ == {"a:b": 0, "c": 1, "d": 2}
    assert encoded.tokens.toarray().tolist() == [[3, 0, 0], [0, 2, 0], [0, 0, 1.5], [0, 0, 0]]
    assert encoded.tokens.nnz == 3


def test_long_tokens_are_sorted():
    rng = np.random.default_rng(0)
    X = [
        [[f"f{j}" for j in rng.permutation(500)[:400]], [f"f{j}" for j in rng.integers(0, 90, 300)]]
        for _ in range(3)
    ]
    vectorizer = SequenceVectorizer()
    encoded = vectorizer.fit_transform(X)
    assert is_canonical(encoded.tokens)
    assert as_rows(encoded, vectorizer.get_feature_names_out()) == naive_fit_transform(X)[1]


@pytest.mark.parametrize(
    "make", [list, tuple, object_array, iter, lambda X: (sequence for sequence in X)]
)
def test_containers_of_sequences(make):
    X = [["a", "b"], [], ["b"]] * 200
    vectorizer = SequenceVectorizer()
    encoded = vectorizer.fit_transform(make(X))
    assert len(encoded) == 600
    assert encoded[2].toarray().tolist() == [[0, 1]]
    assert vectorizer.transform(make(X)) == encoded


def test_sequences_may_be_arrays_of_strings_or_objects():
    encoded = SequenceVectorizer().fit_transform(
        [np.array(["a", "b"]), object_array([{"b": 2}, ["a"]])]
    )
    assert encoded.tokens.toarray().tolist() == [[1, 0], [0, 1], [0, 2], [1, 0]]


class Shout(str):
    __slots__ = ()

    def __str__(self):
        return self.upper() + "!"


@pytest.mark.parametrize("text", [np.str_, Shout])
def test_kinds_of_strings(text):
    vectorizer = SequenceVectorizer()
    vectorizer.fit(
        [
            [[text("a"), "b", text("b")], ["b"]],
            [{text("k"): text("v")}, {text("n"): 1.0}],
            [text("c")],
        ]
    )
    assert vectorizer.vocabulary_ == {"a": 0, "b": 1, "k:v": 2, "n": 3, "c": 4}
    assert {type(name) for name in vectorizer.vocabulary_} == {str}
    assert (
        vectorizer.transform([[[text("b"), text("unseen")]], [{text("k"): text("v")}]]).tokens.sum()
        == 2
    )


def test_kinds_of_numbers():
    values = [
        np.float64(2),
        np.float32(2),
        np.int8(2),
        np.uint64(2),
        np.True_,
        Decimal(2),
        2,
        2.0,
        True,
    ]
    encoded = SequenceVectorizer().fit_transform(
        [[{"k": value, "s": "v"}, {"k": value}] for value in values]
    )
    expected = [1.0 if value == 1 else 2.0 for value in values for _ in range(2)]
    assert encoded.tokens.toarray()[:, 0].tolist() == expected


def test_unseen_attributes_are_ignored():
    vectorizer = SequenceVectorizer().fit([[["a", "b"], {"k": "v", "n": 2.0}]])
    X = [[["z", "b", "y"], ["z"]], [{"k": "w", "z": 3.0, "n": 4.0}, {"z": 1.0}, "q"]]
    assert vectorizer.transform(X).tokens.toarray().tolist() == [
        [0, 1, 0, 0],
        [0] * 4,
        [0, 0, 0, 4],
        [0] * 4,
        [0] * 4,
    ]


def test_min_frequency_counts_stored_entries():
    X = [[["a", "b", "a"], ["c", "b"], {"c": 0.0}, {"d": 2.0}]]
    vectorizer = SequenceVectorizer(min_frequency=2)
    encoded = vectorizer.fit_transform(X)
    assert vectorizer.vocabulary_ == {"b": 0}
    assert encoded.tokens.toarray().tolist() == [[1], [1], [0], [0]]
    assert SequenceVectorizer(min_frequency=9).fit_transform(X).tokens.shape == (4, 0)


def test_results_share_one_array_of_names():
    vectorizer = SequenceVectorizer()
    fitted = vectorizer.fit_transform([["a"], ["b"]])
    assert fitted.feature_names is vectorizer.get_feature_names_out()
    assert vectorizer.transform([["b"]]).feature_names is fitted.feature_names
    assert fitted[:1].feature_names is fitted.feature_names
    with pytest.raises(ValueError, match="read-only"):
        fitted.feature_names[0] = "c"


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "float32", np.dtype(np.float64)])
def test_dtype(dtype):
    vectorizer = SequenceVectorizer(dtype=dtype)
    for X in ([["a"]], [[{"a": 0.1}]], [[{"a": 0.1, "b": "c"}]], [["a", {"a": [], "b": 0.5}]]):
        encoded = vectorizer.fit_transform(X)
        assert encoded.tokens.dtype == vectorizer.transform(X).tokens.dtype == np.dtype(dtype)
        assert encoded.tokens.indices.dtype == np.int32


def test_vocabulary_is_that_of_the_last_fit():
    vectorizer = SequenceVectorizer().fit([["a", "b"]])
    assert (
        pickle.loads(pickle.dumps(vectorizer)).vocabulary_
        == vectorizer.vocabulary_
        == {"a": 0, "b": 1}
    )
    assert vectorizer.vocabulary_ is vectorizer.vocabulary_
    assert vectorizer.fit([["c"]]).vocabulary_ == {"c": 0}
    assert pickle.loads(pickle.dumps(vectorizer)).vocabulary_ == {"c": 0}
    assert not hasattr(SequenceVectorizer(), "vocabulary_")


def test_hashing_needs_no_fit_and_has_no_names():
    vectorizer = SequenceVectorizer(n_features=50)
    X = [[["a", "b"], ["\ud800"]], [{"k": "v", "n": -2.0, "z": 0.0}]]
    encoded = vectorizer.transform(X)
    assert encoded.feature_names is None
    assert encoded.tokens.sum() == 2 + 1 + 1 - 2
    assert vectorizer.fit(iter([None])).transform(X) == encoded
    assert vectorizer.fit_transform(X) == encoded
    assert vectorizer.get_feature_names_out()[[0, 49]].tolist() == [
        "sequencevectorizer0",
        "sequencevectorizer49",
    ]
    assert vectorizer.n_features_out_ == 50
    assert not hasattr(
        vectorizer.set_params(n_features=None).fit(X).set_params(n_features=3).fit(X), "vocabulary_"
    )


def test_columns_do_not_depend_on_the_process():
    program = (
        "from sklearn_struct import SequenceVectorizer as V\n"
        "X = [[{'bc', 'a', 'x y', 'é'}, {'k': {'q', 'b', 'z'}}]]\n"
        "print(list(V().fit(X).vocabulary_), "
        "V(n_features=1000).transform(X).tokens.indices.tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    X = [[{"bc", "a", "x y", "é"}, {"k": {"q", "b", "z"}}]]
    assert list(SequenceVectorizer().fit(X).vocabulary_) == [
        "a",
        "bc",
        "x y",
        "é",
        "k:b",
        "k:q",
        "k:z",
    ]


BAD = [
    (
        [["a"], [{"f": 1.0}, {"f": np.nan}]],
        NonFiniteError,
        r"X\[1\], token 1, feature 'f': not finite \(nan\)",
    ),
    (
        [[{"f": {"g": -np.inf}}]],
        NonFiniteError,
        r"X\[0\], token 0, feature 'f:g': not finite \(-inf\)",
    ),
    ([[{"f": np.float32(np.inf), "s": "v"}]], NonFiniteError, r"feature 'f': not finite \(inf\)"),
    ([[{"f": 10**400}]], NonFiniteError, r"feature 'f': not finite \(inf\)"),
    (
        [[{"f": None}]],
        InputTypeError,
        r"X\[0\], token 0, feature 'f': a value is a number, .*; got NoneType",
    ),
    ([[{"f": 1j}]], InputTypeError, r"feature 'f': a value must be a real number, got 1j"),
    ([[{"f": b"v"}]], InputTypeError, r"feature 'f': .*; got bytes"),
    (
        [[{"f": ["a", 1]}]],
        InputTypeError,
        r"X\[0\], token 0, feature 'f': names of features must be strings, got 1 ",
    ),
    (
        [[{"f": [["a"]]}]],
        InputTypeError,
        r"feature 'f': names of features must be strings, got \['a'\] \(list\)",
    ),
    (
        [[{1: 1.0}]],
        InputTypeError,
        r"X\[0\], token 0: names of features must be strings, got 1 \(int\)",
    ),
    (
        [[{1: "v"}]],
        InputTypeError,
        r"X\[0\], token 0: names of features must be strings, got 1 \(int\)",
    ),
    (
        [[{"f": {2: "v"}}]],
        InputTypeError,
        r"X\[0\], token 0: names of features must be strings, got 2 \(int\)",
    ),
    (
        [["a"], [["a", 1]]],
        InputTypeError,
        r"X\[1\], token 0: names of features must be strings, got 1 \(int\)",
    ),
    (
        [[["a", ["b"]]]],
        InputTypeError,
        r"X\[0\], token 0: names of features must be strings, got \['b'\] \(list\)",
    ),
    (
        [[{"a", 1}]],
        InputTypeError,
        r"X\[0\], token 0: names of features must be strings, got 1 \(int\)",
    ),
    ([["a", None]], InputTypeError, r"X\[0\], token 1: a token is a dict, .*; got NoneType"),
    ([["a"], [3.0]], InputTypeError, r"X\[1\], token 0: a token is a dict, .*; got float"),
    ([["a"], None], InputTypeError, r"X\[1\]: a sequence is a list of tokens, got NoneType"),
    ([np.ones(3)], InputTypeError, r"X\[0\]: a sequence is a list of tokens, got ndarray"),
    (
        ["a", "b"],
        InputTypeError,
        r"X\[0\]: a sequence is a list of tokens, got str.*\[\['a', 'b'\]\] is one sequence",
    ),
    ([{"a": 1.0}], InputTypeError, r"X\[0\]: a sequence is a list of tokens, got dict"),
    ("ab", InputTypeError, r"X must be a list of sequences, got str"),
    ({"a": 1}, InputTypeError, r"X must be a list of sequences, got dict"),
    (None, InputTypeError, r"X must be a list of sequences, got NoneType"),
    (3, InputTypeError, r"X must be a list of sequences, got int"),
]


@pytest.mark.parametrize(("X", "error", "message"), BAD)
@pytest.mark.parametrize("n_features", [None, 10])
def test_bad_input_is_refused_with_its_place_and_changes_nothing(X, error, message, n_features):
    vectorizer = SequenceVectorizer(n_features=n_features).fit([[["a", "f"], {"f": "v"}]])
    before = dict(vars(vectorizer))
    with pytest.raises(error, match=message):
        vectorizer.fit_transform(X)
    with pytest.raises(error, match=message):
        vectorizer.transform(X)
    assert vars(vectorizer) == before
    assert all(vars(vectorizer)[name] is value for name, value in before.items())


def test_places_count_from_the_start_of_a_generator():
    X = (["a"] * 3 if i < 730 else ["a", "b", {"f": np.nan}] for i in range(1000))
    with pytest.raises(NonFiniteError, match=r"X\[730\], token 2, feature 'f'"):
        SequenceVectorizer().fit(X)


def test_values_that_overflow_float32_are_refused():
    assert SequenceVectorizer().fit_transform([[{"f": 1e300}]]).tokens.data.tolist() == [1e300]
    with pytest.raises(NonFiniteError, match=r"feature 'f': not finite \(1e\+300\)"):
        SequenceVectorizer(dtype=np.float32).fit([[{"f": 1e300}]])


@pytest.mark.parametrize("X", [[], [[]], [[], []], iter([])])
def test_nothing_to_learn_from(X):
    with pytest.raises(EmptyDataError, match="X has no tokens"):
        SequenceVectorizer().fit(X)


def test_transform_of_nothing():
    vectorizer = SequenceVectorizer().fit([["a"]])
    assert vectorizer.transform([]).tokens.shape == (0, 1)
    assert vectorizer.transform([[], []]).offsets.tolist() == [0, 0, 0]


def test_not_fitted():
    for call in (lambda v: v.transform([["a"]]), lambda v: v.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(SequenceVectorizer())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_frequency": 0}, "min_frequency"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": 2.5}, "n_features"),
        ({"separator": None}, "separator"),
        ({"dtype": int}, "dtype must be float32 or float64"),
        ({"min_frequency": 2, "n_features": 8}, "min_frequency counts"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SequenceVectorizer(**parameters).fit([["a"]])


def test_manners_of_an_estimator():
    vectorizer = SequenceVectorizer(min_frequency=2, separator="=")
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    X = [["a", {"k": "v"}], ["a", {"k": "v"}]]
    encoded = vectorizer.fit(X).transform(X)
    assert isinstance(encoded, SequenceArray)
    assert pickle.loads(pickle.dumps(vectorizer)).transform(X) == encoded
    assert vectorizer.__sklearn_tags__().requires_fit
    assert not SequenceVectorizer(n_features=3).__sklearn_tags__().requires_fit


@pytest.mark.parametrize("nested", [False, True])  # the quick reader, the careful one
def test_zeros_may_be_kept(nested):
    tokens = [
        {"a": 0.0, "b": False, "c": "v"},
        {"a": 2.0, "b": True, "c": ["v"] if nested else "v"},
    ]
    vectorizer = SequenceVectorizer(keep_zeros=True)
    found = vectorizer.fit_transform([tokens])
    assert vectorizer.get_feature_names_out().tolist() == ["a", "b", "c:v"]
    assert found.tokens.nnz == 6
    assert found.tokens.toarray().tolist() == [[0, 0, 1], [2, 1, 1]]
    assert vectorizer.transform([tokens[:1]]).tokens.nnz == 3
    assert SequenceVectorizer(keep_zeros=True, n_features=64).transform([tokens]).tokens.nnz == 6
    assert SequenceVectorizer().fit_transform([tokens]).tokens.nnz == 4


def test_kept_zeros_and_sums():
    tokens = [{"k": {"j": -1.0}, "k:j": 1.0}, {"k:j": 3.0}]
    assert SequenceVectorizer(keep_zeros=True).fit_transform([tokens]).tokens.nnz == 2
    assert SequenceVectorizer().fit_transform([tokens]).tokens.nnz == 1


def test_kept_zeros_show_pairs():
    X = [[{"a": 1}, {"a": 0, "b": 1}]]
    y = [["x", "y"]]
    stored = [SequenceVectorizer(keep_zeros=keep).fit_transform(X) for keep in (False, True)]
    assert [LinearChainCRF().fit(tokens, y).coef_.nnz for tokens in stored] == [2, 3]
