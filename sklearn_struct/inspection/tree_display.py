"""A picture of a tree, with the probabilities of its constituents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.trees import binarization
from sklearn_struct.encoding.trees.brackets import NltkTree, Tree, as_tree, words
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError
from sklearn_struct.inspection.optional_imports import subplots
from sklearn_struct.inspection.single_sequence import only, only_tree, read_sentence
from sklearn_struct.inspection.tree_layout import Layout, layout, spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["TreeDisplay"]

LEVEL = 0.42  # inches from one level to the next
HALF = 0.3  # of a level: half the height of a text, with room around it
BEND = 0.65  # of a level below a node its lines become upright, so that they cross no text
POINTS = 10.0
LARGEST = 160.0, 40.0  # inches of a new figure; beyond, letters become smaller


class TreeDisplay:
    """A tree: words in a row, tags and constituents above them, their probabilities as shades.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    tree : str or nltk Tree
        Any tree. A string is a tree in brackets.
    proba : array-like of shape (n_nodes,), default=None
        Probabilities of nodes and words, in the order of their names in the bracketed string. A
        node with nan gets no shade. None: no shades.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    text_ : list of matplotlib Text
        Nodes and words, in the order of `proba`.
    line_ : matplotlib Line2D
        All lines.
    shades_ : matplotlib PathCollection or None
        The scale of the shades; its array has the probabilities that are shown.

    See Also
    --------
    sklearn_struct.PCFG.marginals : probabilities of all constituents.

    Examples
    --------
    >>> from sklearn_struct import PCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> from sklearn_struct.inspection import TreeDisplay
    >>> parser = PCFG().fit(*make_treebank(n_samples=300, random_state=0))
    >>> display = TreeDisplay.from_estimator(parser, ["the", "doctor", "sleeps"])
    >>> [text.get_text() for text in display.text_]
    ['ROOT', 'S', 'NP', 'D', 'the', 'N', 'doctor', 'VP', 'V', 'sleeps']
    >>> _ = TreeDisplay("(NP (D the) (N doctor))").plot()
    """

    def __init__(
        self, tree: str | Tree | NltkTree, proba: Sequence[float] | np.ndarray | None = None
    ) -> None:
        self.tree = tree
        self.proba = proba

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        x: SequenceInput,
        y: str | Tree | NltkTree | None = None,
        *,
        tags: Sequence[str] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the parse of a sentence, and how probable its constituents are.

        The shade of a phrase is the posterior probability of a constituent with its label over its
        words. The shade of a tag is the posterior probability that the word has this tag. Both are
        sums over all trees that the parser's `pruning` leaves. If there is no such tree, there are
        no shades.

        Parameters
        ----------
        estimator : fitted tree parser
            Also a pipeline or a search that ends in one.
        x : list of str
            The words of a sentence, or a list of one such list, as `predict` takes it. `y` and
            `tags` may be in a list of one, too.
        y : str or nltk Tree, default=None
            The tree to draw, over the same words. Its function tags and traces are left out. None:
            the predicted tree.
        tags : list of str, default=None
            Part-of-speech tags of all words, if they are known.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        TreeDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        LengthMismatchError, UnknownLabelError, InputTypeError, EmptyDataError, ValueError
            If `x` is not one sentence or has no words, or `y` or `tags` does not fit it.
        """
        model, sentence = read_sentence(estimator, x)
        if not sentence:
            raise EmptyDataError("the sentence has no words to draw")
        [allowed] = model._allowed(None if tags is None else [only(tags)], [sentence])
        if y is None:
            [tree] = model._trees([sentence], [allowed])
        else:
            [tree] = binarization.read([only_tree(y)])
            binarization.check_words([sentence], [words(tree)], ("X", "y"))
        return cls(tree, _probabilities(model, sentence, allowed, tree)).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        colorbar: bool = True,
        cmap: str | Colormap = "Blues",
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure, large enough for all words.
        colorbar : bool, default=True
        cmap : str or matplotlib Colormap, default="Blues"
            The shades, from probability 0 to 1.
        text_kw : dict, default=None
            For matplotlib's `text`, such as ``{"fontsize": 14}``.

        Returns
        -------
        TreeDisplay
            Itself.
        """
        tree = as_tree(self.tree, "tree")
        proba = (
            np.full(len(tree.labels), np.nan)
            if self.proba is None
            else np.asarray(self.proba, dtype=float)
        )
        if proba.shape != (len(tree.labels),):
            raise LengthMismatchError(
                f"proba has the shape {proba.shape} but the tree {len(tree.labels)} nodes and words"
            )
        places = layout(tree)
        shaded = np.isfinite(proba)
        size = np.array([places.width, LEVEL * (places.y[0] + 1)])
        if ax is None:
            room = np.minimum(size, LARGEST)
            bar = 1.2 if colorbar and np.any(shaded) else 0.0
            _, ax = subplots("TreeDisplay", figsize=(max(room[0] + bar, 2.0), max(room[1], 1.0)))
        else:
            room = np.array(ax.get_window_extent().size) / ax.figure.dpi
        ax.set_axis_off()
        ax.set(xlim=(0.0, places.width), ylim=(-0.5, places.y[0] + 0.5))
        colors: list[Any] = [None] * len(proba)
        self.shades_ = None
        if np.any(shaded):
            at = places.x[shaded], places.y[shaded]
            self.shades_ = ax.scatter(*at, s=0, c=proba[shaded], cmap=cmap, vmin=0.0, vmax=1.0)
            colors = [
                color if known else None
                for color, known in zip(self.shades_.to_rgba(proba), shaded)
            ]
            if colorbar:
                share = min(0.15, ax.figure.dpi / ax.figure.bbox.width)  # an inch at most
                ax.figure.colorbar(
                    self.shades_, ax=ax, label="probability", fraction=share, pad=0.01
                )
        self.line_ = ax.plot(*_lines(places), color="gray", linewidth=0.8, zorder=0)[0]
        font = {"fontsize": max(POINTS * min(1.0, *(room / size)), 1.0), **(text_kw or {})}
        self.text_ = [
            ax.text(
                x,
                y,
                label,
                **{"ha": "center", "va": "center", "parse_math": False, **_box(color), **font},
            )
            for label, x, y, color in zip(tree.labels, places.x, places.y, colors)
        ]
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _box(color: np.ndarray | None) -> dict[str, Any]:
    """How a text with this shade is drawn."""
    if color is None:
        return {}
    box = {"boxstyle": "round,pad=0.2", "facecolor": color, "edgecolor": "lightgray"}
    # white letters on dark shades
    return {"bbox": box, "color": "white" if np.mean(color[:3]) < 0.6 else "black"}


def _lines(places: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Lines from each node to its parent, upright up to the level below it, with nan between."""
    x, y, parent = (column[1:] for column in (places.x, places.y, places.parent))
    above = places.y[parent]
    none = np.full(len(x), np.nan)
    return (
        np.stack([x, x, places.x[parent], none], axis=1).ravel(),
        np.stack([y + HALF, above - BEND, above - HALF, none], axis=1).ravel(),
    )


