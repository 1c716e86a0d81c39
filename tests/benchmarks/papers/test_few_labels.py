"""Arithmetic of the benchmark of learning with few labels, on made-up addresses."""

from __future__ import annotations

import pytest

TEXTS = [
    ["12", "Main", "St.,", "Rome"],
    ["7", "Oak", "St.,", "Paris"],
    ["99", "Main", "Rd.", "Rome"],
] * 4
LABELS = [["NUMBER", "NAME", "TYPE", "PLACE"]] * 12


@pytest.fixture
def experiment(monkeypatch):
    from papers import few_labels_experiment as few_labels
    from papers.field_corpora import Split

    monkeypatch.setitem(few_labels.RULES, "toy", few_labels.Rule(1, n_per_label=2))
    return few_labels.Experiment(Split(TEXTS, LABELS, TEXTS[:2], LABELS[:2]), "toy")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("St.,", "st"), ("60610-1234", "99999-9999"), ("#", "#"), ("N.W.", "n.w"), ('"Attn:', "attn")],
)
def test_normalised_words(word, expected):
    from papers.few_labels_experiment import normalised

    assert normalised(word) == expected


def test_what_a_token_shows():
    from papers.few_labels_experiment import described

    assert described([["12", "St.,"], ["a."]]) == [
        [("99", "0", "1", "", "9"), ("st", "1", "0", ",", "a")],
        [("a", "0", "0", ".", "a")],
    ]


def test_labelled_words_and_the_baseline(experiment):
    assert experiment.words == {
        **{"99": "NUMBER", "9": "NUMBER", "main": "NAME", "oak": "NAME"},
        **{"st": "TYPE", "rd": "TYPE", "rome": "PLACE", "paris": "PLACE"},
    }
    assert experiment.baseline() == 100.0
    experiment.labeled_features = {"w:99": "NUMBER"}
    # all others are NUMBER, too, the first of the most frequent labels
    assert experiment.baseline() == 25.0
    assert experiment.accuracy([["NUMBER"] * 4, ["NUMBER"] * 4]) == 25.0


def test_draws_are_the_same_for_all(experiment):
    chosen = experiment.drawn(3, 0)
    assert chosen == experiment.drawn(3, 0) == sorted(set(chosen))
    y = experiment.partly(chosen)
    assert [i for i, labels in enumerate(y) if labels is not None] == chosen


def test_every_method_gives_an_accuracy(experiment):
    from papers.few_labels import METHODS

    chosen = experiment.drawn(4, 0)
    for name, method in METHODS.items():
        labelled = chosen if 10 in method.sizes else []
        assert 0 <= method.accuracy(experiment, labelled, 0) <= 100, name


def test_resplits_draw_from_all(monkeypatch, experiment):
    from papers import few_labels_experiment as few_labels
    from papers.field_corpora import Split

    monkeypatch.setattr(
        few_labels, "load", lambda corpus: Split(TEXTS, LABELS, [["X"]], [["NAME"]])
    )
    found = few_labels.resplit("toy", "toy", 1)
    assert len(found.split.X_train) == 12
    assert sorted([*found.split.X_train, *found.split.X_test]) == sorted([*TEXTS, ["X"]])


def test_goals_compare_draws_with_those_of_the_crf():
    from lib.side_by_side import Medians
    from papers.few_labels import BASELINE, CRF, GE, PROMISES, draw_of, goals

    figures = {f"{n} labelled": 70.0 + n for n in (0, 10, 25, 100)} | {
        draw_of(n, d): 70.0 + d for n in (10, 25) for d in range(5)
    }
    crf = {f"{n} labelled": 60.0 for n in (10, 25, 100)} | {
        draw_of(n, d): 71.0 for n in (10, 25) for d in range(5)
    }
    found = goals(
        "x", PROMISES["frequent"], Medians({GE: figures, CRF: crf, BASELINE: {"0 labelled": 50.0}})
    )
    values = {goal.what: goal.value for goal in found}
    assert values["x: GE, majority, words alone - baseline"] == 20
    assert values["x: 25 labelled, GE - CRF"] == 35
    assert values["x: the worst of its draws, 10 labelled"] == -1
    assert values["x: GE + entropy, words alone, resplits"] is None


def test_tokens_that_whole_sequences_need():
    from lib.side_by_side import Run
    from papers.few_labels import SEQUENCES, _tokens_for, savings

    curve = [(10.0, 40.0), (100.0, 60.0), (1000.0, 80.0)]
    assert _tokens_for(50.0, curve) == 55.0
    assert _tokens_for(80.0, curve) == 1000.0
    assert _tokens_for(90.0, curve) is None
    few = Run({"majority labels": 60.0}, [(11.0, 50.0), (50.0, 95.0)])
    savings({SEQUENCES: [Run({}, curve)], "33 features": [few]})
    assert few.figures["saving factor, 1 tokens a feature"] == 5.0
    assert few.figures["saving factor, majority labels"] == 100 / 11
    assert "saving factor, 2 tokens a feature" not in few.figures


def test_figures_of_the_paper_stand_below_those_of_the_same_method():
    from papers.few_labels import CRF, METHODS, PUBLISHED, published

    assert set(PUBLISHED) < {*METHODS, CRF}
    for name, figures in PUBLISHED.items():
        sizes = METHODS[name].sizes if name in METHODS else (10, 25, 100)
        # no figure stands where ours has no row
        assert set(figures) <= set(sizes)
    assert published("HK06") == {"0 labelled, paper": 71.5}
    assert published("GE, 1 token") == {}
