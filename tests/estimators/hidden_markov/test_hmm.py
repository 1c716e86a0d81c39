"""Hidden Markov models against enumeration, counts by hand, and the shallow parser of Smith, Vail
and Lafferty.
"""

from __future__ import annotations

import re
from collections import Counter

import naive
import numpy as np
import pandas as pd
import pytest
from real_data import real
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM, LinearChainCRF, SequenceArray, metrics
from sklearn_struct.datasets import fetch_conll2000
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
    UnknownValueError,
)

LABELS = ["A", "B", "C"]
LENGTHS = [3, 1, 0, 4, 2, 5, 3, 2]
ORDERS = pytest.mark.parametrize("order", [1, 2])
KINDS = pytest.mark.parametrize(("order", "stop"), [(1, True), (1, False), (2, True), (2, False)])


def data(seed=0, lengths=LENGTHS):
    """Rows of two values and a number, and labels on which they depend."""
    rng = np.random.RandomState(seed)
    y = [rng.randint(3, size=n) for n in lengths]
    X = [
        [("uvw"[(k + rng.randint(2)) % 3], rng.randint(2) > k, rng.normal(k)) for k in labels]
        for labels in y
    ]
    return X, [[LABELS[k] for k in labels] for labels in y]


def hidden(y, share=0.5, seed=1):
    rng = np.random.RandomState(seed)
    return [[label if rng.uniform() > share else None for label in labels] for labels in y]


# ---------------------------------------------------------------- everything by enumeration


@pytest.mark.twins
@KINDS
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_probabilities_are_those_of_all_labellings(order, stop, smoothing):
    X, y = data()
    hmm = HMM(order=order, stop=stop, transition_smoothing=smoothing).fit(X, y)
    test = data(5, [2, 4, 0, 3])[0]
    proba = hmm.predict_proba(X + test)
    log_p = hmm.score_samples(X + test)
    predicted = hmm.predict(X + test)
    joint = hmm.log_joint(X + test, predicted)
    for i, rows in enumerate(X + test):
        twin = naive.Hidden(hmm, rows)
        expected = np.logaddexp.reduce(twin.log_p)
        assert log_p[i] == pytest.approx(expected, abs=1e-10)
        if expected == -np.inf:
            continue
        np.testing.assert_allclose(proba[i], twin.marginals(), atol=1e-10)
        assert joint[i] == pytest.approx(twin.log_p.max(), abs=1e-10)
        codes = tuple(LABELS.index(label) for label in predicted[i])
        assert joint[i] == pytest.approx(twin.joint(codes), abs=1e-10)


@pytest.mark.twins
@KINDS
def test_an_iteration_of_em_by_enumeration(order, stop):
    X, y = data()
    partly = hidden(y)
    first = HMM(order=order, stop=stop, smoothing=0.5, transition_smoothing=0.2).fit(X, y)
    model = clone(first).set_params(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="EM stopped after 1 iterations"):
        model.fit(X, partly, init=first)
    starts = np.zeros(3)
    emitted = np.zeros((3, len(model.vocabulary_[0]) + 1))
    mass = np.zeros(3)
    sums = np.zeros(3)
    for rows, labels in zip(X, partly, strict=True):
        twin = naive.Hidden(first, rows)
        p = twin.posterior([-1 if label is None else LABELS.index(label) for label in labels])
        for labelling, weight in zip(twin.y, p, strict=True):
            for t, k in enumerate(labelling):
                starts[k] += weight * (t == 0)
                mass[k] += weight
                emitted[k, first.vocabulary_[0].get(rows[t][0], -1)] += weight
                sums[k] += weight * rows[t][2]
    np.testing.assert_allclose(
        np.exp(model.start_logprob_), (starts + 0.2) / (starts + 0.2).sum(), atol=1e-10
    )
    table = (emitted + 0.5) / (emitted + 0.5).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(model.emission_logprob_[0]), table, atol=1e-10)
    np.testing.assert_allclose(model.means_[:, 0], sums / mass, atol=1e-10)


@KINDS
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("known", ["none", "some", "sequences"])
def test_em_never_lowers_the_likelihood(order, stop, known):
    X, y = data(2, LENGTHS * 3)
    y = {
        "none": None,
        "some": hidden(y),
        "sequences": [labels if i % 2 else None for i, labels in enumerate(y)],
    }[known]
    hmm = HMM(order=order, stop=stop, n_states=LABELS, random_state=0, tol=0, max_iter=60).fit(X, y)
    assert len(hmm.loss_curve_) == hmm.n_iter_ > 5
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-9)
    assert hmm.loss_curve_[-1] < hmm.loss_curve_[0] - 0.1


