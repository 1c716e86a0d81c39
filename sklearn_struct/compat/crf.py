"""`CRF`, the interface of sklearn-crfsuite on a `LinearChainCRF`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from sklearn_struct._doc_link import DocLink
from sklearn_struct.compat.metrics import flat_accuracy_score, sequence_accuracy_score
from sklearn_struct.compat.model_file import Filed, check_path, size_of
from sklearn_struct.compat.parameter_mapping import mapped
from sklearn_struct.compat.tagger import ModelInfo, Tagger
from sklearn_struct.compat.training_log import TrainingLog, training_log
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.typing import Label, SequenceInput, Token
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.metrics.accuracy import token_accuracy_score
from sklearn_struct.persistence.crfsuite_writer import crfsuite_bytes
from sklearn_struct.persistence.whole_files import write_whole

__all__ = ["CRF"]


class CRF(DocLink, Filed, BaseEstimator):
    """Drop-in replacement for ``sklearn_crfsuite.CRF``, on a `LinearChainCRF`.

    It has the same parameters, methods and attributes, so you only change the import. The model,
    its objective and its features are CRFsuite's, so that "lbfgs" finds the same optimum.
    New code has more choices with `LinearChainCRF` itself.

    Read more in :doc:`/migration/crfsuite`.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, default=None
        None is "lbfgs".
    min_freq : float, default=None
        Pairs of attribute and label, and transitions, that occur fewer times get no weight. Here
        each occurrence counts as 1; CRFsuite adds up the values of the attribute.
    all_possible_states, all_possible_transitions : bool, default=None
        Weights also for pairs that do not occur in the training data. As in CRFsuite, they have no
        effect with ``min_freq > 0``.
    c1, c2 : float, default=None
        Coefficients of the L1 (0 if None) and of the L2 penalty (1 if None).
    max_iterations : int, default=None
        None: unlimited for "lbfgs", 1000 for "l2sgd", else 100. As with CRFsuite, a fit that ends
        there gives no `ConvergenceWarning`.
    num_memories : int, default=None
        Ignored.
    epsilon, delta : float, default=None
        Tolerances. Ten times the larger one is `tol` of "lbfgs" (1e-5 if None); `tol` is `delta`
        for "l2sgd" (1e-6 if None), `epsilon` for "ap", "pa" and "arow" (0 if None).
    period, linesearch, max_linesearch : default=None
        Ignored.
    calibration_eta, calibration_rate, calibration_samples : default=None
        Ignored.
    calibration_candidates, calibration_max_trials : default=None
        Ignored.
    pa_type : {0, 1, 2}, default=None
        The variant of passive-aggressive updates: without slack (0), with slack whose cost is
        linear (1, as None) or quadratic (2). `c` is the weight of the slack.
    c : float, default=None
        Aggressiveness of "pa", 1 if None.
    error_sensitive, averaging : bool, default=None
        "pa" is always both.
    variance, gamma : float, default=None
        Of "arow", each 1 if None: the variance of all weights at the start, and how much an update
        is regularised.
    verbose : bool, default=False
    model_filename : str, default=None
        The file to which `fit` writes the model, in CRFsuite's format. CRFsuite itself and
        `sklearn_struct.persistence.from_crfsuite` read it. Labels must be strings. Before `fit` the
        model is the one in this file, if it exists; it is read once. After `fit` the file is not
        read any more.
    keep_tempfiles : bool, default=False
        Leave the temporary file of `modelfile` where it is.
    trainer_cls : default=None
        Ignored.

    Attributes
    ----------
    crf_ : Pipeline
        A `SequenceVectorizer` and the `LinearChainCRF` that was fitted, or read from
        `model_filename`, as the functions of `sklearn_struct.inspection` take it.
    classes_ : list of str
        Labels, sorted.
    attributes_ : list of str
        Attributes with a weight other than 0.
    num_attributes_ : int
        Their number.
    state_features_ : dict of (attribute, label) to float
        Weights other than 0.
    transition_features_ : dict of (label, next label) to float
        Weights other than 0.
    size_ : int
        Size of the model as a file of CRFsuite's, in bytes.
    tagger_ : Tagger
        The model with the methods of python-crfsuite's: ``tag``, ``set``, ``probability``,
        ``marginal``, ``labels``, ``info``.
    training_log_ : TrainingLog
        ``iterations`` and ``last_iteration``, dicts with ``num`` and ``loss``, the last also with
        ``feature_norm``, ``active_features``, and with X_dev ``item_accuracy_float`` and
        ``instance_accuracy_float``.
    modelfile : ModelFile
        Its ``name`` is the path of a file of CRFsuite's with the model: `model_filename`, or that
        of a temporary file, which is deleted with the estimator or at the next `fit`. None if there
        is no model either.

    See Also
    --------
    sklearn_struct.LinearChainCRF : The estimator of this package.

    Examples
    --------
    >>> from sklearn_struct.compat import CRF
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1).fit(X, [["DET", "NOUN"]] * 2)
    >>> crf.predict([[{"word": "a"}, {"word": "cat"}]])[0]
    ['DET', 'NOUN']
    >>> list(crf.transition_features_)
    [('DET', 'NOUN')]
    """

    _doc_link_public = "sklearn_struct.compat"

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[object] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(
        self,
        X: SequenceInput,
        y: SequenceInput,
        X_dev: SequenceInput | None = None,
        y_dev: SequenceInput | None = None,
    ) -> Self:
        """Train the model.

        Parameters
        ----------
        X : list of sequences
            A sequence is a list of tokens, each a dict of features, a string, or several strings.
        y : list of label sequences
        X_dev, y_dev : default=None
            Sequences that CRFsuite scores in its log. Training never depends on them. Their
            accuracies at the end are in ``training_log_``, and printed with ``verbose=True``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters that the algorithm does not have, or that have no counterpart.
        InputTypeError
            With `model_filename`, for labels that are no strings, or if it is no path. The
            estimator is then as it was before.
        OSError
            If the model cannot be written there.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("X_dev and y_dev go together: pass both or neither")
        check_path(self.model_filename)
        crf = LinearChainCRF(**mapped(self.get_params(deep=False)))
        # CRFsuite stops at max_iterations without a warning
        crf._ends_at_max_iter = True
        self._crf = make_pipeline(SequenceVectorizer(keep_zeros=True), crf).fit(X, y)
        self._forget_files()
        self._accuracies: dict[str, float] = {}
        if X_dev is not None and y_dev is not None:
            self._score_in_log(X_dev, y_dev)
        if self.model_filename is not None:
            write_whole(self.model_filename, crfsuite_bytes(self.crf_[-1]))
        return self

    def _score_in_log(self, X: SequenceInput, y: SequenceInput) -> None:
        labels = as_list(y)
        predicted = self.crf_.predict(X)
        accuracy = flat_accuracy_score(labels, predicted)
        self._accuracies = {
            "item_accuracy_float": accuracy,
            "instance_accuracy_float": sequence_accuracy_score(labels, predicted),
        }
        if self.verbose:
            print(f"[CRF] accuracy on X_dev: {accuracy:.4f}", flush=True)

    def predict(self, X: SequenceInput) -> np.ndarray:
        """Most probable labelling of each sequence.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a list of labels each.
        """
        labels: np.ndarray = self.crf_.predict(X)
        return labels

    def predict_single(self, xseq: Iterable[Token]) -> list[Any]:
        """Most probable labelling of one sequence.

        Parameters
        ----------
        xseq : sequence
            One item of X as in `fit`.

        Returns
        -------
        list
            One label a token.
        """
        labels: list[Label] = self.predict([as_list(xseq)])[0]
        return labels

    def predict_marginals(self, X: SequenceInput) -> np.ndarray:
        """Probability of each label at each token.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a list each of a dict from labels to probabilities for each token.
        """
        labels = self.classes_
        return object_array(
            [
                [dict(zip(labels, row, strict=True)) for row in proba.tolist()]
                for proba in self.crf_.predict_proba(X)
            ]
        )

    def predict_marginals_single(self, xseq: Iterable[Token]) -> list[dict[Any, float]]:
        """Probability of each label at each token of one sequence.

        Parameters
        ----------
        xseq : sequence
            One item of X as in `fit`.

        Returns
        -------
        list of dict
            From labels to probabilities.
        """
        marginals: list[dict[Any, float]] = self.predict_marginals([as_list(xseq)])[0]
        return marginals

    def score(self, X: SequenceInput, y: SequenceInput) -> float:
        """Accuracy of tokens.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        float
        """
        return token_accuracy_score(as_list(y), self.predict(X))

    @property
    def tagger_(self) -> Tagger:
        """The model with the methods of python-crfsuite's Tagger, such as `tag`."""
        labels = {label: str(number) for number, label in enumerate(self.classes_)}
        attributes = {name: str(number) for number, name in enumerate(self.attributes_)}
        return Tagger(
            self.crf_,
            ModelInfo(labels, attributes, self.transition_features_, self.state_features_),
        )

    @property
    def training_log_(self) -> TrainingLog:
        """The iterations of `fit`; a model from a file has no scores on X_dev."""
        return training_log(self.crf_[-1], getattr(self, "_accuracies", {}))

    @property
    def size_(self) -> int:
        """Size of the model as a file of CRFsuite's, in bytes; labels and names must be strings."""
        return size_of(self.crf_[-1])

    @property
    def classes_(self) -> list[Any]:
        """Labels, sorted."""
        labels: list[Any] = self.crf_[-1].classes_.tolist()
        return labels

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """Weights other than 0, by attribute and label."""
        coef = sp.coo_array(self.crf_[-1].coef_)
        labels = self.classes_
        names = self._names()
        stored = zip(coef.row.tolist(), coef.col.tolist(), coef.data.tolist(), strict=True)
        return {(names[f], labels[k]): weight for k, f, weight in stored if weight}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """Weights other than 0, by label and next label."""
        table = self.crf_[-1].transition_
        labels = self.classes_
        return {
            (labels[j], labels[k]): float(table[j, k])
            for j, k in zip(*np.nonzero(table), strict=True)
        }

    @property
    def attributes_(self) -> list[str]:
        """Attributes with a weight other than 0."""
        columns = self.crf_[-1].coef_.nonzero()[1]
        names = self._names()
        return [names[f] for f in np.unique(columns)]

    @property
    def num_attributes_(self) -> int:
        """Number of attributes with a weight other than 0."""
        return len(self.attributes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def _names(self) -> list[str]:
        names: list[str] = self.crf_[-1].feature_names_in_.tolist()
        return names
