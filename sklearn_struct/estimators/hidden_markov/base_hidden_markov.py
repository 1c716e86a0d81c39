"""What a fitted hidden Markov model does: reading streams, predictions, probabilities, sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, zeros
from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.parameter_checks import (
    check_count,
    check_flag,
    check_params,
    generator,
)
from sklearn_struct.encoding.sequences import as_list, form, refuse_texts
from sklearn_struct.encoding.two_dimensional_input import check_table
from sklearn_struct.estimators.fitting.base_sequence import (
    BaseSequenceEstimator,
    Sequences,
    logarithms,
)
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.hidden_markov.densities import Gaussians
from sklearn_struct.hidden_markov.em_steps import (
    HiddenMarkov,
    Observed,
    joint,
    possible_potentials,
    potentials,
)
from sklearn_struct.hidden_markov.markov_chain import Markov, choose, draw, terminates

__all__ = ["BaseHiddenChain"]


class BaseHiddenChain(BaseSequenceEstimator):
    """A hidden Markov model as its learned attributes say; they are the truth, and may be replaced."""

    vocabulary_: list[dict[Any, int] | None]
    emission_logprob_: list[np.ndarray | None]

    def _model(self) -> HiddenMarkov:
        """The learned attributes as a chain of contexts."""
        K = len(self.classes_)
        transition = self.transition_logprob_
        stop = self.stop_logprob_
        if transition.ndim == 3:
            transition = np.concatenate([transition.reshape(K * K, K), self.pair_start_logprob_])
            stop = np.concatenate([stop.ravel(), self.single_stop_logprob_])
        tables = [table for table in self.emission_logprob_ if table is not None]
        return HiddenMarkov(
            Markov(self.start_logprob_, transition, stop),
            tables,
            Gaussians(self.means_, self.variances_),
        )

    def _learned(self, model: HiddenMarkov) -> dict[str, Any]:
        """A chain of contexts as learned attributes."""
        (start, transition, stop), tables, gaussians = model
        C, K = transition.shape
        left = iter(tables)
        found: dict[str, Any] = {
            "start_logprob_": start,
            "means_": gaussians.mean,
            "variances_": gaussians.variance,
        }
        found["emission_logprob_"] = [
            None if values is None else next(left) for values in self.vocabulary_
        ]
        if C == K:
            return found | {"transition_logprob_": transition, "stop_logprob_": stop}
        return found | {
            "transition_logprob_": transition[: K * K].reshape(K, K, K),
            "pair_start_logprob_": transition[K * K :],
            "stop_logprob_": stop[: K * K].reshape(K, K),
            "single_stop_logprob_": stop[K * K :],
        }

    # ---- reading

    def _read_columns(self, X: Any, reset: bool) -> tuple[streams.Columns, bool]:
        """The columns of X, checked against those of `fit`, and whether X is a batch of sequences
        of length 1.
        """
        if not reset:
            check_is_fitted(self)
            check_params(self, *self._settings)
            X = streams.symbols(X) if self._kind == "values" else X
        if form(X) == "flat":
            self._accept_rows(X, reset)
            refuse_texts(X)
            check_table(X)
            tokens = validate_data(self, X, dtype=np.float64, reset=reset)
            names = getattr(self, "feature_names_in_", None)
            return streams.of_numbers(
                SequenceArray(tokens, np.arange(len(tokens) + 1), names)
            ), True
        found = streams.read(X)
        if found.offsets[-1] == 0:
            if reset:
                raise EmptyDataError("X has no tokens")
            empty = streams.Column(np.empty(0), None)
            return found._replace(columns=[empty] * self.n_features_in_), False
        self._learn_features(
            SequenceArray(np.empty((0, len(found.columns))), [0], found.names), reset
        )
        self._learn_lengths(np.diff(found.offsets), reset)
        return found, False

    def _read_X(self, X: Any, reset: bool) -> Sequences:
        columns, flat = self._read_columns(as_list(X), reset)
        observed: Any = self._observe(columns)
        return Sequences(observed, flat)

    def _observe(self, found: streams.Columns) -> Observed:
        """Codes and numbers of columns by the vocabularies learned before."""
        codes = []
        numbers = [np.empty((found.offsets[-1], 0))]
        for c, (column, values) in enumerate(zip(found.columns, self.vocabulary_, strict=True)):
            if values is None:
                numbers.append(streams.numbers(column, found.offsets, c)[:, None])
            else:
                table = self.emission_logprob_[c]
                oov = None if table is not None and table.shape[1] == len(values) else "smoothing"
                codes.append(streams.encode(column, values, oov, found.offsets, c))
        return Observed(codes, np.hstack(numbers), found.offsets)

    # ---- predictions

    def _each_block(
        self,
        observed: Observed,
        work: Callable[[Potentials, Block], Any],
        of_block: Any = possible_potentials,
    ) -> list[Any]:
        """Call ``work(potentials, block)`` for every block of X, on `n_jobs` threads."""
        model = self._model()
        cuts = model.blocks(observed.offsets, n_blocks=16)
        with Pool(self.n_jobs) as pool:
            return pool.map(lambda b: work(of_block(model, observed, cuts[b]), cuts[b]), len(cuts))

    def _predict_codes(self, sequences: Sequences) -> np.ndarray:
        observed: Any = sequences.X
        codes = np.empty(observed.offsets[-1], dtype=np.int32)
        inference = self._model().inference

        def work(theta: Potentials, block: Block) -> None:
            inference.argmax(theta, block.structure, codes[block.tokens])

        self._each_block(observed, work)
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
        node = np.zeros((observed.offsets[-1], len(self.classes_)))
        log_Z = np.empty(len(observed))
        inference = self._model().inference

        def work(theta: Potentials, block: Block) -> None:
            out = Potentials(node[block.tokens], zeros(theta).cliques)
            weight = np.ones(block.structure.n_examples)
            inference.marginals(theta, block.structure, weight, out, log_Z[block.examples])

        self._each_block(observed, work)
        return node if sequences.flat else object_array(cut(node, observed.offsets))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`, in the same form.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray
            -inf where a probability is 0.
        """
        return logarithms(self.predict_proba(X))

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
        ends = bool(np.any(model.markov.stop < 0)) or bool(
            np.all(model.markov.transition == -np.inf)
        )
        if length is not None:
            check_count(length, "length", 4)
        check_count(n_samples, "n_samples", 4 * (1 if length is None else length))
        if ends != (length is None):
            raise ValueError("give `length` to a model without stop, and only there")
        if ends and not terminates(model.markov):
            raise ValueError("a state can be reached from which there is no way to the end")
        codes, offsets = draw(model.markov, n_samples, rng, length)
        y = label_codes.decode(codes, self.classes_, offsets)
        return object_array(
            [self._written(rows) for rows in cut(self._emit(codes, rng), offsets)]
        ), y

    def _emit(self, labels: np.ndarray, rng: np.random.RandomState) -> Any:
        """What states emit, as rows."""
        mean = self.means_[labels]
        variance = self.variances_[labels]
        numbers = mean + np.sqrt(variance) * rng.normal(size=mean.shape)
        codes = [
            choose(np.exp(table), labels, rng)
            for table in self.emission_logprob_
            if table is not None
        ]
        return self._rows(codes, numbers)

    def _rows(self, codes: list[np.ndarray], numbers: np.ndarray) -> Any:
        """Codes and numbers of streams as rows: an array if all are numbers, else a list of tuples."""
        if not codes:
            return numbers
        of_values = iter(codes)
        of_numbers = iter(numbers.T)
        columns = []
        for values in self.vocabulary_:
            if values is None:
                columns.append(next(of_numbers).tolist())
            else:
                columns.append(object_array([*values, streams.OOV])[next(of_values)].tolist())
        return list(zip(*columns, strict=True))

    def _written(self, rows: Any) -> Any:
        """The rows of a sequence in the form of X."""
        return (
            [value for (value,) in rows]
            if self._kind == "values" and isinstance(rows, list)
            else rows
        )

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

    def _seen(self, observed: Observed, used: np.ndarray | None) -> np.ndarray:
        """What `replace_oov` returns; the first occurrences are those among the tokens that are
        `used`.
        """
        tables = (values for values in self.vocabulary_ if values is not None)
        all_codes = observed.codes
        if used is not None:
            all_codes = [codes.copy() for codes in all_codes]
            for codes, values in zip(all_codes, tables, strict=True):
                codes[streams.first_occurrences(np.where(used, codes, -1))] = len(values)
        rows = self._rows(all_codes, observed.numbers)
        return object_array([self._written(part) for part in cut(rows, observed.offsets)])

    def _refuse_other_streams(self, init: Any) -> None:
        """Raise unless the streams and labels of a fitted model are those of the data."""
        if not isinstance(init, BaseHiddenChain):
            raise InputTypeError(
                f"init must be a fitted hidden Markov model, got {type(init).__name__}"
            )
        check_is_fitted(init)
        if init.n_features_in_ != self.n_features_in_:
            raise ValueError(f"init has {init.n_features_in_} streams, X has {self.n_features_in_}")
        if init.transition_logprob_.ndim != self.order + 1:
            raise ValueError(
                f"init has order {init.transition_logprob_.ndim - 1}, not {self.order}"
            )
