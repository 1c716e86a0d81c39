import pickle
from collections import Counter, namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_data import real
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.datasets import fetch_conll2000
from sklearn_struct.encoding.features import column_codes
from sklearn_struct.encoding.features.template_syntax import TEMPLATE_SETS, parse_templates
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)

# --- A naive twin that builds strings


def naive_cell(sequence, t, column, boundary):
    """A value, or the name of a position outside the sequence; None where the attribute is to be
    left away.
    """
    if 0 <= t < len(sequence):
        return (sequence[t][column],)
    if boundary == "skip":
        return None
    return f"_B{t}" if t < 0 else f"_B+{t - len(sequence) + 1}"


def naive_attributes(X, templates, boundary, add_bos_eos=False):
    """For each token its attributes: (template, cells)."""
    rows = []
    for sequence in X:
        for t in range(len(sequence)):
            found = []
            for template in templates:
                cells = tuple(
                    naive_cell(sequence, t + offset, c, boundary) for offset, c in template.parts
                )
                if None not in cells:
                    found.append((template.name, cells))
            if add_bos_eos and t == 0:
                found.append(("__BOS__", ()))
            if add_bos_eos and t == len(sequence) - 1:
                found.append(("__EOS__", ()))
            rows.append(found)
    return rows


def naive_name(attribute, templates):
    name, cells = attribute
    if not cells:
        return name
    joiners = {template.name: template.joiners for template in templates}[name]
    texts = [cell if isinstance(cell, str) else escape(cell[0], joiners) for cell in cells]
    return (
        name + ":" + texts[0] + "".join(joiner + text for joiner, text in zip(joiners, texts[1:]))
    )


def escape(text, joiners):
    return "".join("\\" + c if c in "\\" + joiners else c for c in text)


def pairs(X, names):
    """The stored entries as a set of (token, name)."""
    tokens = X.tokens.tocoo()
    assert (tokens.data == 1).all()
    assert len(set(names)) == len(names) == X.tokens.shape[1]
    found = [(t, names[j]) for t, j in zip(tokens.row.tolist(), tokens.col.tolist())]
    assert len(set(found)) == len(found)
    return set(found)


# --- Random data and templates

texts = st.sampled_from(["a", "b", "a/b", "/", "|", "a|", "\\", "\\/", "", "B:c"])
odd_values = st.sampled_from(
    ["_B-1", "_B+1", "_B-2", "1", 1, 2, None, "None", ("a",), "('a',)", "\\0:", "a"]
)
joined = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(0, 1), st.sampled_from("/|")), min_size=1, max_size=4
)


@st.composite
def template_lists(draw):
    lines = {}
    for i, cells in enumerate(draw(st.lists(joined, min_size=1, max_size=4))):
        text = "".join(f"%x[{offset},{column}]{joiner}" for offset, column, joiner in cells)[:-1]
        named = draw(st.booleans())
        lines[f"U{i}" if named else text] = f"U{i}:{text}" if named else text
    return list(lines.values())


def corpora(values):
    return st.lists(st.lists(st.tuples(values, values), max_size=6), max_size=6)


# a small one sends small data through keys that are numbered anew
limits = st.sampled_from([{}, {"_KEY_LIMIT": 9}])
boundaries = st.sampled_from(["skip", "pad"])


