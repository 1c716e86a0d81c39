"""What all steps of EM that concern measurements do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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
    def counts(
        self, x: np.ndarray, offsets: np.ndarray, rows: slice, posterior: np.ndarray, before: Any
    ) -> Any:
        """What `fit` needs of some rows, whose posteriors (n, K) are given. ``a.merged(b)`` is that
        of the rows of both. What is missing is expected under the distributions `before`.
        """

    @abstractmethod
    def of_all(self, x: np.ndarray, offsets: np.ndarray, weight: np.ndarray) -> Any:
        """Counts of all weighted rows, as of one state."""

    @abstractmethod
    def fit(self, counts: Any, spare: Callable[[], Any]) -> Any:
        """The most probable distributions; if no row has a posterior, those of `spare`, which are
        `of_all`.
        """

    def begin(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Any:
        """What stands for `before` in the first step, where states of rows are known (-1 where they
        are not); None if nothing is missing.
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
