"""Learning from batches: `partial_fit` for chains whose solver goes over one example after the
other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from sklearn_struct._whole_fits import publishes
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import as_list, form, is_list, largest_sum
from sklearn_struct.estimators.chains.trained_chain import BaseTrainedChain
from sklearn_struct.estimators.fitting.finite_scores import check_learned
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.prepared_weights import Prepared, check_width
from sklearn_struct.estimators.fitting.shared_parameters import SolverParameters
from sklearn_struct.estimators.fitting.solving import Minimisation, step_options, strength
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials, bind
from sklearn_struct.solvers.online import (
    passive_aggressive_pass,
    passive_aggressive_squared_pass,
    perceptron_pass,
)
from sklearn_struct.solvers.result import Stream
from sklearn_struct.solvers.sgd import sgd_pass

__all__ = ["BaseOnlineChain"]

PASSES: dict[str, Callable[..., Stream]] = {
    "ap": perceptron_pass,
    "pa": passive_aggressive_pass,
    "pa-ii": passive_aggressive_squared_pass,
    "sgd": sgd_pass,
}
# for all data so far; the others weigh each sequence against the weights that it finds
ONE_PENALTY = {"sgd"}


def _learns_online(estimator: BaseOnlineChain) -> bool:
    if estimator.solver not in PASSES:
        offered = estimator._parameter_constraints["solver"][0].options
        known = ", ".join(repr(name) for name in PASSES if name in offered)
        raise AttributeError(
            f"solver={estimator.solver!r} needs all data at once; partial_fit takes one of {known}"
        )
    return True


@with_parameters
class BaseOnlineChain(SolverParameters, BaseTrainedChain):
    """A chain that also learns batch by batch, in scikit-learn's manner.

    Learned, besides: ``_stream``, the name of a solver and where its passes have come to, or None
    after `fit`.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of iterations; for "sag" and "sgd", passes over the data.
    tol : float, default=1e-4
        Solvers stop when no entry of the objective's gradient, divided by C and the total sample
        weight, exceeds `tol`; "sgd" stops when a pass improves the objective by less than this
        share. With float32 a gradient has rounding errors, of about 1e-7 times the scores and
        values of features. A smaller `tol` is not reached; a warning then says how large the errors
        are.
    random_state : int, RandomState or None, default=None
        For "sag" and "sgd": the order of the sequences. With "auto", None means 0.

    Attributes
    ----------
    n_iter_ : int
        Iterations of `fit`, plus one for each `partial_fit` since.
    t_ : int
        Number of sequences that `fit` has learned from, plus those of each `partial_fit` since.
    """

    def _minimisation(self) -> Minimisation:
        return super()._minimisation()._replace(learning_rate=self.learning_rate)

    @available_if(_learns_online)
    @publishes
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning: one pass, in random order, over a batch of sequences.

        Starts from the weights of the previous `partial_fit` or `fit`, or from zero. `predict` uses
        an average of the weights over all calls. This average starts anew after `fit` or a change
        of `solver`. With "ap", "pa" and "pa-ii" you may cut a stream into batches anywhere; only
        the order within each batch is random.

        Only for ``solver="sgd"``, and for "ap", "pa" and "pa-ii" if the estimator has them. All
        weights must exist from the first batch on. So you need ``transition_features="all"`` and,
        for sparse X, ``feature_pairs="all"`` and ``min_frequency=1``.

        Parameters
        ----------
        X : list of sequences, SequenceArray, array-like or sparse matrix of shape (n, n_features)
            As in `fit`, with the same features in each call. Dicts and strings must be encoded by a
            fitted `SequenceVectorizer` or `FeatureTemplates` first, unless an earlier `fit` has
            encoded such data itself.
        y : list of label sequences, SequenceArray, or array-like of shape (n,)
            As in `fit`.
        classes : array-like of shape (n_labels,), default=None
            All labels that may ever occur. By default they are those of `y` in the first call, or
            of an earlier `fit`. A later batch with another label is refused.
        sample_weight : array-like of shape (n_sequences,), list or SequenceArray, default=None
            As in `fit`; 0 leaves a sequence out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `classes` are others than before, if X has other features than before, or if the
            parameters are not those that are needed (see above).
        LengthMismatchError, NonFiniteError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place. The estimator is then as it was before.

        Examples
        --------
        >>> from sklearn_struct import LinearChainCRF, SequenceVectorizer
        >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
        >>> vectorizer = SequenceVectorizer().fit(X)
        >>> crf = LinearChainCRF(solver="pa", feature_pairs="all", random_state=0)
        >>> labels = ["DET", "NOUN", "VERB"]
        >>> for batch in (X[:2], X[2:]):
        ...     y = [labels] * len(batch)
        ...     crf = crf.partial_fit(vectorizer.transform(batch), y, classes=labels)
        >>> crf.predict(vectorizer.transform([["a", "cat", "barks"]]))[0]
        ['DET', 'NOUN', 'VERB']
        """
        self._partial_fit(as_list(X), y, classes, sample_weight)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        first = not hasattr(self, "_w")
        # a vocabulary of the first batch would lack words of later ones
        if first and form(X) == "attributes":
            raise InputTypeError(
                "partial_fit needs numbers: encode X (dicts or strings) with a fitted "
                "SequenceVectorizer or "
                "FeatureTemplates, so that all batches have the same features"
            )
        if self.l1_ratio > 0:
            raise ValueError(f"solver={self.solver!r} has no L1 penalty; use l1_ratio=0")
        # labels say what rows are, as in fit
        single_tokens = getattr(self, "_rows_in", True)
        self._rows_in = True
        # with rows accepted for the moment: what they are is settled below, by all batches
        sequences = self._read_X(X, reset=first)
        self._rows_in = single_tokens and bool(np.all(sequences.X.lengths <= 1))
        self._read_classes(classes, first)
        codes = self._read_y(y, sequences, reset=first and classes is None)
        if self._label_weights().class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels at once; give partial_fit a dict of "
                "weights"
            )
        weights = self._weights(sample_weight, sequences, codes)
        structure = self._inference().structure(sequences.X.offsets)
        data = TrainingData(structure, weights.evidence, weights.sequence)
        if data.n_examples == 0:
            raise EmptyDataError("X has no tokens in sequences of positive weight")
        if first:
            self._pattern = self._observe(sequences, codes, weights.token)
            self.n_iter_ = 0
            self.t_ = 0
            self._stream = None
        check_width(self._pattern, sequences.X)
        self._check_order()
        potentials = bind(self._pattern, sequences.X, structure, np.dtype(self.dtype))
        self._check_every_pair(sequences.X, potentials, first)
        size = largest_sum(sequences.X)
        objective = self._go_on(potentials, data)
        check_learned(objective, self._w, size, self._score_of)

    def _go_on(self, potentials: LinearPotentials, data: TrainingData) -> LinearObjective:
        """One pass of the solver over an objective, which is returned. Weights count as they are,
        not relatively to the others of the batch.
        """
        # not the sum of weights: a weight must mean the same in each batch
        data = data._replace(total=float(data.n_examples))
        self.t_ += data.n_examples
        self.n_iter_ += 1
        solver, stream = self._stream or ("", None)
        # another solver's steps mean nothing to this one
        if stream is None or solver != self.solver:
            w = self._w if hasattr(self, "_w") else np.zeros(potentials.size)
            stream = Stream(w, w)
        l2 = 1 / strength(
            self.C, self.solver, self.t_ if self.solver in ONE_PENALTY else data.n_examples
        )
        with Pool(self.n_jobs) as pool:
            loss = self._loss(data.evidence)
            objective = self._objective(self.solver, potentials, loss, data).on(pool)
            with np.errstate(over="ignore", invalid="ignore"):  # what is learned is looked at
                stream = PASSES[self.solver](
                    objective,
                    stream,
                    l2=l2,
                    rng=check_random_state(self.random_state),
                    **step_options(self.solver, self.learning_rate),
                )
        self._w = stream.mean
        self._forget_gap()
        self._stream = (self.solver, stream)
        self.solver_ = self.solver
        self._prepared = Prepared()
        return objective

    def _read_classes(self, classes: Any, first: bool) -> None:
        """Learn ``classes_`` in the first call; later only compare."""
        if classes is None:
            return  # those of y in the first call
        if not (is_list(classes) or isinstance(classes, set | frozenset)):
            raise InputTypeError(
                f"classes must be a sequence of labels, got {type(classes).__name__}"
            )
        labels = (
            label_codes.as_labels(np.asarray(classes))
            if hasattr(classes, "dtype")
            else list(classes)
        )
        read = label_codes.unique_labels(labels, np.array([0, len(labels)]))
        if first:
            self.classes_ = read
        elif read.tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes={labels} are not the labels of earlier calls, {self.classes_.tolist()}"
            )

    def _check_order(self) -> None:
        """Refuse another order than that of the weights so far."""
        if self._inference() != self._learned_inference():
            raise ValueError(
                f"order={self.order}, but what was learned before has order {self._pattern.order}"
            )

    def _check_every_pair(
        self, X: SequenceArray, potentials: LinearPotentials, first: bool
    ) -> None:
        """Refuse a model in which only the pairs that were observed have weights."""
        K = len(self.classes_)
        pattern = self._pattern
        full = K * (pattern.n_features + pattern.fit_intercept)
        for family, width in zip(pattern.families, pattern.widths, strict=True):
            full += (family.n_features + 1) * width
        by_batch = not isinstance(X.stored, np.ndarray) and (
            self.feature_pairs != "all" or self.min_frequency > 1
        )
        if potentials.size < full or (first and (by_batch or self.transition_features != "all")):
            raise ValueError(
                "in partial_fit every pair must have a weight, whatever a batch shows: it needs "
                "transition_features='all' and, for sparse X, feature_pairs='all' and "
                "min_frequency=1"
            )