@pytest.mark.twins
@settings(max_examples=300, deadline=None)
@given(
    corpora(texts).filter(any),
    corpora(texts),
    template_lists(),
    boundaries,
    st.booleans(),
    st.integers(1, 3),
    limits,
)
def test_equals_a_twin_that_builds_strings(
    X, X_new, lines, boundary, add_bos_eos, min_frequency, limits
):
    encoder = FeatureTemplates(
        lines, boundary=boundary, add_bos_eos=add_bos_eos, min_frequency=min_frequency
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(column_codes, name, value)
        encoded = encoder.fit_transform(X)
        encoded_new = encoder.transform(X_new)
        again = encoder.transform(X)
    templates = parse_templates(lines, None)
    rows, new_rows = (
        [
            [naive_name(a, templates) for a in row]
            for row in naive_attributes(data, templates, boundary, add_bos_eos)
        ]
        for data in (X, X_new)
    )
    counts = Counter(name for row in rows for name in row)
    kept = {name for name, count in counts.items() if count >= min_frequency}
    names = encoder.get_feature_names_out().tolist()
    assert set(names) == kept
    assert pairs(encoded, names) == {
        (t, name) for t, row in enumerate(rows) for name in row if name in kept
    }
    assert pairs(encoded_new, names) == {
        (t, name) for t, row in enumerate(new_rows) for name in row if name in kept
    }
    assert again == encoded
    assert encoded.lengths.tolist() == [len(sequence) for sequence in X]
    assert encoder.n_features_out_ == len(names)


@settings(max_examples=200, deadline=None)
@given(corpora(texts).filter(any), template_lists(), boundaries, st.integers(1, 2))
def test_equals_the_vectorizer_on_strings(X, lines, boundary, min_frequency):
    templates = parse_templates(lines, None)
    rows = iter(naive_attributes(X, templates, boundary))
    strings = [
        [[naive_name(attribute, templates) for attribute in next(rows)] for _ in sequence]
        for sequence in X
    ]
    vectorizer = SequenceVectorizer(min_frequency=min_frequency)
    expected = vectorizer.fit_transform(strings)
    encoder = FeatureTemplates(lines, boundary=boundary, min_frequency=min_frequency)
    encoded = encoder.fit_transform(X)
    order = [vectorizer.vocabulary_[name] for name in encoder.get_feature_names_out()]
    assert sorted(order) == list(range(len(vectorizer.vocabulary_)))
    assert (encoded.tokens != expected.tokens[:, order]).nnz == 0


@settings(max_examples=200, deadline=None)
@given(corpora(texts | odd_values).filter(any), template_lists(), boundaries)
def test_names_are_all_different(X, lines, boundary):
    encoder = FeatureTemplates(lines, boundary=boundary)
    encoded = encoder.fit_transform(X)
    names = encoder.get_feature_names_out().tolist()
    rows = naive_attributes(X, parse_templates(lines, None), boundary)
    distinct = {attribute for row in rows for attribute in row}
    assert len(set(names)) == len(names) == len(distinct)
    expected = {}
    found = {}
    for attribute in distinct:
        where = tuple(t for t, row in enumerate(rows) if attribute in row)
        expected.setdefault(attribute[0], []).append(where)
    for name, column in zip(names, encoded.tokens.toarray().T):
        template = next(n for n in expected if name.startswith(n + ":"))
        found.setdefault(template, []).append(tuple(np.flatnonzero(column).tolist()))
    assert {n: sorted(c) for n, c in found.items()} == {n: sorted(c) for n, c in expected.items()}


X = [[("the", "DT"), ("dog", "NN"), ("barks", "VB")], [], [("no", "UH")]]


def test_skip_leaves_away_what_is_outside():
    encoder = FeatureTemplates(["a:%x[-1,0]|%x[0,1]", "%x[+2,0]"], add_bos_eos=True)
    encoded = encoder.fit_transform(X)
    assert pairs(encoded, encoder.get_feature_names_out().tolist()) == {
        (0, "%x[+2,0]:barks"),
        (1, "a:the|NN"),
        (2, "a:dog|VB"),
        (0, "__BOS__"),
        (2, "__EOS__"),
        (3, "__BOS__"),
        (3, "__EOS__"),
    }
    assert encoded.feature_names.tolist() == encoder.get_feature_names_out().tolist()


def test_pad_uses_special_values():
    encoder = FeatureTemplates("a:%x[-2,0]/%x[0,1]\nb:%x[1,1]", boundary="pad")
    encoded = encoder.fit_transform(X)
    assert pairs(encoded, encoder.get_feature_names_out().tolist()) == {
        (0, "a:_B-2/DT"),
        (1, "a:_B-1/NN"),
        (2, "a:the/VB"),
        (3, "a:_B-2/UH"),
        (0, "b:NN"),
        (1, "b:VB"),
        (2, "b:_B+1"),
        (3, "b:_B+1"),
    }


def test_special_values_are_no_ordinary_values():
    encoder = FeatureTemplates(["a:%x[-1,0]"], boundary="pad").fit([[("_B-1",), ("x",)]])
    assert encoder.get_feature_names_out().tolist() == ["a:_B-1", "a:\\1:_B-1"]


def test_offsets_may_exceed_sequences():
    encoder = FeatureTemplates(["a:%x[-50,0]", "b:%x[40,0]"], boundary="pad")
    encoder.fit_transform([[("x",), ("y",)]])
    assert encoder.get_feature_names_out().tolist() == ["a:_B-50", "a:_B-49", "b:_B+39", "b:_B+40"]
    for offset in (-50, 40, -(10**9), 10**9):
        assert FeatureTemplates([f"a:%x[{offset},0]"]).fit_transform(
            [[("x",), ("y",)], [("z",)]]
        ).tokens.shape == (
            3,
            0,
        )


def test_template_files():
    text = """
    # Unigrams
    U00:%x[0,word]

    U01:%x[-1,word]/%x[0,tag]|%x[ 0 , 0 ]
    %x[0,1]
    # Bigrams
    B
    B01:%x[0,0]
    """
    one, two, three, bigram = parse_templates(text, ["word", "tag"])
    assert one[:3] == ("U00", ((0, 0),), "")
    assert two[:3] == ("U01", ((-1, 0), (0, 1), (0, 0)), "/|")
    assert three[:3] == ("%x[0,1]", ((0, 1),), "")
    assert bigram[:3] == ("B01", ((0, 0),), "")
    encoder = FeatureTemplates(text, columns=["word", "tag"]).fit(X)
    assert encoder.n_columns_ == 2
    assert "U01:the/NN|dog" in encoder.get_feature_names_out()
    assert FeatureTemplates(["B"]).fit_transform(X).tokens.shape == (4, 0)


@pytest.mark.parametrize(
    "line",
    [
        "U",
        "U00:",
        "%x[0]",
        "%x[0,1",
        "U:%x[a,0]",
        "U:%x[0,0]%x[1,0]",
        "U:%x[0,0]/",
        "U:x%x[0,0]",
        "a b:%x[0,0]",
        "B1",
        "a:b:%x[0,0]",
        "%x[0,]",
        "chunkin",
    ],
)
def test_malformed_templates_are_quoted(line):
    with pytest.raises(ValueError, match="malformed template") as caught:
        FeatureTemplates(["%x[0,0]", line]).fit(X)
    assert repr(line) in str(caught.value)
    with pytest.raises(ValueError, match="malformed template"):
        FeatureTemplates(line).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"templates": ["a:%x[0,0]", "a:%x[1,0]"]},
            r"id 'a' occurs twice: in 'a:%x\[0,0\]' and 'a:%x\[1,0\]'",
        ),
        ({"templates": ["%x[0,0]", "%x[0,0]"]}, r"id '%x\[0,0\]' occurs twice"),
        ({"templates": ["a:%x[0,7]"]}, r"'a:%x\[0,7\]' names column 7, but tokens have 2 columns"),
        (
            {"templates": ["a:%x[0,word]"]},
            r"'a:%x\[0,word\]' names column 'word', but columns=None",
        ),
        ({"templates": ["a:%x[0,-1]"]}, r"names column '-1'"),
        ({"templates": ["a:%x[0,lemma]"], "columns": ["word", "pos"]}, "names column 'lemma'"),
        ({"columns": ["word", "pos", "chunk"]}, "names 3 columns, but tokens have 2"),
        ({"columns": ["word", "word"]}, "different names"),
        ({"templates": [3]}, "a template is a string, got 3"),
        ({"templates": 3}, "templates"),
        ({"boundary": "wrap"}, "boundary"),
        ({"add_bos_eos": 2}, "add_bos_eos"),
        ({"min_frequency": 0}, "min_frequency"),
        ({"dtype": int}, "dtype must be float32 or float64"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        FeatureTemplates(**parameters).fit(X)


Row = namedtuple("Row", ["word", "pos"])


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: [[list(row) for row in sequence] for sequence in X],
        lambda X: [[Row(*row) for row in sequence] for sequence in X],
        lambda X: [[np.array(row) for row in sequence] for sequence in X],
        lambda X: [np.array(sequence, dtype=object).reshape(-1, 2) for sequence in X],
        lambda X: [np.array(sequence, dtype="U9").reshape(-1, 2) for sequence in X],
        lambda X: [tuple(sequence) for sequence in X],
        object_array,
        iter,
    ],
)
def test_kinds_of_sequences(convert):
    encoder = FeatureTemplates()
    expected = encoder.fit_transform(X)
    assert FeatureTemplates().fit_transform(convert(X)) == expected
    assert encoder.transform(convert(X)) == expected


