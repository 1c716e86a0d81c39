"""Hidden-state conditional random field: a class for each sequence."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.encoding.labels import single_labels
from sklearn_struct.encoding.labels.state_moves import LEFT_TO_RIGHT, of_classes, read_moves
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_trained import BaseTrained
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    PenaltyParameters,
    RandomParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.fitting.solving import Minimisation, solve
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.hidden_states.class_states import pattern_of, tied_places
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.inference.chains.class_chains import ClassChains
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.tied_weights import TiedObjective
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["HiddenStateClassifier"]

# the standard deviation of weights at a random start
NOISE = 0.1


@with_parameters
class HiddenStateClassifier(
    BaseClassPredictions,
    PenaltyParameters,
    IterationParameters,
    RandomParameters,
    ThreadParameters,
    ClassifierMixin,
    BaseTrained,
):
    """Classifier of sequences by hidden states of their tokens: a hidden-state conditional random
    field [1]_.

    Each class has `n_states` hidden states. A token is in one of them, states depend on features
    and on the state before, and the states of a sequence are never seen:

        p(y | x) = sum_h exp(score(y, h, x)) / sum_y' sum_h exp(score(y', h, x))
        score(y, h, x) = sum_t (coef[y, h_t] . x_t + intercept[y, h_t])
            + sum_t transition[y, h_{t-1}, h_t]

    The objective is C * sum_i weight_i * -log p(y_i | x_i) + penalty. It is not convex, so `fit`
    starts at random weights, and other starts may end at other optima. With one state and sequences
    of one token it is multinomial logistic regression.

    Parameters
    ----------
    n_states : int, default=3
        Hidden states of each class. A token costs n_classes * n_states**2 operations.
    tied : bool, default=False
        All classes have the same weights of features, as in [1]_: state h looks for the same in
        each class. Classes then differ by transitions and intercepts.
    tied_transitions : bool, default=False
        All classes have the same weights of transitions between states.
    allowed_transitions : None, "left-to-right", array-like of shape (n_states, n_states) or dict, \
            default=None
        Which states of a class may follow each other, in training and predictions. "left-to-right":
        a sequence starts in state 0, and stays in a state or goes on to the next. A matrix of
        booleans says which state (column) may follow which (row). A dict ``{state: [states]}``
        lists what is *forbidden* after each state, under the key None what may not come first; None
        in a list forbids the end there.
    solver : {"auto", "lbfgs", "owlqn", "cg", "sgd"}, default="auto"
        "auto" is "lbfgs", with an L1 penalty "owlqn", its variant for these. "sgd" visits one
        sequence after the other; it cannot tie weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of the losses of classes, ``{label: weight}``; "balanced" gives all classes the same
        weight in all.
    fit_intercept : bool, default=True
        Give each state of each class an unpenalised weight of its own.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by class and feature, if it had as many
        states.
    random_state : int, RandomState or None, default=None
        The weights where `fit` starts, and the order in which "sgd" visits sequences.
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    coef_ : ndarray of shape (n_classes, n_states, n_features)
        Feature weights.
    transition_ : ndarray of shape (n_classes, n_states, n_states)
        Transition weights, from row state to column state; 0 for what is forbidden.
    intercept_ : ndarray of shape (n_classes, n_states)
    n_iter_ : int
        Iterations of `fit`.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has feature names.
    vectorizer_ : SequenceVectorizer
        Where X holds dicts or strings.

    See Also
    --------
    LinearChainCRF : a label for each token.

    Notes
    -----
    Weights of squared columns matter: only with these can a state say that a value is near a mean,
    as the states of a hidden Markov model with normal densities do.

    References
    ----------
    .. [1] A. Quattoni, S. Wang, L.-P. Morency, M. Collins and T. Darrell, "Hidden conditional
       random fields", IEEE Transactions on Pattern Analysis and Machine Intelligence 29(10), 2007.

    Examples
    --------
    Classes with the same tokens in another order:

    >>> from sklearn_struct import HiddenStateClassifier
    >>> X = [["up", "up", "down"], ["up", "down"], ["down", "up"], ["down", "up", "up"]]
    >>> y = ["peak", "peak", "dip", "dip"]
    >>> model = HiddenStateClassifier(2, C=10, random_state=0).fit(X, y)
    >>> model.predict([["up", "down", "down"], ["down", "down", "up"]]).tolist()
    ['peak', 'dip']
    """

    n_states: int = field(default=3, kw_only=False)
    tied: bool = False
    tied_transitions: bool = False
    allowed_transitions: Any = None
    solver: str = "auto"
    class_weight: dict[Any, float] | str | None = None
    fit_intercept: bool = True
    warm_start: bool = False
    dtype: str = "float64"
    _settings: ClassVar[tuple[str, ...]] = ("dtype", "n_jobs")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "tied": ["boolean"],
        "tied_transitions": ["boolean"],
        "allowed_transitions": [None, StrOptions({LEFT_TO_RIGHT}), dict, "array-like"],
        "solver": [StrOptions({"auto", "lbfgs", "owlqn", "cg", "sgd"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of sequences, SequenceArray, array-like or sparse matrix of shape (n, n_features)
            As `LinearChainCRF` takes it. A two-dimensional X is a batch of sequences of length 1.
        y : array-like of shape (n_sequences,)
            One label a sequence.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence's loss.
        init : fitted HiddenStateClassifier with as many states, default=None
            Start from its weights, matched by class and by feature name (by position where there
            are no names).

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, UnknownLabelError, EmptyDataError, InputTypeError, ForbiddenLabelError
            With the place; a two-dimensional X or a wrong `sample_weight` may get scikit-learn's
            own ValueError. The estimator is then as it was before.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    # ---- from X and y to what is to be minimised

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """Codes of the classes of sequences."""
        n = len(sequences.X)
        labels = single_labels.read(y, n, "sequences", type(self).__name__)
        if reset:
            self.classes_ = single_labels.distinct(labels)
            self._allowed = read_moves(self.allowed_transitions, self.n_states)
        return single_labels.encode(labels, self.classes_, unseen)

    def _weights(self, sample_weight: Any, sequences: Sequences, labels: np.ndarray) -> Weights:
        """Weights of sequences; of their tokens is known that they are in a state of the class."""
        lengths = sequences.X.lengths
        weight = sample_weights.of_examples(sample_weight, len(lengths), "sequence")
        if self.class_weight is not None:
            weight = weight * sample_weights.class_weights(
                self.class_weight, self.classes_, labels, weight
            )[labels]
            if not np.any(weight > 0):
                raise EmptyDataError("no sequence has a positive weight")
        weight = sample_weights.check_sum(weight)
        of_state = np.repeat(np.arange(len(self.classes_)), self.n_states)
        allowed = (labels[:, None] == of_state)[np.repeat(np.arange(len(lengths)), lengths)]
        return Weights(weight, Evidence(allowed=allowed), np.repeat(weight, lengths))

    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        self._check_lengths(sequences)
        n_features = sequences.X.tokens.shape[1]
        return pattern_of(n_features, len(self.classes_), self._allowed, self.fit_intercept)

    def _inference(self) -> ClassChains:
        return ClassChains(len(self.classes_))

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        loss = MarginalLikelihood(self._inference())
        if self._is_free():
            return loss
        return Constrained(loss, of_classes(self._allowed, len(self.classes_)))

    # ---- from there to weights

    def _begin(self, solver: str, objective: LinearObjective, w0: np.ndarray) -> np.ndarray:
        """At random weights, in classes that have none yet: where all states of a class are the
        same, they stay so.
        """
        if self.n_states == 1:
            return w0
        n_free = objective.n_free
        noise = check_random_state(self.random_state).normal(0.0, NOISE, len(w0))
        # a start has no opinion of what is not penalised
        noise[len(w0) - n_free :] = 0.0
        return np.where(self._is_new(w0), noise, w0)

    def _is_new(self, w0: np.ndarray) -> np.ndarray:
        """Whether each weight is one of a class whose weights are all zero."""
        pattern = self._pattern
        classes = np.arange(pattern.n_labels) // self.n_states
        columns = pattern.families[0].columns // pattern.n_labels
        of_weights = [np.tile(classes, pattern.n_features), classes[columns]]
        of_weights += [classes] * pattern.fit_intercept
        of_weight = np.concatenate(of_weights)
        known = np.zeros(len(self.classes_), bool)
        known[of_weight[w0 != 0]] = True
        new: np.ndarray = ~known[of_weight]
        return new

    def _solved(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        places = self._tied_places()
        if places is None:
            return solve(settings, solver, objective, w0, iterations)
        if solver == "sgd":
            raise ValueError("solver='sgd' cannot tie weights; use 'lbfgs', 'cg' or 'auto'")
        tied = TiedObjective(objective, places)
        return solve(settings, solver, tied, tied.tie(w0), iterations)

    def _tied_places(self) -> np.ndarray | None:
        """Which weights are the same, in what the solver sees; None where all differ."""
        if len(self.classes_) == 1 or not (self.tied or self.tied_transitions):
            return None
        return tied_places(self._pattern, len(self.classes_), self.tied, self.tied_transitions)

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        places = self._tied_places()
        return {"_w": w.copy() if places is None else w[places], "_prepared": Prepared()}
