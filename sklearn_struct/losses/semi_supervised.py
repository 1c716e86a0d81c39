"""A loss of examples that are labelled, as far as they are, plus one of those that are not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.losses.expectation_criteria import Criteria, Expectation, Fired
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood

__all__ = ["SemiSupervised", "Supervision", "labelled"]


@dataclass(frozen=True)
class Supervision:
    """What is known of tokens: a mask of allowed labels (n_tokens, n_labels), and the criteria that
    fire there.

    Cut by tokens, as labels are.
    """

    allowed: np.ndarray
    fired: Fired
    criteria: tuple[Criteria, Criteria]  # of labels, and of label pairs
    entropy_weight: float = 0.0

    def __getitem__(self, tokens: slice) -> Supervision:
        return replace(self, allowed=self.allowed[tokens], fired=self.fired.of(tokens))

    def scaled(self, share: float) -> Supervision:
        """The same with a share of the weights of what is asked of unlabelled examples."""
        node, edge = (
            criteria._replace(weight=share * criteria.weight) for criteria in self.criteria
        )
        return replace(self, criteria=(node, edge), entropy_weight=share * self.entropy_weight)

    def __len__(self) -> int:
        return len(self.allowed)


def labelled(allowed: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Whether anything is known of each example: a token where not every label may stand."""
    known = np.concatenate([[0], np.cumsum(~allowed.all(axis=1))])
    return known[offsets[1:]] > known[offsets[:-1]]


class SemiSupervised:
    """-log p(y is allowed | x) of labelled examples, and an `Expectation` of the others.

    Parameters
    ----------
    likelihood : MarginalLikelihood
    expectation : Expectation
    """

    convex = False
    token_weights = False

    def __init__(self, likelihood: MarginalLikelihood, expectation: Expectation) -> None:
        self.likelihood = likelihood
        self.expectation = expectation

    @property
    def couples(self) -> bool:
        """Whether examples depend on each other."""
        return self.expectation.couples

    def statistics(
        self, potentials: Potentials, y: Supervision, structure: Structure, weight: np.ndarray
    ) -> np.ndarray:
        """Those of the unlabelled examples."""
        free = np.where(labelled(y.allowed, structure.offsets), 0.0, weight)
        return self.expectation.statistics(potentials, y.fired, structure, free)

    def outer(self, statistics: np.ndarray) -> tuple[float, SemiSupervised]:
        """What the sums of `statistics` cost, and the loss of single examples that has the whole's
        derivative.
        """
        value, expectation = self.expectation.outer(statistics)
        return value, SemiSupervised(self.likelihood, expectation)

    def __call__(
        self,
        potentials: Potentials,
        y: Supervision,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative to `out`."""
        known = labelled(y.allowed, structure.offsets)
        of_labelled = np.zeros(len(weight))
        if np.any(known):
            self.likelihood(
                potentials, y.allowed, structure, np.where(known, weight, 0.0), out, of_labelled
            )
        self.expectation(potentials, y.fired, structure, np.where(known, 0.0, weight), out, value)
        value += of_labelled
