"""SpectralHMM against counts in dicts, enumeration of labellings, and the true parameters of a
latent HMM.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_struct import SequenceArray, SpectralHMM
from sklearn_struct.encoding.trees.lexicon import RARE, RESERVE
from sklearn_struct.encoding.trees.lexicon import observe as taken_for
from sklearn_struct.encoding.trees.word_signatures import signature
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)

LABELS = "ABC"
UNSMOOTHED = partial(SpectralHMM, smoothing=0, shrinkage=0)
END = object()

# a state of each label is a mode that lasts; the labels emit u and v by turns, C says which mode it
# is A, B, C or the end
FOLLOWS = np.array([[0.2, 0.5, 0.2, 0.1], [0.4, 0.2, 0.3, 0.1], [0.5, 0.4, 0.0, 0.1]])
LASTS = np.array([[0.95, 0.05], [0.05, 0.95]])
WORDS = ["u", "v", "w", "p", "q"]
EMITS = np.array(
    [
        [[0.8, 0.1, 0.1, 0, 0], [0.1, 0.8, 0.1, 0, 0]],
        [[0.1, 0.7, 0.2, 0, 0], [0.7, 0.1, 0.2, 0, 0]],
        [[0, 0, 0.1, 0.9, 0], [0, 0, 0.1, 0, 0.9]],
    ]
)


def sample(n, seed):
    """Words and labels of a chain of labels and modes."""
    rng = np.random.RandomState(seed)
    X = []
    y = []
    for _ in range(n):
        mode = rng.randint(2)
        label = rng.randint(3)
        words = []
        labels = []
        while label < 3:
            words.append(WORDS[rng.choice(5, p=EMITS[label, mode])])
            labels.append(LABELS[label])
            label = rng.choice(4, p=FOLLOWS[label])
            mode = rng.choice(2, p=LASTS[mode])
        X.append(words)
        y.append(labels)
    return X, y


def optimal(words):
    """The labels of the largest posterior probabilities under the true parameters."""
    codes = [WORDS.index(word) for word in words]
    step = np.einsum("ab,mn->ambn", FOLLOWS[:, :3], LASTS)
    forward = [EMITS[:, :, codes[0]] / 6]
    backward = [np.repeat(FOLLOWS[:, 3:], 2, axis=1)]
    for o in codes[1:]:
        forward.append(np.einsum("am,ambn->bn", forward[-1], step) * EMITS[:, :, o])
    for o in codes[:0:-1]:
        backward.append(np.einsum("ambn,bn->am", step, EMITS[:, :, o] * backward[-1]))
    return [LABELS[np.argmax(np.sum(a * b, axis=1))] for a, b in zip(forward, backward[::-1])]


X, Y = sample(300, 0)
X_TEST, Y_TEST = sample(40, 1)
SHORT = [*filter(lambda words: len(words) <= 4, X_TEST)][:12]
SHORT += [["u", "zzz"], ["Word", "w", "7"], ["C-3"], ["q", "q"]]


def outputs(model, sentences=X_TEST + SHORT):
    """Everything that a fitted estimator says, in comparable form."""
    return {
        "labels": model.predict(sentences).tolist(),
        "proba": [rows.tolist() for rows in model.predict_proba(sentences)],
        "samples": model.score_samples(sentences).tolist(),
        "joint": model.log_joint(X_TEST, Y_TEST).tolist(),
        "score": model.score(X_TEST, Y_TEST),
    }


# ---- one state: counts


class Counted:
    """An HMM of relative frequencies in dicts, with the lexicon's rules for rare words."""

    def __init__(self, X, y, min_frequency, unknown):
        tokens = [
            (w, k, t) for words, labels in zip(X, y) for t, (w, k) in enumerate(zip(words, labels))
        ]
        seen = Counter(w for w, _, _ in tokens)
        self.words = {w for w, n in seen.items() if n >= min_frequency}
        rare = Counter(
            (signature(w, t, self.words), k)
            for w, k, t in tokens
            if seen[w] < max(RARE, min_frequency)
        )
        of_signature = Counter()
        for (s, _), n in rare.items():
            of_signature[s] += n
        self.signatures = set(of_signature)
        counts = Counter(((w, "word"), k) for w, k, _ in tokens if w in self.words)
        for (s, k), n in rare.items():
            counts[(s, "signature"), k] += n
            counts["other", k] += unknown * n / rare.total()
            for w in self.words:
                if signature(w, 1, self.words) == s:
                    counts[(w, "word"), k] += unknown * n / of_signature[s]
        for _, k, _ in tokens:
            counts["other", k] += RESERVE * unknown / len(tokens)
        total = Counter()
        for (_, k), n in counts.items():
            total[k] += n
        self.emission = {(o, k): n / total[k] for (o, k), n in counts.items()}
        starts = Counter(labels[0] for labels in y if labels)
        pairs = Counter(pair for labels in y if labels for pair in pairwise([*labels, END]))
        self.labels = sorted(total)
        n_of = Counter(k for _, k, _ in tokens)
        self.start = {k: n / starts.total() for k, n in starts.items()}
        self.transition = {(a, b): n / n_of[a] for (a, b), n in pairs.items()}

    def shown(self, word, t):
        name = signature(word, t, self.words)
        return (
            (word, "word")
            if word in self.words
            else (name, "signature")
            if name in self.signatures
            else "other"
        )

    def p(self, words, labels):
        found = self.start.get(labels[0], 0.0)
        for t, (word, k) in enumerate(zip(words, labels)):
            found *= self.emission.get((self.shown(word, t), k), 0.0)
        for pair in pairwise([*labels, END]):
            found *= self.transition.get(pair, 0.0)
        return found


