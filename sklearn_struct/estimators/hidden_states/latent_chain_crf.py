"""Linear-chain CRF whose labels have hidden states."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from sklearn_struct.encoding.labels.label_costs import read_cost
from sklearn_struct.encoding.labels.label_states import joined, read_states, read_steps
from sklearn_struct.estimators.chains.trained_chain import BaseTrainedChain
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.estimators.fitting.solving import Minimisation
from sklearn_struct.estimators.hidden_states.base_latent_chain import BaseLatentChain
from sklearn_struct.estimators.hidden_states.runs_of_states import StateRuns
from sklearn_struct.estimators.hidden_states.state_parameters import (
    RestartParameters,
    StateParameters,
)
from sklearn_struct.estimators.hidden_states.weights_of_states import without_forbidden
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.latent_margin import LatentMargin
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.max_margin import hinge
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["LatentChainCRF"]

HIDDEN = MarginalLikelihood(Chain())
KNOWN = LogLikelihood(Chain())  # where each label has one state


@with_parameters
class LatentChainCRF(
    StateParameters, RestartParameters, BasePartlyLabelled, BaseLatentChain, BaseTrainedChain
):
    """Linear-chain CRF whose labels have hidden states (latent-dynamic CRF).

    One label may stand for several kinds of tokens, or for several phases of a gesture. So each
    label y has hidden states h of its own, which the training data do not show. The model is a
    chain of pairs s = (y, h) [1]_:

        p(y | x) = sum_h p(s | x),    p(s | x) = exp(sum_t coef[s_t] . x_t + intercept[s_t] + sum_t
        transition[s_{t-1}, s_t]) / Z(x).

    The objective is that of `LinearChainCRF`. The loss is minus the log-probability of the labels,
    which is a sum over their states [2]_. The objective is not convex, so the result depends on
    where training begins. With one state for each label the model is a `LinearChainCRF`.

    Read more in :doc:`/user_guide/hidden_states`.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "owlqn", "cg", "sgd", "em", "frank-wolfe"}, default="auto"
        "lbfgs", "cg" (nonlinear conjugate gradients) and "sgd" (averaged stochastic gradient
        descent) are for the L2 penalty, "owlqn" for L1 and elastic net. They follow the gradient
        of the objective. "em", expectation maximisation, is for all penalties: it computes the
        expected features given the labels, moves the weights by a few iterations of L-BFGS or
        OWL-QN, and repeats both. "auto" is "owlqn" if ``l1_ratio > 0``, else "lbfgs".
        ``loss="hinge"`` needs "frank-wolfe", which is then "auto", or "sgd".
    loss : {"log_likelihood", "hinge"}, default="log_likelihood"
        "log_likelihood": minus the log-probability of the labels. "hinge": the loss of the latent
        structured support vector machine [3]_. The best labelling by states of the right labels
        should have a score that exceeds that of each other labelling by the cost of the latter.
        "frank-wolfe" is repeated with the best states of the labels until these change nothing.
        Probabilities are not calibrated: choose ``decoder="viterbi"``. There are no shared states.
    cost : array-like of shape (n_labels, n_labels), default=None
        With ``loss="hinge"``: the cost of predicting a label (column) where another one (row) is
        right, in the order of ``classes_``, with zeros on the diagonal. None: 1 for each wrong
        label.
    decoder : {"marginal", "viterbi"}, default="marginal"
        What `predict` returns. "marginal": at each token the label with the highest probability,
        summed over its states. With `allowed_transitions` it is the allowed labelling with the
        largest sum of these probabilities. "viterbi": the labels of the most probable sequence of
        states.
    order : {1, 2}, default=1
        As in `LinearChainCRF`. A token costs n_states**2 or n_states**3 operations, where n_states
        counts the states of all labels.
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, state) get a weight: those that may stand together in the training
        data, or all. A dense X stores all its values, so there both are the same.
    transition_features : {"all", "observed"}, default="all"
        Which transitions of states get a weight: all, or those whose labels follow each other. The
        others keep weight 0; they are not forbidden.
    fit_intercept : bool, default=True
        Give each state an unpenalised weight of its own.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by state and feature.

    Attributes
    ----------
    states_ : ndarray of shape (n_states,)
        Pairs (label, number of a state of it), label by label.
    coef_ : ndarray or csr_array of shape (n_states, n_features)
        Feature weights; sparse if X is.
    transition_ : ndarray of shape (n_states, n_states)
        Transition weights, from row to column.
    transition2_ : ndarray of shape (n_states, n_states, n_states)
        Weights of three states in a row, in their order; only with ``order=2``.
    intercept_ : ndarray of shape (n_states,)
    edge_coef_ : ndarray or csr_array of shape (n_states * n_states, n_edge_features)
        Weights of the edge features; row j * n_states + k for the transition from state j to k.
        With ``order=2`` rows of three states follow.
    n_iter_ : int
        Iterations of `fit`, from the start that led to the lowest objective.
    loss_curve_ : list of float
        Objective / C after each of these iterations: sum of losses + penalty / C.

    See Also
    --------
    LinearChainCRF : One state for each label; ``fit(X, y, init=crf)`` starts from its weights, with
        noise that tells the states apart.
    sklearn_struct.inspection.latent_states : What the states of a label stand for.
    HiddenStateClassifier : One label for each sequence.

    Notes
    -----
    `allowed_transitions` is about labels, `state_transitions` about the states of one label, in
    training and in predictions. Set `random_state` for the same result in each fit.

    References
    ----------
    .. [1] L.-P. Morency, A. Quattoni and T. Darrell, "Latent-dynamic discriminative models for
       continuous gesture recognition", CVPR 2007.
    .. [2] C. Sutton and A. McCallum, "An introduction to conditional random fields", Foundations
       and Trends in Machine Learning 4(4), 2012, section 5.1.3 (equations 5.10 to 5.19).
    .. [3] C.-N. Yu and T. Joachims, "Learning structural SVMs with latent variables", ICML 2009.

    Examples
    --------
    The label "outer" has two kinds of tokens: values below those of "inner", and values above:

    >>> import numpy as np
    >>> from sklearn_struct import LatentChainCRF, LinearChainCRF
    >>> values = [[-1, 0], [0, 1], [1, 1], [0, 0], [-1, -1], [1, -1], [0, -1, 1, 0]]
    >>> X = [np.array(x)[:, None] for x in values] * 5
    >>> y = [["inner" if v == 0 else "outer" for v in x] for x in values] * 5
    >>> LinearChainCRF(C=10).fit(X, y).score(X, y)
    0.625
    >>> crf = LatentChainCRF(n_states={"outer": 2}, C=10, random_state=0).fit(X, y)
    >>> crf.score(X, y)
    1.0
    >>> crf.predict_states([[[1.0], [0.0], [-1.0]]])[0]
    [('outer', 0), ('inner', 0), ('outer', 1)]
    """

    loss: str = "log_likelihood"
    cost: ArrayLike | None = None
    decoder: str = "marginal"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"auto", "lbfgs", "owlqn", "cg", "sgd", "em", "frank-wolfe"})],
        "loss": [StrOptions({"log_likelihood", "hinge"})],
        "cost": [None, "array-like"],
        "decoder": [StrOptions({"marginal", "viterbi"})],
    }
    _settings = (*BaseTrainedChain._settings, "decoder")

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        is_known = evidence is not None and evidence.allowed is None
        if self.loss == "hinge":
            cost = self._states.costs(read_cost(self.cost, self.classes_, self.dtype))
            return hinge(Chain(), cost) if is_known else LatentMargin(Chain(), cost)
        if self.cost is not None:
            raise ValueError(f"cost is of loss='hinge'; loss={self.loss!r} has none")
        return KNOWN if is_known else HIDDEN

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        codes = super()._read_labels(y, sequences, reset, unseen)
        if reset:
            self._states = read_states(self.n_states, self.shared_states, self.classes_)
            self._steps = read_steps(self.state_transitions, self._states, self.classes_)
        return codes

    def _weights(self, sample_weight: Any, sequences: Sequences, labels: np.ndarray) -> Weights:
        """Weights, and what is known of the states."""
        weights = super()._weights(sample_weight, sequences, labels)
        if labels.ndim == 1 and not self._states.several and self.solver != "em":
            return weights
        return weights._replace(evidence=Evidence(allowed=self._state_masks(labels)))

    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        states = self._states
        if not states.several:
            return super()._observe(sequences, codes, weight)
        masks = self._state_masks(codes)
        pattern = super()._observe(sequences, masks, weight)
        if states.shared and pattern.node is not None:
            # what one label shows of a state that it shares, the others have, too
            same = states.group[:, None] == states.group
            shown = super()._observe(sequences, masks @ same, weight)
            pattern = pattern._replace(node=shown.node)
        return without_forbidden(pattern, self._steps)

    def _training_transitions(self) -> Transitions | None:
        return joined(self._steps, super()._training_transitions())

    def _rows_for(self, start: Any) -> np.ndarray:
        if hasattr(start, "states_"):
            return self._alphabet()
        # states begin with the weights of their label
        rows: np.ndarray = self.classes_[self._states.label]
        return rows

    def _solved(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        return self._runs().solve(settings, solver, objective, w0, iterations)

    def _runs(self) -> StateRuns:
        return StateRuns(self._pattern, self._states, self.init, self.n_init)

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        return super()._learned(self._runs().spread(w))
