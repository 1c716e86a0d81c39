"""Predictions while a sequence goes on: filtering, smoothing with a lag, forecasts."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.encoding.parameter_checks import check_count, check_flag, check_params
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided
from sklearn_struct.estimators.hidden_markov.base_hidden_markov import BaseHiddenChain
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.hidden_markov.carried_numbers import carried, last_rows
from sklearn_struct.hidden_markov.filter_states import FilterState
from sklearn_struct.hidden_markov.forecasts import forecasts
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.online import Progressed, filtered, labels_of, smoothed

__all__ = ["BaseOnlinePredictions"]

# of a large table only some entries are looked at: a state is made for each token that comes in
SAMPLED = 4096


class BaseOnlinePredictions(BaseHiddenChain):
    """What is known before a sequence has ended. No prediction here uses the end's probability."""

    def filter_proba(self, X: Any, *, state: Any = None, return_state: bool = False) -> Any:
        """Probability of each label given the tokens up to it, p(y_t = k | x_1, ..., x_t).

        If you get a sequence in pieces, return the state after one piece and give it with the next:
        the probabilities are then those of the whole sequence. The end of a sequence is left out,
        as more tokens may come. After a token that is impossible there, the labels with the fewest
        impossible steps count.

        Parameters
        ----------
        X
            As in `fit`: whole sequences, or their next tokens.
        state : list of FilterState, default=None
            A state for each sequence of X, as an earlier call has returned it. None begins new
            sequences.
        return_state : bool, default=False

        Returns
        -------
        proba : ndarray of shape (n_sequences,)
            In the form of `predict_proba`.
        state : ndarray of shape (n_sequences,)
            Only with `return_state`: dtype object, a `FilterState` each.
        """
        check_flag(return_state, "return_state")
        sequences = self._read_X(X, reset=False)
        proba, _, states = self._filtered(sequences, state)
        divided_proba = divided(proba, sequences)
        return (divided_proba, states) if return_state else divided_proba

    def log_score(self, X: Any, *, state: Any = None, return_state: bool = False) -> Any:
        """Log-probability of each token given those before it, log p(x_t | x_1, ..., x_{t-1}).

        This is how well the model has predicted the token. With `stop`, it is the log-probability
        that there is a token and that it is this one. The sum over a sequence is that of
        `score_samples` without the end: the same number for a model without `stop`.

        Parameters
        ----------
        X
            As in `filter_proba`.
        state : list of FilterState, default=None
            As in `filter_proba`.
        return_state : bool, default=False

        Returns
        -------
        scores : ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens,) each; for two-dimensional X one array (n,).
        state : ndarray of shape (n_sequences,)
            Only with `return_state`: dtype object, a `FilterState` each.
        """
        check_flag(return_state, "return_state")
        sequences = self._read_X(X, reset=False)
        _, scores, states = self._filtered(sequences, state)
        divided_scores = divided(scores, sequences)
        return (divided_scores, states) if return_state else divided_scores

    def smooth_proba(self, X: Any, lag: int) -> np.ndarray:
        """Probability of each label given the tokens up to `lag` after it.

        This is p(y_t = k | x_1, ..., x_{t + lag}): the delay of `lag` tokens buys probabilities
        that are nearer to those of the whole sequence. The end is left out. So a lag of the length
        of a sequence gives the `predict_proba` of a model without `stop`, and 0 gives
        `filter_proba`. Time grows with `lag`.

        Parameters
        ----------
        X
            As in `fit`.
        lag : int
            Number of later tokens that count.

        Returns
        -------
        ndarray of shape (n_sequences,)
            In the form of `predict_proba`.
        """
        check_count(lag, "lag", least=0)
        sequences = self._read_X(X, reset=False)
        observed: Any = sequences.X
        model = self._model()
        proba = np.zeros((observed.offsets[-1], model.n_labels))
        cuts = model.blocks(observed.offsets, n_blocks=16)

        def work(b: int) -> None:
            block = cuts[b]
            proba[block.tokens] = smoothed(model, observed, block, int(lag))

        with Pool(self.n_jobs) as pool:
            pool.map(work, len(cuts))
        return divided(proba, sequences)

    def predict_next(self, X: Any = None, steps: int = 1, *, state: Any = None) -> np.ndarray:
        """Distributions of labels and values after the last token of each sequence.

        They are exact, also with `autoregression`: means and variances are then those over all
        paths of labels.

        Parameters
        ----------
        X : default=None
            As in `filter_proba`. None stands for no further tokens after those of `state`.
        steps : int, default=1
            Number of tokens to look ahead.
        state : list of FilterState, default=None
            As in `filter_proba`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a `Forecast` each.
        """
        check_count(steps, "steps", 8)
        check_is_fitted(self)
        check_params(self, *self._settings)
        if X is not None:
            state = self._filtered(self._read_X(X, reset=False), state)[2]
        elif state is None:
            raise ValueError("predict_next needs X or a state")
        model = self._model()
        states = _checked(state, None, self._mark(model))
        at = _progressed(states, len(model.markov.stop))
        return object_array(
            forecasts(model, at, [one.last for one in states], self._is_coded, int(steps))
        )

    def _filtered(
        self, sequences: Sequences, state: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Probabilities of labels and scores of all tokens, and the states after them."""
        observed: Any = sequences.X
        model = self._model()
        mark = self._mark(model)
        states = None if state is None else _checked(state, len(observed), mark)
        n_contexts = len(model.markov.stop)
        at = Progressed.nowhere(len(observed), n_contexts)
        if states is not None:
            at = _progressed(states, n_contexts)
        before = None if states is None else [one.last for one in states]
        known = carried(model.gaussians, observed, before) if before and self._lags else None
        proba = np.empty((observed.offsets[-1], model.n_labels))
        score = np.empty(observed.offsets[-1])
        cuts = model.blocks(observed.offsets, n_blocks=16)

        def work(b: int) -> None:
            block = cuts[b]
            here = at.of(block.examples)
            for rows, _, alpha, of_rows in filtered(model, observed, block, here, known):
                proba[rows] = labels_of(alpha, model.n_labels)
                score[rows] = of_rows

        with Pool(self.n_jobs) as pool:
            pool.map(work, len(cuts))
        last = last_rows(observed, before, self._lags)
        after = []
        for i, n in enumerate(observed.lengths.tolist()):
            begin = observed.offsets[i]
            total = float(score[begin : begin + n].sum())
            if states is not None:
                n += states[i].n_tokens
                total += states[i].log_likelihood
            after.append(FilterState(n, total, at.alpha[i].copy(), mark, last[i]))
        return proba, score, object_array(after)

    def _mark(self, model: HiddenMarkov) -> str:
        """What tells models with different parameters apart."""
        digest = blake2b(repr(self.classes_.tolist()).encode(), digest_size=8)
        tables = [table.ravel()[:: max(table.size // SAMPLED, 1)] for table in model.tables]
        numbers = model.gaussians.named.values()
        for part in (*model.markov, *numbers, model.rates, model.outcomes, *tables):
            digest.update(repr(part.shape).encode())
            digest.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        return digest.hexdigest()


def _progressed(states: Iterable[FilterState], n_contexts: int) -> Progressed:
    listed = list(states)
    if not listed:
        return Progressed.nowhere(0, n_contexts)
    started = np.array([one.n_tokens > 0 for one in listed])
    return Progressed(np.stack([one.alpha for one in listed]), started)


def _checked(state: Any, n: int | None, mark: str) -> list[FilterState]:
    """The states that go with n sequences, or with any number of them, of the model with this
    mark.
    """
    states = [state] if isinstance(state, FilterState) else state
    if not isinstance(states, Iterable):
        raise InputTypeError(f"state must be a list of FilterState, got {state!r}")
    states = list(states)
    if n is not None and len(states) != n:
        raise LengthMismatchError(f"{len(states)} states for {n} sequences")
    for i, one in enumerate(states):
        if not isinstance(one, FilterState):
            raise InputTypeError(f"state[{i}] must be a FilterState, got {type(one).__name__}")
        if one.model != mark:
            raise ValueError(
                f"state[{i}] comes from another model, or from this one with other parameters"
            )
    return states
