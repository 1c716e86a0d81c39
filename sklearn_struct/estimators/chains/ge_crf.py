"""Conditional random field that learns from labelled features, too: generalized expectation
criteria.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.encoding.labels import partial_labels
from sklearn_struct.encoding.two_dimensional_input import refuse_without_labels
from sklearn_struct.estimators.chains.target_criteria import (
    POSTERIOR,
    TargetCriteria,
    Wanted,
    among_allowed,
    label_set,
    loss_of,
    possible_sums,
    read_criteria,
    read_shares,
)
from sklearn_struct.estimators.chains.trained_chain import BaseTrainedChain
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.solving import minimise
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.expectation_criteria import DISTANCES
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.semi_supervised import SemiSupervised, is_labelled
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.solvers.result import Result

__all__ = ["GECRF"]

RANDOM = 0.1  # standard deviation of random starts


@with_parameters
class GECRF(BasePartlyLabelled, BaseTrainedChain):
    """Linear-chain CRF that learns from labelled features, from unlabelled text and from labels.

    A labelled feature says "this word usually means that field". It is a feature of X together with
    a target: the distribution of labels that the tokens with this feature should have on average.
    Training looks for a CRF whose expectations in the unlabelled sequences are near the targets
    (generalized expectation criteria [1]_). The model is the chain of `LinearChainCRF`, and the
    objective is

        C * (loss of labelled sequences + sum_m weight_m * D(target_m, expected_m) +
        entropy_weight * sum_unlabelled H(y | x_i)) + penalty,

        penalty = (1 - l1_ratio) / 2 * ||w||_2**2 + l1_ratio * ||w||_1

    where expected_m(l) = sum_t f_m(t) p(y_t = l | x) / sum_t f_m(t). The sums are over all tokens t
    of unlabelled sequences, and f_m(t) >= 0 is the value of labelled feature m at token t. D is the
    Kullback-Leibler divergence or the squared distance. The loss of a labelled sequence is
    -log p(y_i | x_i). A sequence with some known labels counts as labelled: its loss is minus the
    log-probability of all labellings that agree with them. The objective is not convex if there are
    unlabelled or partly labelled sequences.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    labeled_features : dict, default=None
        The targets. A key is a feature, by its name in X or its column; None is a feature that
        every token has. A value says which labels the tokens with this feature have:

        - a label: it gets the probability `majority`, and the others share the rest;
        - a dict ``{label: probability}``, which sums to 1; labels that are left out have 0;
        - a dict or Counter ``{label: count}`` of whole numbers, from annotated tokens; `smoothing`
          is added to the counts.

        Pairs ``(label before, label)`` may stand in the place of labels. They are targets for the
        pairs of labels that end at tokens with the feature. Labelled features must not be
        negative.
    target_weight : "auto", float or dict, default="auto"
        Weight of the distance of each labelled feature (lambda of [1]_). A number is for all
        features; a dict gives weights to features, and others have weight 1. "auto" is 10 without
        labelled sequences and 1 with them; for ``distance="posterior"`` it is 20. Without labelled
        sequences only its product with C matters.
    distance : {"kl", "squared", "posterior"}, default="kl"
        How far an expected distribution is from its target. "kl": the Kullback-Leibler divergence.
        "squared": the squared Euclidean distance. "posterior": posterior regularisation [3]_. The
        sum over m in the objective is then the minimum of

            KL(q || p) + sum_m weight_m * sum_l max(0, least_m(l) - expected count of l in q)

        over all distributions q of labellings, where least_m(l) is target_m(l) * sum_t f_m(t), for
        the labels that the target names. Here a target is a smallest share, which q keeps unless
        that costs more than the weight. Training draws p towards q. `entropy_weight` must be 0.
    majority : float, default=0.99
        Probability of the label, where `labeled_features` gives a single label.
    smoothing : float, default=0.01
        Added to the count of each label, where `labeled_features` gives counts.
    entropy_weight : float, default=0.0
        Weight of the entropy of the labellings of unlabelled sequences [2]_. A positive weight
        prefers models that are certain of their labels. Start with 0.001: with a large weight the
        model predicts few labels only.
    classes : array-like of shape (n_labels,), default=None
        All labels. None: the labels in y and `labeled_features`, with a warning if y has none.
    C : float, default=10.0
        Inverse strength of the penalty (sigma**2 of [1]_), ``np.inf`` for none.
    solver : {"auto", "lbfgs", "owlqn", "cg", "gradient", "em"}, default="auto"
        "auto" is "owlqn" if ``l1_ratio > 0``, else "lbfgs". "em" is for ``distance="posterior"``:
        it finds the nearest distribution of labellings, moves the model towards it, and repeats
        both, as in [3]_.
    init : {"zero", "labelled", "random"}, default="zero"
        Where training begins, unless `fit` gets `init`: at zeros, at the weights of a model of the
        labelled sequences alone, or at random weights.
    n_restarts : int, default=0
        Number of additional random starts. The fit with the lowest objective is kept.
    annealing : iterable of float, default=None
        Shares of `target_weight` and `entropy_weight`, such as ``(0.01, 0.1)``. Training runs with
        each share, one after the other, and then with the whole weights.
    order : {1, 2}, default=1
        As in `LinearChainCRF`. Order 2 is slow, since training needs second derivatives.
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, label) get a weight. "observed": pairs of a feature and a label that
        its token may have; in unlabelled text it may have any. "all": all pairs.
    constrain_training : bool, default=False
        Whether training, too, leaves out the labellings that `allowed_transitions` forbids.
    fit_intercept : bool, default=False
        Give each label an unpenalised weight of its own. In unlabelled text it may make labels
        frequent or rare for no reason. On postal addresses, models without it were better.
    tol : float, default=1e-5
        Training stops when no entry of the objective's gradient, divided by C and the total sample
        weight (in which all unlabelled sequences count), exceeds `tol`. With float32 a gradient has
        rounding errors, of about 1e-7 times the scores and values of features. A smaller `tol` is
        not reached; a warning then says how large the errors are.
    random_state : int, RandomState or None, default=None
        For random starts.

    Attributes
    ----------
    targets_ : dict
        For each labelled feature the probabilities of its target.
    n_iter_ : int
        Iterations of the last run of the best start, after `annealing`.
    loss_curve_ : list of float
        Objective / C after each of these iterations.

    See Also
    --------
    sklearn_struct.labeled_features : Functions that suggest features to label, and that estimate
        targets from a few annotated tokens.
    sklearn_struct.inspection.target_report : Where labelled features occur, and how near
        the model is to their targets.
    sklearn_struct.model_selection.KeepUnlabeled : Cross-validation with unlabelled sequences.
    LinearChainCRF : The same model, learned from labels alone.

    References
    ----------
    .. [1] G. S. Mann and A. McCallum, "Generalized expectation criteria for semi-supervised
       learning of conditional random fields", ACL 2008.
    .. [2] F. Jiao, S. Wang, C.-H. Lee, R. Greiner and D. Schuurmans, "Semi-supervised conditional
       random fields for improved sequence segmentation and labeling", COLING/ACL 2006.
    .. [3] K. Ganchev, J. Graca, J. Gillenwater and B. Taskar, "Posterior regularization for
       structured latent variable models", JMLR 2010, section 2.

    Examples
    --------
    >>> from sklearn_struct import GECRF
    >>> words = {"$": "RENT", "month": "RENT", "room": "SIZE"}
    >>> X = [["rent", "$", "900", "month"], ["quiet", "room"],
    ...      ["sunny", "room"], ["$", "750", "month"]]
    >>> crf = GECRF(labeled_features=words).fit(X, [None] * 4)
    >>> crf.predict([["$", "800", "month"], ["sunny", "room"]]).tolist()
    [['RENT', 'RENT', 'RENT'], ['SIZE', 'SIZE']]
    """

    labeled_features: Mapping[Any, Any] | None = field(default=None, kw_only=False)
    target_weight: str | float | Mapping[Any, float] = "auto"
    distance: str = "kl"
    majority: float = 0.99
    smoothing: float = 0.01
    entropy_weight: float = 0.0
    classes: Any = None
    C: float = 10.0
    init: str = "zero"
    n_restarts: int = 0
    annealing: Iterable[float] | None = None
    fit_intercept: bool = False
    tol: float = 1e-5
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "labeled_features": [Mapping, None],
        "target_weight": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="left"),
            Mapping,
        ],
        "distance": [StrOptions({*DISTANCES, POSTERIOR})],
        "majority": [Interval(Real, 0, 1, closed="right")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "entropy_weight": [Interval(Real, 0, None, closed="left")],
        "classes": ["array-like", None],
        "solver": [StrOptions({"auto", "lbfgs", "owlqn", "cg", "gradient", "em"})],
        "init": [StrOptions({"zero", "labelled", "random"})],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "annealing": [Iterable, None],
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of sequences, SequenceArray, array-like or sparse matrix of shape (n, n_features)
            As in `LinearChainCRF`, labelled and unlabelled sequences together.
        y : list of label sequences, SequenceArray, array-like of shape (n,) or None, default=None
            A label for each token, None if nothing is known, or a set if one of several labels is
            right. If no label of a sequence is known, None may stand for its list; if no label is
            known at all, None for y.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence. It multiplies the loss of a labelled sequence, and the tokens
            of an unlabelled one in the expected distributions.
        init : fitted estimator of the same family, default=None
            Start from its weights, matched by label and by feature name (by position where there
            are no names).

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, NonFiniteError, UnknownLabelError, EmptyDataError, InputTypeError, \
        ForbiddenLabelError
            With the place or the labelled feature; ValueError for a feature that X does not have,
            or probabilities that do not sum to one. The estimator is then as it was before.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    _masks_of_labels = True

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        return MarginalLikelihood(Chain())

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """Masks (n_tokens, n_labels) of what may stand at each token."""
        if y is None and self.labeled_features is None and reset:
            return self._read_y(y, sequences, reset)
        if y is None and sequences.flat and reset:
            refuse_without_labels(len(sequences.X), "GECRF")
        offsets = sequences.X.offsets
        flat = self._flat_labels(y, offsets, sequences.flat)
        if reset:
            self.classes_ = label_set(self.classes, self.labeled_features, flat, offsets)
        elif not partial_labels.is_partial(flat):
            return self._read_y(y, sequences, reset, unseen)
        return partial_labels.masks(flat, self.classes_, offsets, unseen)

    def _read_weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> tuple[sample_weights.Weights, Loss]:
        """Weights, with the labels of each token and the labelled features that it has, and the
        loss of both.
        """
        X = sequences.X
        weights = self._weights(sample_weight, sequences, labels)
        # criteria look at unlabelled sequences alone
        free = np.repeat(~is_labelled(labels, X.offsets), X.lengths)
        given, fired = read_criteria(self._wanted(), self.classes_, X, weights.token, free)
        transitions = self._training_transitions()
        if transitions is not None:
            K = len(self.classes_)
            sums = possible_sums(given, fired, transitions, X.offsets, weights.sequence, K)
            given = among_allowed(given, sums, self.classes_)
        evidence = weights.evidence._replace(fired=fired)
        return weights._replace(evidence=evidence), self._loss_of(given)

    def _wanted(self) -> Wanted:
        """What the parameters say of labelled features."""
        return Wanted(
            self.labeled_features or {},
            self.target_weight,
            self.distance,
            self.majority,
            self.smoothing,
        )

    def _loss_of(self, given: TargetCriteria) -> Loss:
        """The loss with these criteria; their targets are learned."""
        self.targets_ = {
            target.feature: self._named(target.probability) for target in given.targets
        }
        of_unlabelled = loss_of(given, self.distance, self.entropy_weight)
        if self.solver == "em" and not of_unlabelled.has_parts:
            raise ValueError(
                "solver='em' is that of distance='posterior'; with "
                f"distance={self.distance!r} use 'lbfgs' or 'auto'"
            )
        return SemiSupervised(self._loss(), of_unlabelled)

    def _weights_of_part(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> sample_weights.Weights:
        # criteria are those of all data
        return self._weights(sample_weight, sequences, labels)

    def _class_set(self, labels: list[Any]) -> np.ndarray:
        return label_set(self.classes, self.labeled_features, labels, np.array([0, len(labels)]))

    def _distinct_labels(self, y: Any, sequences: Sequences) -> tuple[list[Any], bool]:
        if y is None and sequences.flat:
            refuse_without_labels(len(sequences.X), "GECRF")
        labels, _ = super()._distinct_labels(y, sequences)
        return labels, True

    def _named(self, probability: np.ndarray) -> dict[Any, float]:
        """Probabilities by label, or by pair of labels."""
        names = self.classes_.tolist()
        if len(probability) > len(names):
            names = [(before, label) for before in names for label in names]
        return dict(zip(names, probability.tolist(), strict=True))

    def _begin(self, solver: str, objective: LinearObjective, w0: np.ndarray) -> np.ndarray:
        """Where the last run starts: of several starts, where the lowest minimum was found from."""
        settings = self._minimisation()
        rng = check_random_state(self.random_state)
        shares = read_shares(self.annealing)
        starts = [rng.normal(scale=RANDOM, size=len(w0)) for _ in range(self.n_restarts)]
        if self.init == "random" and not np.any(w0):
            w0 = rng.normal(scale=RANDOM, size=len(w0))
        if self.init == "labelled" and not np.any(w0):
            shares = [0.0, *shares]

        def run(w: np.ndarray, share: float) -> Result:
            annealed = objective.with_loss(objective.loss.scaled(share))
            return minimise(settings, solver, annealed, w, objective.total_weight)

        best = np.inf
        for w in [w0, *starts]:
            for share in shares:
                w = run(w, share).w
            value = run(w, 1.0).value if self.n_restarts else -np.inf
            if value < best:
                w0 = w
                best = value
        return w0
