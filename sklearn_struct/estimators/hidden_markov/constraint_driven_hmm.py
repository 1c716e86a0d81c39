"""Hidden Markov model that learns from its best labellings under soft constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.encoding.features.stream_vocabularies import look_up
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.labels import label_targets, partial_labels
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.encoding.two_dimensional_input import has_label_a_row
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.iterations import Iterations, IterationSettings
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import repeated, used_tokens
from sklearn_struct.estimators.fitting.shared_parameters import ThreadParameters
from sklearn_struct.estimators.hidden_markov.base_hidden_markov import BaseHiddenChain
from sklearn_struct.estimators.hidden_markov.stream_learning import (
    check_numbers_are_there,
    check_variances,
    kinds_of,
    largest_numbers,
    learn_streams,
)
from sklearn_struct.exceptions import EmptyDataError, UnknownLabelError
from sklearn_struct.hidden_markov.base_training import Options
from sklearn_struct.hidden_markov.constraint_rounds import ConstraintRounds
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.gaussian_moments import least_variances
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.soft_constraints import SoftConstraints, Wanted
from sklearn_struct.solvers.em import Maximum, em

__all__ = ["ConstraintDrivenHMM"]

MOST_STATES = 50  # of a label that knows how long its field is
LEAST_VARIANCE = 1e-4  # as `min_variance` of `HMM`


@with_parameters
class ConstraintDrivenHMM(ThreadParameters, BaseHiddenChain):
    """Hidden Markov model that learns from few labels and from soft constraints.

    A soft constraint is a rule such as "this word usually means that field" or "fields have two
    tokens or more". A labelling may break it, for a penalty. Constraint-driven learning [1]_ first
    fits a model to the known labels. Then it repeats three steps. It finds the `n_best` best
    labellings of each sequence whose labels are not all known, by log p(x, y) minus a penalty for
    each broken constraint. It counts these labellings, with equal weights. And it mixes the model
    of these counts with the model of the known labels. Predictions pay the penalties, too.

    Read more in :doc:`/user_guide/partial_labels`.

    Parameters
    ----------
    labeled_features : dict, default=None
        The label that a value of the first stream of X usually has, such as ``{"ave": "KIND"}``.
    penalty : float, default=2.2
        Subtracted from log p(x, y) for each token of a labelled feature with another label, and for
        each field (a run of one label) that is too short. The default is about log 9: it fits a
        constraint that 9 of 10 cases obey.
    min_length : int, default=1
        Smallest number of tokens of a field, at most 50. 1 is no constraint. Time grows with the
        square of this number.
    constrained : bool, default=True
        Whether predictions use the constraints, too: p(y | x) is multiplied by exp(-penalty) for
        each broken constraint. If False, predictions are those of the learned model alone.
    n_best : int, default=10
        Number of labellings of each sequence that are counted.
    supervised_share : float, default=0.9
        Weight of the model of the known labels in the mixture (gamma of [1]_).
    max_iter : int, default=5
        Rounds.
    smoothing : float, default=0.1
        Added to the count of each value in each label.
    transition_smoothing : float, default=0.1
        The same for starts, transitions and stops.
    verbose : int, default=0
        Print a line for each round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels of y and of `labeled_features`, sorted.
    start_logprob_, transition_logprob_, stop_logprob_ : ndarray
        As those of an `HMM` of order 1.
    vocabulary_, emission_logprob_ : list
        As those of an `HMM` with ``oov="first"``, where X has all sequences, with labels or not.
    means_, covariances_ : ndarray of shape (n_labels, n_numeric_streams)
        Means and variances of the streams of numbers.
    variances_ : ndarray of shape (n_labels, n_numeric_streams)
        The same array as `covariances_`.
    n_iter_ : int
        Rounds; 1 where all labels are known.
    loss_curve_ : list of float
        After each round minus the sum of the scores of the best labellings, log p(x, y) less
        penalties. It need not fall.
    n_features_in_ : int
        Number of streams.

    See Also
    --------
    GECRF : Labelled features as targets of expectations, or as least shares.
    HMM : Without constraints; expectation maximisation where labels are missing.

    References
    ----------
    .. [1] M.-W. Chang, L. Ratinov and D. Roth, "Guiding semi-supervision with constraint-driven
       learning", ACL 2007, section 4.

    Examples
    --------
    >>> from sklearn_struct import ConstraintDrivenHMM
    >>> X = [["2", "oak", "st"], ["9", "st"], ["2", "elm", "ave"], ["9", "fir", "ave"],
    ...      ["9", "elm", "ave"]]
    >>> y = [["NO", "NAME", "KIND"], ["NO", "KIND"], None, None, None]
    >>> model = ConstraintDrivenHMM({"ave": "KIND"}, supervised_share=0.5).fit(X, y)
    >>> model.predict([["2", "fir", "ave"]])[0]
    ['NO', 'NAME', 'KIND']
    """

    labeled_features: Mapping[Any, Any] | None = field(default=None, kw_only=False)
    penalty: float = 2.2
    min_length: int = 1
    constrained: bool = True
    n_best: int = 10
    supervised_share: float = 0.9
    max_iter: int = 5
    smoothing: float = 0.1
    transition_smoothing: float = 0.1
    verbose: int = 0
    _settings: ClassVar[tuple[str, ...]] = (
        "n_jobs",
        "labeled_features",
        "penalty",
        "min_length",
        "constrained",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "labeled_features": [Mapping, None],
        "penalty": [Interval(Real, 0, 1e6, closed="both")],
        "min_length": [Interval(Integral, 1, MOST_STATES, closed="both")],
        "constrained": ["boolean"],
        "n_best": [Interval(Integral, 1, 1000, closed="both")],
        "supervised_share": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "transition_smoothing": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the labels that are known, and learn from the other sequences by rounds.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_columns)
            As in `HMM`.
        y : list of label sequences, SequenceArray or array-like of shape (n,)
            One label a token, None where it is missing; None in the place of a sequence's labels,
            if all are. Some must be known.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence; counts are multiplied by it.

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, NonFiniteError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place; a two-dimensional X or a wrong `sample_weight` may get scikit-learn's
            own ValueError. The estimator is then as it was before.
        """
        super().fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        if y is None:
            raise ValueError(
                "This ConstraintDrivenHMM estimator requires y to be passed, but the target y is "
                "None; None may stand in the place of some sequences' labels"
            )
        X = as_list(X)
        y = as_list(y)
        columns, flat = self._read_columns(X if has_label_a_row(y) else symbols(X), reset=True)
        labels = self._flat_labels(y, columns.offsets, flat)
        self.classes_ = self._label_set(labels, columns.offsets)
        codes = partial_labels.encode(labels, self.classes_, columns.offsets)
        weight = self._read_weight(sample_weight, len(columns.offsets) - 1)
        used = used_tokens(weight, np.diff(columns.offsets))
        if not np.any(used & (codes >= 0)):
            raise EmptyDataError("no sequence with labels has a positive weight")
        self._kind = columns.kind
        kinds = kinds_of(columns, "auto")
        self.vocabulary_, observed = learn_streams(columns, used, kinds, "first")
        check_numbers_are_there(observed, used, kinds, self._names)
        with Pool(self.n_jobs) as pool:
            training = self._training(observed, codes, weight, self.vocabulary_, pool)
            rounds = ConstraintRounds(
                training,
                self._supervised(columns, training, used, kinds),
                self._constraints(),
                self._wanted_labels(columns),
                self.n_best,
                self.supervised_share,
            )
            speaker = type(self).__name__ if self.verbose else ""
            # -1, as scores are better where they are higher
            iterations = Iterations(
                self._learned,
                progress,
                IterationSettings(self.max_iter, 0.0, speaker, warns=False),
                scale=-1.0,
            )
            self.__dict__.update(self._rounds(rounds, iterations, bool(np.all(codes[used] >= 0))))

    def _label_set(self, labels: list[Any], offsets: np.ndarray) -> np.ndarray:
        """The labels of y and of the constraints."""
        if not any(label is not None for label in labels):
            raise EmptyDataError("y has no labels")
        named = []
        for value, label in (self.labeled_features or {}).items():
            named += label_targets.checked_labels([label], f"labeled_features[{value!r}]")
        return partial_labels.known_labels(
            [*labels, *named], np.append(offsets, offsets[-1] + len(named))
        )

    def _training(
        self,
        observed: Observed,
        codes: np.ndarray,
        weight: np.ndarray,
        vocabularies: list[dict[Any, int] | None],
        pool: Pool,
    ) -> Training:
        of_tokens = repeated(weight, observed.lengths)
        floor = least_variances(observed.numbers, of_tokens, LEAST_VARIANCE)
        check_variances(floor, partial(largest_numbers, observed), self._kinds, self._names)
        n_values = [len(values) + 1 for values in vocabularies if values is not None]
        options = Options(1, n_values, True, self.smoothing, self.transition_smoothing, floor)
        return Training(observed, codes, weight, len(self.classes_), options, pool)

    def _supervised(
        self, columns: streams.Columns, training: Training, used: np.ndarray, kinds: list[str]
    ) -> HiddenMarkov:
        """The model of the known labels, with the values of all sequences.

        Values that it knows not share the probability of what is out of its vocabulary as they
        occur, in all labels alike, so that its posteriors are as before.
        """
        codes = training.codes
        known, observed = learn_streams(columns, used & (codes >= 0), kinds, "first")
        own = self._training(observed, codes, training.weight, known, training.pool)
        model = own.maximise(own.counted(codes))
        of_values = [c for c, values in enumerate(known) if values is not None]
        tables = []
        for c, coded, table in zip(of_values, training.observed.codes, model.tables, strict=True):
            values = known[c] or {}
            vocabulary = self.vocabulary_[c] or {}
            is_new = used & (look_up(columns.columns[c], values) < 0)
            share = np.bincount(coded[is_new], minlength=len(vocabulary) + 1).astype(float)
            # what nobody has seen yet must not be impossible
            share[-1] = max(share[-1], 1.0)
            with np.errstate(divide="ignore"):
                wider = table[:, -1:] + np.log(share / share.sum())
            for value, code in values.items():
                wider[:, vocabulary[value]] = table[:, code]
            tables.append(wider)
        return model._replace(tables=tables)

    def _rounds(
        self, rounds: ConstraintRounds, iterations: Iterations, all_known: bool
    ) -> dict[str, Any]:
        """What is learned, by name."""
        model = rounds.supervised
        iterations.begin(model)
        if all_known:
            value = rounds.expect(model)[1]
            iterations(1, model, value)
            return iterations.end(Maximum(model, value, 1, True), "", "")
        # after as many rounds as were asked for, as values need not rise
        result = em(
            rounds.expect,
            rounds.maximise,
            model,
            max_iter=self.max_iter,
            tol=-math.inf,
            callback=iterations,
        )
        return iterations.end(result, "", "")

    # ---- constraints

    def _constraints(self) -> SoftConstraints:
        return SoftConstraints(float(self.penalty), int(self.min_length))

    def _wanted_labels(self, columns: streams.Columns) -> np.ndarray:
        """The label that each token should have, -1 where any may stand."""
        if not self.labeled_features or not columns.columns:
            return np.full(columns.offsets[-1], -1)
        code = {label: k for k, label in enumerate(self.classes_.tolist())}
        table = {}
        for value, label in self.labeled_features.items():
            place = f"labeled_features[{value!r}]"
            [checked] = label_targets.checked_labels([label], place)
            if checked not in code:
                raise UnknownLabelError(f"{place}: label {label!r} was not seen in fit")
            table[value] = code[checked]
        return look_up(columns.columns[0], table).astype(np.int64)

    def _read_X(self, X: Any, reset: bool) -> Sequences:
        columns, flat = self._read_columns(as_list(X), reset)
        observed: Any = Wanted.of(self._observe(columns), self._wanted_labels(columns))
        return Sequences(observed, flat)

    # ---- states, which know how long their label's field is

    def _states(self, model: HiddenMarkov, observed: Any, block: Block) -> Potentials:
        theta = super()._states(model, observed, block)
        if not self.constrained:
            return theta
        return self._constraints().of(theta, block.structure, observed.wanted[block.tokens])

    def _labels_of_states(self, states: np.ndarray) -> np.ndarray:
        return self._constraints().labels(states) if self.constrained else states

    def _proba_of_states(self, proba: np.ndarray) -> np.ndarray:
        return self._constraints().proba(proba) if self.constrained else proba
