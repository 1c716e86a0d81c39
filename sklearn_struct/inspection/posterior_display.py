"""A picture of the probabilities of labels over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sklearn_struct.containers.data_frames import is_frame
from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.parameter_checks import check_count
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inspection.fitted_model import last_step
from sklearn_struct.inspection.optional_imports import add_legend, subplots
from sklearn_struct.inspection.single_sequence import one_sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PosteriorDisplay"]


class PosteriorDisplay:
    """Probabilities of labels over time, as areas that lie on each other, and in front of them a
    series of numbers.

    Make it with `from_estimator`. `plot` draws it again on other axes. For sequences of some twenty
    tokens with names, use `MarginalDisplay`.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    proba : ndarray of shape (n_tokens, n_labels)
        Probabilities of labels.
    labels : list
        The labels of the columns of `proba`.
    series : ndarray of shape (n_tokens,), default=None
        Numbers to draw in front.
    times : sequence of length n_tokens, default=None
        Where tokens stand: numbers or dates. None: 0, 1, 2 and so on.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        Of the probabilities.
    series_ax_ : matplotlib Axes or None
        Of the series; it has an axis of its own, at the right.
    areas_ : list of matplotlib PolyCollection
        An area for each label.

    See Also
    --------
    MarginalDisplay : The same for a few tokens.
    DurationDisplay : How long labels last.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import HMM
    >>> from sklearn_struct.inspection import PosteriorDisplay
    >>> x = np.array([[0.1], [0.0], [0.2], [5.1], [4.9], [5.0]])
    >>> hmm = HMM(n_states=2, stop=False, random_state=0).fit([x])
    >>> display = PosteriorDisplay.from_estimator(hmm, x, stream=0)
    >>> len(display.areas_)
    2
    """

    def __init__(
        self,
        proba: np.ndarray,
        labels: list[Any],
        series: np.ndarray | None = None,
        times: Sequence[Any] | None = None,
    ) -> None:
        self.proba = proba
        self.labels = labels
        self.series = series
        self.times = times

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        x: SequenceInput,
        *,
        stream: int | None = None,
        times: Sequence[Any] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the probabilities that `predict_proba` of a fitted model gives to one sequence.

        Parameters
        ----------
        estimator : fitted HMM, HSMM or another model of sequences with `predict_proba`
            Also a pipeline or a search that ends in one.
        x : array-like of shape (n_tokens, n_streams), or another sequence as in `predict`
            One sequence, or a batch of one.
        stream : int, default=None
            The number of the column of `x` to draw in front of the probabilities.
        times : sequence of length n_tokens, default=None
            Where tokens stand: numbers or dates. None: 0, 1, 2 and so on.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        PosteriorDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        InputTypeError, LengthMismatchError
            If the model has no probabilities of tokens, `x` is not one sequence, or `stream` or
            `times` does not fit it.
        ValueError
            If `stream` is below 0.
        """
        model: Any = estimator
        if not hasattr(model, "predict_proba"):
            raise InputTypeError(
                f"estimator must have predict_proba, and {type(model).__name__} has not"
            )
        if stream is not None:
            check_count(stream, "stream", least=0)
        batch, x = one_sequence(estimator, x)
        [proba] = model.predict_proba(batch)
        if np.ndim(proba) != 2:
            raise InputTypeError(
                f"{type(last_step(estimator)).__name__} has no probabilities of tokens"
            )
        series = None if stream is None else _column(x, stream)
        labels = last_step(estimator).classes_.tolist()
        return cls(proba, labels, series, times).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        area_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        area_kw : dict, default=None
            For matplotlib's `stackplot`, such as ``{"colors": ["white", "tab:red"]}``.
        line_kw : dict, default=None
            For matplotlib's `plot` of the series.

        Returns
        -------
        PosteriorDisplay
            Itself.
        """
        n, K = np.shape(self.proba)
        times = np.arange(n) if self.times is None else np.asarray(self.times)
        if times.ndim != 1:
            raise InputTypeError(
                "times must be a list of numbers or dates, one for each token, got "
                f"{type(self.times).__name__}" + (f" of shape {times.shape}" if times.ndim else "")
            )
        if len(self.labels) != K:
            raise LengthMismatchError(
                f"proba has {K} columns but there are {len(self.labels)} labels"
            )
        for name, numbers in (("times", times), ("series", self.series)):
            if numbers is not None and len(numbers) != n:
                raise LengthMismatchError(
                    f"proba has {n} rows but {name} has {len(numbers)} numbers"
                )
        if ax is None:
            _, ax = subplots("PosteriorDisplay", figsize=(8.0, 3.2))
        names = [str(label) for label in self.labels]
        areas = {"labels": names, "alpha": 0.4, "linewidth": 0, "step": "mid", **(area_kw or {})}
        self.areas_ = ax.stackplot(times, np.transpose(self.proba), **areas)
        ax.set(xlabel="token", ylabel="probability", ylim=(0, 1))
        if n > 1:
            ax.set_xlim(times[0], times[-1])
        add_legend(ax, self.areas_, title="label", loc="upper left")
        self.series_ax_ = None
        if self.series is not None:
            self.series_ax_ = ax.twinx()
            line = {"color": "black", "linewidth": 0.8, **(line_kw or {})}
            self.series_ax_.plot(times, self.series, **line)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _column(x: Any, stream: int) -> np.ndarray:
    """A stream of a sequence as numbers."""
    try:
        if is_frame(x):
            x = np.asarray(x)
        elif sp.issparse(x):
            x = x.toarray()
        return np.array([row[stream] for row in x], np.float64)
    except (TypeError, ValueError, IndexError) as error:
        raise InputTypeError(f"stream {stream} of x is no series of numbers") from error
