"""Words and their tags against a twin of dicts; which entries a word has."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.encoding.trees.lexicon import RARE, RESERVE, Lexicon, entries, learn, observe
from sklearn_struct.encoding.trees.word_signatures import signature

WORDS = [
    "the",
    "cat",
    "cats",
    "Cat",
    "Cats",
    "running",
    "Running",
    "1980s",
    "3",
    "-LRB-",
    "UNK",
    "UNK-LC",
    "é",
]
TAGS = 4


class Naive:
    """What each token of tagged sentences counts for: ``weights[seen as, tag]`` has a number for
    some of the tokens.
    """

    def __init__(self, X, tags, min_frequency, unknown):
        tokens = [(word, t) for sentence in X for t, word in enumerate(sentence)]
        n_seen = Counter(word for word, _ in tokens)
        self.known = {word for word, n in n_seen.items() if n >= min_frequency}
        rare = [i for i, (word, _) in enumerate(tokens) if n_seen[word] < max(RARE, min_frequency)]
        shapes = {i: signature(*tokens[i], self.known) for i in rare}
        n_shown = Counter(shapes.values())
        self.signatures = set(n_shown)
        self.weights = defaultdict(lambda: defaultdict(float))
        self.own = []
        for i, ((word, _), tag) in enumerate(zip(tokens, tags)):
            self.own.append((("word", word) if word in self.known else ("shape", shapes[i]), tag))
            if word in self.known:
                self.weights[("word", word), tag][i] += 1
            self.weights["other", tag][i] += RESERVE * unknown / len(tokens)
        for i in rare:
            self.weights[("shape", shapes[i]), tags[i]][i] += 1
            self.weights["other", tags[i]][i] += unknown / len(rare)
            for word in self.known:
                if signature(word, 1, self.known) == shapes[i]:
                    self.weights[("word", word), tags[i]][i] += unknown / n_shown[shapes[i]]

    def sums(self, rows):
        return {
            entry: sum(w * rows[i] for i, w in tokens.items())
            for entry, tokens in self.weights.items()
        }


def names(lexicon):
    """What each entry stands for."""
    shown = (
        [("word", word) for word in lexicon.words]
        + [("shape", name) for name in lexicon.signatures]
        + ["other"]
    )
    codes = [*lexicon.words.values(), *lexicon.signatures.values(), len(lexicon.indptr) - 2]
    assert codes == list(range(len(shown)))
    return [
        (shown[o], s)
        for o in codes
        for s in lexicon.symbol[slice(*lexicon.indptr[o : o + 2])].tolist()
    ]


@st.composite
def tagged(draw):
    X = draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=12))
    n = sum(map(len, X))
    tags = draw(st.lists(st.integers(0, TAGS - 1), min_size=n, max_size=n))
    return (
        X,
        np.array(tags, dtype=np.int32),
        draw(st.integers(1, 8)),
        draw(st.sampled_from([0.3, 1.0, 2.0])),
    )


@given(tagged())
def test_counts_are_those_of_the_twin(data):
    X, tags, min_frequency, unknown = data
    naive = Naive(X, tags.tolist(), min_frequency, unknown)
    lexicon, emissions, own = learn(X, tags, TAGS, min_frequency, unknown)
    assert set(lexicon.words) == naive.known
    assert set(lexicon.signatures) == naive.signatures
    found = names(lexicon)
    assert len(found) == len(set(found)) == lexicon.indptr[-1]
    assert set(found) == set(naive.weights)
    assert [found[entry] for entry in own] == naive.own
    rows = np.random.default_rng(0).random((len(tags), 3))
    expected = naive.sums(rows)
    np.testing.assert_allclose(
        emissions.sums(rows),
        np.array([expected[entry] for entry in found]).reshape(-1, 3),
        rtol=1e-12,
    )


@given(tagged())
def test_all_observations_of_a_tag_have_probability_one(data):
    """Each tag that was seen may be any other word, and is emitted at every token as what the token
    is taken for.
    """
    X, tags, min_frequency, unknown = data
    lexicon, emissions, own = learn(X, tags, TAGS, min_frequency, unknown)
    counts = emissions.sums(np.ones((len(tags), 1)))[:, 0]
    assert np.all(counts > 0)
    total = np.bincount(lexicon.symbol, weights=counts, minlength=TAGS)
    np.testing.assert_array_equal(total > 0, np.isin(np.arange(TAGS), tags))
    np.testing.assert_array_equal(lexicon.symbol[own], tags)
    other = entries(lexicon, len(lexicon.indptr) - 2)
    np.testing.assert_array_equal(lexicon.symbol[other], np.unique(tags))
    observed = [code for sentence in X for code in observe(lexicon, sentence)]
    np.testing.assert_array_equal(np.searchsorted(lexicon.indptr, own, side="right") - 1, observed)


@given(tagged())
def test_types_and_order(data):
    X, tags, min_frequency, unknown = data
    lexicon, _, own = learn(X, tags, TAGS, min_frequency, unknown)
    assert (lexicon.indptr.dtype, lexicon.symbol.dtype, own.dtype) == (np.int64, np.int32, np.int32)
    for o in range(len(lexicon.indptr) - 1):
        row = lexicon.symbol[slice(*lexicon.indptr[o : o + 2])]
        assert np.all(np.diff(row) > 0)


def test_counts_by_hand():
    """Of "Cats" and "dogs", seen once, the tags 1 and 2; "the" and "cats" are known, of which
    "cats" looks like these.

    "the" is seen as often as words have to be for what they show not to count.
    """
    X = [["the"] * 5, ["cats", "cats", "dogs"], ["Cats"]]
    tags = np.array([0, 0, 0, 0, 3, 1, 1, 2, 1])
    lexicon, emissions, _ = learn(X, tags, 4, 2, 0.5)
    counts = dict(zip(names(lexicon), emissions.sums(np.ones((9, 1)))[:, 0]))
    plural = ("shape", "UNK-LC-s")
    first = ("shape", "UNK-INITC-KNOWNLC-s")
    any_word = 0.01 * 0.5 / 9
    assert counts == pytest.approx(
        {
            (("word", "the"), 0): 4,
            (("word", "the"), 3): 1,
            (("word", "cats"), 1): 2 + 0.5 * 2 / 3,
            (("word", "cats"), 2): 0.5 * 1 / 3,
            (plural, 1): 2,
            (plural, 2): 1,
            (first, 1): 1,
            ("other", 0): 4 * any_word,
            ("other", 1): 3 * any_word + 0.5 * 3 / 4,
            ("other", 2): 1 * any_word + 0.5 * 1 / 4,
            ("other", 3): 1 * any_word,
        }
    )


# ---- what a word is taken for

# known: "the", of tag 0, and "a", of 0 and 2; the signature UNK-LC has tag 1; other words may have
# 0, 1, 3
SMALL = Lexicon(
    {"a": 0, "the": 1},
    {"UNK-LC": 2},
    np.array([0, 2, 3, 4, 7]),
    np.array([0, 2, 0, 1, 0, 1, 3], np.int32),
)


def test_observe():
    assert observe(SMALL, ["a", "dog", "the", "Dog", "12", "a"]) == [0, 2, 1, 3, 3, 0]
    assert observe(SMALL, []) == []


def test_a_word_at_the_beginning_of_a_sentence():
    lexicon = SMALL._replace(signatures={"UNK-INITC-KNOWNLC": 2})
    # words in small letters are looked up there alone
    assert observe(lexicon, ["The", "The"]) == [2, 3]


@pytest.mark.parametrize(
    ("code", "allowed", "relaxed", "expected"),
    [
        (0, None, False, [0, 1]),
        (1, None, False, [2]),
        (3, None, False, [4, 5, 6]),
        # its own entry for tag 0, and those of other words for 1 and 3
        (0, None, True, [0, 1, 5, 6]),
        (1, None, True, [2, 5, 6]),
        (3, None, True, [4, 5, 6]),
        (0, [2], False, [1]),
        (0, [0, 2], False, [0, 1]),
        (0, [1], False, [5]),  # no tag of its own is allowed
        (0, [2, 3], True, [1, 6]),
        (1, [1, 3], False, [5, 6]),
        (2, [0], False, [4]),
        (1, [2], True, []),  # a tag that no other word may have
        (0, [], True, []),
    ],
)
def test_entries(code, allowed, relaxed, expected):
    mask = None if allowed is None else np.isin(np.arange(4), allowed)
    assert entries(SMALL, code, mask, relaxed).tolist() == expected


def test_nothing_to_learn_from():
    lexicon, emissions, own = learn([], np.empty(0, np.int32), 3, 2, 1.0)
    assert (lexicon.words, lexicon.signatures, lexicon.indptr.tolist(), own.tolist()) == (
        {},
        {},
        [0, 0],
        [],
    )
    assert emissions.sums(np.empty((0, 2))).shape == (0, 2)