@pytest.mark.twins
@pytest.mark.parametrize(("min_frequency", "unknown"), [(1, 1.0), (2, 0.3), (60, 1.0), (1000, 2.0)])
def test_one_state_is_counting(min_frequency, unknown):
    X_more = [*X, ["u", "Xyz", "running"], [], ["3-4"]]
    y_more = [*Y, ["A", "B", "B"], [], ["C"]]
    model = UNSMOOTHED(n_states=1, min_frequency=min_frequency, unknown_weight=unknown).fit(
        X_more, y_more
    )
    twin = Counted(X_more, y_more, min_frequency, unknown)
    given = [(words, labels) for words, labels in zip(X_more + X_TEST, y_more + Y_TEST) if words]
    expected = [np.log(twin.p(*pair)) for pair in given]
    np.testing.assert_allclose(model.log_joint(*zip(*given)), expected, rtol=1e-9)
    assert (
        model.log_joint([["q", "q"], ["q"]], [["C", "C"], ["A"]]).tolist() == [-np.inf, -np.inf]
        or min_frequency > 2
    )
    assert model.n_states_.tolist() == [1, 1, 1]
    assert model.n_negative_ == 0
    check_sums(model, SHORT, lambda words, labels: twin.p(words, [LABELS[k] for k in labels]))


def check_sums(model, sentences, value):
    """p(x) and posteriors, from the values of all labellings."""
    K = len(model.classes_)
    log_p, proba, logs = (
        f(sentences) for f in (model.score_samples, model.predict_proba, model.predict_log_proba)
    )
    for i, words in enumerate(sentences):
        by_label = np.zeros((len(words), K))
        total = 0.0
        for labels in product(range(K), repeat=len(words)):
            p = value(words, labels)
            total += p
            by_label[range(len(words)), labels] += p
        assert log_p[i] == pytest.approx(np.log(total) if total > 0 else -np.inf, abs=1e-9)
        if total != 0:
            by_label = np.abs(by_label)
            np.testing.assert_allclose(
                proba[i], by_label / by_label.sum(axis=1, keepdims=True), atol=1e-9
            )
        np.testing.assert_array_equal(np.exp(logs[i]) > 0, proba[i] > 0)


def alike(nodes):
    return np.zeros_like(nodes.symbol)


