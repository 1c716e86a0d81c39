"""First and last tokens that all labels emit with hardly any probability.

Probabilities of starts and ends are added to the scores of these tokens. Beside a score of -5e13,
that of a number ten million standard deviations away, they would lose all but two digits.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Structure, ends

__all__ = ["lower_far_ends"]

FAR = -1e4  # beside what is nearer, eleven decimals stay


def lower_far_ends(emitted: np.ndarray, structure: Structure) -> None:
    """Take the largest score (n, K) off those of a first or last token that is far away: all
    labellings of its sequence get the same constant more.
    """
    for tokens in ends(structure):
        largest = emitted[tokens].max(axis=1, initial=-np.inf)
        # without any possible label there is nothing to compare
        is_far = (largest < FAR) & (largest > -np.inf)
        if is_far.any():
            emitted[tokens[is_far]] -= largest[is_far, None]
