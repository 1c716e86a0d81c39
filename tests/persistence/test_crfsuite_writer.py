"""Models as CRFsuite's files, read by CRFsuite itself."""

from __future__ import annotations

import numpy as np
import pycrfsuite
import pytest
from fuzz import files

from sklearn_struct import LinearChainCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.persistence import from_crfsuite
from sklearn_struct.persistence.crfsuite_writer import crfsuite_bytes

WORDS = files.WORDS
TAGS = files.TAGS
QUICK = {"max_iter": 5, "tol": 9.0, "fit_intercept": False}


def test_every_string_is_found_by_its_hash(tmp_path):
    """Of all lengths: the hash takes twelve bytes at a time, and dictionaries have tables of many
    strings.
    """
    rng = np.random.RandomState(0)
    names = [
        "".join(map(chr, rng.randint(1, 900, size=length)))
        for length in [*range(1, 40), *[6] * 2000]
    ]
    names = sorted(set(names))
    X = [[[name] for name in names]]
    y = [[("x", "ü" * 5, "z" * 30)[i % 3] for i in range(len(names))]]
    crf = LinearChainCRF(**QUICK).fit(X, y)
    path = tmp_path / "model"
    path.write_bytes(crfsuite_bytes(crf))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    tagger.set(X[0])
    proba = crf.predict_proba(X)[0]
    for k, label in enumerate(crf.classes_):
        np.testing.assert_allclose(
            [tagger.marginal(label, t) for t in range(0, len(names), 7)], proba[::7, k], rtol=1e-6
        )
    again = from_crfsuite(path)
    assert sorted(again.feature_names_in_) == names
    assert crfsuite_bytes(again) == path.read_bytes()


def test_it_is_read_as_crfsuites_own(tmp_path):
    (tmp_path / "theirs").write_bytes(files.crfsuite_original())
    theirs = from_crfsuite(tmp_path / "theirs")
    (tmp_path / "ours").write_bytes(crfsuite_bytes(theirs))
    assert (tmp_path / "ours").stat().st_size == (tmp_path / "theirs").stat().st_size
    assert files.weights(from_crfsuite(tmp_path / "ours")) == files.weights(theirs)
    assert files.naive_crfsuite((tmp_path / "ours").read_bytes()) == files.weights(theirs)


@pytest.mark.parametrize("label", ["x", "xx", "xxx", "xxxx"])
def test_it_is_as_large_as_crfsuites_own(tmp_path, label):
    """Of any length of labels and of attributes."""
    for word in ("a", "ab", "abc", "abcd"):
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.append([[word], ["b"]], [label, "y"])
        trainer.train(str(tmp_path / "theirs"))
        ours = crfsuite_bytes(from_crfsuite(tmp_path / "theirs"))
        assert len(ours) == (tmp_path / "theirs").stat().st_size


def test_weights_of_zero_are_left_out(tmp_path):
    crf = LinearChainCRF(**QUICK).fit(WORDS, TAGS)
    crf._w[:] = 0.0
    (tmp_path / "model").write_bytes(crfsuite_bytes(crf))
    assert files.weights(from_crfsuite(tmp_path / "model")) == {}


@pytest.mark.parametrize(
    ("options", "X", "y", "said"),
    [
        ({"order": 2}, WORDS, TAGS, "without intercepts and edge features"),
        ({"edge_features": "all"}, WORDS, TAGS, "without intercepts and edge features"),
        ({"fit_intercept": True}, WORDS, TAGS, "without intercepts and edge features"),
        ({}, [["a\0b"]], [["x"]], "strings without zeros"),
        ({}, [["a", "b"]], [[1, 2]], "strings without zeros, not 1"),
    ],
)
def test_what_no_file_of_crfsuites_holds(options, X, y, said):
    crf = LinearChainCRF(**{**QUICK, **options}).fit(X, y)
    with pytest.raises(InputTypeError, match=said):
        crfsuite_bytes(crf)
