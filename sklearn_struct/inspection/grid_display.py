"""A picture of an image beside its labels and those predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.pixel_labels import unknown_pixels
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inspection.fitted_model import best, graph_model_of
from sklearn_struct.inspection.optional_imports import add_legend, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["GridDisplay"]

INCHES = 3.2  # width of a panel
LEGEND = 20  # labels up to which a legend names them
UNKNOWN = (1.0, 1.0, 1.0, 0.0)  # of pixels without a label: nothing is drawn


class GridDisplay:
    """An image, its true labels and those predicted, side by side in the same colours.

    Make it with `from_estimator`. `plot` draws it again on other axes. Of a volume it shows the
    slice in the middle.

    Read more in :doc:`/user_guide/images`.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, 3), or None
        What to show: grey, or red, green and blue; None for labels alone.
    prediction : ndarray of shape (h, w)
        Labels. Pixels that are masked or None stay white.
    truth : ndarray of shape (h, w) or None, default=None
        True labels; masked or None where they are unknown.
    classes : sequence or None, default=None
        The labels that have colours, in this order; None for those that occur.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes
    images_ : list of matplotlib AxesImage

    See Also
    --------
    sklearn_struct.GridCRF : Predicts the labels of pixels.
    GraphDisplay : The same for graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import GridCRF
    >>> from sklearn_struct.inspection import GridDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros((10, 8, 10), int)
    >>> y[:, 2:6, 3:8] = 1
    >>> X = y[..., None] + rng.normal(scale=0.6, size=(10, 8, 10, 1))
    >>> crf = GridCRF().fit(X[1:], y[1:])
    >>> display = GridDisplay.from_estimator(crf, X[0], y[0])
    >>> [ax.get_title() for ax in display.axes_]
    ['image', 'truth', 'prediction']
    """

    def __init__(
        self,
        image: np.ndarray | None,
        prediction: np.ndarray,
        truth: np.ndarray | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.image = image
        self.prediction = prediction
        self.truth = truth
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        image: Any,
        y: Any = None,
        *,
        axes: Sequence[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Predict the labels of an image, and draw them.

        Parameters
        ----------
        estimator : fitted GridCRF
            Also a pipeline or a search that ends in one.
        image : array of shape (h, w, n_channels), or tuple (array, picture)
            One item of X. The picture is shown if there is one. Else the channels are: one as grey,
            three as red, green and blue, others by their mean.
        y : array of shape (h, w), default=None
            True labels; pixels that are masked, None or `ignore_label` are not drawn.
        axes : sequence of matplotlib Axes, default=None
            Where to draw, two panels or, with `y`, three; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        GridDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        model: Any = graph_model_of(estimator)
        if not hasattr(model, "neighbours"):
            raise InputTypeError(f"estimator must be a GridCRF, got {type(model).__name__}")
        [prediction] = best(estimator).predict([image])
        shown = image[1] if isinstance(image, tuple) else image
        truth = None if y is None else _known(y, model.ignore_label)
        if truth is not None and truth.shape != prediction.shape:
            raise LengthMismatchError(
                f"the image has pixels {prediction.shape} but y has {truth.shape}"
            )
        picture = _picture(np.ma.getdata(np.ma.asarray(shown)), prediction.ndim)
        if prediction.ndim == 3:
            middle = len(prediction) // 2
            picture = picture[middle]
            prediction = prediction[middle]
            truth = None if truth is None else truth[middle]
        return cls(picture, prediction, truth, model.classes_).plot(axes, **options)

    def plot(
        self,
        axes: Sequence[Axes] | None = None,
        *,
        cmap: str | Colormap | None = None,
        legend: bool = True,
        titles: Sequence[str] = ("image", "truth", "prediction"),
    ) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            As many as there are panels: one for each of image, truth and prediction that is not
            None. None: a new figure.
        cmap : str or matplotlib Colormap, default=None
            The colours of labels. None: "tab10" up to ten labels, "tab20" up to twenty, "turbo" for
            more.
        legend : bool, default=True
            Whether to name the labels beside the last panel, if there are at most 20.
        titles : sequence of str, default=("image", "truth", "prediction")
            Titles of the panels.

        Returns
        -------
        GridDisplay
            Itself.
        """
        truth = None if self.truth is None else _known(self.truth, None)
        prediction = _known(self.prediction, None)
        colours = self._colours(cmap, [prediction] if truth is None else [prediction, truth])
        parts: list[Any] = [
            self.image,
            None if truth is None else _coloured(truth, colours),
            _coloured(prediction, colours),
        ]
        panels = [pair for pair in zip(titles, parts, strict=True) if pair[1] is not None]
        if axes is None:
            size = (INCHES * len(panels), INCHES)
            _, made = subplots("GridDisplay", ncols=len(panels), figsize=size, squeeze=False)
            axes = list(made[0])
        if len(axes) != len(panels):
            raise LengthMismatchError(f"there are {len(panels)} panels but {len(axes)} axes")
        self.axes_ = list(axes)
        self.images_: list[Any] = []
        for ax, (title, shown) in zip(self.axes_, panels, strict=True):
            self.images_.append(ax.imshow(shown, cmap="gray", interpolation="nearest"))
            ax.set(title=title, xticks=[], yticks=[])
        if legend and len(colours) <= LEGEND:
            self._name_colours(colours)
        self.figure_ = self.axes_[0].figure
        return self

    def _colours(
        self, cmap: str | Colormap | None, shown: list[np.ma.MaskedArray[Any, Any]]
    ) -> dict[Any, Any]:
        """The colour of each label."""
        from matplotlib import colormaps

        classes = self.classes
        if classes is None:
            occur = [np.ma.compressed(part) for part in shown]
            classes = np.unique(np.concatenate(occur)).tolist()
        n = len(classes)
        if cmap is None:
            cmap = "tab10" if n <= 10 else "tab20" if n <= LEGEND else "turbo"
        colour = colormaps[cmap] if isinstance(cmap, str) else cmap
        # of a list of colours one after the other, else evenly
        steps = range(colour.N) if colour.N <= LEGEND else np.linspace(0, 1, n)
        return {
            label: colour(steps[k % len(steps)])
            for k, label in enumerate(np.array(classes).tolist())
        }

    def _name_colours(self, colours: dict[Any, Any]) -> None:
        from matplotlib.patches import Patch

        handles = [Patch(color=colour, label=str(label)) for label, colour in colours.items()]
        place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0)}
        add_legend(self.axes_[-1], handles, frameon=False, **place)


