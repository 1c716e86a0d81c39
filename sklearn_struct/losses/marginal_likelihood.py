"""Minus the log-probability of what is known of a labelling: log Z - log Z(allowed) (P3, "expected
gradient").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.chains.forbidden import forbid_labels

__all__ = ["MarginalLikelihood"]


class MarginalLikelihood:
    """The loss -log p(y is allowed | x) of each example, summed over all labellings that its sets
    of labels allow.

    y is a mask (n_tokens, n_labels) of the labels that may stand at each token: one for a known
    label, all for an unknown one. The gradient is the marginals minus those among the allowed
    labellings (Salakhutdinov, Roweis and Ghahramani, ICML 2003). Not convex, but where each token
    has one label it is the likelihood.

    Parameters
    ----------
    inference : module or object with ``marginals(potentials, structure, weight, out, log_Z)``
        And for `hess_vec` ``tangent(potentials, reward, structure, weight, out, mean)``.
    """

    convex = False
    token_weights = False

    def __init__(self, inference: Any) -> None:
        self.inference = inference

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative to `out`."""
        allowed = np.empty(len(weight))
        self.inference.marginals(potentials, structure, weight, out, value)
        self.inference.marginals(forbid_labels(potentials, y), structure, -weight, out, allowed)
        value -= allowed

    def hess_vec(
        self,
        potentials: Potentials,
        direction: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
    ) -> None:
        """Add ``weight[i]`` times the second derivative in a direction, a difference of
        covariances, to `out`.
        """
        mean = np.empty(len(weight))
        self.inference.tangent(potentials, direction, structure, weight, out, mean)
        self.inference.tangent(
            forbid_labels(potentials, y), direction, structure, -weight, out, mean
        )