def test_features_that_see_nothing_find_one_state():
    counted = UNSMOOTHED(n_states=1).fit(X, Y)
    model = UNSMOOTHED(n_states=5, inside_features=[alike], outside_features=(alike,)).fit(X, Y)
    assert model.n_states_.tolist() == [1, 1, 1]
    np.testing.assert_allclose(
        model.log_joint(X_TEST, Y_TEST), counted.log_joint(X_TEST, Y_TEST), rtol=1e-9
    )


# ---- more states: tensors


def by_tensors(model, words, labels):
    """The value of a labelling, from its end on: Cohen et al. (2012), figure 2."""
    codes = model._codes
    states = model._model.states[0]
    K = len(model.classes_)
    lexicon = codes.lexicon

    def leaf(number, symbol):
        first = states.leaf_start[number]
        return states.leaf[first : first + states.n_states[symbol]]

    inner = leaf(len(lexicon.symbol), K)
    below = K
    for o, k in reversed(list(zip(taken_for(lexicon, words), labels))):
        entry = [e for e in range(*lexicon.indptr[o : o + 2]) if lexicon.symbol[e] == k]
        r = codes.rule[k, below]
        if not entry or r < 0:
            return 0.0
        m = states.n_states[k]
        n = len(inner)
        table = states.rule[states.rule_start[r] : states.rule_start[r + 1]].reshape(m, n, -1)
        inner = np.einsum("jki,j,k->i", table, leaf(entry[0], k), inner)[
            : states.n_states[K + 1 + k]
        ]
        below = k
    return float(states.root[states.root_start[K + 1 + below] :][: len(inner)] @ inner)


@pytest.mark.parametrize(
    "options",
    [
        {"n_states": 2},
        {"n_states": 3, "smoothing": 0, "shrinkage": 0, "min_frequency": 1},
        {"n_states": 5, "feature_count": None, "min_frequency": 100},
        {"n_states": 4, "nodes": "one", "random_state": 0, "smoothing": 0},
    ],
)
def test_probabilities_are_sums_over_all_labellings(options):
    model = SpectralHMM(**options).fit(X, Y)
    assert model.n_states_.max() > 1
    assert model.singular_values_.shape == (3, options["n_states"])
    np.testing.assert_array_equal(np.sum(model.singular_values_ > 0, axis=1), model.n_states_)
    check_sums(model, SHORT, partial(by_tensors, model))
    values = [
        by_tensors(model, words, [LABELS.index(k) for k in labels]) for words, labels in zip(X, Y)
    ]
    log_p = model.log_joint(X, Y)
    expected = [np.log(value) if value > 0 else -np.inf for value in values]
    np.testing.assert_allclose(log_p, expected, rtol=1e-8)
    assert model.n_negative_ == sum(value <= 0 for value in values)


def test_negative_estimates_are_impossible():
    """Of few examples and many states."""
    model = UNSMOOTHED(n_states=8, min_frequency=1, feature_count=None).fit(X[:40], Y[:40])
    sentences = [words for words in X + X_TEST if len(words) <= 3]
    totals = [
        sum(by_tensors(model, words, y) for y in product(range(3), repeat=len(words)))
        for words in sentences
    ]
    assert min(totals) < 0 < max(totals)
    np.testing.assert_array_equal(model.score_samples(sentences) > -np.inf, np.array(totals) > 0)
    check_sums(model, sentences[:30], partial(by_tensors, model))
    for rows in model.predict_proba(sentences):
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        assert np.all(rows >= 0)


@pytest.mark.parametrize("svd_solver", ["exact", "randomized"])
def test_decompositions_of_a_model_with_few_features_are_one(svd_solver):
    """Rank and number of directions are small here, so the second is exact, too."""
    X, y = sample(300, 5)
    model = SpectralHMM(n_states=2, svd_solver=svd_solver).fit(X, y)
    other = SpectralHMM(n_states=2).fit(X, y)
    np.testing.assert_allclose(model.singular_values_, other.singular_values_, rtol=1e-3)
    np.testing.assert_allclose(model.log_joint(X, y), other.log_joint(X, y), atol=0.05)


