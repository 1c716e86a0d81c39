"""How far a sequence has come, and what is expected after it: what online predictions hand out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["FilterState", "Forecast"]


@dataclass(frozen=True, repr=False, eq=False)
class FilterState:
    """What a hidden Markov model knows after some tokens of a sequence.

    `HMM.filter_proba` and `HMM.log_score` return a state for each sequence, and take it with the
    next tokens. A state cannot be changed, so you can keep it and go on from it several times.

    Read more in :doc:`/user_guide/hmm`.

    Parameters
    ----------
    n_tokens : int
        Number of tokens up to here.
    log_likelihood : float
        log p of these tokens: the sum of their `HMM.log_score`.
    alpha : ndarray of shape (n_contexts,)
        Log-probabilities of what the next label depends on.
    model : str
        Which parameters these come from. A model with other ones refuses the state.
    last : ndarray of shape (n_last, n_numeric_streams)
        With `autoregression` the numbers of the last tokens, on which the next ones depend. Else
        there are none.

    See Also
    --------
    sklearn_struct.HMM : Makes and takes states.
    Forecast : What is expected after a state.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import HMM
    >>> X = [np.array([[0.1], [0.0], [5.1]]), np.array([[4.9], [0.2], [0.1]])]
    >>> hmm = HMM(stop=False).fit(X, [[0, 0, 1], [1, 0, 0]])
    >>> proba, [state] = hmm.filter_proba([[[0.1], [5.0]]], return_state=True)
    >>> state.n_tokens
    2
    >>> proba, [state] = hmm.filter_proba([[[0.2]]], state=[state], return_state=True)
    >>> state.n_tokens
    3
    """

    n_tokens: int
    log_likelihood: float
    alpha: np.ndarray
    model: str
    last: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        self.alpha.flags.writeable = False
        self.last.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy cannot be changed either
        return type(self), (self.n_tokens, self.log_likelihood, self.alpha, self.model, self.last)

    def __repr__(self) -> str:
        return f"FilterState(n_tokens={self.n_tokens}, log_likelihood={self.log_likelihood:.6g})"


@dataclass(frozen=True, eq=False)
class Forecast:
    """What a hidden Markov model expects of the next tokens of a sequence.

    Row h of each array is about the token h + 1 steps ahead, given that there is one.

    Read more in :doc:`/user_guide/hmm`.

    Parameters
    ----------
    proba : ndarray of shape (steps, n_labels)
        Probabilities of the labels.
    continues : ndarray of shape (steps,)
        Probability that the sequence has so many more tokens: 1 without `stop`.
    mean, variance : ndarray of shape (steps, n_numeric_streams)
        Of the streams of numbers. With `autoregression` they are NaN for a sequence that has fewer
        tokens than a mean depends on.
    values : list
        For each stream an array (steps, n_values) of probabilities, with the columns of
        `HMM.vocabulary_`, or None for a stream of numbers or counts.
    count_mean, count_variance : ndarray of shape (steps, n_poisson_streams)
        Of the Poisson streams.
    count_shares : ndarray of shape (steps, n_multinomial_streams)
        Expected shares of the multinomial streams among the trials of a token; in each row they sum
        to 1. Of n trials, you expect n times as many.

    See Also
    --------
    sklearn_struct.HMM : Makes forecasts.
    FilterState : What a forecast can begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import HMM
    >>> X = [np.array([[0.1], [0.0], [5.1]]), np.array([[4.9], [0.2], [0.1]])]
    >>> hmm = HMM(stop=False).fit(X, [[0, 0, 1], [1, 0, 0]])
    >>> [forecast] = hmm.predict_next([[[5.0]]], steps=2)
    >>> forecast.proba.round(2)
    array([[1.  , 0.  ],
           [0.67, 0.33]])
    >>> forecast.mean.round(2)
    array([[0.1 ],
           [1.73]])
    """

    proba: np.ndarray
    continues: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    values: list[np.ndarray | None]
    count_mean: np.ndarray
    count_variance: np.ndarray
    count_shares: np.ndarray
