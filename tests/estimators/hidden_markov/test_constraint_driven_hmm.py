"""Constraint-driven learning, against rounds that are written out word by word."""

from __future__ import annotations

from itertools import pairwise, product
from math import log

import naive
import numpy as np
import pytest

from sklearn_struct import HMM, ConstraintDrivenHMM
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, UnknownLabelError
from sklearn_struct.persistence import load, save

LABELLED = [["2", "oak", "st"], ["9", "st"], ["oak", "ave", "apt", "9"]]
TAGS = [["N", "S", "T"], ["N", "T"], ["S", "T", "U", "N"]]
UNLABELLED = [["9", "elm", "ave"], ["elm", "apt"], ["2", "elm", "elm", "st"], ["apt"]]
WORDS = {"st": "T", "ave": "T", "apt": "U"}
X = LABELLED + UNLABELLED
Y = [*TAGS, None, None, None, None]


def joint(model, codes, labels):
    """log p(x, y) of coded words, read off the tables."""
    k = [model.classes_.tolist().index(label) for label in labels]
    [table] = model.emission_logprob_
    found = model.start_logprob_[k[0]] + model.stop_logprob_[k[-1]]
    found += sum(model.transition_logprob_[a, b] for a, b in pairwise(k))
    return found + sum(table[a, code] for a, code in zip(k, codes, strict=True))


def ranked(model, text, known=None, codes=None):
    """All labellings, the best first, and their scores less penalties."""
    [values] = model.vocabulary_
    codes = [values.get(word, len(values)) for word in text] if codes is None else codes
    wanted = [WORDS.get(word, -1) for word in text]
    labellings = product(model.classes_.tolist(), repeat=len(text)) if known is None else [known]
    scored = [
        (
            joint(model, codes, y) - model.penalty * naive.broken(y, wanted, model.min_length),
            tuple(y),
        )
        for y in labellings
    ]
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("min_length", [1, 2, 3])
@pytest.mark.parametrize("max_iter", [1, 2])
def test_predictions_are_the_best_labellings(max_iter, min_length):
    model = ConstraintDrivenHMM(
        WORDS, penalty=1.5, min_length=min_length, n_best=7, max_iter=max_iter
    ).fit(X, Y)
    for text, labels in zip(X, model.predict(X), strict=True):
        assert tuple(labels) == ranked(model, text)[0][1]
    learned = codes_for_learning(X, model.vocabulary_[0])
    best = sum(ranked(model, *given)[0][0] for given in zip(X, Y, learned, strict=True))
    assert model.loss_curve_[-1] == pytest.approx(-best)
    assert len(model.loss_curve_) == model.n_iter_ == max_iter


def counts_of(rows, labellings, weights, values, classes):
    """Weighted counts of starts, of moves and ends, and of words."""
    K = len(classes)
    start = np.zeros(K)
    moves = np.zeros((K, K + 1))
    words = np.zeros((K, len(values) + 1))
    for row, labels, weight in zip(rows, labellings, weights, strict=True):
        k = [classes.index(label) for label in labels]
        start[k[0]] += weight
        for a, b in pairwise([*k, K]):
            moves[a, b] += weight
        for a, code in zip(k, row, strict=True):
            words[a, code] += weight
    return start, moves, words


def smoothed(counts, smoothing):
    raised = counts + smoothing
    return raised / raised.sum(axis=-1, keepdims=True)


def codes_for_learning(texts, values):
    """Words as numbers, the first occurrence of each out of vocabulary."""
    seen = set()
    rows = []
    for text in texts:
        rows.append([])
        for word in text:
            rows[-1].append(values.get(word, len(values)) if word in seen else len(values))
            seen.add(word)
    return rows


def tables(model):
    rows = np.column_stack([model.transition_logprob_, model.stop_logprob_])
    return [np.exp(t) for t in (model.start_logprob_, rows, model.emission_logprob_[0])]


def test_a_round_word_by_word():
    """The mixture of the supervised model with that of the counts of the best labellings."""
    options = {"penalty": 1.5, "n_best": 3, "smoothing": 0.3, "transition_smoothing": 0.2}
    before = ConstraintDrivenHMM(WORDS, supervised_share=1.0, max_iter=1, **options).fit(X, Y)
    model = ConstraintDrivenHMM(WORDS, supervised_share=0.7, max_iter=1, **options).fit(X, Y)
    [values] = before.vocabulary_
    assert values == model.vocabulary_[0]
    learned = codes_for_learning(X, values)
    classes = before.classes_.tolist()
    rows = []
    labellings = []
    weights = []
    for row, text, known in zip(learned, X, Y, strict=True):
        best = ranked(before, text, known, row)[:3]
        for _, labels in best:
            rows.append(row)
            labellings.append(labels)
            weights.append(1 / len(best))
    counts = counts_of(rows, labellings, weights, values, classes)
    new = [smoothed(c, s) for c, s in zip(counts, (0.2, 0.2, 0.3), strict=True)]
    for found, old, fresh in zip(tables(model), tables(before), new, strict=True):
        np.testing.assert_allclose(found, 0.7 * old + 0.3 * fresh, atol=1e-12)