# ---------------------------------------------------------------- counts


def test_counts_by_hand():
    X = [["u", "v", "u"], ["v"]]
    y = [["A", "B", "A"], ["B"]]
    hmm = HMM(oov=None).fit(X, y)
    assert hmm.classes_.tolist() == ["A", "B"]
    np.testing.assert_allclose(np.exp(hmm.start_logprob_), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(hmm.transition_logprob_), [[0, 0.5], [0.5, 0]])
    np.testing.assert_allclose(np.exp(hmm.stop_logprob_), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(hmm.emission_logprob_[0]), [[3 / 4, 1 / 4], [1 / 4, 3 / 4]])
    assert hmm.n_iter_ == 1
    log_p = np.log([0.5 * 0.5 * 0.5 * 0.5 * (3 / 4) ** 3, 0.5 * 0.5 * 3 / 4])
    np.testing.assert_allclose(hmm.log_joint(X, y), log_p)
    prior = np.sum(hmm.emission_logprob_[0])
    assert hmm.loss_curve_ == [pytest.approx(-log_p.sum() - prior)]


def test_counts_of_order_2_by_hand():
    y = [["A", "B", "A"], ["B"], ["A", "B", "B"], ["A", "A"]]
    hmm = HMM(order=2, oov=None).fit([["x"] * len(labels) for labels in y], y)
    np.testing.assert_allclose(np.exp(hmm.start_logprob_), [3 / 4, 1 / 4])
    np.testing.assert_allclose(np.exp(hmm.pair_start_logprob_), [[1 / 3, 2 / 3], [0, 0]])
    np.testing.assert_allclose(np.exp(hmm.single_stop_logprob_), [0, 1])
    np.testing.assert_allclose(np.exp(hmm.transition_logprob_[0, 1]), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(hmm.stop_logprob_), [[1, 0], [1, 1]])


@ORDERS
def test_weights_are_repetitions_and_zero_is_absence(order):
    X, y = data()
    weight = np.array([2, 0, 1, 1, 3, 1, 0, 1])
    times = np.repeat(np.arange(8), weight)
    for labels in (y, hidden(y)):
        hmm = HMM(order=order, oov="smoothing", n_states=LABELS, max_iter=20, tol=1e-3)
        a = clone(hmm).fit(X, labels, weight)
        b = clone(hmm).fit([X[i] for i in times], [labels[i] for i in times])
        assert a.vocabulary_ == b.vocabulary_
        for name in (
            "start_logprob_",
            "transition_logprob_",
            "stop_logprob_",
            "means_",
            "variances_",
        ):
            np.testing.assert_allclose(
                np.exp(getattr(a, name)), np.exp(getattr(b, name)), rtol=1e-6, atol=1e-9
            )


def test_unseen_values():
    X = [["u", "v", "u", "v"], ["w", "u"]]
    y = [["A", "B", "A", "B"], ["B", "A"]]
    first, smooth, none = (HMM(oov=oov).fit(X, y) for oov in ("first", "smoothing", None))
    assert first.vocabulary_ == [{"u": 0, "v": 1}]
    np.testing.assert_allclose(
        np.exp(first.emission_logprob_[0]), [[3 / 6, 1 / 6, 2 / 6], [1 / 6, 2 / 6, 3 / 6]]
    )
    np.testing.assert_allclose(np.exp(smooth.emission_logprob_[0][:, -1]), [1 / 7, 1 / 7])
    assert (
        first.score_samples([["new"]])
        == first.score_samples([["w"]])
        == first.score_samples([["<OOV>"]])
    )
    with pytest.raises(
        UnknownValueError, match=re.escape("X[0], token 1, column 0: 'new' was not seen")
    ):
        none.predict([["u", "new"]])


@ORDERS
def test_expected_counts_by_linear_systems_are_those_of_the_training_data(order):
    """Of maximum likelihood, for all that the chain itself counts; with order 2 over pairs of
    labels.
    """
    X, y = data(7, [5, 3, 1, 2, 4, 6, 2])
    hmm = HMM(order=order).fit(X, y)
    start = np.exp(hmm.start_logprob_)
    transition = np.exp(hmm.transition_logprob_)
    if order == 1:
        labels = np.linalg.solve(np.eye(3) - transition.T, start)
    else:
        pairs = start[:, None] * np.exp(hmm.pair_start_logprob_)  # of the first two
        # (i, j) to (m, k) where j is m
        step = np.einsum("ijk,jm->ijmk", transition, np.eye(3)).reshape(9, 9)
        labels = start + np.linalg.solve(np.eye(9) - step.T, pairs.ravel()).reshape(3, 3).sum(
            axis=0
        )
    counts = Counter(label for labels in y for label in labels)
    np.testing.assert_allclose(labels * len(y), [counts[label] for label in LABELS], rtol=1e-10)


