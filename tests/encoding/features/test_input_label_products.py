"""Joint features: names of pairs, what functions may give, and where their mistakes are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_struct import LogLinearClassifier, ProductFeatures, SequenceVectorizer
from sklearn_struct.encoding.features.input_label_products import (
    candidate_codes,
    encode,
    joint_name,
)
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    NonFiniteError,
    UnknownLabelError,
)


def calls(*inputs):
    return lambda: ((i, (x,)) for i, x in enumerate(inputs))


def test_products_of_names_and_values():
    features = ProductFeatures(
        lambda x: {"one": 1, "two": x, "w": "v"}, lambda y: {y: 1, "len": len(y)}
    )
    assert features(3.0, "ab") == {
        "one & ab": 1, "one & len": 2, "two & ab": 3, "two & len": 6, "w:v & ab": 1, "w:v & len": 2
    }  # fmt: skip
    assert ProductFeatures(lambda x: x)("abc", 7) == {"abc & 7": 1.0}
    assert ProductFeatures(lambda x: (name for name in "ab"))(0, "y") == {
        "a & y": 1.0,
        "b & y": 1.0,
    }


def test_pairs_may_be_chosen():
    features = ProductFeatures(
        lambda x: ["any", *(f"seen={w}" for w in x)], keep=lambda a, b: a in ("any", f"seen={b}")
    )
    assert list(features(["u", "v"], "v")) == ["any & v", "seen=v & v"]
    X = [["u"], ["v"], ["u", "v"], ["w"]]
    y = ["u", "v", "u", "u"]
    model, same = (LogLinearClassifier(f).fit(X, y) for f in (features, features.__call__))
    assert model.joint_feature_names_.tolist() == ["any & u", "any & v", "seen=u & u", "seen=v & v"]
    assert sorted(model.joint_feature_names_) == sorted(same.joint_feature_names_)
    assert model.loss_curve_[-1] == pytest.approx(same.loss_curve_[-1], rel=1e-6)


def test_names_of_pairs_differ():
    texts = ["", "&", "\\", "a", " ", "\\&", " & "]
    pairs = [(a, b) for a in texts for b in texts]
    pairs += [(a + b, c) for a in texts for b in texts for c in texts]
    assert len({joint_name(*pair) for pair in pairs}) == len(set(pairs))


def test_products_are_parameters():
    features = ProductFeatures(len, str)
    assert clone(features).get_params() == {"context": len, "label": str, "keep": None}
    assert "ProductFeatures(context=<built-in function len>" in repr(features)


@pytest.mark.parametrize("n", [1, 199, 200, 401])
def test_a_row_each_call(n):
    vectorizer = SequenceVectorizer()
    rows = encode(vectorizer, lambda x: [f"a{x}", "b"], calls(*range(n)), True)
    names = vectorizer.get_feature_names_out()
    assert [set(names[rows[[i]].indices]) for i in range(n)] == [{f"a{i}", "b"} for i in range(n)]
    again = encode(vectorizer, lambda x: {f"a{x}": 2, "new": 1}, calls(0), False)
    assert again.toarray()[0, :2].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (5, InputTypeError, r"features of X\[1\]: a token is a dict"),
        (["a", 5], InputTypeError, r"features of X\[1\]: names of features must be strings, got 5"),
        ({"a": np.nan}, NonFiniteError, r"features of X\[1\]: feature 'a': not finite"),
        ({"a": object}, InputTypeError, r"features of X\[1\]: feature 'a': a value is"),
        (None, InputTypeError, r"features of X\[1\]: .*got NoneType"),
    ],
)
def test_mistakes_have_their_place(wrong, error, message):
    with pytest.raises(error, match=message):
        encode(SequenceVectorizer(), lambda x: x, calls(["a"], wrong, ["b"]), True)


def test_errors_of_the_function_get_a_note():
    with pytest.raises(ZeroDivisionError) as caught:
        encode(
            SequenceVectorizer(),
            lambda x, y: 1 / x,
            lambda: iter([(4, (1, "N")), (5, (0, "N"))]),
            True,
        )
    assert caught.value.__notes__ == ["while the features of X[5] and label 'N' were computed"]


def test_candidates():
    codes = {"a": 0, "b": 1}
    offsets, found = candidate_codes(["a", "ba", "bb"], iter, codes)
    assert (offsets.tolist(), found.tolist()) == ([0, 1, 3, 4], [0, 1, 0, 1])
    learned = {}
    assert candidate_codes(["ba", "c"], iter, learned)[1].tolist() == [0, 1, 2]
    assert learned == {"b": 0, "a": 1, "c": 2}


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        (lambda x: "ab", InputTypeError, r"candidates\(X\[3\]\) must give labels, got str"),
        (lambda x: 5, InputTypeError, r"candidates\(X\[3\]\) must give labels, got int"),
        (lambda x: [], EmptyDataError, r"candidates\(X\[3\]\) gives no label"),
        (lambda x: ["c"], UnknownLabelError, r"candidates\(X\[3\]\): label 'c' was not seen"),
        (lambda x: [["a"]], UnknownLabelError, r"candidates\(X\[3\]\): label \['a'\]"),
    ],
)
def test_bad_candidates(candidates, error, message):
    with pytest.raises(error, match=message):
        candidate_codes(["x"], candidates, {"a": 0}, 3)
