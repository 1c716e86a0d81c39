"""What hidden Markov models read, predict and draw whose transitions depend on inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.parameter_checks import check_count, check_params, generator
from sklearn_struct.estimators.fitting.base_sequence import divided
from sklearn_struct.estimators.hidden_markov.base_learned_chain import BaseLearnedChain
from sklearn_struct.estimators.hidden_markov.stream_learning import INPUT, LARGEST
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.hidden_markov.driven_transitions import log_transitions
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_draws import choose

__all__ = ["BaseDrivenPredictions"]


class BaseDrivenPredictions(BaseLearnedChain):
    """Predictions from ``transition_coef_``, beside what a hidden Markov model has learned."""

    _has_inputs = True
    transition_coef_: np.ndarray

    @property
    def _n_inputs(self) -> int:
        return self._kinds.count(INPUT)

    def _model(self) -> HiddenMarkov:
        """The learned attributes."""
        K = len(self.classes_)
        slopes = np.asarray(self.transition_coef_, np.float64)
        shape = (K, K, self._n_inputs)
        if slopes.shape != shape:
            raise ValueError(
                f"transition_coef_ has the shape {slopes.shape}; for {K} labels and {shape[2]} "
                f"inputs it must be {shape}"
            )
        if not np.all(np.abs(slopes) <= LARGEST):
            raise ValueError(f"transition_coef_ must hold finite numbers, of at most {LARGEST:g}")
        return super()._model()._replace(slopes=slopes)

    def _learned(self, model: HiddenMarkov) -> dict[str, Any]:
        K = model.n_labels
        # without inputs, the steps of EM know of no coefficients
        slopes = model.slopes if model.slopes.size else np.zeros((K, K, 0))
        return super()._learned(model) | {"transition_coef_": slopes}

    def transition_proba(self, X: Any) -> np.ndarray:
        """Probabilities of transitions with the inputs of each token.

        Parameters
        ----------
        X
            As in `fit`. What is emitted makes no difference.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens, n_labels, n_labels) each: ``[t, j, k]`` is the
            probability that label k comes at token t after label j at token t - 1. No label comes
            before the first token, so the model does not use ``[0]``. For two-dimensional X one
            array (n, n_labels, n_labels).

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_struct import NonHomogeneousHMM
        >>> X = [np.array([[0.1, 0.0], [0.0, 0.0], [5.1, 1.0], [5.0, 1.0], [0.2, 0.0]])]
        >>> y = [["low", "low", "high", "high", "low"]]
        >>> model = NonHomogeneousHMM(transition_inputs=[1]).fit(X, y)
        >>> model.classes_.tolist()
        ['high', 'low']
        >>> model.transition_proba(X)[0][2].round(2)
        array([[0.61, 0.39],
               [0.61, 0.39]])
        """
        sequences = self._read_X(X, reset=False)
        observed: Any = sequences.X
        model = self._model()
        K = model.n_labels
        shape = (int(observed.offsets[-1]), K, K)
        reserve(8 * math.prod(shape), "transition_proba")
        proba = np.empty(shape)
        cuts = model.blocks(observed.offsets, n_blocks=16)

        def work(b: int) -> None:
            tokens = cuts[b].tokens
            proba[tokens] = np.exp(log_transitions(model.logits, observed.inputs[tokens]))

        with Pool(self.n_jobs) as pool:
            pool.map(work, len(cuts))
        return divided(proba, sequences)

    # the model does not say which inputs come, nor how long sequences are
    def sample(  # type: ignore[override]
        self, n_samples: int = 1, random_state: Any = None, *, inputs: Any
    ) -> Any:
        """Draw sequences and their labels from p(x, y), given inputs.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        inputs : array-like of shape (length, n_inputs)
            Inputs of each token, the same for all sequences; columns are in the order in which X
            has them. Sequences have this length.

        Returns
        -------
        X : ndarray of shape (n_samples,)
            dtype object, sequences as they were given to `fit`, with their inputs. What is out of
            vocabulary is ``"<OOV>"``.
        y : ndarray of shape (n_samples,)
            dtype object, a list of labels each.
        """
        check_is_fitted(self)
        check_params(self, *self._settings)
        model = self._model()
        given = self._given_inputs(inputs)
        length = len(given)
        check_count(n_samples, "n_samples", 8 * (given.shape[1] + 1) * length)
        rng = generator(random_state)
        codes = np.empty((length, n_samples), np.int32)
        first = np.exp(model.markov.start)[None]
        codes[0] = choose(first, np.zeros(n_samples, np.int64), rng)
        for t in range(1, length):
            [log_p] = log_transitions(model.logits, given[t : t + 1])
            codes[t] = choose(np.exp(log_p), codes[t - 1], rng)
        labels = codes.T.ravel()
        offsets = np.arange(n_samples + 1) * length
        rows = self._emit(labels, rng, offsets, np.tile(given, (n_samples, 1)))
        y = label_codes.decode(labels, self.classes_, offsets)
        return object_array([self._written(part) for part in cut(rows, offsets)]), y

    def _given_inputs(self, inputs: Any) -> np.ndarray:
        """Inputs of `sample`, checked."""
        try:
            given = np.asarray(inputs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"inputs must be an array of numbers: {error}") from None
        p = self._n_inputs
        if given.shape != (*given.shape[:1], p) or not len(given):
            raise LengthMismatchError(
                f"inputs have the shape {given.shape}, but must be of shape (length, {p}) with a "
                "length of at least 1"
            )
        if not np.all(np.abs(given) <= LARGEST):
            raise NonFiniteError(f"inputs must be finite numbers, of at most {LARGEST:g}")
        return given