def test_nodes_of_sequences_that_are_equally_long_count_the_same():
    """Drawn with or without weights; where lengths differ, the estimates do."""
    X, y = sample(600, 5)
    n = np.array([len(words) for words in X])
    for chosen, alike in ((n == 4, True), (n > 0, False)):
        some = np.flatnonzero(chosen)
        one, other = (
            SpectralHMM(n_states=1, nodes=nodes, smoothing=0, random_state=0).fit(
                [X[i] for i in some], [y[i] for i in some]
            )
            for nodes in ("one", "one-unweighted")
        )
        found, expected = (model.log_joint(X[:50], y[:50]) for model in (one, other))
        assert np.allclose(found, expected, rtol=1e-9) == alike


def test_states_that_matter_are_learned():
    """Nearly what the true parameters give, which one state cannot."""
    X_many, y_many = sample(4000, 2)
    X_new, y_new = sample(600, 3)
    one, two = (SpectralHMM(n_states=m).fit(X_many, y_many).score(X_new, y_new) for m in (1, 2))
    pairs = [(a, b) for words, labels in zip(X_new, y_new) for a, b in zip(optimal(words), labels)]
    best = np.mean([a == b for a, b in pairs])
    assert one < two
    assert one < best - 0.08
    assert two > best - 0.01


# ---- predictions


def test_decoders():
    marginal, viterbi = (
        SpectralHMM(n_states=2, decoder=name).fit(X, Y) for name in ("marginal", "viterbi")
    )
    for found, rows in zip(marginal.predict(X_TEST), marginal.predict_proba(X_TEST)):
        assert found == [LABELS[k] for k in rows.argmax(axis=1)]
    for words, found in zip(SHORT, viterbi.predict(SHORT)):
        labellings = list(product(range(3), repeat=len(words)))
        value = np.array([by_tensors(viterbi, words, labels) for labels in labellings])
        if value.sum() == 0:
            continue
        p = value / value.sum()
        score = []
        for labels in labellings:
            own = [
                sum(p[i] for i, y in enumerate(labellings) if y[t] == k)
                for t, k in enumerate(labels)
            ]
            ways = [
                sum(p[i] for i, y in enumerate(labellings) if y[t : t + 2] == labels[t : t + 2])
                for t in range(len(words))
            ]
            score.append(np.prod(np.abs([*own, *ways])))
        assert score[labellings.index(tuple(LABELS.index(k) for k in found))] == pytest.approx(
            max(score), rel=1e-6
        )
    assert viterbi.score(X_TEST, Y_TEST) > 0.7


def test_sentences_without_a_labelling():
    """Where no labels may follow each other so, each word gets training's label frequencies."""
    X = [["a", "b"], ["a", "b"], ["a", "b", "c"]]
    y = [["A", "B"], ["A", "B"], ["A", "B", "C"]]
    for decoder in ("marginal", "viterbi"):
        model = SpectralHMM(n_states=2, min_frequency=1, decoder=decoder).fit(X, y)
        for words in (["a"] * 4, ["c"] * 4):
            rows = model.predict_proba([words])[0]
            found = model.predict([words])[0]
            log_p = model.score_samples([words])
            assert rows.shape == (len(words), 3)
            np.testing.assert_allclose(rows.sum(axis=1), 1)
            assert len(found) == len(words)
            assert log_p[0] == -np.inf
        np.testing.assert_allclose(model.predict_proba([["a"] * 4])[0], [[3 / 7, 3 / 7, 1 / 7]] * 4)
        assert model.predict([["a"] * 4])[0] == ["A"] * 4
        assert model.predict([["a", "zzz"], ["7", "b"], ["?"] * 3]).tolist() == [
            ["A", "B"],
            ["A", "B"],
            ["A", "B", "C"],
        ]


