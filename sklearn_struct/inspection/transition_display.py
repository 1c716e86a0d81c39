"""A picture of the transition weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection.fitted_model import is_of_graphs, linear_model_of, names_of_rows
from sklearn_struct.inspection.optional_imports import subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TransitionDisplay"]

READABLE = 12  # labels up to which numbers fit into the cells of an ordinary figure


class TransitionDisplay:
    """Heat map of transition weights, from row label to column label.

    Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    transition : ndarray of shape (n_labels, n_labels)
        Weights.
    labels : list
        Names of rows and columns.
    axis_names : tuple of two str, default=("label", "next label")
        What rows and columns are.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    im_ : matplotlib AxesImage
    text_ : ndarray of shape (n_labels, n_labels) or None
        The numbers in the cells.

    See Also
    --------
    transition_weights : The same as a table.
    FeatureWeightsDisplay : Weights of features.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import TransitionDisplay
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> display = TransitionDisplay.from_estimator(crf)
    >>> display.ax_.get_xlabel()
    'next label'
    """

    def __init__(
        self,
        transition: np.ndarray,
        labels: list[Any],
        axis_names: tuple[str, str] = ("label", "next label"),
    ) -> None:
        self.transition = transition
        self.labels = labels
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the transition weights of a fitted chain, or those of edges of graphs.

        Parameters
        ----------
        estimator : fitted chain estimator, or GraphCRF
            Also a pipeline or a search that ends in one.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        TransitionDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        model = linear_model_of(estimator)
        axis_names = (
            ("first node", "second node") if is_of_graphs(model) else ("label", "next label")
        )
        return cls(model.transition_, names_of_rows(model).tolist(), axis_names).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        include_values: bool | None = None,
        values_format: str = ".1f",
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map. Red weights favour a transition, blue ones are against it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        include_values : bool, default=None
            Whether to write the weights into the cells. None: if there are at most 12 labels.
        values_format : str, default=".1f"
        colorbar : bool, default=True
        im_kw : dict, default=None
            For matplotlib's `imshow`, such as ``{"cmap": "PuOr"}``.

        Returns
        -------
        TransitionDisplay
            Itself.
        """
        K = len(self.labels)
        if np.shape(self.transition) != (K, K):
            raise LengthMismatchError(
                f"transition has the shape {np.shape(self.transition)} but there are {K} labels"
            )
        if ax is None:
            side = min(max(4.8, 2.0 + 0.25 * K), 40.0)
            _, ax = subplots("TransitionDisplay", figsize=(1.2 * side, side))
        # the same for both signs, so that white is 0
        limit = float(np.max(np.abs(self.transition), initial=0.0)) or 1.0
        self.im_ = ax.imshow(
            self.transition, **{"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, **(im_kw or {})}
        )
        names = list(map(str, self.labels))
        ylabel, xlabel = self.axis_names
        ax.set(xticks=range(K), yticks=range(K), xlabel=xlabel, ylabel=ylabel, yticklabels=names)
        ax.set_xticklabels(names, rotation="vertical")
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="weight")
        self.text_ = None
        if include_values or (include_values is None and K <= READABLE):
            self.text_ = np.empty((K, K), dtype=object)
            for (j, k), weight in np.ndenumerate(self.transition):
                color = "white" if abs(weight) > limit / 2 else "black"
                self.text_[j, k] = ax.text(
                    k, j, format(weight, values_format), ha="center", va="center", color=color
                )
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
