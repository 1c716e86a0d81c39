"""A picture of what the states of a grammar's symbol, or of a chain's label, stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection.latent_state_table import CHOICE, state_items
from sklearn_struct.inspection.optional_imports import subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LatentStateDisplay"]


class LatentStateDisplay:
    """Heat map of what states stand for: a row for each state, a column for each word or rule below
    a symbol, or for each feature of a label.

    Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    proba : ndarray of shape (n_states, n_items)
        Probabilities of words or rules, given the symbol and its state; or weights of features.
    items : list of str
        The words, rules or features.
    symbol : str
        What the symbol or label is called.
    kind : str, default="probability"
        What the numbers are; "weight" for weights, which may be negative.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    im_ : matplotlib AxesImage

    See Also
    --------
    latent_states : The same as a data frame.

    Examples
    --------
    >>> from sklearn_struct import EMLPCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> from sklearn_struct.inspection import LatentStateDisplay
    >>> X, y = make_treebank(n_samples=300, random_state=0)
    >>> parser = EMLPCFG(n_states=4, random_state=0).fit(X, y)
    >>> display = LatentStateDisplay.from_estimator(parser, "N", n=1)
    >>> display.ax_.get_ylabel()
    'state of N'
    """

    def __init__(
        self, proba: np.ndarray, items: list[str], symbol: str, kind: str = "probability"
    ) -> None:
        self.proba = proba
        self.items = items
        self.symbol = symbol
        self.kind = kind

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        symbol: str | int,
        *,
        n: int | None = 5,
        grammar: int = 0,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw what is most probable below each state of a symbol, or has its largest weights.

        There is a column for each item that is among the `n` most probable ones of some state.
        First come the items that are most probable in state 0, then those of state 1, and so on.

        Parameters
        ----------
        estimator : fitted EMLPCFG, LatentChainCRF, GraphCRF or HiddenStateClassifier
            Or another tree parser whose states have probabilities. Also a pipeline or a search that
            ends in one.
        symbol : str or int
            A name among the parser's `symbols_`, or its place there; or a label of the chain or
            classifier.
        n : int or None, default=5
            Number of words, rules or features for each state. None: all of them.
        grammar : int, default=0
            The number of the grammar, if the parser has several.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        LatentStateDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        UnknownLabelError, InputTypeError, ValueError
            As in `latent_states`.
        """
        validate_parameter_constraints(CHOICE, {"n": n, "grammar": grammar}, cls.__name__)
        below = state_items(estimator, symbol, grammar)
        proba = below.proba
        chosen = np.unique(np.concatenate([below.top(state, n) for state in range(len(proba))]))
        # by the state in which they are most probable, then by that probability
        chosen = chosen[np.lexsort((-proba.max(axis=0)[chosen], proba.argmax(axis=0)[chosen]))]
        items = [below.items[item] for item in chosen]
        return cls(proba[:, chosen], items, below.name, below.kind).plot(ax, **options)

    def plot(
        self, ax: Axes | None = None, *, colorbar: bool = True, im_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        colorbar : bool, default=True
        im_kw : dict, default=None
            For matplotlib's `imshow`, such as ``{"cmap": "Greens"}``.

        Returns
        -------
        LatentStateDisplay
            Itself.
        """
        n_states, n_items = np.shape(self.proba)
        if len(self.items) != n_items:
            raise LengthMismatchError(
                f"proba has the shape {(n_states, n_items)} but there are {len(self.items)} items"
            )
        if ax is None:
            longest = max(map(len, self.items), default=0)
            size = (
                min(max(4.0, 2.0 + 0.25 * n_items), 40.0),
                1.5 + 0.25 * n_states + 0.09 * min(longest, 60),
            )
            _, ax = subplots("LatentStateDisplay", figsize=size)
        most = float(np.max(np.abs(self.proba), initial=0.0))
        colours = {"cmap": "Blues", "vmin": 0.0}
        if self.kind == "weight":
            colours = {"cmap": "RdBu", "vmin": -most, "vmax": most}
        self.im_ = ax.imshow(self.proba, **{**colours, "aspect": "auto", **(im_kw or {})})
        ax.set(xticks=range(n_items), yticks=range(n_states), ylabel=f"state of {self.symbol}")
        ax.set_xticklabels(self.items, rotation="vertical", parse_math=False)  # $ is a word
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label=self.kind)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