def test_empty_sequences():
    model = SpectralHMM(n_states=2).fit([[], *X, []], [[], *Y, []])
    assert outputs(model) == outputs(SpectralHMM(n_states=2).fit(X, Y))
    found = model.predict([[], X[0], []])
    assert (found[0], found[2]) == ([], [])
    assert found[1] == model.predict(X[:1])[0]
    assert model.predict_proba([[]])[0].shape == (0, 3)
    assert model.score_samples([[], X[0]])[0] == -np.inf
    assert model.log_joint([[], X[0]], [[], Y[0]])[1] == model.log_joint(X[:1], Y[:1])[0]
    assert model.log_joint([[]], [[]]).tolist() == [-np.inf]
    assert (
        len(model.predict([])) == len(model.predict_proba([])) == len(model.score_samples([])) == 0
    )
    with pytest.raises(EmptyDataError, match="no tokens of positive weight"):
        model.score([[]], [[]])


@pytest.mark.parametrize("names", [[3, 1, 2], ["x", "y", "z"], [("a", 1), ("b", 0), ("a", 0)]])
def test_kinds_of_labels(names):
    code = dict(zip(LABELS, sorted(names)))
    y = [[code[k] for k in labels] for labels in Y]
    model = SpectralHMM(n_states=2).fit(X, y)
    plain = SpectralHMM(n_states=2).fit(X, Y)
    assert model.classes_.tolist() == sorted(names)
    assert model.predict(X_TEST).tolist() == [
        [code[k] for k in labels] for labels in plain.predict(X_TEST)
    ]
    assert model.score(X, y) == plain.score(X, Y)


def test_labels_that_were_not_seen():
    model = SpectralHMM(n_states=2).fit(X, Y)
    with pytest.raises(
        UnknownLabelError, match=re.escape("y[1], token 1: label 'Z' was not seen in fit")
    ):
        model.log_joint([["u"], ["u", "v"]], [["A"], ["A", "Z"]])
    assert model.score([["u", "u"]], [["Z", "Z"]]) == 0.0
    with pytest.raises(LengthMismatchError, match=re.escape("X[0]")):
        model.log_joint([["u"]], [["A", "B"]])
    with pytest.raises(LengthMismatchError, match=re.escape("X[0]")):
        model.score([["u"]], [["A", "B"]])
    for method in (model.predict, model.predict_proba, model.score_samples):
        with pytest.raises(InputTypeError, match=re.escape("X[0]")):
            method(["u v"])


# ---- forms of X and y, weights


def numbered(X):
    """The words as whole numbers."""
    return [[10 + WORDS.index(word) for word in sentence] for sentence in X]


def test_words_may_be_whole_numbers():
    as_words = [[str(word) for word in sentence] for sentence in numbered(X)]
    expected = outputs(SpectralHMM(n_states=2).fit(as_words, Y), as_words)
    packed = SequenceArray.from_flat(
        np.concatenate(numbered(X))[:, None], [len(sentence) for sentence in X]
    )
    arrays = [np.array(sentence, dtype=int) for sentence in numbered(X)]
    for form in (numbered(X), packed, arrays):
        assert outputs(SpectralHMM(n_states=2).fit(form, Y), form) == expected


def test_rows_are_sequences_of_one_word():
    rows = np.concatenate(numbered(X))[:60, None]
    y = np.concatenate([np.array(labels) for labels in Y])[:60]
    sequences = [[str(word)] for word in rows.ravel().tolist()]
    model = SpectralHMM(n_states=1).fit(rows, y)
    same = SpectralHMM(n_states=1).fit(sequences, [[label] for label in y.tolist()])
    predicted = model.predict(rows)
    assert predicted.shape == (60,)
    assert predicted.tolist() == [label for [label] in same.predict(sequences)]
    np.testing.assert_array_equal(
        model.predict_proba(rows), np.concatenate(same.predict_proba(sequences))
    )
    assert model.score(rows, y) == same.score(sequences, [[label] for label in y.tolist()])
    with pytest.raises(InputTypeError, match=r"two-dim.* fitted on longer.*\[X\]"):
        SpectralHMM(n_states=1).fit(X, Y).predict(rows)


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        (np.array([[0.5], [1.0]]), "X[0], token 0: 0.5 is no whole number"),
        (np.array([[1, 2], [3, 4]]), "tokens of shape (2,)"),
        (SequenceArray.from_flat(np.array([[1.0], [np.inf]]), [2]), "X[0], token 1: inf"),
    ],
)
def test_numbers_that_are_no_words(bad, place):
    with pytest.raises(InputTypeError, match=re.escape(place)):
        SpectralHMM().fit(bad, ["A", "B"] if isinstance(bad, np.ndarray) else [["A", "B"]])


