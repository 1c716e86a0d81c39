"""From CRFsuite's training parameters to those of `LinearChainCRF`."""

from __future__ import annotations

import warnings
from math import ceil, inf
from typing import Any

__all__ = ["ALGORITHMS", "mapped"]

COMMON = {"min_freq", "all_possible_states", "all_possible_transitions", "max_iterations"}
CALIBRATION = {
    f"calibration_{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")
}
ALGORITHMS = {  # the parameters that each takes besides the common ones
    "lbfgs": {
        "c1",
        "c2",
        "num_memories",
        "epsilon",
        "period",
        "delta",
        "linesearch",
        "max_linesearch",
    },
    "l2sgd": {"c2", "period", "delta", *CALIBRATION},
    "ap": {"epsilon"},
    "pa": {"pa_type", "c", "error_sensitive", "averaging", "epsilon"},
    "arow": {"variance", "gamma", "epsilon"},
}
FOR_ALL = {"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls"}
NUMBERS = {
    "c",
    "c1",
    "c2",
    "delta",
    "epsilon",
    "gamma",
    "max_iterations",
    "min_freq",
    "pa_type",
    "variance",
}
WITHOUT_MEANING = {"num_memories", "period", "linesearch", "max_linesearch", *CALIBRATION}
# the default of max_iterations
PASSES = {"lbfgs": 2**31 - 1, "l2sgd": 1000, "ap": 100, "pa": 100, "arow": 100}


def mapped(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the `LinearChainCRF` that is nearest; a warning names values that are ignored.

    Raises
    ------
    ValueError
        For a parameter that the algorithm does not have, as CRFsuite raises, or a value that has no
        counterpart here.
    """
    given = {name: _number(name, value) for name, value in parameters.items() if value is not None}
    algorithm = given.get("algorithm", "lbfgs")
    _check(algorithm, given)
    _warn(given)
    least = given.get("min_freq", 0)
    # what never occurs is rarer than any min_freq above 0
    pairs = "all" if given.get("all_possible_states") and least <= 0 else "observed"
    transitions = "all" if given.get("all_possible_transitions") and least <= 0 else "observed"
    return {
        **{"lbfgs": _lbfgs, "l2sgd": _l2sgd, "ap": _ap, "pa": _pa, "arow": _arow}[algorithm](given),
        "feature_pairs": pairs,
        "transition_features": transitions,
        # features are counted in whole numbers: 1.5 times at least is twice
        "min_frequency": max(1, ceil(least)),
        # CRFsuite has no weights of labels alone
        "fit_intercept": False,
        "max_iter": int(given.get("max_iterations", 0)) or PASSES[algorithm],
        "verbose": int(given.get("verbose", False)),
    }


def _number(name: str, value: Any) -> Any:
    """The value of a parameter; CRFsuite takes numbers written as text, too."""
    if name not in NUMBERS or not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def _check(algorithm: str, given: dict[str, Any]) -> None:
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}, got {algorithm!r}"
        )
    wrong = sorted(given.keys() - ALGORITHMS[algorithm] - COMMON - FOR_ALL)
    if wrong:
        raise ValueError(f"algorithm={algorithm!r} has no parameter {', '.join(wrong)}")
    if given.get("pa_type", 1) not in (0, 1, 2):
        raise ValueError(f"pa_type must be 0, 1 or 2, got {given['pa_type']!r}")
    for name in ("c", "gamma", "variance"):
        if not given.get(name, 1) > 0:
            raise ValueError(f"{name} must be positive, got {given[name]}")
    for name in ("c1", "c2", "max_iterations"):
        if given.get(name, 0) < 0:
            raise ValueError(f"{name} must not be negative, got {given[name]}")


def _warn(given: dict[str, Any]) -> None:
    """One warning about everything that changes nothing here."""
    ignored = WITHOUT_MEANING & given.keys()
    ignored |= {name for name in ("error_sensitive", "averaging") if not given.get(name, True)}
    ignored |= {"trainer_cls"} if given.get("trainer_cls") else set()
    if ignored:
        what = ", ".join(f"{name}={given[name]!r}" for name in sorted(ignored))
        warnings.warn(f"without meaning here and ignored: {what}", UserWarning, stacklevel=4)


def _lbfgs(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters for L-BFGS: CRFsuite adds c1 |w| + c2 w² to the loss, here C multiplies the loss.

    CRFsuite stops when one of two rules is met: for the norm of the gradient, with `epsilon`, and
    for the change of the loss, with `delta`. Hence the larger of both. Here `tol` is for the
    largest entry of the gradient: ten times the tolerance ends after about as many iterations, with
    the same labels.
    """
    c1 = given.get("c1", 0.0)
    c2 = given.get("c2", 1.0)
    # half a square is penalised here, a whole one by CRFsuite: hence the 2
    weight = c1 + 2 * c2
    return {
        "solver": "owlqn" if c1 else "lbfgs",
        "C": 1 / weight if weight else inf,
        "l1_ratio": c1 / weight if weight else 0.0,
        "tol": 10 * max(given.get("epsilon", 1e-5), given.get("delta", 1e-5)),
    }


def _l2sgd(given: dict[str, Any]) -> dict[str, Any]:
    c2 = given.get("c2", 1.0)
    return {
        "solver": "sgd",
        "C": 1 / (2 * c2) if c2 else inf,
        "tol": given.get("delta", 1e-6),
        "random_state": 0,
    }


def _ap(given: dict[str, Any]) -> dict[str, Any]:
    return {"solver": "ap", "tol": given.get("epsilon", 0.0), "random_state": 0}


def _pa(given: dict[str, Any]) -> dict[str, Any]:
    pa_type = given.get("pa_type", 1)
    # type 0 has steps of any length, types 1 and 2 are PA-I and PA-II
    C = given.get("c", 1.0) if pa_type else inf
    return {
        "solver": "pa-ii" if pa_type == 2 else "pa",
        "C": C,
        "tol": given.get("epsilon", 0.0),
        "random_state": 0,
    }


def _arow(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters for AROW, whose updates depend on the ratio of variance and `gamma` alone."""
    C = given.get("variance", 1.0) / given.get("gamma", 1.0)
    return {"solver": "arow", "C": C, "tol": given.get("epsilon", 0.0), "random_state": 0}
