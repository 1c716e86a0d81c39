"""Tables with a row for each token: no partition cuts a sequence, and labels come back as rows."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from sklearn_struct import LinearChainCRF, SequenceArray
from sklearn_struct.dask import Distributed
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

WORDS = ["the", "a", "cat", "dogs", "sleeps", "of"]


@pytest.fixture(scope="module")
def frame():
    """Sentences of 1 to 5 tokens."""
    rng = np.random.default_rng(0)
    rows = [
        (sentence, word, len(word), "N" if len(word) > 3 else "D")
        for sentence in range(40)
        for word in rng.choice(WORDS, rng.integers(1, 6))
    ]
    return pd.DataFrame(rows, columns=["sentence", "word", "length", "tag"])


def table_of(frame, n_partitions):
    return dd.from_pandas(frame, npartitions=n_partitions).set_index("sentence", sorted=True)


@pytest.mark.parametrize("n_partitions", [1, 3, 8])
@pytest.mark.parametrize("columns", [["word", "length"], ["length"]], ids=["words", "numbers"])
def test_a_table_is_its_sequences(client, frame, columns, n_partitions):
    X = SequenceArray.from_frame(frame, "sentence", columns)
    y = SequenceArray.from_frame(frame, "sentence", "tag")
    crf = LinearChainCRF(C=10, solver="lbfgs", tol=1e-6)
    expected = crf.fit(X, y)
    table = table_of(frame, n_partitions)
    model = Distributed(crf, client).fit(table[columns], table["tag"])
    np.testing.assert_allclose(model.estimator_._w, expected._w, atol=1e-4)
    predicted = model.predict(table[columns])
    assert predicted.dtype == object
    labels = predicted.compute()
    assert labels.tolist() == [label for one in expected.predict(X) for label in one]
    assert labels.index.equals(table.compute().index)


def test_a_sequence_longer_than_partitions(client):
    """Divisions put it into one of them, and leave others empty."""
    frame = pd.DataFrame({"sentence": [1] * 7 + [2], "word": list("abcdefgh"), "tag": ["x"] * 8})
    table = table_of(frame, 4)
    assert min(map(len, [part.compute() for part in table.to_delayed()])) == 0
    model = Distributed(LinearChainCRF(), client).fit(table[["word"]], table["tag"])
    assert model.predict(table[["word"]]).compute().tolist() == ["x"] * 8


def test_what_tables_must_be(client, frame):
    rows = dd.from_pandas(frame, npartitions=2)
    table = table_of(frame, 2)
    X = table[["word"]]
    y = table["tag"]
    model = Distributed(LinearChainCRF(), client)
    for data, message in (
        ((rows[["word"]], rows["tag"]), "X is a dask DataFrame with an index without a name"),
        ((X.clear_divisions(), y), "X is a dask DataFrame with unknown divisions"),
        ((X, y.clear_divisions()), "y is a dask Series with unknown divisions"),
        ((X, table[["tag"]]), "y is a dask DataFrame: give its column of labels"),
        ((table["word"], y), r"X is a dask Series: write X\.to_frame\(\)"),
        ((X, y, table["length"]), "sample_weight is a dask Series: weights are of sequences"),
    ):
        with pytest.raises(InputTypeError, match=message):
            model.fit(*data)
    with pytest.raises(LengthMismatchError, match="X has 2 partitions but y has 1"):
        model.fit(X, table_of(frame, 1)["tag"])
    renamed = frame["sentence"].replace(39, 40)
    other = table_of(frame.assign(sentence=renamed), 2)["tag"]
    with pytest.raises(ValueError, match=r"row \d+ is of sequence 39 in X, but of 40 in") as error:
        model.fit(X, other)
    assert error.value.__notes__ == ["in partition 1"]
    missing = table_of(frame.assign(tag=frame["tag"].where(frame.index != 0)), 2)["tag"]
    with pytest.raises(UnknownLabelError, match=r"y\[0\], token 0: the label is missing"):
        model.fit(X, missing)
    assert not hasattr(model, "estimator_")
    model.fit(X, y)
    with pytest.raises(InputTypeError, match="X is a dask DataFrame with an index without a name"):
        model.predict(rows[["word"]])


def test_labels_of_other_rows(client, frame):
    """Divisions are alike, so partitions have other numbers of rows."""
    table = table_of(frame, 2)
    fewer = table_of(frame.drop(index=frame.index[-1]), 2)["tag"]
    model = Distributed(LinearChainCRF(), client)
    with pytest.raises(LengthMismatchError, match=r"X has \d+ rows but y has \d+"):
        model.fit(table[["word"]], fewer)


def test_a_sequence_that_comes_again(client, frame):
    """A table that is not sorted, though it was said to be."""
    mixed = frame.assign(sentence=frame["sentence"] % 5)
    parts = [dask.delayed(mixed.set_index("sentence"))]
    meta = mixed.set_index("sentence").iloc[:0]
    table = dd.from_delayed(parts, meta=meta, divisions=[0, 4])
    model = Distributed(LinearChainCRF(), client)
    with pytest.raises(ValueError, match=r"row \d+: sentence=0 has come before") as error:
        model.fit(table[["word"]], table["tag"])
    assert error.value.__notes__ == ["in partition 0"]


def test_a_column_with_the_name_of_the_index(client, frame):
    table = table_of(frame.assign(again=frame["sentence"]), 2).rename(columns={"again": "sentence"})
    columns = ["sentence", "length"]
    model = Distributed(LinearChainCRF(C=10, solver="lbfgs"), client)
    fitted = model.fit(table[columns], table["tag"]).estimator_
    assert fitted.feature_names_in_.tolist() == columns
