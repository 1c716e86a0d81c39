"""The contract of all grammars over trees."""

from __future__ import annotations

import pytest
from tree_checks import tree_checks

from sklearn_struct import EMLPCFG, PCFG, MEstimatedPCFG, SpectralLPCFG
from sklearn_struct.containers import memory_checks as memory
from sklearn_struct.datasets import make_treebank

FEW = {"n_states": 2, "max_iter": 3, "random_state": 0}


@tree_checks(
    [
        PCFG(),
        PCFG(horizontal_order=0, vertical_order=1, decoder="max-recall", smoothing=0.1),
        PCFG(decoder="max-rule", min_frequency=1),
        EMLPCFG(**FEW),
        EMLPCFG(**FEW, decoder="max-rule", horizontal_order=1, n_grammars=2),
        SpectralLPCFG(n_states=4, shrinkage=0.1),
        SpectralLPCFG(n_states=3, svd_solver="randomized", nodes="one-unweighted", random_state=0),
        SpectralLPCFG(
            n_states=2,
            nodes="one",
            smoothing=0,
            feature_count=None,
            random_state=0,
            decoder="max-rule",
        ),
        MEstimatedPCFG(base=PCFG()),
        MEstimatedPCFG(
            ["rule-rule", "word"],
            base=PCFG(vertical_order=1),
            pieces="trees",
            C=10,
            decoder="viterbi",
        ),
        MEstimatedPCFG(
            "parent-symbol",
            base=PCFG(smoothing=0.1),
            decoder="max-rule",
            l1_ratio=0.5,
            constant=False,
        ),
    ]
)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", ["predict", "score_samples", "marginals"])
@pytest.mark.parametrize("decoder", ["viterbi", "max-recall"])
def test_a_sentence_for_which_there_is_no_memory(decoder, method, monkeypatch):
    """The error says which one, and what to do."""
    X, y = make_treebank(20, random_state=0)
    parser = PCFG(decoder=decoder).fit(X, y)
    monkeypatch.setattr(memory, "LARGE", 1 << 23)
    monkeypatch.setattr(memory, "_of_machine", lambda: 0.0)
    with pytest.raises(
        MemoryError, match=r"X\[1\] is too long: the chart of 1500 words needs .* free; split it"
    ):
        getattr(parser, method)([X[0], (X[1] * 1500)[:1500]])
