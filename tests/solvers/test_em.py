"""EM, on a mixture of two coins of which it is not known which was tossed."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.solvers.em import em

HEADS = np.array([9, 8, 1, 2, 9, 0])  # of ten tosses each


def expect(p):
    scores = HEADS[:, None] * np.log(p) + (10 - HEADS[:, None]) * np.log(1 - p)
    log_p = np.logaddexp.reduce(scores, axis=1) - np.log(2)
    return np.exp(scores - scores.max(axis=1, keepdims=True)), log_p.sum()


def maximise(weights):
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(HEADS @ weights / (10 * weights.sum(axis=0)), 1e-3, 1 - 1e-3)


def run(**options):
    values = []

    def callback(n_iter, p, value):
        assert value == expect(p)[1]
        assert n_iter == len(values) + 1
        values.append(value)
        return options.get("stop_at") == n_iter

    settings = {key: options[key] for key in ("max_iter", "tol") if key in options}
    return em(
        expect,
        maximise,
        np.array([0.4, 0.6]),
        callback=callback,
        **{"max_iter": 50, "tol": 0.0, **settings},
    ), values


def test_values_rise_to_a_fixed_point():
    result, values = run()
    assert result.converged
    assert np.all(np.diff([expect(np.array([0.4, 0.6]))[1], *values]) >= -1e-12)
    np.testing.assert_allclose(maximise(expect(result.w)[0]), result.w, atol=1e-6)
    assert result.value == values[-1]
    assert result.n_iter == len(values)


def test_limits():
    result, values = run(max_iter=2)
    assert (result.n_iter, result.converged, len(values)) == (2, False, 2)
    result, values = run(tol=1e3)
    assert (result.n_iter, result.converged) == (1, True)
    result, values = run(stop_at=3)
    assert (result.n_iter, result.converged) == (3, False)


def test_without_a_callback():
    assert em(expect, maximise, np.array([0.4, 0.6]), max_iter=50, tol=0.0).value == pytest.approx(
        run()[0].value
    )
