"""A chain whose scores are those of a base distribution and of weights together: reading X,
predictions, scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_n_features, check_array, check_is_fitted, validate_data

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, Structure, product
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list, form, pack_arrays, refuse_texts
from sklearn_struct.encoding.two_dimensional_input import check_table
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.fitting.finite_scores import check_sums
from sklearn_struct.estimators.m_estimation.base_distribution import read_base
from sklearn_struct.estimators.m_estimation.base_features import features_of
from sklearn_struct.estimators.m_estimation.distant_features import Distant

__all__ = ["BaseBasedChain", "BasedSequences"]


class BasedSequences(NamedTuple):
    """X as read: features of tokens, whether it came as two-dimensional, and what the base reads of
    it.

    ``exact`` says whether sequences that the base cannot emit have no probability, or a very small
    one; ``labelled`` whether labels are given, so that nothing is searched or summed over them.
    ``sides`` are the features of which pairs at any distance have weights, if there are such.
    """

    X: SequenceArray
    flat: bool
    observed: Any
    exact: bool = False
    labelled: bool = False
    sides: SequenceArray | None = None


class BaseBasedChain(BaseChain):
    """What is learned, besides that of a chain: ``base_``, ``features_``, ``input_coef_``,
    ``constant_``, ``distant_coef_`` and ``distant_pairs_``, which pairs have these weights.
    """

    _settings = ("allowed_transitions", "n_jobs")

    dtype = "float64"
    base_: Any
    features_: Any
    input_coef_: np.ndarray
    constant_: float
    distant_coef_: np.ndarray
    distant_pairs_: Distant | None

    def _checked(self, X: Any, reset: bool) -> Any:
        """X, as an array if it is two-dimensional, with as many columns of numbers as in `fit`."""
        X = as_list(X)
        kind = form(X)
        if kind == "flat":
            self._accept_rows(X, reset)
            refuse_texts(X)
            check_table(X)
            # `validate_data` would compare its columns with the features that templates made of
            # them
            if not reset and self.features_ is not None:
                X = check_array(X, dtype=np.float64)  # its columns are counted by the base
            else:
                X = validate_data(self, X, dtype=np.float64, reset=reset)
            return X
        if not reset and self.features_ is None and kind in ("arrays", "packed"):
            X = X if kind == "packed" else pack_arrays(X, np.dtype(np.float64))
            if X.offsets[-1]:
                _check_n_features(self, X.tokens, reset=False)
        return X

    def _read_X(self, X: Any, reset: bool) -> Any:
        check_is_fitted(self)
        check_params(self, *self._settings)
        kind = getattr(self.base_, "_kind", "rows" if getattr(self, "_rows_in", True) else "values")
        # lists of whole numbers are symbols only for a base of symbols
        X = self._checked(symbols(as_list(X)) if kind == "values" else X, reset=False)
        base = read_base(self.base_, self._pattern.order)
        return self._with_features(X, base, *base.observe(X))

    def _with_features(
        self, X: Any, base: Any, observed: Any, flat: bool, used: np.ndarray | None = None
    ) -> BasedSequences:
        """X as read; with `used`, where tokens have weight, the features are learned."""
        features = features_of(self.features_, base, X, observed, used)
        if flat and self.features_ is None:
            features = SequenceArray(
                features.tokens, features.offsets, getattr(self, "feature_names_in_", None)
            )
        self._learn_features(features, reset=used is not None)
        if used is not None:
            self._learn_lengths(features.lengths, reset=True)
        sides = (
            None
            if self.distant_pairs_ is None
            else self.distant_pairs_.read(base, X, observed, used)
        )
        return BasedSequences(features, flat, observed, sides=sides)

    def _potentials(self, sequences: Any, structure: Structure) -> Callable[[Block], Potentials]:
        of_features = super()._potentials(sequences, structure)
        of_base = self._base_potentials(sequences)
        return lambda block: product(of_base(block), of_features(block))

    def _base_potentials(self, sequences: BasedSequences) -> Callable[[Block], Potentials]:
        """What gives log q0(x, y) in a block of X.

        Raises
        ------
        ValueError
            If labels are to be found or summed over, and pairs of tokens at any distance count.
        """
        if self.distant_pairs_ is not None and not sequences.labelled:
            raise ValueError(
                "with distant_pairs there are no predictions, and no sums over labels: two tokens "
                "at any distance are no clique of a chain, so no search that goes from token to "
                "token finds the best labels; compare labellings by log_joint, or fit without "
                "distant_pairs"
            )
        return read_base(self.base_, self._pattern.order).potentials(
            sequences.observed, sequences.exact
        )

    def _of_inputs(self, X: SequenceArray) -> np.ndarray:
        """The part of each sequence's score that no label changes."""
        with np.errstate(over="ignore", invalid="ignore"):
            of_tokens = (
                X.tokens @ self.input_coef_ if len(self.input_coef_) else np.zeros(X.offsets[-1])
            )
        owner = np.repeat(np.arange(len(X)), X.lengths)
        return np.bincount(owner, of_tokens, len(X)) + self.constant_

    def score_samples(self, X: Any) -> np.ndarray:
        """log of q0(x, y) exp(w . f(x, y)), summed over all labellings y: log p(x) up to a
        constant, log Z.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf for a sequence that the base cannot emit.
        """
        sequences = self._read_X(X, reset=False)._replace(exact=True)
        inference = self._learned_inference()
        sums = self._each_sequence(
            sequences, lambda theta, block: inference.log_partition(theta, block.structure)
        )
        return check_sums(sums + self._of_inputs(sequences.X))

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """log of q0(x, y) exp(w . f(x, y)): log p(x, y) up to a constant, log Z.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        sequences = self._read_X(X, reset=False)._replace(exact=True, labelled=True)
        codes = self._read_y(y, sequences, reset=False)
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> np.ndarray:
            return inference.scores(theta, block.structure, codes[block.tokens])

        sums = self._each_sequence(sequences, work) + self._of_inputs(sequences.X)
        if self.distant_pairs_ is not None and sequences.sides is not None:
            counts = self.distant_pairs_.counts(sequences.sides, codes, len(self.classes_))
            sums += counts @ self.distant_coef_
        return check_sums(sums)

    @property
    def distant_names_(self) -> list[tuple[str, Any, str, Any]]:
        """Of each entry of ``distant_coef_`` the feature and the label at a token, and at a later
        one.
        """
        check_is_fitted(self)
        return [] if self.distant_pairs_ is None else self.distant_pairs_.names(self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.dict = False
        return tags
