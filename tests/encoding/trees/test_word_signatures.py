"""Classes of rare words, as the Berkeley parser's lexicon has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.encoding.trees.word_signatures import signature


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dog", "UNK-LC"), ("tables", "UNK-LC-s"), ("boss", "UNK-LC"), ("basis", "UNK-LC"),
        ("virus", "UNK-LC"), ("is", "UNK-LC"), ("1980s", "UNK-LC-NUM-s"), ("baked", "UNK-LC-ed"),
        ("bed", "UNK-LC"), ("singing", "UNK-LC-ing"), ("station", "UNK-LC-ion"),
        ("baker", "UNK-LC-er"), ("latest", "UNK-LC-est"), ("slowly", "UNK-LC-ly"),
        ("purity", "UNK-LC-ity"), ("sunny", "UNK-LC-y"), ("formal", "UNK-LC-al"),
        ("well-formed", "UNK-LC-DASH"), ("one-offs", "UNK-LC-DASH-s"), ("Smith", "UNK-CAPS"),
        ("IBM", "UNK-CAPS"), ("Banking", "UNK-CAPS-ing"), ("3Com-ed", "UNK-CAPS-NUM-DASH"),
        ("B2Bing", "UNK-CAPS-NUM"), ("iPod", "UNK-LC"), ("12.5", "UNK-NUM"),
        ("12-13", "UNK-NUM-DASH"), ("--", "UNK-DASH"), ("%", "UNK"), ("", "UNK"), ("中国", "UNK"),
        ("Éduard", "UNK-CAPS"), ("École", "UNK-CAPS"),
    ],
)  # fmt: skip
def test_inside_a_sentence(word, expected):
    assert signature(word, 3, {"banking"}) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Smith", "UNK-INITC"), ("Banking", "UNK-INITC-KNOWNLC-ing"), ("IBM", "UNK-CAPS"),
        ("McCain", "UNK-CAPS"), ("banking", "UNK-LC-ing"), ("12.5", "UNK-NUM"),
    ],
)  # fmt: skip
def test_at_the_beginning(word, expected):
    assert signature(word, 0, {"banking"}) == expected


@given(st.text(max_size=12), st.integers(0, 2))
def test_any_word_has_one(word, position):
    assert signature(word, position).startswith("UNK")
