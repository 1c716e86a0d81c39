"""The benchmarks' texts with labelled fields."""

from __future__ import annotations

import pytest
from real_data import real

from sklearn_struct.datasets import fetch_usaddress


def test_fields_of_seminars():
    from papers.field_corpora import announcement

    text = "<sentence>At <stime>4</stime>-<etime>5:30</etime> <a@b>\n"
    text += "in <location>PH 2</sentence></location>. <<stime>4 p.m</stime>."
    assert list(zip(*announcement(text))) == [
        ("At", 0, "O"),
        ("4-5:30", 0, "stime"),
        ("<a@b>", 0, "O"),
        ("in", 1, "O"),
        ("PH", 1, "location"),
        ("2.", 1, "location"),
        ("<4", 1, "stime"),
        ("p.m.", 1, "stime"),
    ]
    assert announcement("") == ([], [], [])


def test_missing_data_are_named(monkeypatch, tmp_path):
    from papers.field_corpora import load

    monkeypatch.setenv("SKLEARN_STRUCT_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"raw.tar.gz does not exist; SKLEARN_STRUCT_DATA must name"
    ):
        load("seminars")


def test_made_up_advertisements_have_plain_labels():
    from papers.field_corpora import load

    split = load("rental ads")
    assert (len(split.X_train), len(split.X_test)) == (1000, 300)
    assert {"RENT", "O"} < {label for labels in split.y_train for label in labels}
    assert not any(label[:2] in ("B-", "I-") for labels in split.y_test for label in labels)
    assert split.X_train[:300] != split.X_test


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "n", "n_tokens", "n_labels"),
    [
        ("usaddress", (1_513, 146), (10_722, 1_094), 29),
        ("umass_citations", (1_448, 361), (35_808, 8_753), 7),
        ("seminars", (339, 145), (70_990, 30_020), 5),
    ],
)
def test_real_texts(name, n, n_tokens, n_labels):
    from papers.field_corpora import load

    if name == "usaddress":  # `load` would download it
        assert all(real(fetch_usaddress, subset=subset) for subset in ("train", "test"))
    split = real(lambda download_if_missing: load(name))
    assert (len(split.X_train), len(split.X_test)) == n
    for X, y, total in (
        (split.X_train, split.y_train, n_tokens[0]),
        (split.X_test, split.y_test, n_tokens[1]),
    ):
        assert [len(text) for text in X] == [len(labels) for labels in y]
        assert sum(map(len, X)) == total
    labels = {label for of_text in split.y_train for label in of_text}
    assert len(labels) == n_labels
    assert {label for of_text in split.y_test for label in of_text} <= labels
