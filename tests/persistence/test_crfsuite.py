"""CRFsuite's own files, against CRFsuite's own tagger."""

from __future__ import annotations

import struct

import numpy as np
import pycrfsuite
import pytest
from fuzz import files

from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import from_crfsuite, load, save


def items():
    ads, tags = make_rental_ads(60, random_state=0)
    X = [
        [
            {"word": t.lower(), "length": len(t) / 5, "upper": t[0].isupper(), "ß": {"é:": 1}}
            for t in ad
        ]
        for ad in ads
    ]
    return X, tags


def trained(path, X, y, algorithm="lbfgs", **options):
    trainer = pycrfsuite.Trainer(algorithm, options, verbose=False)
    for sequence, tags in zip(X, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(sequence), tags)
    trainer.train(str(path))
    return path


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("lbfgs", {"c1": 0.3, "c2": 0.01}),
        (
            "lbfgs",
            {
                "feature.possible_transitions": True,
                "feature.possible_states": True,
                "max_iterations": 5,
            },
        ),
        ("l2sgd", {"max_iterations": 3}),
        ("ap", {}),
        ("pa", {}),
        ("arow", {"max_iterations": 3}),
    ],
)
def test_labels_and_probabilities_are_crfsuites(tmp_path, algorithm, options):
    X, y = items()
    path = trained(tmp_path / "model.crfsuite", X[:40], y[:40], algorithm, **options)
    crf = from_crfsuite(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    assert crf.classes_.tolist() == sorted(tagger.labels())
    for sequence, tags, proba in zip(X, crf.predict(X), crf.predict_proba(X), strict=True):
        theirs = tagger.tag(pycrfsuite.ItemSequence(sequence))
        expected = [
            [tagger.marginal(label, t) for label in crf.classes_] for t in range(len(sequence))
        ]
        np.testing.assert_allclose(proba, expected, atol=1e-10)
        if tags != theirs:  # a tie
            np.testing.assert_allclose(
                tagger.probability(tags), tagger.probability(theirs), rtol=1e-10
            )
    info = tagger.info()
    assert set(info.attributes) == set(crf.feature_names_in_)
    assert len(info.state_features) + len(info.transitions) == len(crf._w)


def test_what_was_read_can_be_saved_and_fitted_again(tmp_path):
    X, y = items()
    crf = from_crfsuite(trained(tmp_path / "model.crfsuite", X[:20], y[:20]))
    save(crf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert all(map(np.array_equal, loaded.predict_proba(X), crf.predict_proba(X)))
    again = loaded.set_params(C=0.5, tol=1e-3).fit(X, y, init=crf)
    assert again.score(X, y) > 0.5


def test_small_models(tmp_path):
    """One label; no feature that is worth its penalty."""
    crf = from_crfsuite(trained(tmp_path / "model", [["a"]], [["x"]]))
    assert crf.predict([["a"], ["b", "c"]]).tolist() == [["x"], ["x", "x"]]
    crf = from_crfsuite(trained(tmp_path / "model", [["a"], ["b"]], [["x"], ["y"]], c1=1e6))
    assert crf.n_features_in_ == 0
    np.testing.assert_allclose(crf.predict_proba([["a"]])[0], [[0.5, 0.5]])


def header(data, field, value):
    return data[: 4 * field] + struct.pack("<I", value) + data[4 * field + 4 :]


def changed(data, place, new):
    return data[:place] + new + data[place + len(new) :]


def feature(data, i, field, new):
    [at] = struct.unpack_from("<I", data, 28)
    return changed(data, at + 12 + 20 * i + 4 * field, new)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: b"", "too short"),
        (lambda d: b"FMCl" + d[4:], "begins with"),
        (lambda d: header(d, 3, 99), "version 99"),
        (lambda d: d[:-1], "should have"),
        (lambda d: header(d, 7, 2**32 - 1), "no part FEAT"),
        (lambda d: header(d, 5, 2**31), "dictionary of 2147483648"),
        (lambda d: feature(d, 0, 0, struct.pack("<I", 2)), "unknown kind"),
        (lambda d: feature(d, 0, 1, struct.pack("<I", 77)), "does not exist"),
        (lambda d: feature(d, 0, 2, struct.pack("<I", 4)), "does not exist"),
        (lambda d: feature(d, 0, 3, struct.pack("<d", np.nan)), "not finite"),
        (lambda d: feature(d, 0, 1, struct.pack("<I", 1)), "features of others"),
        (lambda d: d.replace(b"DET\0", b"D\0T\0"), "does not end"),
        (lambda d: d.replace(b"DET\0", b"D\xffT\0"), "not UTF-8"),
        (lambda d: d.replace(b"NOUN\0", b"VERB\0"), "a label occurs twice"),
        (lambda d: d.replace(b"dog\0", b"cat\0"), "a name occurs twice"),
    ],
)
def test_damage_is_told(tmp_path, damage, message):
    (tmp_path / "model").write_bytes(damage(files.crfsuite_original()))
    with pytest.raises(ModelFileError, match=message):
        from_crfsuite(tmp_path / "model")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        from_crfsuite(tmp_path / "nothing")
