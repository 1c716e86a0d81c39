"""What all steps of EM that concern measurements do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["NumberSteps"]


@dataclass(frozen=True)
class NumberSteps(ABC):
    """The steps of EM that concern measurements x (n, d), of sequences with bounds `offsets`; least
    variances (d,), and the kind of covariances.
    """

    floor: np.ndarray
    kind: str

    def is_hidden(self, x: np.ndarray) -> bool:
        """Whether EM is needed where all labels are known."""
        return False

    @abstractmethod
    def fit(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        posterior: np.ndarray,
        before: Any,
        spare: np.ndarray,
    ) -> Any:
        """The most probable distributions given posteriors (n, K), or a step of EM from those
        `before`. If no row has a posterior, the weights of rows are `spare`.
        """

    def begin(
        self, x: np.ndarray, offsets: np.ndarray, posterior: np.ndarray, rng: np.random.RandomState
    ) -> Any:
        """What stands for `before` in the first step, where states are known; None if `fit` needs
        nothing.
        """
        return None

    @abstractmethod
    def random(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        share: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Any:
        """Distributions of K states at rows that are drawn in proportion to `share`."""

    @abstractmethod
    def taken_over(self, before: Any) -> Any:
        """Distributions of another model, with covariances of this kind, as near as possible."""