def test_training_data_as_counted():
    X, y = data()
    hmm = HMM().fit(X, y)
    seen = hmm.replace_oov(X, first=True)
    for s in (0, 1):
        emitted = Counter(
            (label, row[s])
            for rows, labels in zip(seen, y, strict=True)
            for row, label in zip(rows, labels)
        )
        for k, label in enumerate(LABELS):
            counts = [emitted[label, value] + 1 for value in [*hmm.vocabulary_[s], "<OOV>"]]
            np.testing.assert_allclose(
                np.exp(hmm.emission_logprob_[s][k]), np.array(counts) / sum(counts)
            )
    assert [[row[2] for row in rows] for rows in seen] == [[row[2] for row in rows] for rows in X]
    assert hmm.score_samples(hmm.replace_oov(X)).tolist() == hmm.score_samples(X).tolist()
    numbers = [np.ones((2, 1)), np.zeros((1, 1))]
    seen = HMM().fit(numbers, [["A", "B"], ["A"]]).replace_oov(numbers, first=True)
    assert [rows.tolist() for rows in seen] == [[[1], [1]], [[0]]]


# ---------------------------------------------------------------- forms of X, labels, parameters


def test_forms_of_the_same_data():
    X, y = data()
    frame = pd.DataFrame(
        [(i, *row) for i, rows in enumerate(X) for row in rows],
        columns=["s", "letter", "large", "size"],
    )
    packed = SequenceArray.from_frame(frame, "s")
    filled = [i for i, rows in enumerate(X) if rows]
    a = HMM().fit(X, y)
    b = HMM().fit(packed, [y[i] for i in filled])
    assert b.feature_names_in_.tolist() == ["letter", "large", "size"]
    assert b.score_samples(packed).tolist() == a.score_samples([X[i] for i in filled]).tolist()
    words = [[row[0] for row in rows] for rows in X]
    rows = [[(word,) for word in sequence] for sequence in words]
    assert HMM().fit(words, y).predict(rows).tolist() == HMM().fit(rows, y).predict(words).tolist()


def test_numbers_as_values():
    X = [np.array([[1, 0.5], [2, 0.1]]), np.array([[1, 0.2]])]
    y = [["A", "B"], ["A"]]
    hmm = HMM(emissions=["categorical", "auto"], oov=None).fit(X, y)
    assert hmm.vocabulary_ == [{1.0: 0, 2.0: 1}, None]
    assert hmm.means_.shape == (2, 1)
    rows = HMM(emissions=["categorical", "auto"], oov=None).fit(
        [[(1, 0.5), (2, 0.1)], [(1, 0.2)]], y
    )
    assert hmm.score_samples(X).tolist() == rows.score_samples(X).tolist()
    with pytest.raises(LengthMismatchError, match="emissions has 1 entries, but there are 2"):
        HMM(emissions=["gaussian"]).fit(X, y)
    with pytest.raises(InputTypeError, match="'u' is not a number"):
        HMM(emissions="gaussian").fit([["u"]], [["A"]])


def test_labels_of_unlabelled_data():
    X, y = data()
    assert HMM(n_states=2, max_iter=500).fit(X).classes_.tolist() == [0, 1]
    assert HMM(n_states=["b", "a"], max_iter=500).fit(X, None).classes_.tolist() == ["a", "b"]
    assert HMM().fit(X, hidden(y)).classes_.tolist() == LABELS
    assert HMM(n_states=[*LABELS, "D"]).fit(X, y).predict_proba(X)[0].shape == (3, 4)
    with pytest.raises(ValueError, match="set `n_states`"):
        HMM().fit(X)
    with pytest.raises(UnknownLabelError, match="y has no labels"):
        HMM().fit(X, [None] * 8)
    with pytest.raises(UnknownLabelError, match=re.escape("y[0], token 0")):
        HMM(n_states=2).fit(X, y)
    with pytest.raises(ValueError, match="needs numeric columns"):
        HMM(n_states=2, init="kmeans").fit([["u"]])


