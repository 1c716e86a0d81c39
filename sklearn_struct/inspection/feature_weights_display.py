"""Pictures of the largest weights of each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

from sklearn_struct.containers.typing import Label
from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection.fitted_model import linear_model_of
from sklearn_struct.inspection.largest_weights import Top, top_weights
from sklearn_struct.inspection.optional_imports import subplots
from sklearn_struct.inspection.weight_tables import CHOICE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FeatureWeightsDisplay"]

COLUMNS = 4  # pictures side by side in a new figure


class FeatureWeightsDisplay:
    """Bars of the largest feature weights, a picture for each label.

    Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    weights : list of tuple (label, features, weights)
        Names of features and their weights for each label.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : ndarray of matplotlib Axes, shape (n_labels,)
    bars_ : list of matplotlib BarContainer

    See Also
    --------
    feature_weights : The same as a table.
    TransitionDisplay : Weights of transitions.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import FeatureWeightsDisplay
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> display = FeatureWeightsDisplay.from_estimator(crf, n=2)
    >>> [ax.get_title() for ax in display.ax_]
    ['DET', 'NOUN', 'VERB']
    """

    def __init__(self, weights: list[tuple[Any, np.ndarray, np.ndarray]]) -> None:
        self.weights = weights

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        n: int = 10,
        labels: Sequence[Label] | None = None,
        sign: str = "both",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the largest weights of a fitted chain or model of graphs.

        Parameters
        ----------
        estimator : fitted chain estimator, or GraphCRF
            Also a pipeline or a search that ends in one.
        n : int, default=10
            Number of features for each label.
        labels : array-like, default=None
            Only these labels, in this order.
        sign : {"both", "positive", "negative"}, default="both"
            Which weights count as large, as in `feature_weights`.
        ax : matplotlib Axes or array-like of them, default=None
            Axes, one for each label. None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        FeatureWeightsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        UnknownLabelError
            If one of `labels` was not seen in `fit`.
        LengthMismatchError
            If there are not as many axes as labels.
        """
        validate_parameter_constraints(
            CHOICE, {"n": n, "labels": labels, "sign": sign}, cls.__name__
        )
        tops: list[Top] = list(top_weights(linear_model_of(estimator), n, labels=labels, sign=sign))
        return cls([(top.label, top.features, top.weights) for top in tops]).plot(ax, **options)

    def plot(self, ax: Axes | None = None, *, bar_kw: dict[str, Any] | None = None) -> Self:
        """Draw the bars. Red weights favour the label, blue ones are against it.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Axes, one for each label. None: a new figure.
        bar_kw : dict, default=None
            For matplotlib's `barh`, such as ``{"height": 0.5}``.

        Returns
        -------
        FeatureWeightsDisplay
            Itself.
        """
        self.ax_ = self._new_axes() if ax is None else np.ravel(np.asarray(ax, dtype=object))
        if len(self.ax_) != len(self.weights):
            raise LengthMismatchError(
                f"there are {len(self.weights)} labels to draw, but ax has {len(self.ax_)} axes"
            )
        self.bars_ = []
        for axes, (label, features, weights) in zip(self.ax_, self.weights, strict=True):
            colors = np.where(np.asarray(weights) > 0, "tab:red", "tab:blue")
            options = {"color": colors.tolist(), **(bar_kw or {})}
            self.bars_.append(axes.barh(range(len(weights)), weights, **options))
            axes.set_yticks(range(len(weights)), [str(feature) for feature in features])
            axes.invert_yaxis()
            axes.axvline(0.0, color="black", linewidth=0.8)
            axes.set(title=str(label), xlabel="weight")
        self.figure_ = self.ax_[0].figure if len(self.ax_) else None
        return self

    def _new_axes(self) -> np.ndarray:
        """A grid of axes, without those that are not needed."""
        n = len(self.weights)
        rows = max((len(weights) for *_, weights in self.weights), default=0)
        n_columns = max(1, min(n, COLUMNS))
        n_rows = max(1, -(-n // n_columns))
        size = 3.5 * n_columns, n_rows * (1.2 + 0.2 * rows)
        _, grid = subplots(
            "FeatureWeightsDisplay", nrows=n_rows, ncols=n_columns, figsize=size, squeeze=False
        )
        for spare in grid.ravel()[n:]:
            spare.remove()
        axes: np.ndarray = grid.ravel()[:n]
        return axes
