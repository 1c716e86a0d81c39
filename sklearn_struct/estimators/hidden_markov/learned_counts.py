"""Distributions of counts that a hidden Markov model learned, or that somebody put into their
place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct._whole_fits import Published
from sklearn_struct.estimators.hidden_markov.stream_learning import EMISSIONS, INPUT

__all__ = ["BaseCounts", "check_outcomes", "check_rates", "n_streams", "set_kinds", "stream_kinds"]


class BaseCounts(Published):
    """How each stream is distributed; ``rates_`` and ``count_logprob_``, checked."""

    classes_: np.ndarray
    vocabulary_: list[dict[Any, int] | None]
    rates_: np.ndarray
    count_logprob_: np.ndarray
    n_trials_: int
    # how each stream was distributed in `fit`; the parameter may have changed since
    _emissions: list[str]
    # whether some columns of X are not emitted, but drive transitions
    _has_inputs = False

    @property
    def _kinds(self) -> list[str]:
        """How each stream is distributed, "categorical", "gaussian", "poisson" or "multinomial", or
        "input" if it is given.
        """
        # models of symbols and measurements need not say so
        known: list[str] | None = vars(self).get("_emissions")
        if known is None:
            known = ["categorical" if values else "gaussian" for values in self._is_coded]
        return known

    @property
    def _is_coded(self) -> list[bool]:
        return [values is not None for values in self.vocabulary_]

    def _rates(self) -> np.ndarray:
        """The rates (K, c) of Poisson streams."""
        shape = (len(self.classes_), self._kinds.count("poisson"))
        return check_rates(getattr(self, "rates_", np.empty((shape[0], 0))), shape)

    def _outcomes(self) -> np.ndarray:
        """The table (K, c) of multinomial streams."""
        shape = (len(self.classes_), self._kinds.count("multinomial"))
        return check_outcomes(getattr(self, "count_logprob_", np.empty((shape[0], 0))), shape)


def check_rates(of_labels: Any, shape: tuple[int, int]) -> np.ndarray:
    """Raise ValueError unless they are rates of Poisson distributions."""
    rates: np.ndarray = np.asarray(of_labels, np.float64)
    if rates.shape != shape:
        raise ValueError(
            f"rates_ has the shape {rates.shape}; for {shape[0]} labels and {shape[1]} Poisson "
            f"streams it must be {shape}"
        )
    if not np.all((rates > 0) & np.isfinite(rates)):
        raise ValueError("rates_ must be positive, finite numbers")
    return rates


def check_outcomes(of_labels: Any, shape: tuple[int, int]) -> np.ndarray:
    """Raise ValueError unless they are log-probabilities of the outcomes of trials."""
    table: np.ndarray = np.asarray(of_labels, np.float64)
    if table.shape != shape:
        raise ValueError(
            f"count_logprob_ has the shape {table.shape}; for {shape[0]} labels and {shape[1]} "
            f"multinomial streams it must be {shape}"
        )
    # by rounding, a probability of 1 may be a little more; nan fails here, too
    if not np.all(table < 1e-6):
        raise ValueError("count_logprob_ must be logarithms of probabilities, at most 0")
    return table


def stream_kinds(model: BaseCounts) -> list[str]:
    """How each stream of a model is distributed."""
    return model._kinds


def n_streams(model: BaseCounts, kind: str) -> int:
    """How many streams of a model are distributed so."""
    return model._kinds.count(kind)


def set_kinds(model: BaseCounts, kinds: list[str]) -> None:
    """Say how each stream of a model is distributed, after its vocabularies are known.

    Raises
    ------
    ValueError
        If this does not fit them.
    """
    coded = [kind == "categorical" for kind in kinds]
    known = {*EMISSIONS, INPUT} if model._has_inputs else {*EMISSIONS}
    if len(coded) != len(model.vocabulary_) or not set(kinds) <= known:
        raise ValueError(f"emissions must be a list of {len(model.vocabulary_)} known kinds")
    if coded != model._is_coded:
        raise ValueError("emissions are categorical where there is a vocabulary, and only there")
    model._emissions = kinds
