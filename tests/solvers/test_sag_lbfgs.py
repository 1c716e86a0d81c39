"""SAG that hands over to L-BFGS: by the contract of solvers, and whoever is left with the work."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.solvers import sag_lbfgs as module
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.sag import sag
from sklearn_struct.solvers.sag_lbfgs import sag_lbfgs

LBFGS = contracts.Solver(lbfgs, dict, l1=False, precision=1e-6, tol=1e-8)
BOTH = contracts.Solver(
    sag_lbfgs, lambda: {"rng": np.random.RandomState(0)}, l1=False, precision=1e-6, tol=1e-8
)

test_contract = contracts.solver(BOTH)


def chains(scale=1.0):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, size=80)
    model = naive.linear_model(rng, lengths)
    data = TrainingData(model.structure, Evidence(model.y), rng.uniform(0, 2, size=80))
    return LinearTerms(model.potentials, LogLikelihood(Chain()), Chain(), data, term_tokens=8)


@pytest.fixture
def handed_over(monkeypatch):
    """Where L-BFGS has begun."""
    starts = []

    def spy(objective, w0, **options):
        starts.append(w0)
        return lbfgs(objective, w0, **options)

    monkeypatch.setattr(module, "lbfgs", spy)
    return starts


@pytest.mark.parametrize("l2", [1e-4, 0.01, 1.0])
@pytest.mark.parametrize(("few", "near", "most"), [(4, 1e-3, 100), (4, 1e9, 8), (20, 20.0, 100)])
def test_the_optimum_is_found(l2, few, near, most, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    monkeypatch.setattr(module, "NEAR", near)
    monkeypatch.setattr(module, "MOST", most)
    objective = chains()
    found = BOTH(objective, l2=l2)
    assert found.converged
    assert np.abs(contracts.subgradient(objective, found.w, l2=l2)).max() <= BOTH.tol
    assert found.value == pytest.approx(LBFGS(objective, l2=l2).value, rel=1e-10)


def test_sag_goes_on_while_it_is_near(handed_over, monkeypatch):
    monkeypatch.setattr(module, "NEAR", np.inf)
    found = BOTH._replace(tol=1e-4)(chains(), l2=1.0)
    assert found.converged
    assert not handed_over


def test_sag_gives_up_where_the_gradient_stays_large(handed_over, monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    values = []
    found = BOTH(chains(), l2=1e-3, callback=lambda n, w, v: values.append((n, v)))
    assert found.converged
    assert len(handed_over) >= 1

    # iterations are numbered through
    assert [n for n, _ in values] == list(range(1, found.n_iter + 1))
    assert values[-1][1] < values[3][1]


@pytest.mark.parametrize(
    ("looks", "ends"),
    [
        ([(12, 500.0), (20, 21.0)], [False, True]),
        ([(12, 500.0), (20, 19.0), (24, 19.0)], [False, False, False]),
        ([(21, 99.0), (25, 21.0)], [False, True]),
        ([(21, 101.0)], [True]),
        ([(21, 99.0), (25, 19.0), (100, 19.0)], [False, False, True]),
    ],
)
def test_when_sag_gives_up(looks, ends, monkeypatch):
    """After 20 passes, for a gradient far above `tol`; farther where it is the first one."""
    asked = []

    def spy(*args, hopeless, **options):
        asked.extend(hopeless(n_iter, flattest * BOTH.tol) for n_iter, flattest in looks)
        return sag(*args, **options)

    monkeypatch.setattr(module, "sag", spy)
    BOTH(chains(), l2=1.0)
    assert asked == ends


def test_iterations_of_both_are_counted(handed_over, monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    found = BOTH(chains(), l2=1e-5, max_iter=7)
    assert found.n_iter == 7
    assert not found.converged
    assert len(handed_over) == 1


@pytest.mark.parametrize("at", [2, 6])
def test_a_callback_stops_both(at, handed_over, monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    found = BOTH(chains(), l2=1e-5, callback=lambda n, w, v: n == at)
    assert found.n_iter == at
    assert len(handed_over) == (at > 4)


def test_l1_penalties_are_refused():
    with pytest.raises(ValueError, match="use sag or owlqn"):
        BOTH(chains(), l1=0.1)