def test_unseen_values_and_combinations_are_ignored():
    encoder = FeatureTemplates(["w:%x[0,0]", "wp:%x[0,0]/%x[0,1]"]).fit(X)
    names = encoder.get_feature_names_out().tolist()
    encoded = encoder.transform([[("the", "NN"), ("cat", "NN")], [("no", "UH")]])
    assert pairs(encoded, names) == {(0, "w:the"), (2, "w:no"), (2, "wp:no/UH")}
    assert encoder.transform([]).tokens.shape == (0, 8)
    assert encoder.transform([[], []]).offsets.tolist() == [0, 0, 0]


def test_a_column_of_strings_may_turn_into_one_of_other_values():
    strings = [[("a", "x"), ("b", "y")]] * 120
    X_mixed = [*strings, [(1, "x"), ("b", "z"), (True, "z"), (None, "y"), ("1", "y")], *strings]
    encoder = FeatureTemplates(["w:%x[0,0]", "p:%x[0,1]"])
    encoded = encoder.fit_transform(X_mixed)
    assert encoder.get_feature_names_out().tolist() == [
        *("w:a", "w:b", "w:1", "w:None", "w:\\4:1"),
        *("p:x", "p:y", "p:z"),
    ]
    tokens = [sorted(np.flatnonzero(token).tolist()) for token in encoded[120].toarray()]
    assert tokens == [[2, 5], [1, 7], [2, 7], [3, 6], [4, 6]]
    assert encoder.transform(X_mixed) == encoded


