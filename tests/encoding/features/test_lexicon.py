"""Known phrases as features of segments."""

from __future__ import annotations

import pickle

import pytest
from sklearn.base import clone

from sklearn_struct import Lexicon
from sklearn_struct.exceptions import InputTypeError

TOKENS = ["to", "New", "York", "and", "rome"]


def attributes(lexicon, tokens=TOKENS):
    """What all segments have that have something."""
    every = [(s, e) for e in range(1, len(tokens) + 1) for s in range(e)]
    return {(s, e): lexicon(tokens, s, e) for s, e in every if lexicon(tokens, s, e)}


@pytest.mark.parametrize("phrases", [{"New York", "Rome"}, ["Rome", ("New", "York")]])
def test_phrases(phrases):
    assert attributes(Lexicon(phrases)) == {(1, 3): ["in_lexicon"]}
    folded = Lexicon(phrases, case_sensitive=False, name="city")
    assert attributes(folded) == {(1, 3): ["city"], (4, 5): ["city"]}


def test_kinds_of_phrases():
    lexicon = Lexicon({"city": ["New York"], "state": {"New York", ("rome",)}})
    assert attributes(lexicon) == {
        (1, 3): ["in_lexicon:city", "in_lexicon:state"],
        (4, 5): ["in_lexicon:state"],
    }


def test_tokens_that_are_dicts():
    tokens = [{"word": word, "form": word.lower()} for word in TOKENS]
    assert attributes(Lexicon({"New York"}), tokens) == {(1, 3): ["in_lexicon"]}
    assert attributes(Lexicon({"new york"}, key="form"), tokens) == {(1, 3): ["in_lexicon"]}
    with pytest.raises(InputTypeError, match="a dict that has a string at the key 'lemma'; got"):
        Lexicon({"Rome"}, key="lemma")(tokens, 0, 1)


def test_other_parameters_are_read_anew():
    lexicon = Lexicon({"rome"})
    assert lexicon(TOKENS, 4, 5) == ["in_lexicon"]
    # what is given away is nobody else's
    lexicon(TOKENS, 4, 5).clear()
    for copy in (clone(lexicon), pickle.loads(pickle.dumps(lexicon))):
        assert copy(TOKENS, 4, 5) == ["in_lexicon"]
        assert "_made" not in vars(clone(copy))
    lexicon.set_params(phrases={"York"}, name="town")
    assert attributes(lexicon) == {(2, 3): ["town"]}


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ("New York", "a set or a list, or a dict of these; got 'New York'"),
        (5, "a set or a list, or a dict of these; got 5"),
        ({"city": "Rome"}, "a set or a list, or a dict of these; got 'Rome'"),
        ((word for word in TOKENS), "a set or a list"),
        ([3], "a string with words, or a tuple of words; got 3"),
        ([""], "a string with words, or a tuple of words; got ''"),
        ([("New", 1)], r"a tuple of words; got \('New', 1\)"),
    ],
)
def test_phrases_that_are_none(phrases, message):
    with pytest.raises(InputTypeError, match=message):
        Lexicon(phrases)(TOKENS, 0, 1)
