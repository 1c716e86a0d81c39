"""A picture of what the labels of a hidden Markov model emit."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.stats
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from sklearn_struct.estimators.hidden_markov.learned_counts import stream_kinds
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inspection.fitted_model import hidden_markov_of
from sklearn_struct.inspection.optional_imports import add_legend, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EmissionDisplay"]

DEVIATIONS = 3.5  # from the means of labels, within which densities are drawn
POINTS = 400  # of a curve
PEAK_POINTS = 81  # and of each of its peaks
OUT_OF_VOCABULARY = "<OOV>"


class EmissionDisplay:
    """What each label emits in one stream: the probabilities of symbols as a heat map, or the
    density of numbers as a curve for each label.

    Make it with `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    proba : ndarray of shape (n_labels, n_values)
        Probabilities, or densities, of values given the label.
    values : list of str, or ndarray of shape (n_values,)
        Symbols, or numbers in ascending order.
    labels : list
        The labels of the rows of `proba`.
    stream : str
        What the stream is called.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    im_ : matplotlib AxesImage or None
        The heat map of symbols.
    lines_ : list of matplotlib Line2D
        The curves of numbers.

    See Also
    --------
    TransitionDisplay : From which label to which.
    LatentStateDisplay : The same for states of a symbol or label.

    Examples
    --------
    >>> from sklearn_struct import HMM
    >>> from sklearn_struct.inspection import EmissionDisplay
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> hmm = HMM(oov="smoothing").fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> display = EmissionDisplay.from_estimator(hmm, n=2)
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['DET', 'NOUN', 'VERB']
    """

    def __init__(
        self, proba: np.ndarray, values: list[str] | np.ndarray, labels: list[Any], stream: str
    ) -> None:
        self.proba = proba
        self.values = values
        self.labels = labels
        self.stream = stream

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        stream: int = 0,
        *,
        n: int | None = 10,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the distributions of one stream of a fitted hidden Markov model.

        Parameters
        ----------
        estimator : fitted HMM, ConstraintDrivenHMM, HSMM or NonHomogeneousHMM
            Also a pipeline or a search that ends in one.
        stream : int, default=0
            The number of the stream. All multinomial streams are drawn together.
        n : int or None, default=10
            Of symbols: draw those that are among the `n` most probable ones of some label. None:
            all of them.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        EmissionDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        InputTypeError
            If `estimator` is no hidden Markov model, or `stream` is no whole number.
        ValueError
            If there is no such stream, it is an input, or its means depend on the tokens before
            (`autoregression`).
        """
        constraints = {"n": [Interval(Integral, 1, None, closed="left"), None]}
        validate_parameter_constraints(constraints, {"n": n}, cls.__name__)
        model: Any = hidden_markov_of(estimator)
        if not isinstance(stream, Integral) or isinstance(stream, bool):
            raise InputTypeError(f"stream must be the number of a stream, got {stream!r}")
        if not 0 <= stream < model.n_features_in_:
            raise ValueError(
                f"stream {stream} is not there: the model has {model.n_features_in_} streams, "
                "numbered from 0"
            )
        kinds = stream_kinds(model)
        if kinds[stream] not in DISTRIBUTIONS:
            raise ValueError(f"stream {stream} is not emitted: it is an input of transitions")
        # which of the streams of its kind it is
        place = kinds[:stream].count(kinds[stream])
        proba, values = DISTRIBUTIONS[kinds[stream]](model, stream, place)
        if isinstance(values, list) and n is not None:
            proba, values = _most_probable(proba, values, n)
        names = getattr(model, "feature_names_in_", None)
        name = f"stream {stream}" if names is None else str(names[stream])
        return cls(proba, values, model.classes_.tolist(), name).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map or the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        colorbar : bool, default=True
            Of a heat map.
        im_kw : dict, default=None
            For matplotlib's `imshow`, such as ``{"cmap": "Greens"}``.
        line_kw : dict, default=None
            For matplotlib's `plot`, such as ``{"linewidth": 2}``.

        Returns
        -------
        EmissionDisplay
            Itself.
        """
        shape = (len(self.labels), len(self.values))
        if np.shape(self.proba) != shape:
            raise LengthMismatchError(
                f"proba has the shape {np.shape(self.proba)} but there are {shape[0]} labels and "
                f"{shape[1]} values"
            )
        self.im_ = None
        self.lines_: list[Any] = []
        if isinstance(self.values, list):
            self._draw_symbols(ax, colorbar, im_kw or {})
        else:
            self._draw_numbers(ax, line_kw or {})
        self.figure_ = self.ax_.figure
        return self

    def _draw_symbols(self, ax: Axes | None, colorbar: bool, im_kw: dict[str, Any]) -> None:
        K, n = np.shape(self.proba)
        if ax is None:
            size = (min(max(4.0, 2.0 + 0.25 * n), 40.0), 2.0 + 0.3 * K)
            _, ax = subplots("EmissionDisplay", figsize=size)
        self.im_ = ax.imshow(
            self.proba, **{"cmap": "Blues", "vmin": 0.0, "aspect": "auto", **im_kw}
        )
        ax.set(xticks=range(n), yticks=range(K), ylabel="label")
        ax.set_xlabel(self.stream, parse_math=False)
        ax.set_xticklabels(self.values, rotation="vertical", parse_math=False)  # $ is a word
        ax.set_yticklabels([str(label) for label in self.labels], parse_math=False)
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="probability")
        self.ax_ = ax

    def _draw_numbers(self, ax: Axes | None, line_kw: dict[str, Any]) -> None:
        if ax is None:
            _, ax = subplots("EmissionDisplay", figsize=(6.4, 4.0))
        # counts have probabilities, and nothing lies between them
        counts = np.issubdtype(np.asarray(self.values).dtype, np.integer)
        for label, row in zip(self.labels, self.proba, strict=True):
            curve = {"label": str(label), "marker": "." if counts else None, **line_kw}
            self.lines_ += ax.plot(self.values, row, **curve)
        ax.set_xlabel(self.stream, parse_math=False)
        ax.set_ylabel("probability" if counts else "density")
        add_legend(ax, self.lines_, title="label")
        self.ax_ = ax


def _symbols(model: Any, stream: int, place: int) -> tuple[np.ndarray, list[str]]:
    proba = np.exp(model.emission_logprob_[stream])
    values = [str(value) for value in model.vocabulary_[stream]]
    if proba.shape[1] > len(values):
        values.append(OUT_OF_VOCABULARY)
    return proba, values


def _outcomes(model: Any, stream: int, place: int) -> tuple[np.ndarray, list[str]]:
    names = getattr(model, "feature_names_in_", None)
    columns = [c for c, kind in enumerate(stream_kinds(model)) if kind == "multinomial"]
    values = [f"stream {c}" if names is None else str(names[c]) for c in columns]
    return np.exp(model.count_logprob_), values


def _densities(model: Any, stream: int, place: int) -> tuple[np.ndarray, np.ndarray]:
    # `means_` are constants there, which may be far from all numbers
    if model.get_params().get("autoregression", 0):
        raise ValueError(
            f"with autoregression={model.autoregression} the mean of a number depends on the "
            "tokens before it, so that a label has no density of its own to draw"
        )
    mean = np.asarray(model.means_)[..., place]
    deviation = np.sqrt(np.asarray(model.variances_)[..., place])
    shares = np.exp(getattr(model, "mixture_logprob_", np.zeros((len(mean), 1))))
    # one component where there is no mixture
    mean = mean.reshape(len(mean), -1)
    deviation = deviation.reshape(mean.shape)
    reach = DEVIATIONS * deviation
    low = (mean - reach).min()
    high = (mean + reach).max()
    # a narrow peak beside wide ones would lie between two points of a grid
    peaks = mean + deviation * np.linspace(-5, 5, PEAK_POINTS)[:, None, None]
    x = np.unique([*np.linspace(low, high, POINTS), *np.clip(peaks, low, high).ravel()])
    density = scipy.stats.norm.pdf(x[:, None, None], mean, deviation)
    return (density * shares).sum(axis=2).T, x


def _rates(model: Any, stream: int, place: int) -> tuple[np.ndarray, np.ndarray]:
    rates = np.asarray(model.rates_)[:, place]
    x = np.arange(int(scipy.stats.poisson.ppf(0.999, rates).max()) + 1)
    return scipy.stats.poisson.pmf(x, rates[:, None]), x


DISTRIBUTIONS: dict[str, Any] = {
    "categorical": _symbols,
    "gaussian": _densities,
    "poisson": _rates,
    "multinomial": _outcomes,
}


def _most_probable(proba: np.ndarray, values: list[str], n: int) -> tuple[np.ndarray, list[str]]:
    """The values that are among the n most probable ones of some label."""
    chosen = np.unique(np.argsort(-proba, axis=1, kind="stable")[:, :n])
    # by the label in which they are most probable, then by that probability
    chosen = chosen[np.lexsort((-proba.max(axis=0)[chosen], proba.argmax(axis=0)[chosen]))]
    return proba[:, chosen], [values[v] for v in chosen]
