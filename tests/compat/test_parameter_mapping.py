"""CRFsuite's parameters in the words of LinearChainCRF."""

from __future__ import annotations

import inspect

import numpy as np
import pycrfsuite
import pytest
import sklearn_crfsuite

from sklearn_struct import LinearChainCRF
from sklearn_struct.compat import CRF
from sklearn_struct.compat.parameter_mapping import ALGORITHMS, COMMON, PASSES, mapped

PEER = {  # CRFsuite's names where sklearn-crfsuite has others
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "type": "pa_type",
}


def test_parameters_are_the_peers_in_name_order_and_default():
    ours, theirs = (inspect.signature(c.__init__).parameters for c in (CRF, sklearn_crfsuite.CRF))
    assert list(ours) == list(theirs)
    assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms_have_the_parameters_and_limits_of_crfsuite(algorithm):
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select(algorithm)
    theirs = trainer.get_params()
    assert {PEER.get(name, name.replace(".", "_")) for name in theirs} == ALGORITHMS[
        algorithm
    ] | COMMON
    assert (
        theirs["max_iterations"]
        == PASSES[algorithm]
        == mapped({"algorithm": algorithm})["max_iter"]
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"solver": "lbfgs", "C": 0.5, "l1_ratio": 0.0, "tol": 1e-4, "fit_intercept": False}),
        ({}, {"feature_pairs": "observed", "transition_features": "observed", "min_frequency": 1}),
        (
            {"c1": 0.1, "c2": 0.1},
            {"solver": "owlqn", "C": pytest.approx(10 / 3), "l1_ratio": pytest.approx(1 / 3)},
        ),
        ({"c1": 2.0, "c2": 0}, {"C": 0.5, "l1_ratio": 1.0}),
        ({"c2": 0}, {"C": np.inf, "l1_ratio": 0.0, "solver": "lbfgs"}),
        ({"epsilon": 1e-3}, {"tol": 1e-2}),
        ({"epsilon": 1e-7, "delta": 1e-6}, {"tol": pytest.approx(1e-5)}),
        (
            {"all_possible_states": True},
            {"feature_pairs": "all", "transition_features": "observed"},
        ),
        (
            {"all_possible_transitions": True},
            {"feature_pairs": "observed", "transition_features": "all"},
        ),
        (
            {"all_possible_states": True, "min_freq": 2},
            {"feature_pairs": "observed", "min_frequency": 2},
        ),
        (
            {"min_freq": 1.5, "max_iterations": 7, "verbose": True},
            {"min_frequency": 2, "max_iter": 7, "verbose": 1},
        ),
        (
            {"algorithm": "l2sgd", "c2": 0.25, "delta": 1e-3},
            {"solver": "sgd", "C": 2.0, "tol": 1e-3},
        ),
        ({"algorithm": "l2sgd", "c2": 0}, {"C": np.inf}),
        ({"algorithm": "ap", "epsilon": 0.1}, {"solver": "ap", "tol": 0.1}),
        ({"algorithm": "pa", "c": 3.0}, {"solver": "pa", "C": 3.0, "tol": 0.0}),
        ({"algorithm": "pa", "pa_type": 2, "c": 0.5}, {"solver": "pa-ii", "C": 0.5}),
        (
            {"algorithm": "arow", "variance": 0.5, "gamma": "2"},
            {"solver": "arow", "C": 0.25, "tol": 0.0},
        ),
        (
            {"algorithm": "pa", "pa_type": 0, "error_sensitive": True, "averaging": True},
            {"solver": "pa", "C": np.inf},
        ),
    ],
)
def test_values(given, expected):
    found = mapped(given)
    assert {name: found[name] for name in expected} == expected
    LinearChainCRF(**found)._validate_params()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (
            {"algorithm": "newton"},
            "algorithm must be one of 'lbfgs', 'l2sgd', 'ap', 'pa', 'arow', got 'newton'",
        ),
        ({"algorithm": "ap", "c2": 1.0, "c": 1.0}, "algorithm='ap' has no parameter c, c2"),
        ({"c": 1.0}, "algorithm='lbfgs' has no parameter c"),
        ({"algorithm": "l2sgd", "epsilon": 1.0}, "algorithm='l2sgd' has no parameter epsilon"),
        ({"variance": 1.0}, "algorithm='lbfgs' has no parameter variance"),
        ({"algorithm": "pa", "pa_type": 3}, "pa_type must be 0, 1 or 2, got 3"),
        ({"algorithm": "arow", "gamma": 0}, "gamma must be positive, got 0"),
        ({"c1": -1}, "c1 must not be negative"),
    ],
)
def test_errors(given, match):
    with pytest.raises(ValueError, match=match):
        mapped(given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (
            {"num_memories": 3, "linesearch": "Backtracking", "period": 5},
            "linesearch='Backtracking', num_mem.*period=5",
        ),
        (
            {"algorithm": "l2sgd", "calibration_eta": 0.2},
            "without meaning here and ignored: calibration_eta=0.2$",
        ),
        ({"algorithm": "pa", "averaging": False}, "averaging=False"),
        ({"trainer_cls": list}, "trainer_cls=<class 'list'>"),
    ],
)
def test_what_has_no_meaning_is_named(given, match):
    with pytest.warns(UserWarning, match=match):
        assert mapped(given) == mapped({name: given[name] for name in given if name == "algorithm"})


def test_numbers_as_text():
    """CRFsuite reads all its parameters from text."""
    assert mapped({"c1": "0.1", "max_iterations": "10"}) == mapped(
        {"c1": 0.1, "max_iterations": 10}
    )
    assert mapped({"max_iterations": 10.0})["max_iter"] == 10
    assert mapped({"max_iterations": 0}) == mapped({})
    with pytest.raises(ValueError, match="c1 must be a number, got 'x'"):
        mapped({"c1": "x"})
    with pytest.raises(ValueError, match="max_iterations must not be negative, got -1"):
        mapped({"max_iterations": -1})
