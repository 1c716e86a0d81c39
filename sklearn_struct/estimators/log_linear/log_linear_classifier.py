"""Log-linear models of single labels, with features of input and label together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_struct._doc_link import DocLink
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_input import as_csr
from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.features.input_label_products import ProductFeatures, candidate_codes
from sklearn_struct.encoding.labels import single_labels
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.encoding.two_dimensional_input import check_table
from sklearn_struct.estimators.fitting.base_sequence import CallbackSupportMixin
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import check_sum, of_examples
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    PenaltyParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.fitting.solving import Minimisation, choice_for_batches, solve
from sklearn_struct.estimators.log_linear.input_forms import FunctionForm, PairForm, ProductForm
from sklearn_struct.estimators.log_linear.label_predictions import BaseLabelPredictions
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.objectives.joint_objective import JointObjective

__all__ = ["LogLinearClassifier"]


@with_parameters
class LogLinearClassifier(
    BaseLabelPredictions,
    PenaltyParameters,
    IterationParameters,
    ThreadParameters,
    DocLink,
    CallbackSupportMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Log-linear model with joint features of an input and a label.

    p(y | x) = exp(coef . f(x, y)) / sum_y' exp(coef . f(x, y')), where you give f(x, y) as a
    function of both [1]_. The objective is scikit-learn's, over all weights but the intercept:

        C * sum_i weight_i * -log p(y_i | x_i) +
        l1_ratio * ||coef||_1 + (1 - l1_ratio) / 2 * ||coef||_2**2

    Without a function, X is a table, and there is a feature for each pair of a column and a label.
    This is multinomial logistic regression.

    Read more in :doc:`/user_guide/log_linear`.

    Parameters
    ----------
    features : ProductFeatures, callable or None, default=None
        ``features(x, y)`` gives the features of an input and a label: names (strings), or a dict of
        name: value. It is called for each input with each of its candidates. `ProductFeatures` are
        read without such calls, so there may be thousands of labels. Features that are never seen
        with a true label get no weight.
    candidates : callable, default=None
        ``candidates(x)`` gives the labels among which the model chooses. None: all labels of the
        data.
    C : float, default=1.0
        Inverse strength of the penalty, sigma**2 of a Gaussian prior; ``np.inf``: no penalty.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, in [0, 1]. 0 is an L2 penalty. 1 is an L1 penalty, which leaves
        many weights at exactly 0. Values between them are the elastic net.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "gradient"}, default="auto"
        "auto" is "owlqn" (orthant-wise L-BFGS) if ``l1_ratio > 0``, else "lbfgs". Only "owlqn" is
        for an L1 penalty. "gradient" is gradient ascent with a line search, which needs many more
        iterations.
    fit_intercept : bool or "auto", default="auto"
        Give each label an unpenalised weight of its own; "auto" does so unless `candidates` are
        given.
    min_frequency : int, default=1
        Joint features that are seen fewer times with true labels get no weight. An example of
        sample weight 2 counts twice. No effect on tables.
    n_features : int, default=None
        Hash the names of joint features into this many columns. Different features may then share a
        weight, and no names are kept. `ProductFeatures` are then called as any function.
    tol : float, default=1e-4
        A solver stops when no entry of the objective's gradient, divided by C and the total sample
        weight, exceeds `tol`.
    n_jobs : int, default=None
        Threads over examples, in joblib's meaning. Results have the same bits for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted; those of candidates, too.
    coef_ : ndarray of shape (n_joint_features,) or (n_labels, n_features)
        Weights of joint features; for tables a row a label.
    intercept_ : ndarray of shape (n_labels,)
    joint_feature_names_ : ndarray of str
        Names in the order of ``coef_``; not for tables, and not with hashing.
    n_iter_ : int
    loss_curve_ : list of float
        Objective / C after each iteration.
    n_features_in_ : int
        Columns of a table.
    feature_names_in_ : ndarray of str
        Names of the columns of a table, where it has any.

    See Also
    --------
    ProductFeatures : Joint features that are products; quick with many labels.
    LinearChainCRF : Sequences of labels.

    References
    ----------
    .. [1] M. Collins, "Log-linear models", lecture notes, Columbia University.

    Examples
    --------
    >>> from sklearn_struct import LogLinearClassifier
    >>> def features(word, tag):
    ...     return [f"word={word},{tag}", f"ending={word[-1]},{tag}"]
    >>> X = ["cats", "dogs", "run", "sit", "birds"]
    >>> y = ["NOUN", "NOUN", "VERB", "VERB", "NOUN"]
    >>> model = LogLinearClassifier(features, C=10).fit(X, y)
    >>> model.predict(["tables", "cut"]).tolist()
    ['NOUN', 'VERB']
    >>> model.joint_feature_names_[:2].tolist()
    ['word=cats,NOUN', 'ending=s,NOUN']
    """

    features: Callable[[Any, Any], Any] | None = field(default=None, kw_only=False)
    candidates: Callable[[Any], Any] | None = field(default=None, kw_only=False)
    solver: str = "auto"
    fit_intercept: bool | str = "auto"
    min_frequency: int = 1
    n_features: int | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "features": [callable, None],
        "candidates": [callable, None],
        "solver": [StrOptions({"auto", "lbfgs", "owlqn", "newton-cg", "gradient"})],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "n_features": [None, Interval(Integral, 1, 2**31 - 1, closed="both")],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: SequenceInput,
        y: Sequence[Any] | np.ndarray,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of objects, or array-like or sparse matrix of shape (n, n_features)
            The inputs, as `features` takes them; a table if there is no such function.
        y : array-like of shape (n,)
            One label an input.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, NonFiniteError, UnknownLabelError, ForbiddenLabelError, \
        EmptyDataError, InputTypeError
            With the place; a table or a wrong `sample_weight` may get scikit-learn's own
            ValueError. The estimator is then as it was before.
        """
        progress = Progress(self, X, y, sample_weight)
        self._fit(*progress.data, progress)
        progress.end()
        return self

    def _fit(
        self,
        X: SequenceInput,
        y: Sequence[Any] | np.ndarray,
        sample_weight: ArrayLike | None,
        progress: Progress,
    ) -> None:
        solver = choice_for_batches(self.solver, self.l1_ratio)
        X = self._read_X(X, reset=True)
        codes = self._read_y(y, X, reset=True)
        weight = check_sum(of_examples(sample_weight, len(codes), "example"))
        self._form = self._choose_form()
        with Pool(self.n_jobs) as pool:
            objective = self._form.fit(X, codes, weight, pool)
            w0 = (
                objective.start()
                if isinstance(objective, JointObjective)
                else np.zeros(objective.size)
            )
            settings = Minimisation(solver, self.C, self.tol, self.max_iter, self.l1_ratio)
            iterations = Iterations(
                self._learned, progress, self._iteration_settings(), objective.total_weight
            )
            learned = solve(settings, solver, objective, w0, iterations)
        self.__dict__.update(learned)

    def _choose_form(self) -> PairForm | ProductForm | FunctionForm:
        intercept = (
            self.candidates is None if self.fit_intercept == "auto" else bool(self.fit_intercept)
        )
        if self.features is None:
            return PairForm(len(self.classes_), intercept)
        features = self.features
        if isinstance(features, ProductFeatures):
            features = copy(features)  # later changes of its parameters are for the next fit
            if self.candidates is None and self.n_features is None:
                return ProductForm(features, self.classes_, intercept, self.min_frequency)
        selection = self.min_frequency, self.n_features
        return FunctionForm(features, self.candidates, self.classes_, intercept, selection)

    def _read_X(self, X: Any, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
            check_params(self, "n_jobs")
        # ignored, they would look as if they had an effect
        elif self.features is None and (self.candidates is not None or self.n_features is not None):
            raise ValueError("candidates and n_features need a function for `features`")
        if self.features is None if reset else isinstance(self._form, PairForm):
            X = as_csr(X) if sp.issparse(X) else X
            check_table(X)
            return validate_data(self, X, accept_sparse="csr", dtype=float, reset=reset)
        X = as_list(X)
        if not is_list(X):
            raise InputTypeError(f"X must be a list of inputs, got {type(X).__name__}")
        if not len(X):
            raise EmptyDataError("X has no inputs")
        # blocks are slices
        return X if isinstance(X, list | tuple | np.ndarray | SequenceArray) else list(X)

    def _read_y(self, y: Any, X: Any, reset: bool, unseen: int | None = None) -> np.ndarray:
        """Codes of the labels, `unseen` for other labels if it is given; with `reset`, learn
        ``classes_``.
        """
        labels = single_labels.read(
            y, X.shape[0] if sp.issparse(X) else len(X), "inputs", type(self).__name__
        )
        if reset:
            self.classes_ = single_labels.distinct(labels)
            if self.candidates is not None:
                self._add_candidates(self.candidates, X, labels)
        return single_labels.encode(labels, self.classes_, unseen)

    def _add_candidates(
        self, candidates: Callable[[Any], Any], X: SequenceInput, labels: list[Any]
    ) -> None:
        codes: dict[Any, int] = {}
        candidate_codes(X, candidates, codes)
        self.classes_ = single_labels.distinct(labels + list(codes))

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        return {"_w": w.copy()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = self.features is None
        return tags
