"""Parameters of hidden Markov models that learn how streams are emitted."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    RandomParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.hidden_markov.stream_learning import EMISSIONS
from sklearn_struct.hidden_markov.gaussians import KINDS

__all__ = ["StreamParameters"]


@with_parameters
class StreamParameters(IterationParameters, RandomParameters, ThreadParameters):
    """How streams are emitted, and how EM learns it.

    Parameters
    ----------
    emissions : {"auto", "categorical", "gaussian", "poisson", "multinomial"} or list of \
            these, default="auto"
        How each stream is distributed. A list has an entry for each stream. "auto": "gaussian" for
        a stream of numbers, else "categorical". Whole numbers in lists are symbols, so they are
        "categorical". "poisson": a stream of counts with a Poisson distribution. "multinomial": all
        streams of this kind together are one vector of counts with a multinomial distribution; its
        number of trials is the sum of these counts in the token.
    smoothing : float, default=1.0
        Added to the count of each value with each label, and of each multinomial stream. 0 is
        maximum likelihood.
    oov : {"first", "smoothing"} or None, default="first"
        How values are treated that `fit` has not seen (out of vocabulary). "first": the first
        occurrence of each value in X counts as such a value, and values that occur once are not in
        the vocabulary (Smith, Vail and Lafferty, ACL 2007). "smoothing": they get the probability
        that `smoothing` gives to a value of count 0. None: they raise an error.
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
        Covariances of the streams of numbers. "diag": each label has a variance of each stream.
        "full": each label has a covariance matrix. "tied": all labels share a covariance matrix.
        "spherical": each label has one variance, that of all streams.
    n_mixtures : int, default=1
        Number of normal distributions of each label. If it is above 1, each label has a mixture of
        these over all streams of numbers. Nobody knows which of them a token comes from, so `fit`
        runs EM even if all labels are known. "tied" then means that the normal distributions of a
        label share a covariance matrix.
    autoregression : int, default=0
        Number p of previous tokens that the means of the streams of numbers depend on. The mean of
        a token x_t with label k is ``means_[k] + sum_l autoregression_[k, l - 1] @ x_{t - l}``, for
        l from 1 to p. The first p tokens of a sequence are given: their densities count as 1. No
        number may then be missing, and `n_mixtures` must be 1.
    min_variance : float, default=1e-4
        Smallest variance of a number with one label, as a share of its variance in all of X. A
        covariance matrix has at least these variances in each direction. With "spherical" the
        largest of these bounds holds. The rate of a Poisson stream is at least this share of the
        mean of the stream.
    n_states : int, list of labels or None, default=None
        The labels, where y does not show all of them: a list of labels, or a number n for the
        labels 0, 1, ..., n - 1.
    init : {"auto", "kmeans", "random"}, default="auto"
        Where EM starts if no label is known and `fit` gets no `init`: at clusters of the streams
        of numbers and counts, or at random probabilities. "auto" is "kmeans" if there are such
        streams, else "random". If some labels are known, EM starts from them.
    n_init : int, default=1
        Number of starts of EM, if no label is known and `fit` gets no `init`. The run with the
        highest likelihood counts. With ``init="auto"`` all starts after the first are random.
    max_iter : int, default=200
        Largest number of iterations of EM.
    tol : float, default=1e-6
        EM stops when an iteration raises the log-likelihood by no more than this for each token.
    random_state : int, RandomState or None, default=None
        For `init`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    start_logprob_ : ndarray of shape (n_labels,)
        log p(y_1).
    vocabulary_ : list
        For each stream a dict {value: column}, or None for one of numbers or counts.
    emission_logprob_ : list
        For each stream a table (n_labels, n_values), or None for one of numbers or counts. Columns
        are those of `vocabulary_`; with `oov` there is one more at the end, for what is out of
        vocabulary.
    means_ : ndarray of shape (n_labels, n_numeric_streams)
        Means of the streams of numbers. With `n_mixtures` above 1 the shape is (n_labels,
        n_mixtures, n_numeric_streams).
    covariances_ : ndarray
        Variances or covariance matrices of the streams of numbers. The shape depends on
        `covariance_type`: (n_labels, n_numeric_streams) for "diag"; (n_labels, n_numeric_streams,
        n_numeric_streams) for "full"; (n_numeric_streams, n_numeric_streams) for "tied";
        (n_labels,) for "spherical". With `n_mixtures` above 1, n_mixtures comes after n_labels,
        and the shape for "tied" is (n_labels, n_numeric_streams, n_numeric_streams).
    variances_ : ndarray of shape (n_labels, n_numeric_streams)
        Variance of each stream of numbers. For "diag" the same array as `covariances_`, else
        computed from it. With `n_mixtures` above 1 it has the shape of `means_`.
    mixture_logprob_ : ndarray of shape (n_labels, n_mixtures)
        Log-probability of each normal distribution of a label.
    autoregression_ : ndarray of shape (n_labels, p, n_numeric_streams, n_numeric_streams)
        With `autoregression` the coefficients of the p tokens before, the nearest one first;
        ``means_`` are then the constants, and ``covariances_`` those of what is left.
    rates_ : ndarray of shape (n_labels, n_poisson_streams)
        Means of the Poisson streams.
    count_logprob_ : ndarray of shape (n_labels, n_multinomial_streams)
        Log-probabilities of the multinomial streams; in each row the probabilities sum to 1.
    n_trials_ : int
        Mean number of trials of a token in training, rounded; 0 without multinomial streams.
        `sample` draws tokens with this number of trials.
    n_parameters_ : int
        Number of free parameters, as `aic` and `bic` count them.
    n_iter_ : int
        Iterations of EM; 1 where all labels are known.
    loss_curve_ : list of float
        After each iteration minus the log-likelihood of X and of the labels that are known, minus
        the log-density of the priors that smoothing stands for (up to a constant). It never rises.
    n_features_in_ : int
        Number of streams.
    feature_names_in_ : ndarray of str
        Where X has names.
    """

    emissions: Any = "auto"
    smoothing: float = 1.0
    oov: str | None = "first"
    covariance_type: str = "diag"
    n_mixtures: int = 1
    autoregression: int = 0
    min_variance: float = 1e-4
    n_states: Any = None
    init: str = "auto"
    n_init: int = 1
    max_iter: int = 200
    tol: float = 1e-6
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "emissions": [StrOptions({"auto", *EMISSIONS}), list, tuple],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "oov": [StrOptions({"first", "smoothing"}), None],
        "covariance_type": [StrOptions(set(KINDS))],
        "n_mixtures": [Interval(Integral, 1, None, closed="left")],
        "autoregression": [Interval(Integral, 0, None, closed="left")],
        "min_variance": [Interval(Real, 0, None, closed="neither")],
        "n_states": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "init": [StrOptions({"auto", "kmeans", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }
