"""A picture of the transitions: of their weights, or of their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection.fitted_model import (
    hidden_markov_of,
    is_hidden_markov,
    is_of_graphs,
    linear_model_of,
    names_of_rows,
)
from sklearn_struct.inspection.optional_imports import subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TransitionDisplay"]

READABLE = 12  # labels up to which numbers fit into the cells of an ordinary figure


class TransitionDisplay:
    """Heat map of transitions, from row label to column label: of weights, or of the probabilities
    of a hidden Markov model.

    Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    transition : ndarray of shape (n_labels, n_labels)
        Weights or probabilities.
    labels : list
        Names of rows and columns.
    axis_names : tuple of two str, default=("label", "next label")
        What rows and columns are.
    kind : {"weight", "probability"}, default="weight"
        What the numbers are.

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
    DurationDisplay : How long the labels of a hidden Markov model last.

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
        kind: str = "weight",
    ) -> None:
        self.transition = transition
        self.labels = labels
        self.axis_names = axis_names
        self.kind = kind

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the transition weights of a fitted chain, or those of edges of graphs, or the
        transition probabilities of a hidden Markov model; of a `NonHomogeneousHMM` those where all
        inputs are 0.

        Parameters
        ----------
        estimator : fitted chain estimator, GraphCRF or HMM
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
        ValueError
            For a hidden Markov model of order 2, whose transitions are no matrix.
        """
        if is_hidden_markov(estimator):
            return cls._of_hidden_markov(estimator).plot(ax, **options)
        model = linear_model_of(estimator)
        axis_names = (
            ("first node", "second node") if is_of_graphs(model) else ("label", "next label")
        )
        return cls(model.transition_, names_of_rows(model).tolist(), axis_names).plot(ax, **options)

    @classmethod
    def _of_hidden_markov(cls, estimator: BaseEstimator) -> Self:
        model = hidden_markov_of(estimator)
        transition = np.exp(model.transition_logprob_)
        if transition.shape != (len(transition),) * 2:
            raise ValueError(
                "transitions of order 2 depend on two labels, and are no matrix; draw one of "
                "np.exp(transition_logprob_) with TransitionDisplay(matrix, labels, "
                'kind="probability").plot()'
            )
        return cls(transition, model.classes_.tolist(), kind="probability")

    def plot(
        self,
        ax: Axes | None = None,
        *,
        include_values: bool | None = None,
        values_format: str | None = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map. Red weights favour a transition, blue ones are against it. High
        probabilities are dark.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        include_values : bool, default=None
            Whether to write the numbers into the cells. None: if there are at most 12 labels.
        values_format : str, default=None
            None: ".1f" for weights, ".2f" for probabilities.
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
        colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        if self.kind == "probability":
            limit = 1.0
            colours = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0}
        self.im_ = ax.imshow(self.transition, **{**colours, **(im_kw or {})})
        names = list(map(str, self.labels))
        ylabel, xlabel = self.axis_names
        ax.set(xticks=range(K), yticks=range(K), xlabel=xlabel, ylabel=ylabel)
        ax.set_xticklabels(names, rotation="vertical", parse_math=False)  # $ is a label
        ax.set_yticklabels(names, parse_math=False)
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label=self.kind)
        self.text_ = None
        if include_values or (include_values is None and K <= READABLE):
            form = values_format or (".2f" if self.kind == "probability" else ".1f")
            self.text_ = np.empty((K, K), dtype=object)
            for (j, k), weight in np.ndenumerate(self.transition):
                color = "white" if abs(weight) > limit / 2 else "black"
                self.text_[j, k] = ax.text(
                    k, j, format(weight, form), ha="center", va="center", color=color
                )
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
