"""The noun-phrase experiment on a few sentences."""

from __future__ import annotations

import pytest

SENTENCES = [
    [("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")],
    [("Yes", "UH")],
    [("A", "DT"), ("cat", "NN")],
]


LABELS = [["B", "I", "O", "O"], ["O"], ["B", "I"]]


def test_first_occurrences_are_out_of_vocabulary():
    from papers.noun_phrase_models import UNKNOWN, with_unknown

    train, other = with_unknown(
        [[("a", "X"), ("b", "X")], [("a", "Y"), ("a", "Y")]], [[("b", "Y"), ("a", "Z"), ("Y", "X")]]
    )
    assert train == [[(UNKNOWN, UNKNOWN), (UNKNOWN, "X")], [("a", UNKNOWN), ("a", "Y")]]
    assert other == [[(UNKNOWN, "Y"), ("a", UNKNOWN), (UNKNOWN, "X")]]


def test_models_of_the_noun_phrase_experiment_have_valid_parameters():
    from papers.noun_phrase_models import EXTENDED, HMM_FEATURES, MODELS, m_estimated
    from papers.noun_phrases import BASES

    for model in [*MODELS.values(), *(m_estimated(**options) for options in BASES.values())]:
        for features in (HMM_FEATURES, EXTENDED):
            estimator = model.make(features, model.grid[-1], 3)
            estimator._validate_params()
            assert not model.path or "warm_start" in estimator.get_params()


@pytest.mark.parametrize("name", ["HMM, order 2", "CRF"])
def test_a_cell_of_the_noun_phrase_table(name, tmp_path, monkeypatch):
    from lib import tasks
    from lib.side_by_side import Stopwatch
    from papers.noun_phrase_models import HMM_FEATURES, MODELS
    from papers.noun_phrases import table

    spans = [[label if label == "O" else f"{label}-NP" for label in labels] for labels in LABELS]
    toy = tasks.TASKS["noun-phrases"]._replace(load=lambda split: (4 * SENTENCES, 4 * spans))
    monkeypatch.setitem(tasks.TASKS, "noun-phrases", toy)
    monkeypatch.setitem(MODELS, "CRF", MODELS["CRF"]._replace(grid=(0.1, 10.0)))
    tasks.write("noun-phrases", tmp_path, quick=False)
    figures = table(HMM_FEATURES, name, Stopwatch(tmp_path))
    assert figures["F1"] == figures["precision"] == 100
    assert figures["C"] in MODELS[name].grid
    assert {"recall, paper", "F1, held out"} <= set(figures)
    assert figures == table(HMM_FEATURES, name, Stopwatch(tmp_path))  # the same fit, from its file
