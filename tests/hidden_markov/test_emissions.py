"""What tokens emit, of some of them and of all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.em_steps import emission
from sklearn_struct.hidden_markov.emissions import Emissions
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.hidden_markov.observed import Observed

pytestmark = pytest.mark.twins
N = 50


def drawn():
    """A model of two labels that emit of every kind, and tokens."""
    rng = np.random.RandomState(0)
    model = HiddenMarkov(
        Markov(np.zeros(2), np.zeros((2, 2)), np.zeros(2)),
        [np.log(rng.dirichlet(np.ones(4), size=2))],
        Gaussians(rng.normal(size=(2, 3)), rng.uniform(0.5, 2.0, size=(2, 3))),
        rng.uniform(1, 5, size=(2, 1)),
        np.log(rng.dirichlet(np.ones(3), size=2)),
    )
    observed = Observed(
        [rng.randint(4, size=N).astype(np.int32)],
        rng.normal(size=(N, 3)),
        np.array([0, 20, N]),
        Counts.of_events(rng.poisson(3.0, size=(N, 1)).astype(float)),
        Counts.of_trials(rng.multinomial(6, np.ones(3) / 3, size=N).astype(float)),
    )
    return model, observed


def test_probabilities_of_all_kinds_add_up():
    model, observed = drawn()
    log_p = Emissions(model, observed).of_rows(slice(0, N))
    for k in range(2):
        deviation = np.sqrt(model.gaussians.covariance[k])
        wanted = stats.norm.logpdf(observed.numbers, model.gaussians.mean[k], deviation).sum(axis=1)
        wanted += model.tables[0][k, observed.codes[0]]
        wanted += stats.poisson.logpmf(observed.events.numbers[:, 0], model.rates[k, 0])
        p = np.exp(model.outcomes[k])
        wanted += stats.multinomial.logpmf(observed.trials.numbers, 6, p / p.sum())
        np.testing.assert_allclose(log_p[:, k], wanted, rtol=1e-10)


def test_some_tokens_at_a_time():
    model, observed = drawn()
    emissions = Emissions(model, observed)
    whole = emission(model, observed, slice(0, N))
    parts = [emissions.of_rows(slice(first, first + 13)) for first in range(0, N, 13)]
    np.testing.assert_allclose(np.vstack(parts), whole, rtol=1e-14)


def test_what_is_written_into_stays_there():
    """Each call has memory of its own, as potentials are made in it."""
    emissions = Emissions(*drawn())
    first = emissions.of_rows(slice(0, N))
    kept = first.copy()
    first[:] = 7.0
    np.testing.assert_array_equal(emissions.of_rows(slice(0, N)), kept)
