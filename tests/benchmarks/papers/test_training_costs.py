"""What the chains of table 5.1 see, and the rows beside which their figures stand."""

from __future__ import annotations

import pytest


def test_attributes_have_affixes_lists_and_tags():
    from papers.training_costs import attributes

    sentence = [("Dr.", "NNP"), ("Jones", "NNP"), ("left", "VBD"), ("on", "IN"), ("Monday", "NNP")]
    told = attributes(sentence)
    assert {"prefix3=Jon", "suffix2=es", "word=Jones", "title"} < set(told[1])
    assert [name for name in told[1] if name.startswith("list")] == ["list[-1]=title"]
    assert "list[0]=title" in told[0]
    assert "list[2]=day" in told[2]
    assert "list[0]=day" in told[4]
    assert {"tag[0]=NNP", "tag[-2]=VBD", "tags[-1]=IN|NNP"} < set(told[4])
    # without a column of tags nothing is told of such
    assert not any(name.startswith("tag") for name in attributes([("May",), ("be",)])[0])
    assert "list[0]=month" in attributes([("May",), ("be",)])[0]


def test_a_word_may_be_on_two_lists():
    from papers.training_costs import LISTED

    assert LISTED["may"] == ["month", "modal"]
    assert LISTED["monday"] == ["day"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["O", "a", "a", "b", "O", "b"], ["O", "B-a", "I-a", "B-b", "O", "B-b"]),
        (["a"], ["B-a"]),
        ([], []),
    ],
)
def test_runs_of_fields_as_spans(labels, expected):
    from papers.training_costs import begun

    assert list(begun(labels)) == expected


def test_the_loss_of_a_variance():
    from lib.side_by_side import Medians
    from papers.training_costs import HARDLY, ROWS, SCORE, VARIANCES, claims, column

    scores = dict(zip(VARIANCES, (0.90, 0.92, 0.915), strict=True))
    figures = {column("NP", variance): {SCORE: score} for variance, score in scores.items()}
    told = {claim.corpus: claim for claim in claims(Medians(figures))}
    assert set(told) == set(ROWS)
    assert told["NP"].value == pytest.approx(-2.0)
    assert HARDLY == 1.0
    assert told["NP"].verdict() == "refuted"
    assert told["POS (EWT)"].verdict() == "NO FIGURE"
    figures[column("NP", 1.0)] = {SCORE: 0.914}
    near = next(claim for claim in claims(Medians(figures)) if claim.corpus == "NP")
    assert near.verdict() == "confirmed"


def test_spans_or_tokens_are_scored():
    from papers.training_costs import score

    assert score("IOB2", [["B-a", "I-a", "O"]], [["B-a", "O", "O"]]) == 0.0
    assert score(None, [["B-a", "I-a", "O"]], [["B-a", "O", "O"]]) == pytest.approx(2 / 3)
