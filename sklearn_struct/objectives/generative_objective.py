"""The objective of a joint model of texts and labels: log Z of all texts of the same lengths, less
log of the sum over the labellings that a text may have.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.objectives.linear_objective import LinearObjective

__all__ = ["GenerativeObjective"]


class GenerativeObjective(LinearObjective):
    """Minus the mean log-probability of texts with the labellings that they may have.

        value = words(w) - texts(w)

    Both are convex, and functions of the same weights.

    Parameters
    ----------
    texts : LinearObjective
        The mean of log Z of each text, among the labellings that it may have.
    words : LinearObjective
        The sum of log Z of all texts that might stand in their places, divided by the same total.
    """

    def __init__(self, texts: LinearObjective, words: LinearObjective) -> None:
        super().__init__(texts.potentials, texts.loss, texts.inference, texts.data)
        self.texts = texts
        self.words = words

    def on(self, pool: Pool) -> Self:
        """The same objective on the threads of a pool."""
        objective = super().on(pool)
        objective.texts = self.texts.on(pool)
        objective.words = self.words.on(pool)
        return objective

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The difference of the parts, and of their gradients."""
        of_words, slope = self.words.value_and_grad(w)
        of_texts, expected = self.texts.value_and_grad(w)
        return of_words - of_texts, slope - expected

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The difference of the parts' second derivatives at w, times v."""
        product = self.words.hess_vec(w, v)
        product -= self.texts.hess_vec(w, v)
        return product

    def parts(self) -> tuple[LinearObjective, LinearObjective]:
        """What is convex, and what is subtracted from it."""
        return self.words, self.texts