def test_mistakes():
    X, y = data()
    with pytest.raises(ValueError, match="n_states must hold a label"):
        HMM(n_states=[]).fit(X)
    with pytest.raises(UnknownLabelError, match="None"):
        HMM(n_states=["A", None]).fit(X)
    with pytest.raises(ValueError, match="for each token is refused"):
        HMM().fit(X, y, [np.ones(n) for n in LENGTHS])
    with pytest.raises(NonFiniteError, match="so its variance is not finite: scale the column"):
        HMM().fit([np.array([[1e200], [0.0]])], [["A", "B"]])
    with pytest.raises(InputTypeError, match="first must be True or False, got list"):
        HMM().fit(X, y).replace_oov(X, first=[1])
    for wrong in ({"length": 0}, {"length": 1.5}, {"n_samples": None}):
        with pytest.raises((TypeError, ValueError), match=f"{next(iter(wrong))} must be"):
            HMM(stop=False).fit(X, y).sample(**{"length": 2} | wrong)
    far = (
        HMM()
        .fit([np.array([[1.0], [0.0], [2.0]])], [["A", "B", "A"]])
        .predict_proba([np.array([[1e200], [1.0]])])
    )
    np.testing.assert_allclose(far[0].sum(axis=1), 1)


def test_rows_with_missing_labels():
    rng = np.random.RandomState(0)
    y = np.array(list("AB" * 20), dtype=object)
    X = rng.normal(size=(40, 2)) + (y == "B")[:, None] * 3
    hmm = HMM().fit(X, np.where(rng.uniform(size=40) < 0.5, None, y))
    assert hmm.score(X, y) > 0.9
    assert hmm.means_[1, 0] - hmm.means_[0, 0] == pytest.approx(3, abs=0.7)


def test_a_few_labels_name_the_clusters():
    rng = np.random.RandomState(0)
    y = [rng.randint(3, size=6) for _ in range(60)]
    X = [rng.normal(size=(6, 2)) + 4 * np.eye(3)[labels][:, :2] for labels in y]
    few = [labels.tolist() if i < 2 else None for i, labels in enumerate(y)]
    assert HMM().fit(X, few).score(X, [labels.tolist() for labels in y]) > 0.95


def test_init():
    X, y = data()
    first = HMM(transition_smoothing=1).fit(X, y)
    again = HMM(transition_smoothing=1, tol=1e-3).fit(X, init=first)
    assert again.vocabulary_ == first.vocabulary_
    assert again.score_samples(X).sum() > first.score_samples(X).sum()
    for init, said in (
        (HMM(order=2).fit(X, y), "order 2"),
        (HMM().fit([["u"]], [["A"]]), "1 streams"),
    ):
        with pytest.raises(ValueError, match=said):
            HMM().fit(X, y, init=init)
    with pytest.raises(InputTypeError, match="LinearChainCRF"):
        HMM().fit(X, y, init=LinearChainCRF())
    with pytest.raises(ForbiddenLabelError, match="impossible where EM starts"):
        HMM().fit(X, init=HMM(smoothing=0, oov="smoothing").fit(X[1:2], [["A"]]))


def test_a_failed_fit_changes_nothing():
    X, y = data()
    hmm = HMM().fit(X, y)
    before = dict(vars(hmm))
    with pytest.raises(InputTypeError, match=re.escape("X[0], token 0, column 0: None")):
        hmm.fit([[(None, 1, 2.0)]], [["A"]])
    assert vars(hmm) == before


def test_changed_attributes_change_the_model():
    X, y = data()
    hmm = HMM().fit(X, y)
    hmm.start_logprob_ = np.log([0.8, 0.1, 0.1])
    assert hmm.score_samples(X[:1]) == pytest.approx(
        np.logaddexp.reduce(naive.Hidden(hmm, X[0]).log_p)
    )


# ---------------------------------------------------------------- what cannot be emitted


@ORDERS
def test_impossible_sequences_get_the_fewest_impossible_steps(order):
    X = [["u", "v", "v"]] * 2
    y = [["A", "B", "B"]] * 2
    hmm = HMM(order=order, smoothing=0, oov=None).fit(X, y)
    test = [["u"], ["u", "v", "v"], []]
    log_p = hmm.score_samples(test)
    assert (log_p[0], log_p[2]) == (-np.inf, 0)
    assert log_p[1] == pytest.approx(hmm.log_joint(test[1:2], [["A", "B", "B"]])[0])
    assert hmm.predict(test)[1] == ["A", "B", "B"]
    for table in hmm.predict_proba(test)[:2]:
        np.testing.assert_allclose(table.sum(axis=1), 1)
    # that it ends there is impossible; as B, two things more would be
    assert hmm.predict(test)[0] == ["A"]


