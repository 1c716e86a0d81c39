"""Semi-Markov conditional random field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.structures import Structure
from sklearn_struct.encoding.features.column_choice import Features
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.chains.observed_weights import WeightChoice
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.shared_parameters import (
    SMOOTH,
    IterationParameters,
    PenaltyParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.fitting.solving import Minimisation, choice_for_batches
from sklearn_struct.estimators.fitting.warm_start import Target, transfer
from sklearn_struct.estimators.segments import segment_labels
from sklearn_struct.estimators.segments.observed_segments import (
    chosen_columns,
    observe_segments,
    segment_inputs,
)
from sklearn_struct.estimators.segments.segment_labels import Form, Segments
from sklearn_struct.estimators.segments.segment_predictions import BaseSegmentPredictions
from sklearn_struct.estimators.segments.segment_starts import of_segments
from sklearn_struct.estimators.segments.segment_transitions import BaseSegmentTransitions
from sklearn_struct.inference.segments.segmentations import Segmentations
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_potentials import Inputs
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["SemiMarkovCRF"]


@with_parameters
class SemiMarkovCRF(
    BaseSegmentPredictions,
    BaseSegmentTransitions,
    PenaltyParameters,
    IterationParameters,
    ThreadParameters,
):
    """Semi-Markov conditional random field: a CRF whose units are segments, such as names or fields
    of several tokens.

    A segmentation s divides a sequence into segments of at most `max_length` tokens, each with one
    label. With segments from token b to before token e, of label k and after a segment of label j,

        p(s | x) = exp(sum over segments of score(b, e, j, k)) / Z(x),
        score(b, e, j, k) = sum_{t=b}^{e-1} (coef[k] . x_t + intercept[k]) + length_coef[e - b - 1,
        k] + first_coef[k] . x_b + last_coef[k] . x_{e-1} + segment_coef[k] . f(x, b, e) +
        transition[j, k].

    f(x, b, e) are the `segment_features`.

    The model of [1]_. A linear chain sees two neighbouring labels at a time. Here a segment has a
    weight for its length, and transitions lead from one segment to the next, however long it is.
    Inference is exact. A token costs K**2 + K * max_length operations for K labels. With
    ``max_length=1`` this is `LinearChainCRF`.

    The objective is that of `LinearChainCRF`, with -log p(s_i | x_i) as the loss of a sequence.

    Read more in :doc:`/user_guide/segments`.

    Parameters
    ----------
    max_length : int, default=None
        The largest number of tokens of a segment; if it is larger, that of the longest sequence in
        `fit`. None: that of the longest segment in y. With 1 each token is a segment, whose label
        is its tag.
    scheme : {None, "IO", "IOB1", "IOB2", "IOBES"}, default=None
        How the tags of y mark segments, as in `metrics.extract_spans`. None: the scheme is seen
        from the letters of the tags, ``B-NAME``. "IO": the tags are labels, and each run of the
        same label is a segment; tags without letters are read so. Predictions are in this scheme.
        No effect where y has spans.
    outside : str, int or None, default="O"
        The label of tokens outside of spans. Each such token is a segment by itself. Tags with
        letters have "O". None: there is no such label.
    end_features : None, "all", str, re.Pattern, or iterable of str, re.Pattern and int, \
            default="all"
        Features of X that have further weights for the first token of a segment, and for the last
        one. They tell where a segment begins and ends, as B- and I- do in the tags of a chain. They
        are named as `edge_features` in `LinearChainCRF`. "all" is every feature. Labels whose
        segments always have one token, such as `outside`, have no weights of last tokens, as these
        are the first ones. No effect where all segments have one token.
    segment_features : callable, Lexicon, list of these, or None, default=None
        Features of whole segments. A function gets (tokens, start, end): the tokens of a sequence
        as X has them, and two numbers; the segment has the tokens from start to before end. It
        returns attributes as a token has them: a string, a list or set of strings, a dict, or None
        for no attribute. A `Lexicon` says whether the words are a known phrase. Attributes that no
        segment of y had in `fit` are ignored. It is called for each segment of at most `max_length`
        tokens. Predictions call it, too. X must not be two-dimensional.
    edge_features : None, "all", str, re.Pattern, or iterable of str, re.Pattern and int, \
            default=None
        Features of X that also score the transition into a segment whose first token has them,
        named as in `LinearChainCRF`.
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, label) get a weight. "observed": those that occur together in the
        training data. "all": all pairs. With a dense X, which stores its zeros, both are the same.
    transition_features : {"all", "observed"}, default="all"
        Which transitions between segments get a weight. The others keep weight 0; they are not
        forbidden.
    min_frequency : int, default=1
        Pairs (feature, label) and observed transitions that are seen fewer times get no weight. No
        effect on a dense X.
    fit_intercept : bool, default=True
        Give each label an unpenalised weight of its own, for each token.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient"}, \
            default="auto"
        What minimises the objective, as in `LinearChainCRF`. "auto": "owlqn" if ``l1_ratio > 0``,
        else "lbfgs".
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by label and feature.
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials. Sums, weights and gradients are always
        float64.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels of segments, sorted. Of tags with letters these are the types, and "O".
    max_length_ : int
        The largest number of tokens of a segment.
    scheme_ : str
        The scheme of the tags that predictions have.
    coef_ : ndarray or csr_array of shape (n_labels, n_features)
        Weights of the features of tokens; sparse if X is. All tables of weights are made when you
        ask for them, and are read-only: to start a fit from other weights, give it a fitted model
        as `init`.
    length_coef_ : ndarray of shape (n_lengths, n_labels)
        Row m has the weights of segments of m + 1 tokens. The first row is 0.
    first_coef_ : ndarray or csr_array of shape (n_labels, n_end_features)
        Weights of the end features of first tokens.
    last_coef_ : ndarray or csr_array of shape (n_labels, n_end_features)
        Weights of the end features of last tokens; 0 for labels whose segments have one token.
    end_features_ : ndarray of int
        Columns of X that have weights for both ends of segments.
    segment_coef_ : csr_array of shape (n_labels, n_segment_features)
        Weights of the features of whole segments.
    segment_feature_names_ : ndarray of str
        Names of the features of whole segments.
    segment_vectorizer_ : SequenceVectorizer
        Encodes the features of whole segments; only with `segment_features`.
    transition_ : ndarray of shape (n_labels, n_labels)
        Weights of transitions, from the label of a segment (row) to that of the next one.
    intercept_ : ndarray of shape (n_labels,)
    edge_coef_ : ndarray or csr_array of shape (n_labels * n_labels, n_edge_features)
        Weights of the edge features; row j * n_labels + k for the transition from j to k.
    edge_features_ : ndarray of int
        Columns of X that also score transitions.
    n_iter_ : int
        Iterations of `fit`.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the features, if X has them.
    vectorizer_ : SequenceVectorizer
        Encodes dicts and strings; only if X holds such.

    See Also
    --------
    LinearChainCRF : Labels single tokens.
    Lexicon : Known phrases as features of segments.
    sklearn_struct.metrics.extract_spans : Finds the spans that tags mark.
    sklearn_struct.metrics.span_f1_score : Scores spans.

    References
    ----------
    .. [1] S. Sarawagi and W. W. Cohen, "Semi-Markov conditional random fields for information
       extraction", NIPS 2004.

    Examples
    --------
    >>> from sklearn_struct import SemiMarkovCRF
    >>> X = [["call", "Ann", "Lee", "now"], ["Bob", "sleeps"], ["ask", "Jo", "Fox"]]
    >>> y = [["O", "B-PER", "I-PER", "O"], ["B-PER", "O"], ["O", "B-PER", "I-PER"]]
    >>> crf = SemiMarkovCRF(C=10).fit(X, y)
    >>> crf.predict([["call", "Jo", "Lee"]])[0]
    ['O', 'B-PER', 'I-PER']
    >>> crf.predict_spans([["call", "Jo", "Lee"]])[0]
    [(1, 3, 'PER')]
    """

    max_length: int | None = None
    scheme: str | None = None
    outside: Any = segment_labels.OUTSIDE
    end_features: Features | None = "all"
    segment_features: Any = None
    edge_features: Features | None = None
    feature_pairs: str = "observed"
    transition_features: str = "all"
    min_frequency: int = 1
    fit_intercept: bool = True
    solver: str = "auto"
    warm_start: bool = False
    dtype: str = "float64"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_length": [Interval(Integral, 1, None, closed="left"), None],
        "scheme": [StrOptions({"IO", "IOB1", "IOB2", "IOBES"}), None],
        "outside": [str, Integral, None],
        "end_features": [None, str, re.Pattern, Iterable],
        "segment_features": [callable, list, tuple, None],
        "edge_features": [None, str, re.Pattern, Iterable],
        "feature_pairs": [StrOptions({"observed", "all"})],
        "transition_features": [StrOptions({"observed", "all"})],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", *SMOOTH, "owlqn"})],
        "warm_start": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
    }

    @property
    def max_length_(self) -> int:
        """The largest number of tokens of a segment."""
        longest: tuple[int, ...] = self._fitted("_longest")
        return max(longest)

    @property
    def scheme_(self) -> str:
        """The scheme of the tags that predictions have."""
        form: Form = self._fitted("_form")
        return form.scheme

    @property
    def edge_features_(self) -> np.ndarray:
        """Columns of X that also score transitions."""
        columns: np.ndarray = self._fitted("_pattern").edge_columns
        return columns

    @property
    def edge_coef_(self) -> Any:
        """Weights of the edge features: (n_labels**2, n_edge_features), row j * n_labels + k."""
        return self._tables_of_features()[0]

    @property
    def end_features_(self) -> np.ndarray:
        """Columns of X that have weights for both ends of segments."""
        columns: np.ndarray = self._fitted("_end_columns")
        return columns

    @property
    def first_coef_(self) -> Any:
        """Weights of the end features of first tokens (n_labels, n_end_features)."""
        return self._of_ends(0)

    @property
    def last_coef_(self) -> Any:
        """Weights of the end features of last tokens (n_labels, n_end_features)."""
        return self._of_ends(1)

    def _of_ends(self, which: int) -> Any:
        if not len(self.end_features_):
            return np.zeros((self._pattern.n_labels, 0))
        return self._tables_of_features()[self.max_length_ + which]

    @property
    def segment_coef_(self) -> Any:
        """Weights of the features of whole segments (n_labels, n_segment_features)."""
        pattern = self._fitted("_pattern")
        if not self._has_whole():
            return sp.csr_array((pattern.n_labels, 0))
        return self._tables_of_features()[-1]

    @property
    def segment_feature_names_(self) -> np.ndarray:
        """Names of the features of whole segments."""
        self._fitted("_pattern")
        if not self._has_whole():
            return np.empty(0, object)
        return self.segment_vectorizer_.get_feature_names_out()

    @property
    def length_coef_(self) -> np.ndarray:
        """Weights of lengths (n_lengths, n_labels); row m is for segments of m + 1 tokens."""
        pattern = self._fitted("_pattern")
        table = np.zeros((self.max_length_, pattern.n_labels))
        columns = self._segments().columns
        for m in range(1, len(table)):
            table[m, pattern.families[m].columns] = columns[m]
        return table

    def _inference(self) -> Segmentations:
        # what was read of y says how long segments are
        return self._learned_inference()

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        return LogLikelihood(self._inference())

    def _structure(self, sequences: Sequences, learned: bool) -> Structure:
        return self._learned_inference().structure(sequences.X.offsets, self._has_whole())

    def _minimisation(self) -> Minimisation:
        solver = choice_for_batches(self.solver, self.l1_ratio)
        return Minimisation(
            solver, self.C, self.tol, self.max_iter, self.l1_ratio, None, self.dtype
        )

    def _inputs(self, sequences: Sequences) -> Inputs:
        structure = self._structure(sequences, learned=True)
        whole = self._segment_rows(sequences)
        return segment_inputs(self._pattern, structure, sequences.X, self._end_columns, whole)

    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        choice = WeightChoice(
            1,
            self.feature_pairs,
            self.transition_features,
            self.edge_features,
            self.min_frequency,
            self.fit_intercept,
        )
        whole = self._learn_segments(sequences, codes, weight, self.feature_pairs == "all")
        ends = self._end_columns
        return observe_segments(choice, self._longest, sequences.X, codes, weight, ends, whole)

    def _transferred(self, start: Any) -> np.ndarray:
        names = getattr(self, "feature_names_in_", None)
        target = Target(self._pattern, self._rows_for(start), self.n_features_in_, names)
        of_whole = self.segment_feature_names_ if self._has_whole() else None
        ends = self._end_columns
        return transfer(start, target, partial(of_segments, end_columns=ends, names=of_whole))

    def _read_y(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """Codes of segments; with `reset`, learn ``classes_``, the form of y and how long segments
        are.
        """
        if sequences.flat or y is None:
            if reset:
                self._form = Form("IO", self.outside)
            codes = super()._read_y(y, sequences, reset, unseen)
            if reset:
                self._longest = (1,) * len(self.classes_)
                self._end_columns = np.arange(0)
            return codes
        y = as_list(y)
        offsets = sequences.X.offsets
        segments = self._read_segments(y, offsets, reset)
        if reset:
            self.classes_ = label_codes.unique_labels(segments.labels, offsets)
            self._longest = self._lengths(segments, offsets)
            # the one token of a segment has its weights already
            wanted = self.end_features if max(self._longest) > 1 else None
            self._end_columns = chosen_columns(wanted, sequences.X, "end_features")
        codes = label_codes.encode(segments.labels, self.classes_, offsets, unseen)
        inside = ~segments.begins & (codes >= 0)
        codes[inside] += len(self.classes_)
        return codes

    def _read_segments(self, y: Any, offsets: np.ndarray, reset: bool) -> Segments:
        """The segments of y; with `reset`, learn its form."""
        are_spans = segment_labels.are_spans(y, offsets)
        if are_spans:
            if reset:
                self._form = Form(self.scheme or "IOB2", self.outside, spans=True)
            return segment_labels.read_spans(y, offsets, self._form.outside)
        tags = label_codes.flatten(y, offsets)
        if reset:
            # before it is asked which letters tags have
            label_codes.unique_labels(tags, offsets)
            form = segment_labels.form_of(tags, self.scheme, self.outside)
            single = self.max_length == 1
            self._form = Form("IO", None, single=True) if single else form
        return segment_labels.read_tags(tags, offsets, self._form)

    def _lengths(self, segments: Segments, offsets: np.ndarray) -> tuple[int, ...]:
        """How many tokens segments of each label have at most."""
        lengths = segments.lengths()
        longest = int(lengths.max(initial=1))
        if self.max_length is not None and longest > self.max_length:
            t = int(np.flatnonzero(segments.begins)[np.argmax(lengths > self.max_length)])
            n_tokens = int(lengths[np.argmax(lengths > self.max_length)])
            raise ValueError(
                f"{label_codes.place(t, offsets)}: a segment {segments.labels[t]!r} of {n_tokens} "
                f"tokens begins here, but max_length={self.max_length}; the longest segment in y "
                f"has {longest} tokens, so write max_length={longest}, or None"
            )
        # no segment of the training data is longer than the longest sequence
        most = min(self.max_length or longest, int(np.diff(offsets).max(initial=1)))
        return tuple(1 if label == self._form.outside else most for label in self.classes_.tolist())