@pytest.mark.parametrize("nodes", ["all", "one"])
def test_equal_weights_change_nothing(nodes):
    options = {"n_states": 2, "nodes": nodes, "smoothing": 0, "random_state": 0}
    plain = SpectralHMM(**options).fit(X, Y)
    weighted = SpectralHMM(**options).fit(X, Y, sample_weight=np.full(len(X), 2.0))
    for one, two in zip(plain.predict_proba(X_TEST), weighted.predict_proba(X_TEST)):
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_weights_are_how_often_a_sequence_counts():
    """With one state the model is relative frequencies."""
    weight = np.arange(len(X)) % 3
    options = {"n_states": 1, "smoothing": 0, "min_frequency": 1, "unknown_weight": 1e-9}
    weighted = SpectralHMM(**options).fit(X, Y, sample_weight=weight)
    repeated = [i for i, n in enumerate(weight) for _ in range(n)]
    twice = SpectralHMM(**options).fit([X[i] for i in repeated], [Y[i] for i in repeated])
    np.testing.assert_allclose(
        weighted.log_joint(X_TEST, Y_TEST), twice.log_joint(X_TEST, Y_TEST), rtol=1e-6
    )
    assert weighted.score(X, Y, sample_weight=weight) == pytest.approx(
        twice.score([X[i] for i in repeated], [Y[i] for i in repeated])
    )


def test_sequences_of_weight_0_are_left_out():
    weight = (np.arange(len(X)) < 100).astype(float)
    half = SpectralHMM(n_states=2).fit(X[:100], Y[:100], sample_weight=weight[:100])
    assert outputs(SpectralHMM(n_states=2).fit(X, Y, sample_weight=weight)) == outputs(half)
    rest = SpectralHMM(n_states=2).fit([*X, ["q"]], [*Y, ["Z"]], sample_weight=[*weight, 0.0])
    assert rest.classes_.tolist() == ["A", "B", "C", "Z"]
    assert all(np.all(rows[:, 3] == 0) for rows in rest.predict_proba(X_TEST))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("tiny", [1e-130, 1e-200, 1e-310])
