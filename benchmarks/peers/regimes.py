"""Markov-switching autoregressions: ours and statsmodels'.

Hamilton's model of the growth of the gross national product: a regime for each quarter, and an
autoregression of four quarters about its mean. As a hidden Markov model it has a label for each
tuple of the last five regimes. And regressions of a drawn series on its last value, in two regimes
with variances of their own. And Filardo's growth of industrial production, where a leading
indicator drives transitions. Parameters are statsmodels' in the first case and ours in the others.
Differences are those of log-likelihoods; times are those of one log-likelihood.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from itertools import product
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

OURS = "ours, CPU s"
THEIRS = "statsmodels, CPU s"
DIFFERENCE = "difference"
ROWS = ("growth", "drawn", "production")


def growth(watch: Stopwatch) -> dict[str, float]:
    """Hamilton's series and model, with the parameters that statsmodels finds."""
    warnings.simplefilter("ignore")
    if find_spec("statsmodels") is None:
        return {}
    import numpy as np
    from statsmodels.tsa.regime_switching.markov_autoregression import MarkovAutoregression
    from statsmodels.tsa.regime_switching.tests.test_markov_autoregression import rgnp

    series = np.array(rgnp)
    theirs = MarkovAutoregression(series, k_regimes=2, order=4, switching_ar=False)
    parameters = theirs.fit().params
    ours = _tuples(series, parameters)
    X = [series[:, None]]
    return {
        OURS: least(lambda: ours.score_samples(X), 5),
        THEIRS: least(lambda: theirs.loglike(parameters), 5),
        DIFFERENCE: abs(float(ours.score_samples(X)[0] - theirs.loglike(parameters))),
    }


def _tuples(series: Any, parameters: Any) -> Any:
    """A hidden Markov model whose labels are tuples of the last five regimes, the latest first."""
    import numpy as np

    from sklearn_struct import HMM

    stay, change, *level = parameters[:4]
    lags = np.asarray(parameters[5:])
    after = np.array([[stay, 1 - stay], [change, 1 - change]])
    labels = list(product(range(2), repeat=5))
    transition = np.array(
        [
            [after[before[0], now[0]] if now[1:] == before[:-1] else 0.0 for now in labels]
            for before in labels
        ]
    )
    options = {"n_states": 32, "autoregression": 4, "stop": False, "random_state": 0}
    # what it says does not matter: all parameters are replaced
    hmm = HMM(max_iter=1, **options).fit([series[:, None]])
    with np.errstate(divide="ignore"):
        hmm.start_logprob_ = np.log(np.linalg.matrix_power(transition, 4000)[0])
        hmm.transition_logprob_ = np.log(transition)
    means = np.array(level)[np.array(labels)]
    hmm.means_ = (means[:, 0] - means[:, 1:] @ lags)[:, None]
    hmm.autoregression_ = np.tile(lags.reshape(4, 1, 1), (32, 1, 1, 1))
    hmm.covariances_ = np.full((32, 1), parameters[4])
    return hmm


def drawn(watch: Stopwatch) -> dict[str, float]:
    """A drawn series of two regimes, with the parameters that ours finds."""
    warnings.simplefilter("ignore")
    import numpy as np

    from sklearn_struct import HMM

    rng = np.random.RandomState(0)
    series = [0.0]
    for k in np.repeat(rng.randint(2, size=20 if watch.quick else 200), 50):
        noise = rng.normal(scale=(0.5, 2.0)[k])
        series.append((1.0, -1.0)[k] + (0.8, 0.2)[k] * series[-1] + noise)
    x = np.array(series)
    options = {"n_states": 2, "autoregression": 1, "stop": False, "random_state": 0}
    ours = HMM(**options).fit([x[:, None]])
    transition = np.exp(ours.transition_logprob_)
    # statsmodels begins with what is so in the long run
    ours.start_logprob_ = np.log(np.linalg.matrix_power(transition, 10_000)[0])
    figures = {OURS: least(lambda: ours.score_samples([x[:, None]]), 5)}
    if find_spec("statsmodels") is None:
        return figures
    from statsmodels.tsa.regime_switching.markov_regression import MarkovRegression

    theirs = MarkovRegression(x[1:], k_regimes=2, exog=x[:-1, None], switching_variance=True)
    parameters = np.concatenate(
        [
            transition[:, 0],
            ours.means_.ravel(),
            ours.autoregression_.ravel(),
            ours.covariances_.ravel(),
        ]
    )
    log_p = theirs.loglike(parameters)
    return {
        **figures,
        THEIRS: least(lambda: theirs.loglike(parameters), 5),
        DIFFERENCE: abs(float(ours.score_samples([x[:, None]])[0] - log_p)),
    }


def production(watch: Stopwatch) -> dict[str, float]:
    """Filardo's series and indicator, with the parameters that ours finds."""
    warnings.simplefilter("ignore")
    if find_spec("statsmodels") is None:
        return {}
    from pathlib import Path

    import numpy as np
    from statsmodels.tsa.regime_switching import tests
    from statsmodels.tsa.regime_switching.markov_regression import MarkovRegression

    from sklearn_struct import NonHomogeneousHMM

    path = Path(tests.__file__).parent / "results" / "mar_filardo.csv"
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    # growth, and the indicator of the month before
    X = np.column_stack([table[1:, 0], table[:-1, 1]])
    ours = NonHomogeneousHMM(n_states=2, transition_inputs=[1], random_state=0).fit([X])
    inputs = np.column_stack([np.ones(len(X)), X[:, 1:]])
    theirs = MarkovRegression(X[:, 0], k_regimes=2, exog_tvtp=inputs, switching_variance=True)
    theirs.initialize_known(np.exp(ours.start_logprob_))
    scores = np.dstack([ours.transition_logprob_, ours.transition_coef_])
    constants = [ours.means_.ravel(), ours.covariances_.ravel()]
    parameters = np.concatenate([(scores[:, 0] - scores[:, 1]).T.ravel(), *constants])
    # statsmodels takes two steps before the first month, both with the inputs of that month
    step = theirs.regime_transition_matrix(parameters)[..., 0]
    ours.start_logprob_ = np.log(step @ step @ np.exp(ours.start_logprob_))
    log_p = theirs.loglike(parameters)
    return {
        OURS: least(lambda: ours.score_samples([X]), 5),
        THEIRS: least(lambda: theirs.loglike(parameters), 5),
        DIFFERENCE: abs(float(ours.score_samples([X])[0] - log_p)),
    }


def goals(medians: Medians) -> list[Goal]:
    """Equal log-likelihoods."""
    apart = [(name, medians.figure(name, DIFFERENCE)) for name in ROWS]
    return [Goal(f"difference, {name}", d, 1e-8, 1e-6, at_most=True) for name, d in apart]


BENCHMARKS = {
    "regimes": Benchmark(
        "Markov-switching models: Hamilton's growth, a drawn series, and Filardo's production",
        {"growth": growth, "drawn": drawn, "production": production},
        goals,
        beside="statsmodels",
    )
}
