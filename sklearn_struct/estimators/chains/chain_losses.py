"""Losses of linear chains that `LinearChainCRF` and its search over penalties minimise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from sklearn_struct.encoding.labels.label_costs import read_cost
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.sample_weights import LabelWeights
from sklearn_struct.estimators.fitting.solving import OF_TERMS
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.latent_margin import LatentMargin
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.max_margin import MaxMargin, hinge
from sklearn_struct.losses.pointwise import Pointwise
from sklearn_struct.losses.softmax_margin import SoftmaxMargin

__all__ = ["OF_SOLVERS", "BaseChainLosses"]

LOSSES: dict[str, Loss] = {
    "log_likelihood": LogLikelihood(Chain()),
    "pointwise": Pointwise(Chain()),
}
PARTIAL = MarginalLikelihood(Chain())
HINGE = hinge(Chain())
# losses with costs of wrong labels
OF_COSTS: dict[str, Callable[[Inference, np.ndarray | None], Loss]] = {
    "softmax_margin": SoftmaxMargin,
    "hinge": hinge,
}
# those with their own
OF_SOLVERS = {"ap": MaxMargin(Chain()), "pa": HINGE, "pa-ii": HINGE, "arow": HINGE}
CONVEX_ONLY = {*OF_TERMS, *OF_SOLVERS}


@with_parameters
class BaseChainLosses:
    """Mixin of chains that are trained by one of several losses, of labels that may be missing.

    Parameters
    ----------
    loss : {"log_likelihood", "pointwise", "softmax_margin", "hinge"}, default="log_likelihood"
        What `fit` minimises for each sequence. "log_likelihood": minus the log-probability of the
        labelling. "pointwise": minus the sum of the log-probabilities of its labels [5]_. This loss
        takes weights of tokens and labels. It is not convex, and costs three to four times as much
        time. The solvers "newton-cg", "trust-ncg", "ap", "pa", "pa-ii" and "arow" cannot minimise
        it. "softmax_margin": minus the log-probability, where `cost` is added to the scores of
        wrong labels [8]_. "ap", "pa", "pa-ii" and "arow" cannot minimise it either. "hinge": the
        loss of the structured support vector machine [9]_. The score of the labelling should exceed
        that of each other labelling by the cost of the latter. The loss is the largest amount by
        which this fails. Its probabilities are not calibrated. The solvers "frank-wolfe" and "sgd"
        minimise it. Where labels are missing it is that of the latent structured support vector
        machine (Yu and Joachims, ICML 2009), which is not convex: "frank-wolfe" is repeated with
        the best completion of the labels.
    class_weight : dict of {label: weight}, "balanced" or None, default=None
        Weights of labels, which multiply those of tokens. A label that is not in the dict has
        weight 1. "balanced" gives all labels the same sum of weights. For ``loss="pointwise"``, or
        a two-dimensional X. The probabilities are then those of the weighted data.
    cost : array-like of shape (n_labels, n_labels), default=None
        For ``loss="softmax_margin"`` and "hinge": the cost of predicting a label (column) where
        another one (row) is right, in the order of ``classes_``, with zeros on the diagonal. None:
        1 for each wrong label. A higher cost makes an error rarer; probabilities are then not
        calibrated. The training data must have exactly the labels of the matrix, also in each
        training part of a search. Give ``classes`` to the first ``partial_fit``.
    """

    loss: str = "log_likelihood"
    class_weight: dict[Any, float] | str | None = None
    cost: ArrayLike | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({*LOSSES, *OF_COSTS})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "cost": [None, "array-like"],
    }

    def _label_weights(self: Any) -> LabelWeights:
        return LabelWeights(self.classes_, self.class_weight)

    def _loss(self: Any, evidence: Evidence | None = None) -> Loss:
        if evidence is not None and evidence.allowed is not None:
            if self.loss == "hinge":
                return LatentMargin(Chain(), read_cost(self.cost, self.classes_, self.dtype))
            if self.loss != "log_likelihood" or self.solver in CONVEX_ONLY:
                raise ValueError(
                    "missing labels and sets of labels need loss='log_likelihood' or 'hinge', and "
                    "another solver than "
                    f"{', '.join(map(repr, sorted(CONVEX_ONLY)))}, got loss={self.loss!r} and "
                    f"solver={self.solver!r}"
                )
            return PARTIAL
        if self.solver in OF_SOLVERS and self.loss != "log_likelihood":
            raise ValueError(
                f"solver={self.solver!r} has a loss of its own; loss={self.loss!r} needs another "
                "solver"
            )
        if self.loss in OF_COSTS:
            cost = read_cost(self.cost, self.classes_, self.dtype)
            return OF_COSTS[self.loss](Chain(), cost)
        if self.cost is not None:
            raise ValueError(
                f"cost is of loss='softmax_margin' and 'hinge'; loss={self.loss!r} has none"
            )
        return OF_SOLVERS[self.solver] if self.solver in OF_SOLVERS else LOSSES[self.loss]
