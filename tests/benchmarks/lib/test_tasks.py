"""Data of benchmarks: the same for us and for peers."""

from __future__ import annotations

import numpy as np

from sklearn_struct import FeatureTemplates, SequenceArray, SequenceVectorizer

SENTENCES = [
    [("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")],
    [("Yes", "UH")],
    [("A", "DT"), ("cat", "NN")],
]


LABELS = [["B", "I", "O", "O"], ["O"], ["B", "I"]]


def test_peers_get_the_attributes_that_we_have():
    from lib.tasks import dicts, window_attributes

    ours = FeatureTemplates("chunking", add_bos_eos=True).fit_transform(SENTENCES)
    for form in (window_attributes, lambda s: dicts(window_attributes(s))):
        theirs = SequenceVectorizer().fit_transform([form(sentence) for sentence in SENTENCES])
        assert theirs.tokens.shape == ours.tokens.shape
        np.testing.assert_array_equal(np.diff(theirs.tokens.indptr), np.diff(ours.tokens.indptr))
        np.testing.assert_array_equal(
            np.sort(theirs.tokens.sum(axis=0)), np.sort(ours.tokens.sum(axis=0))
        )


def test_prepared_data_are_read_as_they_were(tmp_path, monkeypatch):
    from lib import tasks
    from lib.side_by_side import Stopwatch

    toy = tasks.TASKS["chunking"]._replace(load=lambda split: (SENTENCES, LABELS))
    monkeypatch.setitem(tasks.TASKS, "chunking", toy)
    tasks.write("chunking", tmp_path, quick=False)
    assert tasks.read("chunking", "train", Stopwatch(tmp_path)) == (SENTENCES, LABELS)
    X, y, X_test, _ = tasks.packed("chunking", Stopwatch(tmp_path))
    assert isinstance(X, SequenceArray)
    assert X_test == X
    assert y == LABELS
