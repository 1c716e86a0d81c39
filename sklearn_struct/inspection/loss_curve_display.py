"""A picture of how fits went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.inspection.fitted_model import linear_model_of
from sklearn_struct.inspection.optional_imports import add_legend, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["LossCurveDisplay"]


class LossCurveDisplay:
    """``loss_curve_`` of one or several estimators against the number of iterations.

    Compare curves only if the objective is the same: the same data, C and penalty. For the solvers
    "ap" and "pa" a curve is not the objective, see ``loss_curve_``.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    curves : dict of str to list of float
        A curve for each name.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    lines_ : list of matplotlib Line2D

    See Also
    --------
    sklearn_struct.callbacks.EarlyStopping : Ends a fit by held-out scores.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import LossCurveDisplay
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> solvers = ["lbfgs", "owlqn"]
    >>> fitted = {solver: LinearChainCRF(solver=solver).fit(X, y) for solver in solvers}
    >>> display = LossCurveDisplay.from_estimator(fitted)
    >>> len(display.lines_)
    2
    """

    def __init__(self, curves: Mapping[str, Any]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Sequence[BaseEstimator] | Mapping[Any, BaseEstimator],
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curves of fitted chains or models of graphs.

        Parameters
        ----------
        estimator : fitted chain estimator or GraphCRF, list of them, or dict of names to them
            Also pipelines or searches that end in one. A list gets names such as "LinearChainCRF
            1".
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        LossCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        InputTypeError
            If one of the estimators was not fitted by `fit` and so has no curve.
        EmptyDataError
            If there is no estimator.
        """
        if not isinstance(estimator, Mapping):
            several = isinstance(estimator, list | tuple)
            models = [linear_model_of(e) for e in (estimator if several else [estimator])]
            estimator = {
                type(m).__name__ + (f" {i}" if several else ""): m for i, m in enumerate(models, 1)
            }
        if not estimator:
            raise EmptyDataError("there is no estimator to draw the curve of")
        return cls({str(name): _curve(name, e) for name, e in estimator.items()}).plot(
            ax, **options
        )

    def plot(
        self, ax: Axes | None = None, *, gap: bool = False, line_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        gap : bool, default=False
            Whether to draw the distance of each value from the lowest value of all curves, as a
            share of the lowest value, on a logarithmic axis.
        line_kw : dict, default=None
            For matplotlib's `plot`, such as ``{"marker": "."}``.

        Returns
        -------
        LossCurveDisplay
            Itself.
        """
        if ax is None:
            _, ax = subplots("LossCurveDisplay")
        lowest = min((np.min(curve) for curve in self.curves.values()), default=0.0)
        self.lines_: list[Line2D] = []
        for name, curve in self.curves.items():
            values = np.asarray(curve, dtype=np.float64)
            if gap:
                # relative, so that curves of different C compare
                values = (values - lowest) / (abs(lowest) or 1.0)
                values[values <= 0] = np.nan  # a logarithmic axis has no place for the lowest
            self.lines_ += ax.plot(
                np.arange(1, len(values) + 1), values, **{"label": name, **(line_kw or {})}
            )
        ax.set(
            xlabel="iteration", ylabel="above the lowest, as a share" if gap else "objective / C"
        )
        if gap:
            ax.set_yscale("log")
        if len(self.lines_) > 1:
            add_legend(ax, self.lines_)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _curve(name: object, estimator: BaseEstimator) -> list[float]:
    model = linear_model_of(estimator)
    if not hasattr(model, "loss_curve_"):
        raise InputTypeError(f"{name}: no loss_curve_; partial_fit keeps none, fit does")
    curve: list[float] = model.loss_curve_
    return curve
