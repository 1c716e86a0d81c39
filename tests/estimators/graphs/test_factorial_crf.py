"""Several labels of each token, by enumeration and against chains."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from sklearn_struct import FactorialCRF, LinearChainCRF, persistence
from sklearn_struct.encoding.labels import label_rows
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)

LABELS = [["a", "b"], [0, 1, 2]]


def sentences(rng, lengths=(3, 1, 2, 3, 0, 2) * 4):
    """Two labels of each token, of which the second depends on the first."""
    X = [rng.normal(size=(n, 3)) for n in lengths]
    y = []
    for x in X:
        first = (x[:, 0] + rng.normal(size=len(x)) > 0).astype(int)
        second = (first + (x[:, 1] > 0.8)) % 3
        y.append([(LABELS[0][a], LABELS[1][b]) for a, b in zip(first, second)])
    return X, y


def log_p_by_enumeration(crf, x, labels):
    """log p(y | x) from the weights that users see."""
    sizes = [len(classes) for classes in crf.row_classes_]
    scores = np.split(x @ crf.coef_.T + crf.intercept_, np.cumsum(sizes)[:-1], axis=1)
    totals = {}
    for codes in product(product(*map(range, sizes)), repeat=len(x)):
        total = 0.0
        for t, here in enumerate(codes):
            total += sum(scores[r][t, k] for r, k in enumerate(here))
            total += crf.pair_transition_[0, 1][here]
            if t:
                before = codes[t - 1]
                total += sum(crf.row_transition_[r][before[r], k] for r, k in enumerate(here))
            for (r, s, d), table in crf.distant_transition_.items():
                if t >= d:
                    total += table[codes[t - d][r], here[s]]
        totals[codes] = total
    truth = tuple(
        tuple(crf.row_classes_[r].tolist().index(label) for r, label in enumerate(entry))
        for entry in labels
    )
    return totals[truth] - np.logaddexp.reduce(list(totals.values()))


@pytest.mark.parametrize("reach", [0, 1, 2])
def test_probabilities_are_those_of_enumeration(reach):
    X, y = sentences(np.random.default_rng(0))
    crf = FactorialCRF(reach=reach, C=2.0, tol=1e-6).fit(X, y)
    shapes = {(r, s): (len(LABELS[r]), len(LABELS[s])) for r, s in [(0, 1), (1, 0)]}
    expected = {(*rows, d): shapes[rows] for d in range(1, reach + 1) for rows in shapes}
    assert {key: table.shape for key, table in crf.distant_transition_.items()} == expected
    assert all(table.any() for table in crf.distant_transition_.values())
    assert crf.inference_report_["n_calls"] == 0  # all of them are small enough to be exact
    expected = [log_p_by_enumeration(crf, x, labels) for x, labels in zip(X[:4], y)]
    np.testing.assert_allclose(crf.log_proba(X[:4], y[:4]), expected, atol=1e-10)
    first, second = crf.predict_proba(X)
    for x, a, b in zip(X, first, second, strict=True):
        assert (a.shape, b.shape) == ((len(x), 2), (len(x), 3))
        np.testing.assert_allclose(a.sum(axis=1), 1.0)
        np.testing.assert_allclose(b.sum(axis=1), 1.0)
    # rows know of each other
    alone = LinearChainCRF(C=2.0).fit(X, [[entry[1] for entry in labels] for labels in y])
    together = np.mean(
        [a[1] == b[1] for p, q in zip(crf.predict(X), y, strict=True) for a, b in zip(p, q)]
    )
    assert together >= alone.score(X, [[entry[1] for entry in labels] for labels in y]) - 0.1


@pytest.mark.parametrize("reach", [0, 2])
def test_one_row_is_a_chain(reach):
    X, y = sentences(np.random.default_rng(1))
    y = [[entry[1] for entry in labels] for labels in y]
    chain = LinearChainCRF(tol=1e-8).fit(X, y)
    crf = FactorialCRF(reach=reach, tol=1e-8).fit(X, y)
    assert crf.distant_transition_ == {}
    np.testing.assert_allclose(crf.coef_, chain.coef_, atol=1e-5)
    np.testing.assert_allclose(crf.row_transition_[0], chain.transition_, atol=1e-5)
    assert crf.predict(X).tolist() == chain.predict(X).tolist()
    for a, b in zip(crf.predict_proba(X), chain.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_labels_of_a_row_that_is_behind():
    """What the second row says is what the first one said two tokens before."""
    rng = np.random.default_rng(7)
    X = []
    y = []
    for _ in range(30):
        first = rng.integers(2, size=8)
        X.append(first[:, None] + rng.normal(scale=0.1, size=(8, 1)))
        second = [rng.integers(2), rng.integers(2), *first[:-2]]
        y.append([(int(a), int(b)) for a, b in zip(first, second)])
    right = {}
    for reach in (1, 2):
        crf = FactorialCRF(reach=reach, C=10.0).fit(X[:20], y[:20])
        known = [[b for _, b in labels[2:]] for labels in crf.predict(X[20:])]
        right[reach] = np.mean(known == np.array(y[20:])[:, 2:, 1])
    assert right[1] < 0.8
    assert right[2] == 1.0
    table = crf.distant_transition_[0, 1, 2]
    assert table.diagonal().min() > 1.0 > -1.0 > max(table[0, 1], table[1, 0])


@pytest.mark.parametrize("n_rows", [2, 3])
def test_no_farther_than_the_longest_sequence_of_fit(n_rows):
    rng = np.random.default_rng(8)
    X, y = sentences(rng)
    y = [[(*entry, str(rng.integers(2)))[:n_rows] for entry in labels] for labels in y]
    crf = FactorialCRF(reach=10**9, C=2.0).fit(X, y)
    assert {d for _, _, d in crf.distant_transition_} == {1, 2}
    assert len(crf.distant_transition_) == 2 * n_rows * (n_rows - 1)
    same = FactorialCRF(reach=2, C=2.0).fit(X, y)
    np.testing.assert_array_equal(crf._w, same._w)
    # also of longer ones, of single tokens, and whatever is set later
    longer = [rng.normal(size=(5, 3)), X[1]]
    expected = same.predict(longer).tolist()
    assert crf.set_params(reach=0).predict(longer).tolist() == expected
    alone = FactorialCRF(reach=3).fit([x[:1] for x in X], [labels[:1] for labels in y])
    assert alone.distant_transition_ == {}


def test_a_start_from_rows_that_are_less_far_apart():
    X, y = sentences(np.random.default_rng(9))
    near = FactorialCRF(tol=1e-6).fit(X, y)
    far = FactorialCRF(reach=1, tol=1e9).fit(X, y, init=near)
    np.testing.assert_array_equal(far.pair_transition_[0, 1], near.pair_transition_[0, 1])
    assert not any(table.any() for table in far.distant_transition_.values())


@pytest.mark.parametrize("reach", [-1, 0.5, None])
def test_bad_reach(reach):
    X, y = sentences(np.random.default_rng(10))
    with pytest.raises(ValueError, match="'reach' parameter"):
        FactorialCRF(reach=reach).fit(X, y)


def test_rows_that_do_not_meet_are_two_chains():
    """With the weights between rows at 0, each row has the probabilities of its chain."""
    X, y = sentences(np.random.default_rng(2))
    crf = FactorialCRF(tol=1e-6).fit(X, y)
    for r in range(2):
        chain = LinearChainCRF(tol=1e-6).fit(X, [[entry[r] for entry in labels] for labels in y])
        pattern = crf._pattern
        w = crf._w.copy()
        segments = crf._segments()
        start = pattern.size - len(segments.intercept)
        w[start - 25 : start] = 0.0
        copy = pickle.loads(pickle.dumps(crf))
        copy._w = w
        assert not copy.pair_transition_[0, 1].any()
        chain._w = np.concatenate(
            [
                crf.coef_[crf._slices()[r]].T.ravel(),
                crf.row_transition_[r].ravel(),
                crf.intercept_[crf._slices()[r]],
            ]
        )
        for a, b in zip(copy.predict_proba(X)[r], chain.predict_proba(X), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10)


def test_missing_labels():
    X, y = sentences(np.random.default_rng(3))
    partly = [list(labels) for labels in y]
    partly[0] = [None] * len(partly[0])
    partly[2] = [(None, entry[1]) for entry in partly[2]]
    partly[3][0] = (partly[3][0][0], {0, 1})
    crf = FactorialCRF(C=2.0).fit(X, partly)
    known = crf.log_proba([X[2]], [y[2]])
    some = crf.log_proba([X[2]], [partly[2]])
    assert some[0] > known[0]
    every = [
        [(a, entry[1]) for a, entry in zip(first, y[2])]
        for first in product("ab", repeat=len(y[2]))
    ]
    total = np.logaddexp.reduce([crf.log_proba([X[2]], [labels])[0] for labels in every])
    assert some[0] == pytest.approx(total, abs=1e-10)
    assert 0 <= crf.score(X, partly) <= 1


def test_two_dimensional_x():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 3))
    y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0]).astype(int)
    crf = FactorialCRF(C=10).fit(X, y)
    assert crf.predict(X).shape == y.shape
    assert np.mean(crf.predict(X) == y) > 0.9
    assert [part.shape for part in crf.predict_proba(X)] == [(40, 2), (40, 2)]
    assert [part.shape for part in crf.predict_log_proba(X)] == [(40, 2), (40, 2)]
    with pytest.raises(LengthMismatchError, match="X has 40 rows but y has 39"):
        FactorialCRF().fit(X, y[1:])


@pytest.mark.parametrize("reach", [0, 2])
def test_files_pickles_and_starts(tmp_path, reach):
    X, y = sentences(np.random.default_rng(5))
    crf = FactorialCRF(reach=reach, tol=1e-6).fit(X, y)
    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        assert copy.predict(X).tolist() == crf.predict(X).tolist()
        again = copy.set_params(tol=1e9).fit(X, y, init=copy)
        np.testing.assert_allclose(again._w, crf._w, atol=1e-5)
    other = [[(entry[0], "x") for entry in labels] for labels in y]
    with pytest.raises(InputTypeError, match="with the same labels"):
        FactorialCRF().fit(X, other, init=crf)


def test_nodes_stand_row_by_row():
    tokens, row = label_rows.nodes(2, np.array([0, 2, 2, 5]))
    assert tokens.tolist() == [0, 1, 0, 1, 2, 3, 4, 2, 3, 4]
    assert row.tolist() == [0, 0, 1, 1, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (("a",), LengthMismatchError, r"y\[1\], token 0: 1 labels, where the first token has 2"),
        ("a", LengthMismatchError, "1 labels"),
        ((["a"], 0), InputTypeError, "cannot be a label"),
    ],
)
def test_bad_labels(entry, error, message):
    X, y = sentences(np.random.default_rng(6))
    y[1][0] = entry
    crf = FactorialCRF()
    with pytest.raises(error, match=message):
        crf.fit(X, y)
    assert not hasattr(crf, "row_classes_")


@pytest.mark.parametrize("y", [np.float64(1.0), 5, "DET", {"a": 1}, np.array(None)])
@pytest.mark.parametrize("X", [[["a", "b"]], np.eye(2)], ids=["sequences", "rows"])
def test_labels_that_are_no_list(X, y):
    with pytest.raises((InputTypeError, LengthMismatchError, ValueError), match="y"):
        FactorialCRF().fit(X, y)


def test_no_rows():
    with pytest.raises(EmptyDataError, match="empty list of labels"):
        FactorialCRF().fit([[["x"]]], [[()]])


@pytest.mark.parametrize("row", [0, 1])
def test_scores_that_are_too_large_are_named_by_token_row_and_label(row):
    """Labels of the other row have a score of -inf at a node, which is meant."""
    X = [np.eye(3), np.eye(3)[1:]]
    # a label that is always the same has no weights
    y = [[(label, "O")[:: 1 - 2 * row] for label in labels] for labels in (["D", "N", "N"], "NN")]
    crf = FactorialCRF().fit(X, y)
    large = np.zeros((3, 3))
    large[1, 0] = 1e308
    message = (
        rf"X\[1\], token 1, row {row}: the score of the label 'D' is \d.*e\+307, where float64"
    )
    with pytest.raises(NonFiniteError, match=message):
        crf.predict([np.eye(3), large])


def test_labels_that_are_missing_are_not_scored():
    """Neither as right nor as wrong, in whichever row."""
    X, y = sentences(np.random.default_rng(5))
    crf = FactorialCRF().fit(X, y)
    chosen = crf.predict(X)
    right = []
    partly = []
    for truth, guesses in zip(y, chosen, strict=True):
        partly.append([(None, b) if t % 2 else (a, None) for t, (a, b) in enumerate(truth)])
        pairs = zip(partly[-1], guesses, strict=True)
        right += [k == g for known, guess in pairs for k, g in zip(known, guess) if k is not None]
    assert 0.5 < np.mean(right) < 1.0
    assert crf.score(X, partly) == pytest.approx(np.mean(right))
