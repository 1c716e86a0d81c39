"""A two-dimensional X is a batch of single tokens; whoever means one long sequence by it is told
how to say so.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from public_estimators import CLASSIFIERS, READ_TABLES, small
from sklearn.base import clone

from sklearn_struct import GECRF, HMM, LinearChainCRF, MEstimatedCRF, PrototypeMRF, SequenceArray
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError
from sklearn_struct.persistence import load, save

STATES = np.repeat([0, 1, 0, 1, 1, 0], 6)
X = np.abs(np.random.RandomState(0).normal(size=(36, 2))) + 4.0 * STATES[:, None]
LABELS = np.array(["A", "B"])[STATES]
LISTS = [[1, 2, 3, 1], [3, 1, 2], [2, 2]]
OF_LISTS = [["A", "B", "A", "B"], ["B", "A", "A"], ["A", "A"]]


def fitted(model):
    """Fitted on one sequence of 36 tokens."""
    return clone(model).fit([X], [LABELS.tolist()])


TAGGERS = [cls for cls in READ_TABLES if cls not in (GECRF, PrototypeMRF, *CLASSIFIERS)]
MODELS = [small(cls) for cls in TAGGERS]
MODELS += [GECRF({}, fit_intercept=True), PrototypeMRF(fit_intercept=True)]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.mark.parametrize(
    "rows", [X, X.tolist(), X.astype(int)], ids=["array", "list", "whole numbers"]
)
@pytest.mark.parametrize("model", [HMM(n_states=2), GECRF({0: "B"}, classes=["A", "B"])], ids=str)
def test_rows_without_labels_are_refused(model, rows):
    model = clone(model)
    with pytest.raises(
        EmptyDataError, match=r"36 rows, and y is None.*fit\(\[X\]\).*from_flat\(X, lengths\)"
    ):
        model.fit(rows)
    assert not hasattr(model, "classes_")
    # each row is said to be one of its own
    assert model.fit(rows, [None] * 36).predict(rows).shape == (36,)


@every_model
def test_one_sequence_that_is_not_in_a_list_is_refused_by_its_labels(model):
    for y in ([LABELS.tolist()], (LABELS,)):
        with pytest.raises(InputTypeError, match=r"X is two-dimensional.*\[X\] with \[y\]"):
            model.fit(X, y)


@pytest.mark.parametrize("lengths", [[30, 6], [36], np.array([4, 32])], ids=str)
def test_lengths_in_the_place_of_labels(lengths):
    for model in (HMM(n_states=2), LinearChainCRF()):
        with pytest.raises(
            LengthMismatchError, match=r"lengths of sequences, write fit\(SequenceArray.from_flat"
        ):
            model.fit(X, lengths)


@every_model
def test_a_model_of_sequences_refuses_rows(model, tmp_path):
    """One sequence, in the form of other packages, would be 36 sequences of one token, and
    predictions bad.
    """
    model = fitted(model)
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        for method, y in ((each.predict, ()), (each.predict_proba, ()), (each.score, (LABELS,))):
            with pytest.raises(
                InputTypeError,
                match=r"is two-dim.* fitted on longer.*\[X\].*from_flat\(X, lengths\)",
            ):
                method(X, *y)
        with pytest.raises(InputTypeError, match="is one-dimensional, but"):
            each.predict([1.0, 2.0])
        right = each.predict([X])[0]
        assert each.predict(SequenceArray.from_flat(X, [36]))[0] == right
        assert np.mean(np.array(right) == LABELS) > 0.9
        # single tokens, if they are meant
        assert [len(labels) for labels in each.predict(X[:3, None])] == [1, 1, 1]


@every_model
def test_a_model_of_rows_reads_rows_and_sequences(model):
    for data in (X, X.tolist(), [x[None] for x in X]):
        y = (
            [[label] for label in LABELS]
            if isinstance(data[0], np.ndarray) and data[0].ndim == 2
            else LABELS
        )
        model.fit(data, y)
        assert np.mean(model.predict(X) == LABELS) > 0.9
        assert np.shape(model.predict([X])[0]) == (36,)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_classifier_of_sequences_refuses_rows(cls):
    halves = [X[:18], X[18:]]
    model = cls(random_state=0).fit(halves, ["A", "B"])
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(InputTypeError, match=r"is two-dim.* fitted on longer.*\[X\]"):
            method(X)
    assert model.predict(halves).shape == (2,)
    assert np.mean(cls(random_state=0).fit(X, LABELS).predict(X) == LABELS) > 0.9


def test_batches_of_a_stream_say_what_they_are():
    crf = LinearChainCRF(solver="pa", random_state=0)
    crf.partial_fit(X, LABELS, ["A", "B"])
    assert crf.predict(sp.csr_array(X)).shape == (36,)
    crf.partial_fit([X], [LABELS])
    with pytest.raises(InputTypeError, match="fitted on longer"):
        crf.predict(sp.csr_array(X))


# ---------------------------------------------------------------- lists of whole numbers


@pytest.mark.parametrize(
    "form",
    [
        LISTS,
        tuple(map(tuple, LISTS)),
        [np.array(sequence) for sequence in LISTS],
        SequenceArray.from_sequences(LISTS),
        [[f"w{value}" for value in sequence] for sequence in LISTS],
    ],
    ids=["lists", "tuples", "arrays", "SequenceArray", "strings"],
)
def test_lists_of_whole_numbers_are_sequences_of_symbols(form):
    """Two tokens with three streams of numbers were read instead, without a word."""
    words = [[f"w{value}" for value in sequence] for sequence in LISTS]
    for model in (HMM(), HMM(n_states=["A", "B"], random_state=0, tol=1e6), MEstimatedCRF()):
        y = None if getattr(model, "n_states", None) else OF_LISTS
        as_words = model.fit(words, y).predict_proba(words)
        proba = model.fit(form, y).predict_proba(form)
        np.testing.assert_allclose(np.concatenate(proba), np.concatenate(as_words), atol=1e-12)


def test_equally_long_lists_are_no_table_either():
    for y, states in (
        ([["A", "B", "A"], ["B", "A", "A"]], None),
        (None, 2),
        ([None, ["B", "A", "A"]], None),
    ):
        hmm = HMM(n_states=states, random_state=0).fit([[1, 2, 3], [3, 1, 2]], y)
        assert hmm.vocabulary_ == [{1: 0, 2: 1, 3: 2}]
        assert [len(labels) for labels in hmm.predict([[1, 2, 3], [3, 1, 4]])] == [3, 3]
        assert set(hmm.sample(20, random_state=0)[0].sum()) == {1, 2, 3, "<OOV>"}
    table = HMM().fit([[1, 2, 3], [3, 1, 2]], ["A", "B"])  # a label a row, as scikit-learn has it
    assert table.means_.shape == (2, 3)
    assert table.predict([[1, 2, 3], [3, 1, 2]]).tolist() == ["A", "B"]


def test_symbols_may_be_numbers_if_that_is_said():
    hmm = HMM(emissions="gaussian").fit(LISTS, OF_LISTS)
    np.testing.assert_allclose(hmm.means_.ravel(), [2.0, 2.0], atol=1.0)
    halves = SequenceArray.from_flat([0.5, 1.5, 3.0], [2, 1])
    assert HMM().fit(halves, [["A", "B"], ["A"]]).means_.tolist() == [[1.75], [1.5]]
