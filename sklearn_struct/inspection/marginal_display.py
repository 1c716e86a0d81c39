"""A picture of one sequence with the probabilities of its labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError
from sklearn_struct.inspection.fitted_model import texts
from sklearn_struct.inspection.optional_imports import subplots
from sklearn_struct.inspection.single_sequence import codes_of, only, read_one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MarginalDisplay"]

WIDTH = 0.45  # inches of a new figure for a token


class MarginalDisplay:
    """One sequence: a column for each token, a row for each label, marginal probabilities as
    shades.

    A frame marks the labelling. Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    proba : ndarray of shape (n_tokens, n_labels)
        Marginal probabilities.
    labels : list
        The labels of the columns of `proba`.
    tokens : list of str
        What the tokens are called.
    path : ndarray of int of shape (n_tokens,), default=None
        Numbers of the labels of a labelling.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    im_ : matplotlib AxesImage
    path_ : list of matplotlib Rectangle
        The frames.

    See Also
    --------
    explain : Why a labelling has its score.
    TreeDisplay : The same for trees.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import MarginalDisplay
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> display = MarginalDisplay.from_estimator(crf, ["a", "cat", "barks"])
    >>> [tick.get_text() for tick in display.ax_.get_xticklabels()]
    ['a', 'cat', 'barks']
    """

    def __init__(
        self,
        proba: np.ndarray,
        labels: list[Any],
        tokens: list[str],
        path: np.ndarray | None = None,
    ) -> None:
        self.proba = proba
        self.labels = labels
        self.tokens = tokens
        self.path = path

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        x: SequenceInput,
        y: Iterable[Label] | None = None,
        *,
        tokens: Sequence[object] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the marginals that a fitted chain gives to one sequence.

        Parameters
        ----------
        estimator : fitted chain estimator
            Also a pipeline or a search that ends in one.
        x : sequence
            One sequence, in any form that the items of X in `predict` may have, or a batch of one
            sequence, as `explain` takes it.
        y : list of labels, default=None
            The labelling to mark. None: the predicted one.
        tokens : list of str, default=None
            Names of the tokens. None: a string is its own name, the name of a row of strings is its
            first cell, and other tokens are numbered.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        MarginalDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        LengthMismatchError, UnknownLabelError, InputTypeError, EmptyDataError
            If `x` is not one sequence or has no tokens, or `y` or `tokens` does not fit it.
        """
        model, sequences, x = read_one(estimator, x)
        proba = model._label_marginals(sequences)
        path = codes_of(model, y, sequences)
        names = texts(x, len(path)) if tokens is None else [str(token) for token in only(tokens)]
        return cls(proba, model.classes_.tolist(), names, path).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_labels: int | None = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        n_labels : int, default=None
            Draw only the rows of this many labels: first those of the labelling, then those with
            the highest marginals.
        colorbar : bool, default=True
        im_kw : dict, default=None
            For matplotlib's `imshow`, such as ``{"cmap": "Greens"}``.

        Returns
        -------
        MarginalDisplay
            Itself.
        """
        rows = self._rows(n_labels)
        if ax is None:
            width = min(max(4.0, 2.0 + WIDTH * len(self.tokens)), 40.0)
            _, ax = subplots("MarginalDisplay", figsize=(width, 1.5 + 0.3 * len(rows)))
        shades = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, "aspect": "auto", **(im_kw or {})}
        self.im_ = ax.imshow(self.proba[:, rows].T, **shades)
        ax.set(
            xticks=range(len(self.tokens)), yticks=range(len(rows)), xlabel="token", ylabel="label"
        )
        ax.set_xticklabels(self.tokens, rotation="vertical", parse_math=False)  # $ is a word
        ax.set_yticklabels([str(self.labels[k]) for k in rows], parse_math=False)
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="probability")
        self.path_ = self._mark(ax, rows)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _rows(self, n_labels: int | None) -> np.ndarray:
        """The labels to draw, in their order."""
        T, K = np.shape(self.proba)
        if (
            len(self.labels) != K
            or len(self.tokens) != T
            or (self.path is not None and len(self.path) != T)
        ):
            raise LengthMismatchError(
                f"proba has the shape {(T, K)} but there are {len(self.tokens)} tokens and "
                f"{len(self.labels)} labels"
            )
        if T == 0:
            raise EmptyDataError("there are no tokens to draw")
        if n_labels is not None and n_labels < 1:
            raise ValueError(f"n_labels must be at least 1, got {n_labels}")
        height = np.max(self.proba, axis=0, initial=0.0)
        if self.path is not None:
            height[self.path] += 1.0  # before all others, whose probabilities are at most 1
        # chosen by probability, shown in the order of `classes_`
        return np.sort(np.argsort(-height, kind="stable")[:n_labels])

    def _mark(self, ax: Axes, rows: np.ndarray) -> list[Any]:
        """Frames around the cells of the labelling that are drawn."""
        places = {int(k): r for r, k in enumerate(rows)}
        path = [] if self.path is None else np.asarray(self.path).tolist()
        # the background of axes is a Rectangle: its class, without an import of matplotlib
        rectangle: type[Any] = type(ax.patch)
        frames = [
            rectangle(
                (t - 0.5, places[k] - 0.5), 1, 1, fill=False, edgecolor="tab:red", linewidth=2
            )
            for t, k in enumerate(path)
            if k in places
        ]
        return [ax.add_patch(frame) for frame in frames]
