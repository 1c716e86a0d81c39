"""Hidden-state conditional random field: a class for each sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.labels import single_labels
from sklearn_struct.encoding.labels.label_states import joined, read_states, read_steps
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_trained import BaseTrained
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    PenaltyParameters,
    RandomParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.fitting.solving import Minimisation
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.hidden_states.random_starts import with_noise
from sklearn_struct.estimators.hidden_states.restarts import Start, seeds, solve_alike, solve_from
from sklearn_struct.estimators.hidden_states.state_parameters import RestartParameters
from sklearn_struct.estimators.hidden_states.weights_of_states import (
    of_alike,
    of_several,
    places,
    places_of_labels,
    places_of_moves,
    within_labels,
    without_forbidden,
)
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.inference.chains.class_chains import ClassChains
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.shared_weights import SharedWeights
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern

__all__ = ["HiddenStateClassifier"]


@with_parameters
class HiddenStateClassifier(
    RestartParameters,
    BaseClassPredictions,
    PenaltyParameters,
    IterationParameters,
    RandomParameters,
    ThreadParameters,
    ClassifierMixin,
    BaseTrained,
):
    """Classifier of sequences by hidden states of their tokens (hidden-state CRF).

    Each class has `n_states` hidden states, and each token is in one of them [1]_. A state depends
    on the features of its token and on the state before. Training data show the class of a
    sequence, but not the states:

        p(y | x) = sum_h exp(score(y, h, x)) / sum_y' sum_h exp(score(y', h, x)),
        score(y, h, x) = sum_t coef[y, h_t] . x_t + intercept[y, h_t] + transition[y, h_{t-1}, h_t].

    The objective is C * sum_i weight_i * -log p(y_i | x_i) + penalty. Empty sequences do not count:
    their p(y) is 1 / n_classes, whatever the weights are. The objective is not convex, so the
    result depends on where training begins. With one state and sequences of one token the model is
    multinomial logistic regression.

    Read more in :doc:`/user_guide/hidden_states`.

    Parameters
    ----------
    n_states : int, default=3
        Hidden states of each class. A token costs n_classes * n_states**2 operations.
    tied : bool, default=False
        Whether all classes share their weights of features, as in [1]_. State h then looks for the
        same features in each class, and classes differ by transitions and intercepts.
    tied_transitions : bool, default=False
        Whether all classes share their weights of transitions between states.
    state_transitions : {"all", "left-to-right", "stay"} or dict, default="all"
        Which states of a class may follow each other. "left-to-right": a sequence begins in the
        first state, and a state is followed by itself or the next one. "stay": by itself. A dict
        gives a class a matrix of booleans: which state (column) may follow which (row). A class
        that is not in the dict may use all transitions.
    solver : {"auto", "lbfgs", "owlqn", "cg", "sgd", "em"}, default="auto"
        As in `LatentChainCRF`. "sgd" needs ``tied=False`` and ``tied_transitions=False``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the losses of classes, ``{label: weight}``; "balanced" gives all classes the same
        total weight.
    fit_intercept : bool, default=True
        Give each state of each class an unpenalised weight of its own.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by state and feature.
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    states_ : ndarray of shape (n_classes * n_states,)
        Pairs (class, number of a state of it), class by class.
    coef_ : ndarray of shape (n_classes * n_states, n_features)
        Feature weights.
    transition_ : ndarray of shape (n_classes * n_states, n_classes * n_states)
        Transition weights, from row to column; 0 from a class to another.
    intercept_ : ndarray of shape (n_classes * n_states,)
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
    LatentChainCRF : A label with hidden states for each token.
    sklearn_struct.datasets.make_motions : Recordings to classify.

    Notes
    -----
    For numeric features, add their squares as columns. A score is linear in the features, so only
    with squares can a state say that a value is near a mean, as a state of a hidden Markov model
    with normal densities does.

    References
    ----------
    .. [1] A. Quattoni, S. Wang, L.-P. Morency, M. Collins and T. Darrell, "Hidden conditional
       random fields", IEEE Transactions on Pattern Analysis and Machine Intelligence 29(10), 2007.

    Examples
    --------
    Two classes that have the same tokens in a different order:

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
    state_transitions: Any = "all"
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
        "state_transitions": [StrOptions({"all", "left-to-right", "stay"}), Mapping],
        "solver": [StrOptions({"auto", "lbfgs", "owlqn", "cg", "sgd", "em"})],
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
        init : fitted HiddenStateClassifier, default=None
            Start from its weights, matched by state and by feature name (by position where there
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
            self._states = read_states(self.n_states, None, self.classes_)
            self._steps = read_steps(self.state_transitions, self._states, self.classes_)
        codes = single_labels.encode(labels, self.classes_, unseen)
        if reset:
            self._check_paths(sequences, codes)
        return codes

    def _weights(self, sample_weight: Any, sequences: Sequences, labels: np.ndarray) -> Weights:
        """Weights of sequences; of their tokens is known that they are in a state of the class."""
        lengths = sequences.X.lengths
        weight = sample_weights.of_examples(sample_weight, len(lengths), "sequence")
        if self.class_weight is not None:
            weight = (
                weight
                * sample_weights.class_weights(self.class_weight, self.classes_, labels, weight)[
                    labels
                ]
            )
            if not np.any(weight > 0):
                raise EmptyDataError("no sequence has a positive weight")
        weight = sample_weights.check_sum(weight)
        allowed = self._states.of_labels[np.repeat(labels, lengths)]
        return Weights(weight, Evidence(allowed=allowed), np.repeat(weight, lengths))

    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        n = self._width()
        # tables of parts and blocks have room for moves between classes, too
        reserve(32 * 8 * n_columns(n, 2), f"a model of {n} states of all classes")
        family = CliquePattern(2, 0, None, np.arange(n_columns(n, 2)))
        features = sequences.X.stored.shape[1]
        pattern = Pattern(features, n, None, (family,), np.arange(0), self.fit_intercept)
        return without_forbidden(pattern, joined(within_labels(self._states), self._steps))

    def _inference(self) -> ClassChains:
        return ClassChains(len(self.classes_))

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        loss = MarginalLikelihood(self._inference())
        return loss if self._steps is None else Constrained(loss, self._steps)

    # ---- from there to weights

    def _solved(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        if self.init == "labels" and self._states.several and not np.any(w0):
            alike = places_of_labels(self._pattern, self._states)
            w0 = solve_alike(settings, objective, alike, iterations.scale)
        starts = self._starts(w0)
        place = self._places()
        if place is None:
            return solve_from(settings, solver, objective, starts, iterations)
        if solver == "sgd":
            raise ValueError("solver='sgd' cannot tie weights; use 'lbfgs' or 'auto'")
        fewer = SharedWeights(objective, place)
        starts = [start._replace(w=fewer.gather(start.w)) for start in starts]
        return solve_from(settings, solver, fewer, starts, iterations)

    def _starts(self, w0: np.ndarray) -> list[Start]:
        """Where runs begin: w0 with noise, but first without, where its states differ already."""
        states = self._states
        n = self.n_init if states.several else 1
        starts = []
        for r, seed in enumerate(seeds(self.random_state, n)):
            pattern = self._pattern
            chosen = of_several(pattern, states) if r else of_alike(w0, pattern, states)
            starts.append(Start(with_noise(w0, chosen, np.random.RandomState(seed)), seed))
        return starts

    def _places(self) -> np.ndarray | None:
        """For each weight its place among those that differ; None where all do."""
        if not (self.tied or self.tied_transitions):
            return None
        states = self._states
        number = np.arange(self._width()) - states.first[states.label]
        place = places(self._pattern, number if self.tied else np.arange(self._width()))
        if self.tied_transitions:
            place = places_of_moves(self._pattern, place, states)
        return place

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        place = self._places()
        return super()._learned(w if place is None else w[place])