def test_other_values_where_strings_were_learnt():
    encoder = FeatureTemplates(["w:%x[0,0]"]).fit(X)
    X_new = [
        [
            ("the", "DT"),
            (1, "DT"),
            (None, "DT"),
            (np.nan, "DT"),
            ("dog", "DT"),
            (np.str_("no"), "DT"),
        ]
    ]
    encoded = encoder.transform(X_new)
    assert pairs(encoded, encoder.get_feature_names_out().tolist()) == {
        (0, "w:the"),
        (4, "w:dog"),
        (5, "w:no"),
    }
    assert pickle.loads(pickle.dumps(encoder)).transform(X_new) == encoded
    with pytest.raises(
        InputTypeError, match=r"X\[1\], token 0, column 0: values must be hashable, got list"
    ):
        encoder.transform([*X_new, [(["the"], "DT")]])


BAD = [
    (
        [[("a", "b")], [("a", "b"), ("a",)]],
        LengthMismatchError,
        r"X\[1\], token 1: 1 columns, expected 2",
    ),
    (
        [[("a", "b", "c"), ("a", "b")]],
        LengthMismatchError,
        r"X\[0\], token [01]: . columns, expected",
    ),
    ([[()]], LengthMismatchError, r"X\[0\], token 0: 0 columns, expected"),
    (
        [["ab", "cd"]],
        InputTypeError,
        r"X\[0\], token 0: a token is a tuple of column values, got str",
    ),
    (
        [[("a", "b"), None]],
        InputTypeError,
        r"X\[0\], token 1: a token is a tuple of column values, got NoneType",
    ),
    (
        [("a", "b")],
        InputTypeError,
        r"X\[0\], token 0: a token is a tuple of column values, got str",
    ),
    (["ab"], InputTypeError, r"X\[0\]: a sequence is a list of tuples of values, got str"),
    (
        [[("a", "b")], 3],
        InputTypeError,
        r"X\[1\]: a sequence is a list of tuples of values, got int",
    ),
    (
        [np.array(["a", "b"])],
        InputTypeError,
        r"X\[0\], token 0: a token is a tuple of column values, got str",
    ),
    (
        [[("a", "b")], [("a", ["b"])]],
        InputTypeError,
        r"X\[1\], token 0, column 1: values must be hashable, got list",
    ),
    ("ab", InputTypeError, r"X must be a list of sequences, got str"),
    (None, InputTypeError, r"X must be a list of sequences, got NoneType"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_bad_input_is_refused_with_its_place_and_changes_nothing(bad, error, message):
    encoder = FeatureTemplates(["%x[0,0]"]).fit(X)
    before = dict(vars(encoder))
    for call in (encoder.fit, encoder.fit_transform, encoder.transform):
        with pytest.raises(error, match=message):
            call(bad)
    assert all(vars(encoder)[name] is value for name, value in before.items())
    assert vars(encoder).keys() == before.keys()


class Incomparable:
    def __hash__(self):
        return 0

    def __eq__(self, other):
        raise TypeError


def test_values_that_cannot_be_compared():
    with pytest.raises(InputTypeError, match=r"X\[0:1\], column 0: values cannot be compared"):
        FeatureTemplates(["%x[0,0]"]).fit([[(Incomparable(),), (Incomparable(),)]])


def test_nan_is_no_value_to_learn():
    encoder = FeatureTemplates(["%x[0,0]"])
    with pytest.raises(NonFiniteError, match=r"X\[2\], token 1, column 1: not finite \(nan\)"):
        encoder.fit([[("a", 1.5)], [], [("a", "b"), ("a", np.nan)]])
    assert vars(encoder) == vars(clone(encoder))


@pytest.mark.parametrize("empty", [[], [[]], [[], ()]])
def test_nothing_to_learn_from(empty):
    with pytest.raises(EmptyDataError, match="X has no tokens"):
        FeatureTemplates().fit(empty)


def test_not_fitted():
    for call in (lambda e: e.transform(X), lambda e: e.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(FeatureTemplates())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype(dtype):
    encoded = FeatureTemplates(dtype=dtype).fit_transform(X)
    assert encoded.tokens.dtype == dtype
    assert encoded.tokens.indices.dtype == np.int32


def test_manners_of_an_estimator():
    encoder = FeatureTemplates(["%x[0,0]"], boundary="pad", min_frequency=2)
    assert clone(encoder).get_params() == encoder.get_params()
    encoded = encoder.fit(X).transform(X)
    assert isinstance(encoded, SequenceArray)
    assert pickle.loads(pickle.dumps(encoder)).transform(X) == encoded
    assert encoder.__sklearn_tags__().input_tags.string


def test_chunking_set():
    assert len(TEMPLATE_SETS["chunking"]) == 19
    names = FeatureTemplates("chunking").fit(X).get_feature_names_out()
    assert {"w[0]:dog", "w[-1]|w[0]:the|dog", "pos[0]|pos[1]|pos[2]:DT|NN|VB"} <= set(names)
    assert FeatureTemplates("sha-pereira").fit(X).get_feature_names_out().tolist() == names.tolist()


@pytest.mark.corpus
def test_chunking_set_on_conll2000():
    sentences = real(fetch_conll2000, subset="train").data
    encoder = FeatureTemplates("chunking", add_bos_eos=True)
    encoded = encoder.fit_transform(sentences)
    assert encoded.tokens.nnz == 3_808_439
    assert encoded.tokens.shape == (211_727, 335_674)
    assert encoder.transform(sentences) == encoded
    assert len(set(encoder.get_feature_names_out().tolist())) == 335_674
