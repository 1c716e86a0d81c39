"""Linear-chain conditional random field whose penalty is chosen by cross-validation."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct._warning import warn
from sklearn_struct.encoding.sequences import as_list, largest_sum
from sklearn_struct.estimators.chains.chain_losses import BaseChainLosses
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.estimators.chains.penalty_path import (
    Batch,
    Grid,
    Outcome,
    Scorer,
    best,
    scores_of_fold,
)
from sklearn_struct.estimators.chains.trained_chain import BaseTrainedChain
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.shared_parameters import SOLVERS
from sklearn_struct.estimators.fitting.solving import Minimisation, choice
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials

__all__ = ["LinearChainCRFCV"]

RANGE = (-2.0, 2.0)  # powers of ten between which Cs are that are only counted
# solvers that need fewer iterations from the minimum of a fold
BATCH = {"lbfgs", "owlqn"}
LARGEST_TOL = 1e-3
# of a model that was fitted to all data
OF_MODEL = ("_w", "_pattern", "_stream", "solver_", "n_iter_", "loss_curve_", "t_")
# learned when X is read
OF_READING = ("n_features_in_", "_names_in", "_rows_in", "vectorizer_")


@with_parameters
class LinearChainCRFCV(BaseChainLosses, BasePartlyLabelled, BaseTrainedChain):
    """Linear-chain conditional random field whose penalty is chosen by cross-validation.

    For each fold it fits a `LinearChainCRF` to the training part under each penalty, and scores it
    on the test part. The penalty with the best mean score is chosen, and a model is fitted to all
    data. The result is that of ``GridSearchCV`` over ``C`` and ``l1_ratio``, up to the tolerance of
    the solver, in less time:

    - X is encoded once. A feature that only the test part of a fold has gets no weight in this
      fold, as if the training part had been encoded by itself.
    - Fits of a fold go from the strongest penalty to the weakest. Each begins where the fits
      before it lead: at the value of the polynomial in log C through their weights [1]_. "sag" and
      "sag-lbfgs" also keep what they remember of each term. A fit begins at zero if `tol` could not
      tell its penalty from the last one, or if the loss is not convex.
    - "lbfgs" remembers more steps, and on large data it and "owlqn" compute in float32, unless
      `tol` is small or is not reached so.

    The final fit is that of `LinearChainCRF` with ``C=C_`` and ``l1_ratio=l1_ratio_``. With "lbfgs"
    and "owlqn" it begins at the weights of the first fold, so its own differ by what `tol` leaves
    open.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    Cs : int or array-like of float, default=10
        Values of ``C`` of `LinearChainCRF`, in any order. An int is their number: they are then
        between 0.01 and 100, evenly spaced on a logarithmic scale.
    l1_ratios : array-like of float, default=None
        Values of ``l1_ratio``, each of which is tried with each C. None is 0 alone.
    cv : int, splitter or iterable of (train, test), default=None
        How to split the sequences, as in ``GridSearchCV``. None: five folds. For splitters by
        groups give the pairs that their ``split`` makes.
    scoring : str, callable or None, default=None
        A name of scikit-learn, or a callable ``scorer(estimator, X, y)``, such as
        ``span_f1_scorer``. None is the method ``score``. A callable that ``make_scorer`` has not
        made gets sequences of X as they were given; the others get them encoded. `sample_weight`
        also weighs scores, if what scores has this argument.
    refit : bool, default=True
        Whether to fit a model to all data in the end. Without it there are no predictions.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag", \
            "sag-lbfgs", "frank-wolfe"}, default="auto"
        As in `LinearChainCRF`. "auto" may choose another one for each penalty.
    n_jobs : int, default=None
        Number of processes that work on folds, in joblib's meaning. The final fit and predictions
        use as many threads. Results do not depend on it.

    Attributes
    ----------
    C_ : float
        The chosen C. If several penalties have the best mean score, it is the first of ``Cs_``.
    l1_ratio_ : float
        The chosen share of the L1 penalty.
    Cs_ : ndarray of shape (n_Cs,)
        What was tried, in the order in which it was given.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        What was tried.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs)
        Scores on the test parts.
    path_iterations_ : ndarray of int, shape (n_folds, n_l1_ratios, n_Cs)
        Iterations of the fits to training parts.
    n_iter_ : int
        Iterations of the final fit.

    See Also
    --------
    LinearChainCRF : With a given penalty.
    sklearn.model_selection.GridSearchCV : Searches over any parameters.
    sklearn_struct.model_selection.KeepUnlabeled : Splits where some sequences have no labels.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Regularization paths for generalized linear
       models via coordinate descent", Journal of Statistical Software 33(1), 2010, section 2.5:
       fits that begin at the solution of the last penalty.
    .. [5] S. Kakade, Y. W. Teh and S. Roweis, "An alternate objective function for Markovian
       fields", ICML 2002.
    .. [8] K. Gimpel and N. A. Smith, "Softmax-margin CRFs: training log-linear models with cost
       functions", NAACL 2010.
    .. [9] I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, "Large margin methods for
       structured and interdependent output variables", Journal of Machine Learning Research 6,
       2005.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRFCV
    >>> X = [["in", "Rome"], ["to", "New", "York"], ["I", "left"], ["in", "York"]] * 3
    >>> y = [["O", "LOC"], ["O", "LOC", "LOC"], ["O", "O"], ["O", "LOC"]] * 3
    >>> crf = LinearChainCRFCV(Cs=[0.01, 1, 100], cv=3).fit(X, y)
    >>> crf.C_
    1.0
    >>> crf.scores_.shape  # folds, values of l1_ratios, values of Cs
    (3, 1, 3)
    >>> crf.predict([["to", "Rome"]])[0]
    ['O', 'LOC']
    """

    Cs: Any = 10
    l1_ratios: Any = None
    cv: Any = None
    scoring: Any = None
    refit: bool = True
    # what is searched for
    C: float = field(init=False, default=1.0)
    l1_ratio: float = field(init=False, default=0.0)
    # the final fit is that of a model by itself
    warm_start: bool = field(init=False, default=False)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        "solver": [
            # the others do not minimise an objective to a tolerance
            StrOptions({*SOLVERS, "frank-wolfe"} - {"sgd"})
        ],
    }

    def __sklearn_is_fitted__(self) -> bool:
        return "_w" in vars(self)

    def _minimisation(self) -> Minimisation:
        return super()._minimisation()._replace(C=self.C_, l1_ratio=self.l1_ratio_)

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        start = self._start_of(init)
        self._prepared = Prepared()
        self._forget_gap()
        grid = Grid(_Cs(self.Cs), _l1_ratios(self.l1_ratios))
        # they are read for all data, and for each fold
        X = as_list(X)
        y = as_list(y)
        sample_weight = as_list(sample_weight)
        sequences = self._read_X(X, reset=True)
        codes = self._read_labels(y, sequences, reset=True)
        weights, loss = self._read_weights(sample_weight, sequences, codes)
        first = self._search(grid, X, Batch(sequences, y, sample_weight))
        if not self.refit:
            for name in OF_MODEL:
                self.__dict__.pop(name, None)
            return
        size = largest_sum(sequences.X)
        potentials, data = self._posed(sequences, codes, weights)
        if start is None and self._leads_on(loss, potentials, data):
            start = first
        w0 = np.zeros(potentials.size) if start is None else self._transferred(start)
        del X, sequences, first, start
        self._learn(potentials, loss, data, w0, progress, size)

    def _leads_on(self, loss: Loss, potentials: LinearPotentials, data: TrainingData) -> bool:
        """Whether the final fit is quicker from a minimum of a part of the data, which will not
        pass for its own.
        """
        settings = self._minimisation()
        solver = choice(settings, loss, potentials, data)
        return loss.convex and solver in BATCH and settings.tol <= LARGEST_TOL

    def _search(self, grid: Grid, X: Any, batch: Batch) -> LinearChainCRF | None:
        """Learn which penalty has the best scores; return the model of the first fold under it, if
        it has been kept.
        """
        splits = _splits(self.cv, X, batch.y, len(batch.sequences.X))
        scorer = self._scorer()
        # who is asked for predictions only, need not encode again
        if batch.sequences.flat or not (scorer is None or hasattr(scorer, "_score_func")):
            batch = batch._replace(X=X)
        model = self._model_of_folds()
        outcomes: list[Outcome] = Parallel(n_jobs=self.n_jobs)(
            delayed(scores_of_fold)(model, batch, split, grid, scorer, self.refit and i == 0)
            for i, split in enumerate(splits)
        )
        self.scores_ = np.array([outcome.score for outcome in outcomes])
        self.path_iterations_ = np.array([outcome.n_iter for outcome in outcomes])
        self.Cs_, self.l1_ratios_ = grid
        place = best(self.scores_, grid)
        self.l1_ratio_ = float(grid.l1_ratios[place[0]])
        self.C_ = float(grid.Cs[place[1]])
        converged = np.array([outcome.converged for outcome in outcomes])
        if not np.all(converged):
            warn(
                f"{np.sum(~converged)} of {converged.size} fits to training parts stopped without "
                f"reaching tol={self.tol} (max_iter={self.max_iter}): allow more iterations, or "
                "leave out the weakest penalties",
                ConvergenceWarning,
            )
        return outcomes[0].fitted(place)

    def _scorer(self) -> Scorer | None:
        """What scores models of folds; None for their own score."""
        if self.scoring is None:
            return None
        from sklearn.metrics import check_scoring

        scorer: Scorer = check_scoring(self, self.scoring)
        return scorer

    def _model_of_folds(self) -> LinearChainCRF:
        """A model that is to be fitted, and knows how X was read."""
        params = self.get_params(deep=False)
        model = LinearChainCRF()
        model.set_params(
            **{name: params[name] for name in model.get_params(deep=False) if name in params}
        )
        # processes have one thread each, and only the final fit speaks
        model.set_params(n_jobs=None, verbose=0)
        has = vars(self)
        model.__dict__.update({name: has[name] for name in OF_READING if name in has})
        return model


def _Cs(Cs: Any) -> np.ndarray:
    """The values of C, in the order in which they were given."""
    if isinstance(Cs, Integral):
        return np.logspace(*RANGE, int(Cs))
    values = _numbers(Cs, "Cs")
    if not np.all(values > 0):
        raise ValueError(f"Cs: each C must be a positive number, got {values.min()}")
    return values


def _l1_ratios(l1_ratios: Any) -> np.ndarray:
    """The shares of the L1 penalty, in the order in which they were given."""
    if l1_ratios is None:
        return np.zeros(1)
    values = _numbers(l1_ratios, "l1_ratios")
    if not np.all((values >= 0) & (values <= 1)):
        wrong = values[~((values >= 0) & (values <= 1))][0]
        raise ValueError(f"l1_ratios: each must be in [0, 1], got {wrong}")
    return values


def _numbers(given: Any, name: str) -> np.ndarray:
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(f"{name} must be real numbers: {error}") from None
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a list of numbers that is not empty")
    return values


def _splits(cv: Any, X: Any, y: Any, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Numbers of the sequences to learn from, and of those to score on, of each fold."""
    # takes a while to import
    from sklearn.model_selection import check_cv

    splitter = check_cv(cv)
    if (cv is None or isinstance(cv, Integral)) and splitter.n_splits > n:
        raise ValueError(
            f"{splitter.n_splits} folds need as many sequences, got n_samples={n}: give more, or "
            "fewer folds, such as cv=2"
        )
    splits = [(_indices(train, n), _indices(test, n)) for train, test in splitter.split(X, y)]
    if not splits:
        raise ValueError("cv makes no split; an iterator may have been used up: give a list")
    return splits


def _indices(chosen: Any, n: int) -> np.ndarray:
    """Numbers of sequences, of numbers or of a mask."""
    numbers = np.asarray(chosen)
    if numbers.dtype == bool and numbers.shape == (n,):
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) == 0:
        raise InputTypeError(
            "cv must make pairs (train, test), each a list of numbers of sequences that is not "
            f"empty, or a mask of {n}, got {np.array2string(numbers, threshold=5)}"
        )
    wrong = numbers[(numbers < 0) | (numbers >= n)]
    if len(wrong):
        raise ValueError(f"cv has the sequence {wrong[0]}, and X has those from 0 to {n - 1}")
    return numbers
