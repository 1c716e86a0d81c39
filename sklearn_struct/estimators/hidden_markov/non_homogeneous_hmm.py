"""Hidden Markov model whose transitions depend on inputs."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from re import Pattern
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.encoding.features.column_choice import Features, columns_named
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.hidden_markov.base_learned_chain import Data
from sklearn_struct.estimators.hidden_markov.driven_predictions import BaseDrivenPredictions
from sklearn_struct.estimators.hidden_markov.em_fit import start
from sklearn_struct.estimators.hidden_markov.information_criteria import BaseInformationCriteria
from sklearn_struct.estimators.hidden_markov.stream_learning import INPUT, kinds_of
from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.hidden_markov.driven_training import DrivenTraining, driven_start
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.free_parameters import n_parameters

__all__ = ["NonHomogeneousHMM"]


@with_parameters
class NonHomogeneousHMM(
    BaseInformationCriteria,
    BaseDrivenPredictions,
):
    """Non-homogeneous hidden Markov model: inputs drive the transitions.

    Some columns of X are inputs: the season, a price, a treatment. They are not emitted. They say
    how probable transitions are, by a multinomial logistic model for each label [1]_. With the
    inputs u_t of token t

        p(x, y | u) = start(y_1) * prod_t transition(y_t | y_{t-1}, u_t) * prod_t prod_s
        emission_s(x_ts | y_t)

        transition(k | j, u) = exp(b_jk + w_jk . u) / sum_l exp(b_jl + w_jl . u)

    The inputs of a token act on the transition to it; those of a first token act on nothing. If an
    input is known one step before, shift its column. Inference is exact. Without inputs the model
    is ``HMM(stop=False)``. Economists call it a Markov switching model with time-varying transition
    probabilities [2]_. An input-output HMM [3]_ has inputs in its emissions, too.

    The emissions, NaN in them and missing labels are those of `HMM`: if all labels are known, `fit`
    counts, and fits logistic models of the transitions. Else it runs expectation maximisation, in
    which the logistic models are fitted to expected counts. In y, None stands for a missing label,
    or for all labels of a sequence. ``y=None`` means that no label is known.

    Read more in :doc:`/user_guide/transition_inputs`.

    Parameters
    ----------
    transition_inputs : str, re.Pattern, or iterable of str, re.Pattern and int, default=()
        The columns of X that drive transitions: numbers of columns, or their names where X has
        names. All others are emitted. Inputs may not be missing.
    transition_penalty : float, default=1.0
        L2 penalty of ``transition_coef_``, as ``1 / C`` of scikit-learn's LogisticRegression: half
        of it times the sum of their squares is subtracted from the log-likelihood. That is a normal
        prior with mean 0 and variance ``1 / transition_penalty``. Scale inputs, as it depends on
        their units. 0 is maximum likelihood.
    transition_smoothing : float, default=0.1
        Added to the counts of starts, and of transitions where all inputs are 0. So probabilities
        without inputs are never 0. It does not act on ``transition_coef_``. 0 is maximum
        likelihood.
    emissions : {"auto", "categorical", "gaussian", "poisson", "multinomial"} or list of \
            these, default="auto"
        How each stream is distributed, as in `HMM`. A list has an entry for each column that is
        emitted.
    init : {"auto", "kmeans", "random"}, default="auto"
        Where EM starts if no label is known and `fit` gets no `init`, as in `HMM`.
        ``transition_coef_`` starts at 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    transition_coef_ : ndarray of shape (n_labels, n_labels, n_inputs)
        ``[j, k]`` is w_jk, how inputs change the score of label k after j. Only differences between
        labels k matter. Learned ones sum to 0 over k.
    transition_logprob_ : ndarray of shape (n_labels, n_labels)
        ``[j, k]`` is b_jk, the log-probability of k after j where all inputs are 0.
    stop_logprob_ : ndarray of shape (n_labels,)
        Zeros: the end of a sequence has no probability, as in ``HMM(stop=False)``.
    vocabulary_ : list
        For each column a dict {value: column}, or None for one of numbers, counts or inputs.
    emission_logprob_ : list
        For each column a table (n_labels, n_values), or None for one of numbers, counts or inputs.
    n_features_in_ : int
        Number of columns, inputs included.

    See Also
    --------
    HMM : Transitions are always the same; sequences may end by themselves.
    HSMM : Labels have durations.
    LinearChainCRF : A model of y given x, in which any feature may act on transitions.

    Notes
    -----
    You may change the learned attributes: predictions are computed from them. In EM, each M-step
    fits the logistic models by Newton's method from the parameters before, so the likelihood never
    falls. It costs n_labels times (n_labels * (n_inputs + 1))**2 operations for each distinct row
    of inputs; the E-step costs n_labels**2 for each token.

    References
    ----------
    .. [1] J. P. Hughes and P. Guttorp, "A class of stochastic models for relating synoptic
       atmospheric patterns to regional hydrologic phenomena", Water Resources Research 30(5), 1994.
    .. [2] A. J. Filardo, "Business-cycle phases and their transitional dynamics", Journal of
       Business and Economic Statistics 12(3), 1994.
    .. [3] Y. Bengio and P. Frasconi, "An input output HMM architecture", NIPS 1995.

    Examples
    --------
    Column 1 is an input: where it is 1, the level is soon high.

    >>> import numpy as np
    >>> from sklearn_struct import NonHomogeneousHMM
    >>> levels = [0.1, 0.0, 5.1, 5.0, 4.9, 0.2, 0.0, 0.1, 5.2, 5.1]
    >>> inputs = [0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    >>> X = [np.column_stack([levels, inputs])]
    >>> y = [["low" if level < 1 else "high" for level in levels]]
    >>> model = NonHomogeneousHMM(transition_inputs=[1], transition_penalty=0.1).fit(X, y)
    >>> model.classes_.tolist()
    ['high', 'low']
    >>> model.transition_proba(X)[0][2].round(2)
    array([[0.94, 0.06],
           [0.89, 0.11]])
    """

    transition_inputs: Features = ()
    transition_penalty: float = 1.0
    transition_smoothing: float = 0.1
    # what a chain needs to know beside
    order: ClassVar[int] = 1  # type: ignore[misc]
    stop: ClassVar[bool] = False  # type: ignore[misc]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "transition_inputs": [str, Pattern, Iterable],
        "transition_penalty": [Interval(Real, 0, None, closed="left")],
        "transition_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model: count, or where labels are missing, maximise the likelihood by EM.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_columns)
            As in `HMM`, with the inputs among its columns. NaN is a missing number.
        y : list of label sequences, SequenceArray, array-like of shape (n,) or None, default=None
            One label a token, None where it is missing; None in the place of a sequence's labels,
            or of y, if all are.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence; counts are multiplied by it.
        init : fitted NonHomogeneousHMM or HMM, default=None
            Where EM starts, in the place of `init` of the constructor. Its labels and vocabularies
            are taken over. An `HMM` has the columns that are emitted; coefficients then start at 0.

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
        self.n_parameters_ = n_parameters(self._model(), self.stop)

    def _training(self, data: Data, init: Any) -> Training:
        # without inputs there is nothing but counts of transitions
        return DrivenTraining(*data, self.transition_penalty) if self._n_inputs else Training(*data)

    def _start(self, way: str, training: Any, rng: np.random.RandomState, init: Any) -> Any:
        if init is None:
            model = start(way, training, rng)
        else:
            model = self._taken_over(init, training.options.numbers)
        return driven_start(model, self._n_inputs)

    # ---- which columns are inputs

    def _places(self) -> list[int]:
        """The columns of the X of `fit` that are inputs."""
        names = getattr(self, "feature_names_in_", None)
        columns = SequenceArray(np.empty((0, self.n_features_in_)), [0], names)
        places: list[int] = columns_named(
            self.transition_inputs, columns, "transition_inputs"
        ).tolist()
        if len(places) == self.n_features_in_:
            raise ValueError("transition_inputs has all columns of X: leave one that is emitted")
        return places

    def _kinds_of(self, columns: streams.Columns) -> list[str]:
        places = self._places()
        emitted = [column for c, column in enumerate(columns.columns) if c not in places]
        given = self.emissions
        if not isinstance(given, str) and len(given) != len(emitted):
            raise LengthMismatchError(
                f"emissions has {len(given)} entries, but {len(emitted)} of {self.n_features_in_} "
                "columns are emitted: list one for each that is not in transition_inputs"
            )
        kinds = kinds_of(columns._replace(columns=emitted), self.emissions)
        return self._beside_inputs(kinds, INPUT)

    def _beside_inputs(self, of_emitted: list[Any], of_input: Any) -> list[Any]:
        """One entry for each column, from those of the columns that are emitted."""
        places = self._places()
        left = iter(of_emitted)
        return [of_input if c in places else next(left) for c in range(self.n_features_in_)]

    def _n_columns_like(self, init: Any) -> int:
        return super()._n_columns_like(init) - (0 if init._has_inputs else len(self._places()))

    def _refuse_other_streams(self, init: Any) -> None:
        super()._refuse_other_streams(init)
        if init._has_inputs:
            places = [c for c, kind in enumerate(init._kinds) if kind == INPUT]
            if places != self._places():
                raise ValueError(
                    f"init has its inputs in the columns {places}, transition_inputs are the "
                    f"columns {self._places()}"
                )

    def _streams_of(self, init: Any) -> tuple[list[Any], list[Any], list[Any]]:
        of_init = super()._streams_of(init)
        if init._has_inputs:
            return of_init
        kinds, vocabularies, tables = of_init
        return (
            self._beside_inputs(kinds, INPUT),
            self._beside_inputs(vocabularies, None),
            self._beside_inputs(tables, None),
        )
