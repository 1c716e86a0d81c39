"""Distributions of the tokens that come after those of a sequence."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.autoregression import Autoregressive
from sklearn_struct.hidden_markov.filter_states import Forecast
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.lagged_forecasts import lagged_moments
from sklearn_struct.hidden_markov.online import Progressed, ahead

__all__ = ["forecasts"]


def forecasts(
    model: HiddenMarkov,
    at: Progressed,
    last: list[np.ndarray],
    is_coded: list[bool],
    n_steps: int,
) -> list[Forecast]:
    """What comes after sequences that have come to `at`, with the numbers `last`; `is_coded` says
    which streams have a table.
    """
    proba, log_continues = ahead(model, at, n_steps)
    moments = None
    if isinstance(model.gaussians, Autoregressive):
        moments = lagged_moments(model, at, last, n_steps)
    made = []
    for i, of_labels in enumerate(proba):
        mean, variance = (
            _moments(model, of_labels) if moments is None else (moments[0][i], moments[1][i])
        )
        tables = iter(model.tables)
        count_mean = of_labels @ model.rates
        away = model.rates - count_mean[:, None]
        made.append(
            Forecast(
                of_labels,
                # rounding may leave sums that are a little above 1
                np.exp(np.minimum(log_continues[i], 0.0)),
                mean,
                variance,
                [of_labels @ np.exp(next(tables)) if coded else None for coded in is_coded],
                count_mean,
                # variances within distributions and between them
                np.sum(of_labels[:, :, None] * (model.rates + away**2), axis=1),
                of_labels @ np.exp(model.outcomes),
            )
        )
    return made


def _moments(model: HiddenMarkov, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of numbers that do not depend on other tokens."""
    named = model.gaussians.named
    # of each normal distribution, of which a label may have several
    share = (proba[:, :, None] * np.exp(named["mixture_logprob"])).reshape(len(proba), -1)
    # of each distribution a row, also where there is no column
    means = named["means"].reshape(share.shape[1], named["means"].shape[-1])
    mean: np.ndarray = share @ means
    away = means - mean[:, None]
    # variances within distributions and between them
    within = model.gaussians.variance.reshape(means.shape)
    variance: np.ndarray = np.sum(share[:, :, None] * (within + away**2), axis=1)
    return mean, variance
