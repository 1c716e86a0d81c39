"""Learned tables that somebody has put others into the place of."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import HMM, HSMM

X = [list("abcabcaab"), list("aabcb")]
MODELS = {
    "order 1": HMM(n_states=2, max_iter=2, tol=1.0),
    "order 2": HMM(n_states=2, max_iter=2, tol=1.0, order=2),
    "durations": HSMM(n_states=2, max_iter=2, tol=1.0, max_length=5),
}
SHAPES = [
    (),
    (1,),
    (3,),
    (1, 1),
    (2, 1),
    (3, 3),
    (2, 800),
    (500, 500),
    (1, 4),
    (2, 5),
    (3, 4),
    (800, 4),
]


@pytest.mark.parametrize("name", ["start", "transition", "stop"])
@pytest.mark.parametrize("kind", MODELS)
def test_tables_of_other_shapes_are_refused(kind, name):
    """Kernels would read and write the memory behind them."""
    model = MODELS[kind].fit(X)
    right = np.asarray(getattr(model, f"{name}_logprob_"))
    for shape in SHAPES:
        setattr(model, f"{name}_logprob_", np.full(shape, -0.7))
        with pytest.raises(ValueError, match=r"_logprob_ has the shape .*, but must have \("):
            model.predict(X)
    setattr(model, f"{name}_logprob_", right.tolist())
    assert len(model.predict(X)) == 2


@pytest.mark.parametrize("kind", MODELS)
def test_emissions_of_other_shapes_are_refused(kind):
    model = MODELS[kind].fit(X)
    right = model.emission_logprob_[0]
    for shape in SHAPES:
        model.emission_logprob_[0] = np.full(shape, -0.7)
        with pytest.raises(ValueError, match=r"emission_logprob_\[0\] has the shape"):
            model.predict(X)
    # the last column is that of all other values, and may be left out
    model.emission_logprob_[0] = right
    assert len(model.predict([*X, ["z"]])) == 3
    model.emission_logprob_[0] = right[:, :3]
    assert len(model.predict(X)) == 2


def test_nan_is_refused():
    model = MODELS["order 1"].fit(X)
    model.emission_logprob_[0][1, 0] = np.nan
    with pytest.raises(ValueError, match=r"emission_logprob_\[0\] has NaN"):
        model.predict(X)
