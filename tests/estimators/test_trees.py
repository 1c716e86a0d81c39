"""The contract of all grammars over trees."""

from __future__ import annotations

from tree_checks import tree_checks

from sklearn_struct import EMLPCFG, PCFG, MEstimatedPCFG, SpectralLPCFG

FEW = {"n_states": 2, "max_iter": 3, "random_state": 0}


@tree_checks(
    [
        PCFG(),
        PCFG(horizontal_order=0, vertical_order=1, decoder="max-recall", smoothing=0.1),
        PCFG(decoder="max-rule", min_count=1),
        EMLPCFG(**FEW),
        EMLPCFG(**FEW, decoder="viterbi", horizontal_order=1),
        EMLPCFG(**FEW, decoder="max-rule", n_grammars=2),
        SpectralLPCFG(n_states=4, shrinkage=0.1),
        SpectralLPCFG(n_states=2, nodes="one", smoothing=0, feature_count=None, random_state=0, decoder="max-rule"),
        MEstimatedPCFG(base=PCFG()),
        MEstimatedPCFG(["rule-rule", "word"], base=PCFG(vertical_order=1), pieces="trees", C=10, decoder="viterbi"),
        MEstimatedPCFG("parent-symbol", base=PCFG(smoothing=0.1), decoder="max-rule", l1_ratio=0.5, constant=False),
    ]
)
def test_contract(estimator, check):
    check(estimator)
