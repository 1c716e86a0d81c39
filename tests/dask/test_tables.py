"""Tables with a row for each token: no partition cuts a sequence, and labels come back as rows."""

from __future__ import annotations

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
    missing = table_of(frame.assign(tag=frame["tag"].where(frame.index != 0)), 2)["tag"]
    with pytest.raises(UnknownLabelError, match=r"y\[0\], token 0: the label is missing"):
        model.fit(X, missing)
    assert not hasattr(model, "estimator_")
    model.fit(X, y)
    with pytest.raises(InputTypeError, match="X is a dask DataFrame with an index without a name"):
        model.predict(rows[["word"]])