def _known(y: Any, ignore_label: Any) -> np.ma.MaskedArray[Any, Any]:
    """Labels, masked where they are unknown."""
    labels = np.ma.asarray(y)
    return np.ma.masked_where(unknown_pixels(labels, ignore_label), labels)


def _picture(array: np.ndarray, n_axes: int) -> np.ndarray:
    """An image as matplotlib shows it: its channels as one or three, from 0 to 1 if of colours."""
    if array.ndim == n_axes:
        return array
    n = array.shape[-1]
    if n != 3:
        return array[..., 0] if n == 1 else array.mean(axis=-1)
    if array.dtype == np.uint8:
        return array
    low = float(array.min(initial=0.0))
    high = float(array.max(initial=1.0))
    scaled: np.ndarray = (array - low) / (high - low)
    return scaled


def _coloured(labels: np.ndarray, colours: dict[Any, Any]) -> np.ndarray:
    """The colour (h, w, 4) of each pixel."""
    masked = np.ma.getmaskarray(labels).ravel().tolist()
    flat = np.ma.getdata(labels).ravel().tolist()
    rgba = [
        UNKNOWN if hidden else colours.get(label, UNKNOWN) for label, hidden in zip(flat, masked)
    ]
    return np.reshape(rgba, (*labels.shape, 4))
