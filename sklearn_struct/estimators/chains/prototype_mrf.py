"""Joint model of words and labels that learns from text and prototypes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.column_choice import Features, columns_named
from sklearn_struct.encoding.features.distinct_words import Words, distinct_words
from sklearn_struct.encoding.labels import partial_labels
from sklearn_struct.encoding.labels.prototype_labels import (
    Prototypes,
    boundary_code,
    joined,
    prototype_labels,
    read_prototypes,
)
from sklearn_struct.encoding.sequences import largest_sum
from sklearn_struct.encoding.two_dimensional_input import refuse_without_labels
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.chains.chain_parameters import InferenceParameters
from sklearn_struct.estimators.chains.forbidden_label_errors import check_labels
from sklearn_struct.estimators.chains.observed_weights import WeightChoice, observe
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_structured import Restriction
from sklearn_struct.estimators.fitting.finite_scores import check_learned
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.prepared_weights import Prepared, check_width
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.solving import choice, solve
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.generated_words import FreeTexts, GeneratedWords
from sklearn_struct.losses.log_partition import LogPartition
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.objectives.generative_objective import GenerativeObjective
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.node_maps import without_zeros
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["PrototypeMRF"]

# the difference of two log Z, as the objective is
DIFFERENCE = MarginalLikelihood(Chain())


@with_parameters
class PrototypeMRF(InferenceParameters, BaseChain):
    """Markov random field of words and labels that learns from bare text and a few prototypes.

    A prototype is a word, or another feature, whose tokens have one label: "oak" is the name of a
    street. Prototype-driven learning [1]_ fits the joint model

        p(x, y | n) = exp(score(x, y)) / Z(n)

    of a text x with n tokens and its labels y. Training maximises the probability of the texts,
    summed over all labellings in which prototypes have their labels. The score is that of
    `LinearChainCRF`. Predictions are made in the same way, and prototypes keep their labels in
    them.

    Unlike in a CRF, Z sums over texts, too: each token may be any word of the training data. The
    likelihood of a CRF is the same for all labellings of unlabelled text; here a label must explain
    which words occur. Words that share features, such as an ending or a similarity to a prototype
    (`PrototypeFeatures`), tend to get the same label.

    Tokens are the same *word* if all their features are equal. So X may have any form, and no
    column has to name the word. Give X features of the token itself, such as the word, its ending
    and its case. Give it no features of neighbours: the labels of neighbours stand for them.
    Features that describe the place of a token go into `given_features`. A word that training has
    not seen is scored by the weights of its known features.

    Training minimises

        C * sum_i -log p(x_i, y_i as far as it is known | n_i) + penalty,

        penalty = (1 - l1_ratio) / 2 * ||w||_2**2 + l1_ratio * ||w||_1,

    which is not convex where labels are missing. The default is a chain of order 1; [1]_ uses
    ``order=2``.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    prototypes : dict, default=None
        A key is a prototype: the name of a feature in X, or its column. A value is the label that
        its tokens have, or a set of labels of which they have one. A token has a feature if the
        value is not 0. A token with several prototypes may have the label of any of them. Labels in
        y and in `allowed` override prototypes.
    boundary : label, default=None
        The label of tokens between fields, such as punctuation; its prototypes say which tokens
        these are. `predict` replaces it by the label of the token before, and at the beginning of a
        sequence by that of the first other token [1]_. If all tokens of a sequence have this label,
        they keep it. `allowed`, probabilities, `predict_nbest` and `sample` treat it like any other
        label.
    given_features : None, str, re.Pattern, or iterable of str, re.Pattern and int, default=None
        Features of X that describe the place of a token and not its word, such as "first" and
        "last". The model does not explain them: it is p(x, y) given these features. Columns as in
        ``LinearChainCRF(edge_features=...)``.
    order : {1, 2}, default=1
        As in `LinearChainCRF`.
    constrain_training : bool, default=False
        Whether training, too, leaves out the labellings that `allowed_transitions` forbids.
    fit_intercept : bool, default=False
        Give each label an unpenalised weight of its own. Numeric features need it. If words have
        features of their own, it adds little, and in unlabelled text it may make labels frequent or
        rare for no reason.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "em"}, \
            default="auto"
        "auto" is "owlqn" if ``l1_ratio > 0``, else "lbfgs". "em", expectation maximisation:
        it computes expected labels, moves the weights by a few iterations, and repeats both.
    C : float, default=1.0
        Inverse strength of the penalty, the prior's variance; ``np.inf`` for none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels of y and of `prototypes`, sorted.
    prototype_columns_ : ndarray of int
        Columns of X that are prototypes.
    prototype_labels_ : ndarray of bool, shape (n_prototypes, n_labels)
        Which labels their tokens may have.
    n_words_ : int
        How many words the training data have.

    See Also
    --------
    GECRF : Takes such knowledge as targets of a conditional model, whose features may be of
        neighbours.
    ConstraintDrivenHMM : Takes it as soft constraints, with a few labels.
    PrototypeFeatures : Features that say which prototypes a word is like.
    sklearn_struct.labeled_features : Functions that suggest prototypes.

    References
    ----------
    .. [1] A. Haghighi and D. Klein, "Prototype-driven learning for sequence models", HLT-NAACL
       2006.

    Examples
    --------
    >>> from sklearn_struct import PrototypeMRF
    >>> texts = ["1 oak st", "2 elm ave", "3 oak rd", "1 fir st"]
    >>> X = [[{word: 1, "digit": word.isdigit()} for word in t.split()] for t in texts]
    >>> prototypes = {"1": "NO", "oak": "NAME", "st": "KIND"}
    >>> model = PrototypeMRF(prototypes).fit(X)
    >>> model.predict(X[1:2])[0]
    ['NO', 'NAME', 'KIND']
    """

    prototypes: Mapping[Any, Any] | None = field(default=None, kw_only=False)
    boundary: Any = None
    given_features: Features | None = None
    fit_intercept: bool = False
    # which weights there are follows from the words: all labels must compete for each
    feature_pairs: str = field(default="observed", init=False)
    transition_features: str = field(default="all", init=False)
    edge_features: Features | None = field(default=None, init=False)
    min_frequency: int = field(default=1, init=False)
    random_state: Any = field(default=None, init=False)
    _settings: ClassVar[tuple[str, ...]] = (*BaseChain._settings, "boundary")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prototypes": [Mapping, None],
        "boundary": [object],  # any label
        "given_features": [None, str, re.Pattern, Iterable],
        "solver": [
            StrOptions({"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "em"})
        ],
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of sequences, SequenceArray, array-like or sparse matrix of shape (n, n_features)
            As in `LinearChainCRF`.
        y : list of label sequences, SequenceArray, array-like of shape (n,) or None, default=None
            The known labels: a label for each token, None if nothing is known, or a set if one of
            several labels is right. If no label of a sequence is known, None may stand for its
            list; if no label is known at all, None for y.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence.
        init : fitted estimator of the same family, default=None
            Start from its weights, matched by label and by feature name (by position where there
            are no names).

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, NonFiniteError, UnknownLabelError, EmptyDataError, InputTypeError, \
        ForbiddenLabelError
            With the place or the prototype; ValueError for a prototype that is no feature of X. The
            estimator is then as it was before.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        start = self._start_of(init)
        self._prepared = Prepared()
        sequences = self._read_X(X, reset=True)
        labels = self._read_labels(y, sequences, reset=True)
        self._boundary()
        weights = sample_weights.read(
            sample_weight,
            sequences.X,
            labels,
            flat=sequences.flat,
            of_labels=sample_weights.LabelWeights(self.classes_, None),
            loss=lambda: DIFFERENCE,
        )
        given = np.arange(0)
        if self.given_features is not None:
            given = columns_named(self.given_features, sequences.X, "given_features")
        size = largest_sum(sequences.X)
        words = distinct_words(sequences.X, given, weights.sequence)
        self.n_words_ = words.rows.shape[0] - words.n_places
        if not self.n_words_:
            raise EmptyDataError("no token has a positive weight")
        self._pattern = self._observe(sequences, labels, weights.token)
        structure = self._structure(sequences, learned=False)
        data = TrainingData(structure, weights.evidence, weights.sequence)
        objective = self._objective(sequences.X, data, words)
        w0 = np.zeros(objective.size) if start is None else self._transferred(start)
        self.t_ = data.n_examples
        self._stream = None
        settings = self._minimisation()
        solver = choice(settings, DIFFERENCE, objective.potentials, data)
        with Pool(self.n_jobs) as pool:
            objective = objective.on(pool)
            iterations = Iterations(
                self._learned, progress, self._iteration_settings(), objective.total_weight
            )
            self.__dict__.update(solve(settings, solver, objective, w0, iterations))
            check_learned(objective, self._w, size, self._score_of)

    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        """All pairs of a label and a feature that occurs: what other words gain, a word loses."""
        choice = WeightChoice(
            self._inference().order, "observed", "all", None, 1, self.fit_intercept
        )
        every = np.ones((len(weight), self._width()), dtype=bool)
        return observe(choice, self._width(), sequences.X, every, weight)

    def _objective(self, X: SequenceArray, data: TrainingData, words: Words) -> GenerativeObjective:
        """What the solver minimises: the sums of all texts, less those of the texts that are."""
        inference = self._inference()
        dtype = np.dtype(self.dtype)
        among_allowed: Loss = LogPartition(inference, among_allowed=True)
        of_all: Loss = LogPartition(inference)
        transitions = self._transitions()
        if transitions is not None and self.constrain_training:
            check_labels(data, transitions, self.classes_)
            among_allowed = Constrained(among_allowed, transitions)
            of_all = Constrained(of_all, transitions)
        of_X = bind(self._pattern, without_zeros(X), data.structure, dtype)
        texts = LinearObjective(of_X, among_allowed, inference, data)
        rows = SequenceArray(words.rows, [0, words.rows.shape[0]])
        structure = inference.structure(rows.offsets)
        free = FreeTexts(
            inference.structure(words.offsets), words.place, words.n_places, words.weight
        )
        listed = LinearObjective(
            bind(self._pattern, without_zeros(rows), structure, dtype),
            GeneratedWords(of_all, free),
            inference,
            TrainingData(structure, Evidence(), np.ones(1), texts.total_weight),
        )
        return GenerativeObjective(texts, listed)

    # ---- labels

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """Codes, or masks (n_tokens, n_labels) of what may stand at each token; with `reset`, masks
        in which prototypes have their labels.
        """
        if y is None and not self.prototypes and reset:
            return self._read_y(y, sequences, reset)
        if y is None and sequences.flat and reset:
            refuse_without_labels(len(sequences.X), "PrototypeMRF")
        offsets = sequences.X.offsets
        flat = self._flat_labels(y, offsets, sequences.flat)
        if not reset:
            if not partial_labels.is_partial(flat):
                return self._read_y(y, sequences, reset, unseen)
            return partial_labels.masks(flat, self.classes_, offsets, unseen)
        named = prototype_labels(self.prototypes or {})
        self.classes_ = partial_labels.known_labels(
            [*flat, *named], np.append(offsets, offsets[-1] + len(named))
        )
        prototypes = read_prototypes(self.prototypes or {}, sequences.X, self.classes_)
        self.prototype_columns_, self.prototype_labels_ = prototypes
        known = partial_labels.masks(flat, self.classes_, offsets)
        return prototypes.allowed(sequences.X, known)

    def _boundary(self) -> int | None:
        """The code of the label of boundaries, if there is one."""
        return None if self.boundary is None else boundary_code(self.boundary, self.classes_)

    # ---- predictions

    def _limits(self, sequences: Sequences, allowed: Any) -> np.ndarray | None:
        known = super()._limits(sequences, allowed)
        if not len(self.prototype_columns_):
            return known
        # columns of an X of another width would be other features
        check_width(self._pattern, sequences.X)
        prototypes = Prototypes(self.prototype_columns_, self.prototype_labels_)
        return prototypes.allowed(sequences.X, known)

    def _predict_codes(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        boundary = self._boundary()
        codes = super()._predict_codes(sequences, restrict)
        return codes if boundary is None else joined(codes, boundary, sequences.X.offsets)
