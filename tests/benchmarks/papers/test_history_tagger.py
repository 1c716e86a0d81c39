"""A history-based tagger: its beam, and the MEMM that it is of order 1."""

from __future__ import annotations

import pytest

from sklearn_struct import MEMM

SENTENCES = [
    [("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")],
    [("Yes", "UH")],
    [("A", "DT"), ("cat", "NN")],
]


LABELS = [["B", "I", "O", "O"], ["O"], ["B", "I"]]


def test_a_wide_beam_finds_the_most_probable_tagging():
    from itertools import product

    from papers.history_tagger import START, Context, HistoryTagger, word_features

    words = [[w for w, _ in s] for s in SENTENCES]
    tagger = HistoryTagger(C=10.0).fit(words, LABELS)
    sentence = ["A", "cat", "sat", "cat"]
    fixed = word_features(sentence, tagger.common)
    classes = tagger.model.classes_.tolist()

    def log_p(tags):
        padded = (START, START, *tags)
        places = [Context(names, *padded[i : i + 2]) for i, names in enumerate(fixed)]
        return tagger.model.log_proba(places, tags).sum()

    best = max(product(classes, repeat=4), key=log_p)
    assert tagger.predict([sentence, ["Yes"]], beam=100)[0] == list(best)
    assert tagger.predict([sentence])[0][0] == tagger.predict([sentence[:1]])[0][0]


def test_a_tagger_of_order_1_is_a_memm():
    from papers.history_tagger import WORD_AND_TAG, HistoryTagger, memm_features

    words = [[w for w, _ in s] for s in SENTENCES]
    tagger = HistoryTagger(order=1, tol=1e-7).fit(words, LABELS)
    rows = [memm_features(s, tagger.common) for s in words]
    memm = MEMM(edge_features=WORD_AND_TAG, transition_features="observed", tol=1e-7).fit(
        rows, LABELS
    )
    assert len(memm._w) == len(tagger.model._w)
    assert memm.loss_curve_[-1] == pytest.approx(tagger.model.loss_curve_[-1], rel=1e-9)
    assert tagger.predict(words, beam=3) == memm.predict(rows).tolist()
