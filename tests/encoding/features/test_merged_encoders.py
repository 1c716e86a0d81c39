"""Vocabularies of partitions make up that of all data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sklearn_struct import FeatureTemplates, SequenceVectorizer
from sklearn_struct.encoding.features.merged_encoders import encoded_part, merged_encoder
from sklearn_struct.exceptions import LengthMismatchError

WORDS = ["the", "a", "cat", "dog", "été", "\0", "", "runs"]


def sentences(n, make, seed=0):
    rng = np.random.default_rng(seed)
    return [[make(rng) for _ in range(rng.integers(1, 6))] for _ in range(n)]


def row(rng):
    return str(rng.choice(WORDS)), str(rng.integers(3)), str(rng.integers(40))


def mixed_row(rng):
    # late on there is something else than strings
    return str(rng.choice(WORDS)), 1 if rng.random() < 0.1 else str(rng.integers(3))


def attributes(rng):
    token = {
        "word": str(rng.choice(WORDS)),
        "n": float(rng.integers(3)),
        str(rng.integers(9)): True,
    }
    if rng.random() < 0.3:
        token["vector"] = rng.normal(size=2)
    return token


CASES = {
    "chunking": (FeatureTemplates(["a:%x[0,0]", "b:%x[-1,0]/%x[0,1]", "c:%x[1,2]"]), row),
    "pad": (
        FeatureTemplates(["%x[-2,0]/%x[0,1]", "%x[0,1]"], boundary="pad", add_bos_eos=True),
        row,
    ),
    "rare": (FeatureTemplates(["a:%x[0,0]", "b:%x[0,0]/%x[0,2]"], min_frequency=3), row),
    "mixed": (FeatureTemplates(["a:%x[0,0]", "b:%x[0,0]/%x[0,1]"]), mixed_row),
    "dicts": (SequenceVectorizer(), attributes),
    "rare dicts": (SequenceVectorizer(min_frequency=4), attributes),
    "zeros": (SequenceVectorizer(keep_zeros=True, dtype=np.float32), attributes),
    "lists": (SequenceVectorizer(), lambda rng: rng.choice(WORDS, 2).tolist()),
    "hashed": (SequenceVectorizer(n_features=16), attributes),
}


@pytest.mark.parametrize("n_parts", [1, 3, 8])
@pytest.mark.parametrize("name", CASES)
def test_merged_is_what_all_data_give(name, n_parts):
    encoder, make = CASES[name]
    X = sentences(40, make)
    whole = type(encoder)(**encoder.get_params())
    tokens = whole.fit_transform(X)
    cuts = np.linspace(0, len(X), n_parts + 1).astype(int)
    parts = [encoded_part(encoder, X[lo:hi]) for lo, hi in pairwise(cuts)]
    merged, columns = merged_encoder(encoder, [part for _, part in parts])
    assert merged.n_features_out_ == whole.n_features_out_
    np.testing.assert_array_equal(merged.get_feature_names_out(), whole.get_feature_names_out())
    # an encoder that is merged encodes as one that has read all
    again = merged.transform(X)
    np.testing.assert_array_equal(again.tokens.toarray(), tokens.tokens.toarray())
    # each column of a part is one of all data, or none
    for (of_part, _), where, lo, hi in zip(parts, columns, cuts, cuts[1:]):
        local = of_part.tokens.toarray()
        if where is None:
            where = np.arange(local.shape[1])
        expected = tokens[lo:hi].tokens.toarray()
        placed = np.zeros_like(expected)
        placed[:, where[where >= 0]] = local[:, where >= 0]
        np.testing.assert_array_equal(placed, expected)


def test_a_name_that_cancels_keeps_its_place():
    X = [[{"a": {"b": 1.0}, "a:b": -1.0, "c": 1.0}], [{"c": 1.0, "a:b": 2.0}]]
    parts = [encoded_part(SequenceVectorizer(), [sequence])[1] for sequence in X]
    merged, _ = merged_encoder(SequenceVectorizer(), parts)
    expected = SequenceVectorizer().fit(X).get_feature_names_out().tolist()
    assert merged.get_feature_names_out().tolist() == expected == ["a:b", "c"]


def test_keys_that_are_numbered_anew():
    """Combinations of so many values that they outgrow 64 bits."""
    templates = FeatureTemplates(["/".join(f"%x[0,{c}]" for c in range(8))])
    rng = np.random.default_rng(0)
    X = [[tuple(map(str, rng.integers(400, size=8)))] for _ in range(500)]
    parts = [encoded_part(templates, X[lo : lo + 100])[1] for lo in range(0, 500, 100)]
    merged, _ = merged_encoder(templates, parts)
    whole = FeatureTemplates(templates.templates).fit(X)
    np.testing.assert_array_equal(merged.get_feature_names_out(), whole.get_feature_names_out())
    np.testing.assert_array_equal(
        merged.transform(X).tokens.indices, whole.transform(X).tokens.indices
    )


def test_what_parts_must_agree_in():
    columns = [encoded_part(FeatureTemplates("%x[0,0]"), [[row]])[1] for row in [("a",), ("a", 1)]]
    with pytest.raises(LengthMismatchError, match="1 columns, and those of another 2"):
        merged_encoder(FeatureTemplates("%x[0,0]"), columns)
    vectors = [encoded_part(SequenceVectorizer(), [[{"v": [0.5] * n}]])[1] for n in (2, 3)]
    with pytest.raises(LengthMismatchError, match="2 numbers in one partition and 3"):
        merged_encoder(SequenceVectorizer(), vectors)
