"""A picture of how long the labels of a hidden Markov model last."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.parameter_checks import check_count
from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection.fitted_model import hidden_markov_of
from sklearn_struct.inspection.optional_imports import add_legend, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DurationDisplay"]

SHOWN = 0.99  # share of the durations of each label that a picture shows
LONGEST = 10_000  # tokens up to which durations are looked at


class DurationDisplay:
    """How many tokens each label lasts: a curve of probabilities for each label.

    The labels of an `HMM` last as long as chance has it: each further token costs the probability
    of the transition from the label to itself. Those of an `HSMM` have durations of their own. Bars
    show how long the labels of a prediction last.

    Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    proba : ndarray of shape (n_labels, max_length)
        ``[k, d - 1]`` is the probability that label k lasts d tokens.
    labels : list
        The labels of the rows of `proba`.
    observed : list of ndarray of int, default=None
        For each label the durations in a labelling.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    lines_ : list of matplotlib Line2D
        A curve for each label.

    See Also
    --------
    TransitionDisplay : From which label to which.
    PosteriorDisplay : Which label when.

    Examples
    --------
    >>> from sklearn_struct import HMM
    >>> from sklearn_struct.inspection import DurationDisplay
    >>> X = [["a", "a", "b", "b", "b", "b", "a", "a"]]
    >>> hmm = HMM().fit(X, [["x", "x", "y", "y", "y", "y", "x", "x"]])
    >>> display = DurationDisplay.from_estimator(hmm)
    >>> [line.get_label() for line in display.lines_]
    ['x', 'y']
    """

    def __init__(
        self, proba: np.ndarray, labels: list[Any], observed: list[np.ndarray] | None = None
    ) -> None:
        self.proba = proba
        self.labels = labels
        self.observed = observed

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: SequenceInput | None = None,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the durations of a fitted hidden Markov model.

        Parameters
        ----------
        estimator : fitted HMM of order 1, or HSMM
            Also a pipeline or a search that ends in one.
        X : list of sequences, default=None
            As in `predict`: their predicted durations are drawn as bars. The first and the last
            label of a sequence are left out, as they may have begun before or go on after it.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        DurationDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            For a hidden Markov model of order 2, or one whose transitions depend on inputs.
        """
        model = hidden_markov_of(estimator)
        if hasattr(model, "transition_coef_"):
            raise ValueError(
                f"how long a label of a {type(model).__name__} lasts depends on inputs; give an "
                "HMM of order 1 or an HSMM"
            )
        labels = model.classes_.tolist()
        if hasattr(model, "duration_logprob_"):
            proba = np.exp(model.duration_logprob_)
        else:
            proba = _geometric(model.transition_logprob_)
        observed = None
        if X is not None:
            observed = _durations(estimator.predict(X), labels)
        return cls(proba, labels, observed).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        longest: int | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curves, and behind them the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        longest : int, default=None
            The longest duration to draw. None: 99 % of the durations of each label.
        line_kw : dict, default=None
            For matplotlib's `plot`, such as ``{"linestyle": ":"}``.

        Returns
        -------
        DurationDisplay
            Itself.
        """
        K, n = np.shape(self.proba)
        if len(self.labels) != K or (self.observed is not None and len(self.observed) != K):
            raise LengthMismatchError(f"proba has {K} rows but there are {len(self.labels)} labels")
        if longest is not None:
            check_count(longest, "longest")
        if ax is None:
            _, ax = subplots("DurationDisplay", figsize=(6.4, 4.0))
        if longest is None:
            below = np.cumsum(self.proba, axis=1) < SHOWN
            longest = min(n, int(below.sum(axis=1).max(initial=0)) + 1)
        shown = np.arange(1, min(longest, n) + 1)
        self.lines_ = []
        for k, label in enumerate(self.labels):
            curve = {"marker": ".", "label": str(label), **(line_kw or {})}
            [line] = ax.plot(shown, self.proba[k, : len(shown)], **curve)
            self.lines_.append(line)
            if self.observed is not None and len(self.observed[k]):
                counts = np.bincount(self.observed[k], minlength=len(shown) + 1)[1:]
                heights = counts[: len(shown)] / counts.sum()
                ax.bar(shown, heights, width=0.9, alpha=0.3, color=line.get_color())
        ax.set(xlabel="duration in tokens", ylabel="probability")
        add_legend(ax, self.lines_, title="label")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _geometric(transition: np.ndarray) -> np.ndarray:
    """Probabilities of durations where each further token is a transition to the same label."""
    if transition.shape != (len(transition),) * 2:
        raise ValueError(
            "how long a label lasts in a model of order 2 depends on the label before it; give an "
            "HMM of order 1 or an HSMM"
        )
    stay = np.exp(np.diagonal(transition))
    # as many as the label that lasts longest needs
    with np.errstate(divide="ignore"):
        needed = np.log(1 - SHOWN) / np.log(np.minimum(stay, 1 - 1e-12))
    n = int(min(LONGEST, np.ceil(needed.max(initial=1.0)) + 1))
    proba: np.ndarray = (1 - stay)[:, None] * stay[:, None] ** np.arange(n)
    return proba


def _durations(y: Any, labels: list[Any]) -> list[np.ndarray]:
    """Of each label the lengths of its runs, without the first and the last of each sequence."""
    code = {label: k for k, label in enumerate(labels)}
    lengths: list[list[int]] = [[] for _ in labels]
    for sequence in y:
        codes = np.array([code[label] for label in sequence], np.int64)
        bounds = np.flatnonzero(np.diff(codes)) + 1
        for first, last in pairwise(bounds.tolist()):
            lengths[codes[first]].append(last - first)
    return [np.array(one, np.int64) for one in lengths]
