"""A picture of what labelled features ask for and what a model expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError
from sklearn_struct.inspection.fitted_model import as_read, last_step
from sklearn_struct.inspection.optional_imports import subplots
from sklearn_struct.inspection.target_report import expected, read_labelled_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TargetDisplay"]


class TargetDisplay:
    """Heat maps of targets and of what the model expects, a row for each labelled feature.

    Make it with `from_estimator`. `plot` draws it again on other axes. Labelled features of label
    pairs are left out.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    target : ndarray of shape (n_features, n_labels)
        Target probabilities.
    expected : ndarray of shape (n_features, n_labels)
        Probabilities that the model expects where the feature fires; nan where it fires nowhere.
    features, labels : list
        Names of rows and columns.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of two matplotlib Axes
    im_ : list of two matplotlib AxesImage

    See Also
    --------
    target_report : The same as a table, with counts.
    sklearn_struct.GECRF : Learns from such targets.

    Examples
    --------
    >>> from sklearn_struct import GECRF
    >>> from sklearn_struct.inspection import TargetDisplay
    >>> X = [["rent", "$", "900", "month"], ["quiet", "room"],
    ...      ["sunny", "room"], ["$", "750"]]
    >>> crf = GECRF({"$": "RENT", "month": "RENT", "room": "SIZE"}).fit(X, [None] * 4)
    >>> display = TargetDisplay.from_estimator(crf, X)
    >>> [ax.get_title() for ax in display.axes_]
    ['target', 'expected']
    """

    def __init__(
        self, target: np.ndarray, expected: np.ndarray, features: list[Any], labels: list[Any]
    ) -> None:
        self.target = target
        self.expected = expected
        self.features = features
        self.labels = labels

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: SequenceInput,
        *,
        axes: Sequence[Axes] | np.ndarray | None = None,
        **options: Any,
    ) -> Self:
        """Draw the labelled features of a fitted GECRF.

        Parameters
        ----------
        estimator : fitted GECRF
            Also a pipeline or a search that ends in one.
        X : list of sequences, SequenceArray or array-like
            Unlabelled sequences, as in `fit`.
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        TargetDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        EmptyDataError
            If there are no labelled features of single labels.
        """
        check_is_fitted(last_step(estimator))
        X = as_read(estimator, X)
        reading = read_labelled_features(estimator, X)
        rows = expected(reading, last_step(estimator), X)
        K = len(reading.labels)
        chosen = [m for m, target in enumerate(reading.targets) if len(target.probability) == K]
        if not chosen:
            raise EmptyDataError("there are no labelled features to draw")
        target = np.array([reading.targets[m].probability for m in chosen])
        features = [reading.targets[m].feature for m in chosen]
        display = cls(target, np.array([rows[m] for m in chosen]), features, reading.labels)
        return display.plot(axes, **options)

    def plot(
        self,
        axes: Sequence[Axes] | np.ndarray | None = None,
        *,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat maps.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; None: a new figure.
        colorbar : bool, default=True
        im_kw : dict, default=None
            For matplotlib's `imshow`, such as ``{"cmap": "Greens"}``.

        Returns
        -------
        TargetDisplay
            Itself.
        """
        shape = (len(self.features), len(self.labels))
        if np.shape(self.target) != shape or np.shape(self.expected) != shape:
            raise LengthMismatchError(
                f"target and expected must have the shape {shape} of features and labels"
            )
        if axes is None:
            size = (min(4.0 + 0.5 * shape[1], 40.0), min(2.0 + 0.25 * shape[0], 40.0))
            _, axes = subplots("TargetDisplay", nrows=1, ncols=2, sharey=True, figsize=size)
        self.axes_ = np.asarray(axes, dtype=object)
        self.im_ = []
        names = [str(feature) for feature in self.features]
        for ax, table, title in zip(
            self.axes_, (self.target, self.expected), ("target", "expected"), strict=True
        ):
            options = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, "aspect": "auto", **(im_kw or {})}
            self.im_.append(ax.imshow(table, **options))
            ax.set(title=title, xticks=range(shape[1]), yticks=range(shape[0]))
            ax.set_yticklabels(names, parse_math=False)  # $ is a word
            ax.set_xticklabels(list(map(str, self.labels)), rotation="vertical", parse_math=False)
        self.figure_ = self.axes_[0].figure
        if colorbar:
            self.figure_.colorbar(self.im_[1], ax=list(self.axes_), label="probability")
        return self
