"""A callback for fits, in the protocol of scikit-learn 1.9 and later."""

from __future__ import annotations

from typing import Protocol

from sklearn.base import BaseEstimator

from sklearn_struct.containers.typing import Scorer, SequenceInput

__all__ = ["EarlyStopping"]


class FitContext(Protocol):
    """What scikit-learn tells a callback of a task of a fit."""

    task_name: str


class EarlyStopping:
    """End a fit when the score on held-out data no longer rises.

    The model is then that of the last iteration, and there is no `ConvergenceWarning`. Callbacks
    need scikit-learn 1.9 or later.

    Read more in :doc:`/user_guide/callbacks`.

    Parameters
    ----------
    X, y
        Held-out data, as the estimator's ``score`` takes them. In a pipeline, give them in the form
        that its last step gets.
    scoring : callable, default=None
        A function ``scoring(estimator, X, y)``, such as a scorer of `sklearn_struct.metrics`. None:
        the estimator's ``score``.
    patience : int, default=3
        Stop when this many iterations in a row have not raised the best score.
    min_delta : float, default=0.0
        A score counts as better if it exceeds the best one by more than this.

    Attributes
    ----------
    scores_ : list of float
        The score after each iteration of the last fit.

    See Also
    --------
    sklearn_struct.inspection.LossCurveDisplay : The objective after each iteration as a picture.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.callbacks import EarlyStopping
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]] * 4
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]] * 4
    >>> X_held_out, y_held_out = [["a", "cat", "barks"]], [["DET", "NOUN", "VERB"]]
    >>> stopping = EarlyStopping(X_held_out, y_held_out, patience=2)
    >>> crf = LinearChainCRF(C=1000, tol=0)
    >>> if hasattr(crf, "set_callbacks"):  # scikit-learn 1.9
    ...     crf = crf.set_callbacks(stopping).fit(X, y)
    ...     assert crf.n_iter_ == len(stopping.scores_) < 10
    """

    def __init__(
        self,
        X: SequenceInput,
        y: SequenceInput,
        *,
        scoring: Scorer | None = None,
        patience: int = 3,
        min_delta: float = 0.0,
    ) -> None:
        if patience < 1:
            raise ValueError(f"patience must be at least 1, got {patience}")
        self.X = X
        self.y = y
        self.scoring = scoring
        self.patience = patience
        self.min_delta = min_delta
        self.scores_: list[float] = []

    def setup(self, estimator: BaseEstimator, context: FitContext) -> None:
        """Begin anew; scikit-learn calls it when a fit begins.

        Parameters
        ----------
        estimator : estimator
            What is fitted.
        context : object
            scikit-learn's description of the task.
        """
        self.scores_ = []

    def teardown(self, estimator: BaseEstimator, context: FitContext) -> None:
        """Do nothing; scikit-learn calls it when a fit has ended.

        Parameters
        ----------
        estimator : estimator
            What was fitted.
        context : object
            scikit-learn's description of the task.
        """

    def on_fit_task_begin(self, estimator: BaseEstimator, context: FitContext) -> None:
        """Do nothing; scikit-learn calls it when a task of the fit begins.

        Parameters
        ----------
        estimator : estimator
            What is fitted.
        context : object
            scikit-learn's description of the task.
        """

    def on_fit_task_end(
        self,
        estimator: BaseEstimator,
        context: FitContext,
        *,
        fitted_estimator: BaseEstimator | None = None,
    ) -> bool:
        """Score the model of an iteration; scikit-learn calls it after each.

        Parameters
        ----------
        estimator : estimator
            What is fitted.
        context : object
            scikit-learn's description of the task.
        fitted_estimator : callable or None
            Gives the estimator with the weights of the iteration.

        Returns
        -------
        bool
            Whether to stop.
        """
        if context.task_name != "iteration" or fitted_estimator is None:
            return False
        score = self.scoring or (lambda model, X, y: model.score(X, y))
        self.scores_.append(float(score(fitted_estimator, self.X, self.y)))
        before = self.scores_[: -self.patience]
        last = self.scores_[-self.patience :]
        return bool(before) and max(last) <= max(before) + self.min_delta
