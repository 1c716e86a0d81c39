"""Hidden semi-Markov model: a hidden Markov model whose labels have durations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.hidden_markov.base_learned_chain import Data
from sklearn_struct.estimators.hidden_markov.duration_predictions import BaseDurationPredictions
from sklearn_struct.estimators.hidden_markov.em_fit import start
from sklearn_struct.estimators.hidden_markov.information_criteria import BaseInformationCriteria
from sklearn_struct.hidden_markov import semi_markov
from sklearn_struct.hidden_markov.duration_steps import DurationOptions, DurationTraining
from sklearn_struct.hidden_markov.durations import KINDS as DURATIONS
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.free_parameters import with_durations

__all__ = ["HSMM"]


@with_parameters
class HSMM(
    BaseInformationCriteria,
    BaseDurationPredictions,
):
    """Hidden semi-Markov model, or explicit-duration HMM: a hidden Markov model that knows how long
    each label lasts.

    A sequence consists of segments. A segment has one label, and its duration is its number of
    tokens. With segments of labels k_1, ..., k_m and durations d_1, ..., d_m

        p(x, y) = start(k_1) * prod_i transition(k_i | k_{i-1}) * prod_i duration(d_i | k_i) *
        prod_t prod_s emission_s(x_ts | y_t)

    The first segment begins at the first token. A segment is always followed by one with another
    label, so each run of a label in y is one segment. In an `HMM` durations are geometric: one
    token is the most probable duration of each label. Here `durations` says how they are
    distributed, from 1 to `max_length` tokens [1]_. Inference is exact. A token costs n_labels**2 +
    n_labels * max_length operations.

    The emissions, NaN and missing labels are those of `HMM`: if all labels are known, `fit` counts,
    else it runs expectation maximisation. In y, None stands for a missing label, or for all labels
    of a sequence. ``y=None`` means that no label is known.

    Read more in :doc:`/user_guide/durations`.

    Parameters
    ----------
    durations : {"categorical", "poisson", "negative-binomial"}, default="categorical"
        How durations are distributed. "categorical": each duration of each label has a probability
        of its own. "poisson" and "negative-binomial": the duration minus 1 has this distribution,
        without the values above ``max_length - 1``. A Poisson distribution has one parameter, its
        mean and variance. A negative binomial one has two, and a variance above its mean.
    max_length : int, default=100
        The longest duration, in tokens.
    right_censored : bool, default=True
        Whether the last label of a sequence may go on after its end. If so, the last duration d
        counts as p(duration >= d), and p(x, y) sums to 1 over the sequences of each length. If not,
        the last label ends at the last token, and the last duration counts as p(duration = d).
    duration_smoothing : float, default=0.1
        Added to the count of each duration with each label, if `durations` is "categorical". 0 is
        maximum likelihood.
    transition_smoothing : float, default=0.0
        Added to the counts of starts, and of transitions to other labels.
    init : {"auto", "kmeans", "random"}, default="auto"
        Where EM starts if no label is known and `fit` gets no `init`, as in `HMM`. At most 20
        iterations of the EM of an `HMM` come first. Its most probable labels say where durations
        start.

    Attributes
    ----------
    duration_logprob_ : ndarray of shape (n_labels, max_length)
        ``[k, d - 1]`` is the log-probability that label k lasts d tokens.
    duration_params_ : ndarray of shape (n_labels, n_params)
        Parameters of the distributions of ``duration - 1``, before values above ``max_length - 1``
        are left out. "poisson": the mean. "negative-binomial": the mean, and the size r; the
        variance is ``mean + mean**2 / r``. "categorical": none. They are not used in predictions.
    duration_means_ : ndarray of shape (n_labels,)
        Mean number of tokens that each label lasts, computed from `duration_logprob_`.
    transition_logprob_ : ndarray of shape (n_labels, n_labels)
        ``[j, k]`` is the log-probability that a segment with label j is followed by one with label
        k; -inf for j = k.
    stop_logprob_ : ndarray of shape (n_labels,)
        Zeros: the end of a sequence has no probability, as in ``HMM(stop=False)``.

    See Also
    --------
    HMM : Durations are geometric; sequences may end by themselves.
    SemiMarkovCRF : A model of segments given x, with features of any kind.

    Notes
    -----
    You may change the learned attributes: predictions are computed from them.

    References
    ----------
    .. [1] S.-Z. Yu, "Hidden semi-Markov models", Artificial Intelligence 174(2), 2010.

    Examples
    --------
    >>> from sklearn_struct import HSMM
    >>> X = [["a", "b", "a", "c", "d", "c", "c", "a", "a", "b"]]
    >>> y = [["low"] * 3 + ["high"] * 4 + ["low"] * 3]
    >>> model = HSMM(max_length=6, duration_smoothing=0).fit(X, y)
    >>> model.predict([["a", "b", "b", "c", "c", "d", "c", "b"]])[0]
    ['low', 'low', 'low', 'high', 'high', 'high', 'high', 'low']
    >>> dict(zip(model.classes_.tolist(), model.duration_means_.tolist()))
    {'high': 4.0, 'low': 3.0}

    Without labels:

    >>> import numpy as np
    >>> numbers = [np.array([[0.0, 0.1, 0.0, 5.1, 5.0, 5.2, 4.9, 0.1, 0.0, 0.2]]).T]
    >>> unlabelled = HSMM(n_states=2, max_length=6, durations="poisson", random_state=0)
    >>> sorted(unlabelled.fit(numbers).duration_means_.round(1).tolist())
    [3.6, 4.0]
    """

    durations: str = "categorical"
    max_length: int = 100
    right_censored: bool = True
    duration_smoothing: float = 0.1
    transition_smoothing: float = 0.0
    # what a chain needs to know beside
    order: ClassVar[int] = 1  # type: ignore[misc]
    stop: ClassVar[bool] = False  # type: ignore[misc]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "durations": [StrOptions(set(DURATIONS))],
        "max_length": [Interval(Integral, 1, None, closed="left")],
        "right_censored": ["boolean"],
        "duration_smoothing": [Interval(Real, 0, None, closed="left")],
        "transition_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model: count, or where labels are missing, maximise the likelihood by EM.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_columns)
            As in `HMM`. NaN is a missing number.
        y : list of label sequences, SequenceArray, array-like of shape (n,) or None, default=None
            One label a token, None where it is missing; None in the place of a sequence's labels,
            or of y, if all are. Tokens with the same label that follow each other are one segment.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence; counts are multiplied by it.
        init : fitted HSMM or HMM, default=None
            Where EM starts, in the place of `init` of the constructor. Its labels and vocabularies
            are taken over. The durations of an `HMM` are those of its most probable labels.

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
        self._learn(X, y, sample_weight, init, progress)
        self.n_parameters_ = with_durations(self._with_durations())

    def _n_parameters(self) -> int:
        return with_durations(self._with_durations())

    def _training(self, data: Data, init: Any) -> DurationTraining:
        plain = Training(*data)
        self._check_lengths(plain)
        options = DurationOptions(
            self.durations,
            int(self.max_length),
            self.duration_smoothing,
            bool(self.right_censored),
        )
        return DurationTraining(plain, options)

    def _start(self, way: str, training: Any, rng: np.random.RandomState, init: Any) -> Any:
        if init is None:
            return training.start(start(way, training.plain, rng), self.tol)
        hidden = self._taken_over(init, training.plain.options.numbers)
        if not init._has_durations:
            return training.with_durations(hidden)
        model = init._with_durations()
        n_lengths = model.durations.log_p.shape[1]
        if n_lengths != self.max_length:
            raise ValueError(
                f"init has durations of up to {n_lengths} tokens, but "
                f"max_length={self.max_length}; write max_length={n_lengths}"
            )
        return training.taken_over(model._replace(hidden=hidden))

    def _check_lengths(self, training: Training) -> None:
        """Raise ValueError where a run of a label, or what one label must fill, is too long."""
        offsets = training.observed.offsets
        lengths = np.where(training.weight > 0, np.diff(offsets), 0)
        if len(self.classes_) == 1 and lengths.max(initial=0) > self.max_length:
            i = int(np.argmax(lengths > self.max_length))
            raise ValueError(
                f"X[{i}] has {lengths[i]} tokens, all of one label, but "
                f"max_length={self.max_length}; allow more labels, or write "
                f"max_length={lengths.max()} or more"
            )
        if not training.any_known:
            return
        first, runs = semi_markov.runs(training.codes, offsets)
        runs[(training.codes[first] < 0) | (training.token_weight[first] == 0)] = 0
        if runs.max(initial=0) > self.max_length:
            r = int(np.argmax(runs > self.max_length))
            label = self.classes_.tolist()[training.codes[first[r]]]
            raise ValueError(
                f"{label_codes.place(int(first[r]), offsets)}: a run of {runs[r]} tokens with the "
                f"label {label!r} begins here, but max_length={self.max_length}; the longest run "
                f"has {runs.max()} tokens, so write max_length={runs.max()} or more"
            )
