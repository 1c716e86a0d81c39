"""Predictions of hidden semi-Markov models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.structures import Block
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.parameter_checks import check_count, check_params, generator
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.hidden_markov.base_learned_chain import BaseLearnedChain
from sklearn_struct.hidden_markov import semi_markov
from sklearn_struct.hidden_markov.durations import Durations
from sklearn_struct.hidden_markov.em_steps import emission
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.semi_markov import Segments, SemiMarkov

__all__ = ["BaseDurationPredictions"]


class BaseDurationPredictions(BaseLearnedChain):
    """Predictions from ``duration_logprob_``, beside what a hidden Markov model has learned."""

    _settings = ("n_jobs", "right_censored")
    _has_durations = True
    right_censored: bool
    duration_logprob_: np.ndarray
    duration_params_: np.ndarray

    def _with_durations(self) -> SemiMarkov:
        """The learned attributes."""
        hidden = self._model()
        log_p = np.asarray(self.duration_logprob_, np.float64)
        K = len(self.classes_)
        if log_p.ndim != 2 or len(log_p) != K or not log_p.size or np.any(np.isnan(log_p)):
            raise ValueError(
                f"duration_logprob_ must be an array of shape ({K}, max_length) without NaN, got "
                f"the shape {log_p.shape}"
            )
        durations = Durations(log_p, np.asarray(self.duration_params_, np.float64))
        return SemiMarkov(hidden, durations, bool(self.right_censored))

    def _learned(self, model: Any) -> dict[str, Any]:
        log_p, parameters = model.durations
        return super()._learned(model.hidden) | {
            "duration_logprob_": log_p,
            "duration_params_": parameters,
        }

    @property
    def duration_means_(self) -> np.ndarray:
        """Mean number of tokens that each state lasts (n_labels,), from `duration_logprob_`."""
        check_is_fitted(self, "duration_logprob_")
        p = np.exp(np.asarray(self.duration_logprob_, np.float64))
        means: np.ndarray = p @ np.arange(1, p.shape[1] + 1)
        return means

    def _of_blocks(self, observed: Observed, work: Callable[[SemiMarkov, Block], Any]) -> list[Any]:
        """Call ``work(model, block)`` for every block of X, on `n_jobs` threads."""
        model = self._with_durations()
        # fixed, so that results do not depend on the number of threads
        cuts = model.hidden.blocks(observed.offsets, n_blocks=16)
        with Pool(self.n_jobs) as pool:
            return pool.map(lambda b: work(model, cuts[b]), len(cuts))

    def _rows_of_tokens(
        self, observed: Observed, call: Callable[[Segments], tuple[np.ndarray, np.ndarray]]
    ) -> list[np.ndarray]:
        return self._of_blocks(
            observed, lambda model, block: semi_markov.possible(model, observed, block, call)
        )

    def _predict_codes(self, sequences: Sequences) -> np.ndarray:
        observed: Any = sequences.X
        rows = self._rows_of_tokens(observed, semi_markov.best)
        return np.concatenate([np.empty(0, np.int32), *rows])

    def _proba_of_tokens(self, observed: Observed) -> np.ndarray:
        rows = self._rows_of_tokens(observed, semi_markov.posteriors)
        return np.concatenate([np.empty((0, len(self.classes_))), *rows])

    def _log_p(self, observed: Observed) -> np.ndarray:
        def work(model: SemiMarkov, block: Block) -> np.ndarray:
            return semi_markov.posteriors(_segments(model, observed, block))[1]

        return np.concatenate([np.empty(0), *self._of_blocks(observed, work)])

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """log p(x, y) of each sequence and its labelling, in which each run of a label is one
        segment.

        Parameters
        ----------
        X
            As in `fit`.
        y
            As in `fit`, without missing labels.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf where a run of a label is longer than the longest duration.

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        sequences = self._read_X(X, reset=False)
        codes = self._read_y(y, sequences, reset=False)
        observed: Any = sequences.X

        def work(model: SemiMarkov, block: Block) -> np.ndarray:
            return semi_markov.joint(_segments(model, observed, block), codes[block.tokens])

        return np.concatenate([np.empty(0), *self._of_blocks(observed, work)])

    # `length` has no default, as the model does not say how long sequences are
    def sample(  # type: ignore[override]
        self, n_samples: int = 1, random_state: Any = None, *, length: int
    ) -> Any:
        """Draw sequences and their labels from p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        length : int
            Number of tokens of each sequence. Without `right_censored`, a label ends there.

        Returns
        -------
        X : ndarray of shape (n_samples,)
            dtype object, sequences as they were given to `fit`: lists of strings, lists of tuples,
            or arrays of numbers. What is out of vocabulary is ``"<OOV>"``.
        y : ndarray of shape (n_samples,)
            dtype object, a list of labels each.
        """
        check_is_fitted(self)
        check_params(self, *self._settings)
        model = self._with_durations()
        rng = generator(random_state)
        K = len(self.classes_)
        check_count(length, "length", 32 * K)
        check_count(n_samples, "n_samples", 8 * (K + 1) * length)
        one = semi_markov.segments(model, np.zeros((length, K)), np.array([0, length]))
        if semi_markov.posteriors(one)[1][0] == -np.inf:
            raise ValueError(
                f"no sequence of {length} tokens is possible under these durations and transitions"
            )
        offsets = np.arange(n_samples + 1) * length
        blank = semi_markov.segments(model, np.zeros((offsets[-1], K)), offsets)
        codes = semi_markov.drawn(blank, rng.random_sample(offsets[-1]))
        y = label_codes.decode(codes, self.classes_, offsets)
        rows = self._emit(codes, rng, offsets)
        return object_array([self._written(part) for part in cut(rows, offsets)]), y


def _segments(model: SemiMarkov, observed: Observed, block: Block) -> Segments:
    emitted = emission(model.hidden, observed, block.tokens)
    return semi_markov.segments(model, emitted, block.structure.offsets)