def test_weights_whose_squares_are_nothing(tiny):
    """They count as little as others that are next to nothing."""
    given = [*X[:100], ["u", "p"]], [*Y[:100], ["C", "C"]]
    fits = [
        SpectralHMM(n_states=2).fit(*given, sample_weight=[*np.ones(100), w]) for w in (1e-60, tiny)
    ]
    for one, two in zip(*(model.predict_proba(X_TEST) for model in fits), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.parametrize(
    ("weight", "error", "match"),
    [
        (np.zeros(3), ValueError, "at least one non-zero"),
        ([1.0, 0.0, 0.0], EmptyDataError, "no sequence with words"),
        ([1.0, -1.0, 1.0], ValueError, "[Nn]egative"),
        ([[], [1.0], [1.0, 1.0]], ValueError, "weights of sequences"),
    ],
)
def test_bad_weights(weight, error, match):
    with pytest.raises(error, match=match):
        SpectralHMM().fit([[], ["u"], ["u", "v"]], [[], ["A"], ["A", "B"]], sample_weight=weight)


# ---- as an estimator


@pytest.mark.parametrize("options", [{}, {"decoder": "viterbi", "nodes": "one", "random_state": 3}])
def test_same_bits_for_any_number_of_threads(options):
    one, two = (SpectralHMM(n_states=3, n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    assert outputs(one) == outputs(two)
    np.testing.assert_array_equal(one.singular_values_, two.singular_values_)


def test_pickles_clones_refits():
    model = SpectralHMM(n_states=3, min_frequency=1).fit(X, Y)
    expected = outputs(model)
    assert outputs(pickle.loads(pickle.dumps(model))) == expected
    assert not hasattr(clone(model), "classes_")
    assert (
        outputs(clone(model).fit(X[:50], [["Q"] * len(labels) for labels in Y[:50]]).fit(X, Y))
        == expected
    )
    assert outputs(clone(model).fit(iter(X), np.array([*Y, None], dtype=object)[:-1])) == expected


def test_not_fitted():
    model = SpectralHMM()
    for method in (
        model.predict,
        model.predict_proba,
        model.predict_log_proba,
        model.score_samples,
    ):
        with pytest.raises(NotFittedError):
            method(X)
    for method in (model.score, model.log_joint):
        with pytest.raises(NotFittedError):
            method(X, Y)


@pytest.mark.parametrize(
    ("bad_X", "bad_y", "error", "place"),
    [
        (X[:3], Y[:2], LengthMismatchError, "3 sequences"),
        ([["u"], ["u", "v"]], [["A"], ["A"]], LengthMismatchError, "X[1]"),
        ([["u", "v"]], [["A", None]], UnknownLabelError, "y[0], token 1"),
        ([["u", "v"]], [None], InputTypeError, "y[0]"),
        ([["u", "v"]], [[["A"], "B"]], InputTypeError, "y[0], token 0"),
        ([["u", "v"]], [["A", 1]], InputTypeError, "int, str"),
        ("u v", Y[:1], InputTypeError, "X is a str"),
        (["u v"], Y[:1], InputTypeError, "split it"),
        ([["u", 3]], [["A", "B"]], InputTypeError, "X[0], token 1"),
        ([["u", ""]], [["A", "B"]], ValueError, "X[0], token 1"),
        ([["u"]], ["A"], InputTypeError, "y[0]"),
        ([["u"]], "A", InputTypeError, "y must be"),
        ([["u"]], None, ValueError, "requires y to be passed"),
        ([], [], EmptyDataError, "no words"),
        ([[], []], [[], []], EmptyDataError, "no words"),
    ],
)
def test_bad_fits_change_nothing(bad_X, bad_y, error, place):
    model = SpectralHMM(n_states=2).fit(X, Y)
    fresh = SpectralHMM()
    before = outputs(model)
    for subject in (model, fresh):
        kept = dict(vars(subject))
        with pytest.raises(error, match=re.escape(place)):
            subject.fit(bad_X, bad_y)
        assert vars(subject).keys() == kept.keys()
        assert all(vars(subject)[name] is value for name, value in kept.items())
    assert outputs(model) == before


@pytest.mark.parametrize(
    "options",
    [
        {"n_states": 0},
        {"decoder": "max-rule"},
        {"min_frequency": 0},
        {"unknown_weight": 0},
        {"smoothing": -1},
        {"svd_solver": "auto"},
        {"nodes": "some"},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        SpectralHMM(**options).fit(X, Y)


def test_model_selection():
    search = GridSearchCV(SpectralHMM(), {"n_states": [1, 2], "smoothing": [0.0, 10.0]}, cv=2).fit(
        X, Y
    )
    assert search.best_params_["n_states"] == 2
    assert search.score(X_TEST, Y_TEST) == search.best_estimator_.score(X_TEST, Y_TEST)
    found = cross_val_predict(SpectralHMM(n_states=2), X, Y, cv=3)
    assert list(map(len, found)) == list(map(len, X))
    assert np.mean([a == b for rows, labels in zip(found, Y) for a, b in zip(rows, labels)]) > 0.7