def _probabilities(
    parser: BaseParser, sentence: list[str], allowed: list[np.ndarray] | None, tree: Tree
) -> np.ndarray:
    """Posterior probabilities of the nodes of a tree.

    The root and the words have nan; so have all nodes if the sentence has no parse.
    """
    posterior: Counter[tuple[str, bool, int, int]] = Counter()
    # else a sentence that got its tree by relaxed tags would have no probabilities
    for relaxed in (False, True):  # as in `predict`
        forest, item, *_ = parser._parses(parser._candidates(sentence, allowed, relaxed))
        columns = (
            column.tolist()
            for column in (forest.symbol, forest.start, forest.stop, item.mean(axis=0))
        )
        for code, start, stop, p in zip(*columns):
            symbol = parser._codes.symbols[code]
            # nodes that binarization made are no constituents
            if symbol.siblings is None:
                tags = [False] * (len(symbol.chain) - 1) + [symbol.tag]
                # a chain that has a label twice is one constituent of that label
                for label, tag in set(zip(symbol.chain, tags)):
                    posterior[label, tag, start, stop] += p
        if posterior:
            break
    proba = np.full(len(tree.labels), np.nan)
    for i, (label, n, span) in enumerate(zip(tree.labels, tree.arity, spans(tree))):
        if posterior and i and n:
            proba[i] = posterior[label, n == 1 and tree.arity[i + 1] == 0, *span]
    return proba
