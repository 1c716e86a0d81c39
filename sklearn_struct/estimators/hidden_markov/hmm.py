"""Hidden Markov model of labels and of what they emit."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval

from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.hidden_markov.given_parameters import BaseGivenParameters
from sklearn_struct.estimators.hidden_markov.information_criteria import BaseInformationCriteria
from sklearn_struct.estimators.hidden_markov.online_predictions import BaseOnlinePredictions
from sklearn_struct.estimators.hidden_markov.restrictions import BaseRestrictedChain

__all__ = ["HMM"]


@with_parameters
class HMM(
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

    Attributes
    ----------
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
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "order": [Interval(Integral, 1, 2, closed="both")],
        "stop": ["boolean"],
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model: count, or where labels are missing, maximise the likelihood by EM.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_columns)
            A sequence is a list of strings, of whole numbers or of booleans (one stream of
            symbols, all of one type), a list of rows with a value for each stream, or a 2-D array
            of numbers (tokens, streams). One stream of numbers is an array of shape (n_tokens, 1).
            A two-dimensional X is a batch of sequences of length 1, and needs y; so is a list of
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