# ---------------------------------------------------------------- sampling


@ORDERS
def test_samples_come_from_the_model(order):
    X, y = data(3, LENGTHS * 5)
    hmm = HMM(order=order, transition_smoothing=0.5).fit(X, y)
    drawn, labels = hmm.sample(4000, random_state=0)
    assert [len(rows) for rows in drawn] == [len(row) for row in labels]
    assert all(type(rows) is list and type(rows[0]) is tuple for rows in drawn)
    first = Counter(row[0] for row in labels)
    expected = np.exp(hmm.start_logprob_)
    np.testing.assert_allclose([first[label] / 4000 for label in LABELS], expected, atol=0.03)
    again = clone(hmm).set_params(oov="smoothing").fit(drawn, labels)
    np.testing.assert_allclose(np.exp(again.stop_logprob_), np.exp(hmm.stop_logprob_), atol=0.1)
    np.testing.assert_allclose(again.means_, hmm.means_, atol=0.1)
    assert np.all(np.isfinite(hmm.score_samples(drawn)))
    assert hmm.sample(5, 1)[0].tolist() == hmm.sample(5, 1)[0].tolist()


def test_the_probability_of_a_short_sequence_is_its_share_of_samples():
    X = [["u", "v", "u"], ["v", "u"], ["u"], ["v"]]
    y = [["A", "B", "A"], ["B", "A"], ["A"], ["B"]]
    hmm = HMM(transition_smoothing=1).fit(X, y)
    drawn = [tuple(words) for words in hmm.sample(20_000, 0)[0]]
    for words in [("u",), ("<OOV>",), ("u", "v"), ("v", "u", "u")]:
        p = np.exp(hmm.score_samples([list(words)])[0])
        assert drawn.count(words) / 20_000 == pytest.approx(p, abs=4 * np.sqrt(p / 20_000))


def test_forms_of_samples():
    X = [np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.5, 1.0]])]
    y = [["A", "B"], ["A"]]
    hmm = HMM(stop=False).fit(X, y)
    drawn, labels = hmm.sample(3, 0, length=4)
    assert [rows.shape for rows in drawn] == [(4, 2)] * 3
    assert [len(row) for row in labels] == [4, 4, 4]
    with pytest.raises(ValueError, match="length"):
        hmm.sample(3)
    with pytest.raises(ValueError, match="length"):
        HMM().fit(X, y).sample(3, length=2)
    with pytest.raises(ValueError, match="at least 1"):
        hmm.sample(0, length=2)
    endless = HMM(n_states=2, transition_smoothing=1, random_state=0).fit(X)
    endless.stop_logprob_ = np.full(2, -np.inf)
    endless.transition_logprob_ = np.log(np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="no way to the end"):
        endless.sample()


# ---------------------------------------------------------------- threads


@ORDERS
def test_bits_do_not_depend_on_threads(order):
    X, y = data(0, LENGTHS * 300)
    partly = [labels if i % 3 else None for i, labels in enumerate(y)]
    models = [HMM(order=order, n_jobs=n, tol=1e-2).fit(X, partly) for n in (1, 2, 3)]
    for model in models[1:]:
        assert model.loss_curve_ == models[0].loss_curve_
        assert model.transition_logprob_.tobytes() == models[0].transition_logprob_.tobytes()
        assert model.emission_logprob_[0].tobytes() == models[0].emission_logprob_[0].tobytes()
        assert model.score_samples(X).tobytes() == models[0].score_samples(X).tobytes()
        assert model.predict(X).tolist() == models[0].predict(X).tolist()


# ---------------------------------------------------------------- the shallow parser


def noun_phrases(y):
    return [[label if label in ("B-NP", "I-NP") else "O" for label in labels] for labels in y]


@pytest.mark.corpus
@pytest.mark.parametrize(("order", "least"), [(1, 0.866), (2, 0.8685)])
def test_noun_phrases_of_conll2000(order, least):
    """Smith, Vail and Lafferty (2007) report precision 85.60, recall 88.68, F1 87.11 in order 2."""
    X, y = real(fetch_conll2000, return_X_y=True)
    X_test, y_test = real(fetch_conll2000, subset="test", return_X_y=True)
    hmm = HMM(order=order).fit(X[:8036], noun_phrases(y[:8036]))
    assert np.all(np.isfinite(hmm.score_samples(X_test)))
    assert metrics.span_f1_score(noun_phrases(y_test), hmm.predict(X_test)) >= least
