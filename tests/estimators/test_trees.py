"""The contract of all grammars over trees."""

from __future__ import annotations

from tree_checks import tree_checks

from sklearn_struct import EMLPCFG, PCFG

FEW = {"n_states": 2, "max_iter": 3, "random_state": 0}


@tree_checks(
    [
        PCFG(),
        PCFG(horizontal_order=0, vertical_order=1, decoder="max-recall", smoothing=0.1),
        PCFG(decoder="max-rule", min_count=1),
        EMLPCFG(**FEW),
        EMLPCFG(**FEW, decoder="viterbi", horizontal_order=1),
        EMLPCFG(**FEW, decoder="max-rule", n_grammars=2),
    ]
)
def test_contract(estimator, check):
    check(estimator)
