"""Hidden Markov model of labels and of what they emit."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    RandomParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.hidden_markov.given_parameters import BaseGivenParameters
from sklearn_struct.estimators.hidden_markov.information_criteria import BaseInformationCriteria
from sklearn_struct.estimators.hidden_markov.online_predictions import BaseOnlinePredictions
from sklearn_struct.estimators.hidden_markov.restrictions import BaseRestrictedChain
from sklearn_struct.estimators.hidden_markov.stream_learning import EMISSIONS
from sklearn_struct.hidden_markov.gaussians import KINDS

__all__ = ["HMM"]


@with_parameters
class HMM(
    IterationParameters,
    RandomParameters,
    ThreadParameters,
    BaseInformationCriteria,
    BaseOnlinePredictions,
    BaseGivenParameters,
    BaseRestrictedChain,
):
    """Hidden Markov model: a joint model p(x, y) of labels and of the values that they emit.

    In order 1

        p(x, y) = start(y_1) * prod_t transition(y_t | y_{t-1}) * prod_t prod_s emission_s(x_ts |
        y_t) * stop(y_n)

    and in order 2 transitions and stop depend on the two labels before. A token has a value in each
    of several streams, such as words and tags, or the columns of an array. Given the label, streams
    are independent. Symbols have a table of probabilities for each label, numbers a normal
    distribution or a mixture of these, counts a Poisson or a multinomial distribution. With
    ``covariance_type="full"`` or "tied", streams of numbers depend on each other given the label.
    With `autoregression`, numbers also depend on the tokens before.

    NaN in a stream of numbers, or in a Poisson stream, stands for a missing number. The model sums
    over its values: `fit` and predictions use the numbers that are there.

    If all labels are known, `fit` counts. If labels are missing, it runs expectation maximisation,
    which uses expected counts and finds a local optimum. In y, None stands for a missing label, or
    for all labels of a sequence. ``y=None`` means that no label is known.

    Read more in :doc:`/user_guide/hmm`.

    Parameters
    ----------
    order : {1, 2}, default=1
        Number of previous labels that a label depends on. Order 2 takes n_labels times as long.
    stop : bool, default=True
        Whether the end of a sequence has a probability. If so, p(x, y) sums to 1 over the sequences
        of all lengths above 0. If not, it sums to 1 over the sequences of each length.
    emissions : {"auto", "categorical", "gaussian", "poisson", "multinomial"} or list of these, \
default="auto"
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
        the vocabulary [1]_. "smoothing": they get the probability that `smoothing` gives to a value
        of count 0. None: they raise an error.
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
    transition_logprob_ : ndarray of shape (n_labels, n_labels) or (n_labels, n_labels, n_labels)
        ``[j, k]`` is log p(y_t = k | y_{t-1} = j); in order 2 ``[i, j, k]`` is log p(k | i, j) for
        i before j. The end is one of the outcomes: probabilities in a row sum to 1 together with
        that of `stop_logprob_`.
    stop_logprob_ : ndarray of shape (n_labels,) or (n_labels, n_labels)
        Log-probability that the sequence ends after label ``[k]``, or after ``[j, k]``; zeros
        without `stop`.
    pair_start_logprob_ : ndarray of shape (n_labels, n_labels)
        In order 2: ``[j, k]`` is log p(y_2 = k | y_1 = j).
    single_stop_logprob_ : ndarray of shape (n_labels,)
        In order 2: log-probability that the sequence ends after its first label.
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

    See Also
    --------
    LinearChainCRF : A model of y given x, with features of any kind.
    ConstraintDrivenHMM : Learns from few labels and from soft constraints.
    SpectralHMM : Labels have hidden states.
    MEstimatedCRF : Weights of features over an HMM.

    Notes
    -----
    You may change the learned attributes: predictions are computed from them.

    *Priors.* `smoothing` and `transition_smoothing` are Dirichlet priors. `mean_smoothing` k and
    `covariance_smoothing` r are conjugate priors of normal distributions. Let m and S be the mean
    and the covariance of all of X. The log-density of a label's mean u and covariance V is, up to a
    constant, ``-r/2 (log |V| + trace(V^-1 S)) - k/2 (u - m)' V^-1 (u - m)``. With n tokens, of mean
    x, a label gets ``u = (n x + k m) / (n + k)`` and ``V = (A + k (u - m)(u - m)' + r S) / (n +
    r)``, where A is the sum of ``(x_t - u)(x_t - u)'``. With "diag" each stream has this for
    itself. With "spherical", sums over the streams take the place of products, and n + r counts
    each stream. With "tied", A, k (u - m)(u - m)' and n are summed over the labels, and r S counts
    once.

    References
    ----------
    .. [1] N. A. Smith, D. L. Vail and J. D. Lafferty, "Computationally efficient M-estimation of
       log-linear structure models", ACL 2007.
    .. [2] L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech
       recognition", Proceedings of the IEEE 77(2), 1989.

    Examples
    --------
    >>> from sklearn_struct import HMM
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"],
    ...      ["a", "dog", "sleeps"], ["a", "cat", "barks"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 4
    >>> hmm = HMM().fit(X, y)
    >>> hmm.predict([["the", "bird", "sleeps"]])[0]
    ['DET', 'NOUN', 'VERB']
    >>> hmm.score_samples([["the", "dog", "barks"]]).round(2)
    array([-5.11])

    Without labels:

    >>> import numpy as np
    >>> numbers = [np.array([[0.1], [0.0], [5.1]]), np.array([[4.9], [0.2], [0.1]])]
    >>> unlabelled = HMM(n_states=2, random_state=0).fit(numbers)
    >>> sorted(unlabelled.means_.round(2).ravel().tolist())
    [0.1, 5.0]
    """

    order: int = 1
    stop: bool = True
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
        "order": [Interval(Integral, 1, 2, closed="both")],
        "stop": ["boolean"],
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model: count, or where labels are missing, maximise the likelihood by EM.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_columns)
            A sequence is a list of strings or of whole numbers (one stream of symbols), a list of
            rows with a value for each stream, or a 2-D array of numbers (tokens, streams). A
            two-dimensional X is a batch of sequences of length 1, and needs y; so is a list of
            lists of whole numbers if y has a label for each of these. NaN is a missing number.
        y : list of label sequences, SequenceArray, array-like of shape (n,) or None, default=None
            One label a token, None where it is missing; None in the place of a sequence's labels,
            or of y, if all are.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence; counts are multiplied by it.
        init : fitted HMM, default=None
            Where EM starts, in the place of `init` of the constructor. Its labels and vocabularies
            are taken over.

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, NonFiniteError, UnknownLabelError, UnknownValueError, \
        EmptyDataError, InputTypeError
            With the place; a two-dimensional X or a wrong `sample_weight` may get scikit-learn's
            own ValueError. The estimator is then as it was before.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        self.n_parameters_ = self._n_free(self._learn(X, y, sample_weight, init, progress))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.dict = False
        tags.input_tags.allow_nan = True
        return tags
