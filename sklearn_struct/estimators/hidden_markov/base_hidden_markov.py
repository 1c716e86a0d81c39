"""What a fitted hidden Markov model does: predictions, probabilities, sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.structures import Block, Potentials, zeros
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.parameter_checks import (
    check_count,
    check_flag,
    generator,
)
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided
from sklearn_struct.estimators.hidden_markov.base_streams import BaseStreams
from sklearn_struct.estimators.hidden_markov.stream_learning import INPUT
from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.em_steps import joint, potentials
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import ends_itself, terminates
from sklearn_struct.hidden_markov.markov_draws import choose, draw
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.possible_potentials import possible_potentials

__all__ = ["BaseHiddenChain"]


class BaseHiddenChain(BaseStreams):
    """The predictions of a hidden Markov model."""

    # ---- predictions

    def _each_block(
        self,
        observed: Observed,
        work: Callable[[Potentials, Block], Any],
        of_block: Callable[[HiddenMarkov, Observed, Block], Potentials],
    ) -> list[Any]:
        """Call ``work(potentials, block)`` for every block of X, on `n_jobs` threads."""
        model = self._model()
        # fixed, so that results do not depend on the number of threads
        cuts = model.blocks(observed.offsets, n_blocks=16)

        def run(b: int) -> Any:
            block = cuts[b]
            return work(of_block(model, observed, block), block)

        with Pool(self.n_jobs) as pool:
            return pool.map(run, len(cuts))

    # What predictions are made of. A chain may have more states than labels.

    def _states(self, model: HiddenMarkov, observed: Any, block: Block) -> Potentials:
        """Potentials of states, of a model in which something is possible."""
        return possible_potentials(model, observed, block)

    def _labels_of_states(self, states: np.ndarray) -> np.ndarray:
        return states

    def _proba_of_states(self, proba: np.ndarray) -> np.ndarray:
        """The probabilities of labels, (n_tokens, n_labels)."""
        return proba

    def _predict_codes(self, sequences: Sequences) -> np.ndarray:
        observed: Any = sequences.X
        codes = np.empty(observed.offsets[-1], dtype=np.int32)
        inference = self._model().inference

        def work(theta: Potentials, block: Block) -> None:
            states = np.empty(len(theta.node), np.int32)
            inference.argmax(theta, block.structure, states)
            codes[block.tokens] = self._labels_of_states(states)

        self._each_block(observed, work, self._states)
        return codes

    def predict(self, X: Any) -> np.ndarray:
        """Most probable labelling of each sequence (Viterbi).

        A sequence that the model cannot emit gets the labelling with the fewest impossible steps.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a list of labels each; for two-dimensional X the labels themselves.
        """
        sequences = self._read_X(X, reset=False)
        return self._labels(self._predict_codes(sequences), sequences)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of each label at each token, p(y_t = k | x).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens, n_labels) each, columns in the order of ``classes_``;
            for two-dimensional X one array (n, n_labels).
        """
        sequences = self._read_X(X, reset=False)
        observed: Any = sequences.X
        return divided(self._proba_of_tokens(observed), sequences)

    def _proba_of_tokens(self, observed: Observed) -> np.ndarray:
        """What `predict_proba` returns, of all tokens (n, n_labels)."""
        proba = np.zeros((observed.offsets[-1], len(self.classes_)))
        inference = self._model().inference

        def work(theta: Potentials, block: Block) -> None:
            out = zeros(theta)
            n = block.structure.n_examples
            inference.marginals(theta, block.structure, np.ones(n), out, np.empty(n))
            proba[block.tokens] = self._proba_of_states(out.node)

        self._each_block(observed, work, self._states)
        return proba

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of each sequence, summed over all its labellings.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf for a sequence that the model cannot emit, 0 for an empty one.
        """
        observed: Any = self._read_X(X, reset=False).X
        return self._log_p(observed)

    def _log_p(self, observed: Observed) -> np.ndarray:
        """What `score_samples` returns."""
        inference = self._model().inference
        sums = self._each_block(
            observed,
            lambda theta, block: inference.log_partition(theta, block.structure),
            potentials,
        )
        return np.concatenate([np.empty(0), *sums])

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """log p(x, y) of each sequence and its labelling.

        Parameters
        ----------
        X
            As in `fit`.
        y
            As in `fit`, without missing labels.

        Returns
        -------
        ndarray of shape (n_sequences,)

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        sequences = self._read_X(X, reset=False)
        codes = self._read_y(y, sequences, reset=False)
        observed: Any = sequences.X
        return joint(self._model(), observed, codes)

    # ---- sampling

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, length: int | None = None
    ) -> Any:
        """Draw sequences and their labels from p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        length : int, default=None
            Number of tokens of each sequence, for a model without `stop`, which does not end by
            itself.

        Returns
        -------
        X : ndarray of shape (n_samples,)
            dtype object, sequences as they were given to `fit`: lists of strings, lists of tuples,
            or arrays of numbers. What is out of vocabulary is ``"<OOV>"``.
        y : ndarray of shape (n_samples,)
            dtype object, a list of labels each.
        """
        check_is_fitted(self)
        model = self._model()
        rng = generator(random_state)
        ends = ends_itself(model.markov)
        if length is not None:
            check_count(length, "length", 4)
        # four bytes for each label
        check_count(n_samples, "n_samples", 4 * (1 if length is None else length))
        if ends != (length is None):
            raise ValueError("give `length` to a model without stop, and only there")
        # drawing would go on for ever
        if ends and not terminates(model.markov):
            raise ValueError("a state can be reached from which there is no way to the end")
        codes, offsets = draw(model.markov, n_samples, rng, length)
        y = label_codes.decode(codes, self.classes_, offsets)
        return object_array(
            [self._written(rows) for rows in cut(self._emit(codes, rng, offsets), offsets)]
        ), y

    def _emit(
        self,
        labels: np.ndarray,
        rng: np.random.RandomState,
        offsets: np.ndarray,
        inputs: np.ndarray | None = None,
    ) -> Any:
        """What states emit, as rows, with the inputs that are given."""
        # drawn before values, in this order for any model: a seed means the same sample
        numbers = self._gaussians().draw(labels, offsets, rng)
        codes = [
            choose(np.exp(table), labels, rng)
            for table in self.emission_logprob_
            if table is not None
        ]
        numeric = {
            "gaussian": numbers,
            "poisson": poisson.draw_counts(self._rates(), labels, rng),
            "multinomial": multinomial.draw_outcomes(
                self._outcomes(), labels, vars(self).get("n_trials_", 0), rng
            ),
            INPUT: np.empty((len(labels), 0)) if inputs is None else inputs,
        }
        return self._rows(codes, numeric)

    def replace_oov(self, X: Any, *, first: bool = False) -> np.ndarray:
        """X as the model sees it: what is out of vocabulary is ``"<OOV>"``.

        For features of a model that has this one as its base: they must be those of the same
        values.

        Parameters
        ----------
        X
            As in `fit`.
        first : bool, default=False
            Also replace the first occurrence of each value, as `fit` with ``oov="first"`` reads its
            X.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, sequences as `sample` gives them.

        Examples
        --------
        >>> from sklearn_struct import HMM
        >>> X = [["to", "be", "or", "not", "to", "be"]]
        >>> hmm = HMM().fit(X, [["P", "V", "C", "A", "P", "V"]])
        >>> hmm.replace_oov([["to", "have", "or", "to", "be"]])[0]
        ['to', '<OOV>', '<OOV>', 'to', 'be']
        >>> hmm.replace_oov(X, first=True)[0]
        ['<OOV>', '<OOV>', '<OOV>', '<OOV>', 'to', 'be']
        """
        check_flag(first, "first")
        observed: Any = self._read_X(X, reset=False).X
        return self._seen(observed, np.ones(observed.offsets[-1], dtype=bool) if first else None)