def test_the_supervised_model_is_that_of_the_labels_alone():
    """Words without labels change no posterior: they share what is out of vocabulary."""
    options = {"smoothing": 0.1, "transition_smoothing": 0.1}
    model = ConstraintDrivenHMM(supervised_share=1.0, **options).fit(X, Y)
    alone = HMM(**options).fit(LABELLED, TAGS)
    for a, b in zip(model.predict_proba(X), alone.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.emission_logprob_[0]).sum(axis=1), 1.0)
    known = ConstraintDrivenHMM(WORDS, **options).fit(LABELLED, TAGS)
    np.testing.assert_allclose(known.transition_logprob_, alone.transition_logprob_)
    np.testing.assert_allclose(known.emission_logprob_[0], alone.emission_logprob_[0])
    assert known.n_iter_ == 1


def test_constraints_teach_words_that_have_no_labels():
    more = [["2", "elm", "blvd"], ["9", "fir", "blvd"], ["2", "oak", "blvd", "apt", "9"]] * 5
    model = ConstraintDrivenHMM(
        WORDS | {"blvd": "T"}, penalty=log(99), supervised_share=0.5, constrained=False
    ).fit(LABELLED + more, TAGS + [None] * len(more))
    assert model.predict([["2", "new", "blvd"]])[0] == ["N", "S", "T"]


def test_constraints_in_predictions_alone():
    """Also of words that no text has; parameters may change after the fit."""
    model = ConstraintDrivenHMM(penalty=50.0).fit(X, Y)
    free = model.predict([["oak", "quay"]])[0]
    model.set_params(labeled_features={"quay": "U"})
    assert free[1] != "U"
    assert model.predict([["oak", "quay"]])[0][1] == "U"
    proba = model.predict_proba([["oak", "quay"]])[0]
    assert proba[1, model.classes_.tolist().index("U")] > 0.99
    model.set_params(constrained=False)
    assert model.predict([["oak", "quay"]])[0] == free
    model.set_params(constrained=True, min_length=2)
    assert len(set(model.predict([["oak", "oak"]])[0])) == 1
    with pytest.raises(UnknownLabelError, match=r"labeled_features\['a'\]: label 'Q' was not seen"):
        model.set_params(labeled_features={"a": "Q"}).predict([["a"]])


def test_labels_of_constraints_are_classes():
    model = ConstraintDrivenHMM({"elm": "TREE"}, penalty=9.0, supervised_share=0.1).fit(X, Y)
    assert "TREE" in model.classes_.tolist()
    assert model.predict([["9", "elm", "ave"]])[0][1] == "TREE"


def test_some_labels_of_a_sequence():
    """Those that are known stay, whatever the constraints say."""
    y = [*TAGS, [None, None, "S"], None, None, None]
    model = ConstraintDrivenHMM(WORDS, penalty=99.0, supervised_share=0.01, n_best=1).fit(X, y)
    [values] = model.vocabulary_
    ave = model.emission_logprob_[0][:, values["ave"]]
    free = ConstraintDrivenHMM(WORDS, penalty=99.0, supervised_share=0.01, n_best=1).fit(X, Y)
    S = model.classes_.tolist().index("S")
    assert ave[S] > free.emission_logprob_[0][S, free.vocabulary_[0]["ave"]] + 0.5


def test_weights_are_counts():
    weight = [1, 2, 1, 3, 1, 1, 2]
    repeated = [i for i, n in enumerate(weight) for _ in range(n)]
    options = {"n_best": 2, "max_iter": 2}
    # numbers have no first occurrences
    codes = {word: float(i) for i, word in enumerate(sorted({w for text in X for w in text}))}
    rows = [np.array([[codes[word]] for word in text]) for text in X]
    a = ConstraintDrivenHMM(**options).fit(rows, Y, weight)
    b = ConstraintDrivenHMM(**options).fit([rows[i] for i in repeated], [Y[i] for i in repeated])
    np.testing.assert_allclose(a.means_, b.means_)
    np.testing.assert_allclose(a.transition_logprob_, b.transition_logprob_)


def test_numbers_and_several_streams():
    rng = np.random.default_rng(0)
    rows = [[(word, rng.normal()) for word in text] for text in X]
    model = ConstraintDrivenHMM(WORDS).fit(rows, Y)
    assert model.means_.shape == (4, 1)
    assert [len(labels) for labels in model.predict(rows)] == [len(text) for text in X]


def test_threads_change_no_bit():
    models = [
        ConstraintDrivenHMM(WORDS, min_length=2, n_jobs=n).fit(X * 40, Y * 40) for n in (1, 3)
    ]
    for a, b in zip(*map(tables, models), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(*(np.concatenate(m.predict_proba(X)) for m in models))


def test_file(tmp_path):
    model = ConstraintDrivenHMM(WORDS, min_length=2).fit(X, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("options", "y", "error", "message"),
    [
        ({}, None, ValueError, "requires y to be passed"),
        ({}, [None] * 7, EmptyDataError, "y has no labels"),
        ({"labeled_features": {"st": None}}, Y, UnknownLabelError, "a label is missing"),
        ({"labeled_features": {"st": ["T"]}}, Y, InputTypeError, "cannot be a label"),
        ({"labeled_features": ["st"]}, Y, ValueError, "labeled_features"),
        ({"min_length": 0}, Y, ValueError, "min_length"),
        ({"penalty": -1.0}, Y, ValueError, "penalty"),
    ],
)
def test_what_is_refused(options, y, error, message):
    with pytest.raises(error, match=message):
        ConstraintDrivenHMM(**options).fit(X, y)


def test_labels_of_weight_zero_are_none():
    with pytest.raises(EmptyDataError, match="no sequence with labels has a positive weight"):
        ConstraintDrivenHMM().fit(X, Y, [0, 0, 0, 1, 1, 1, 1])
