"""Conditional random fields on grids: the pixels of images and volumes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sklearn_struct.encoding.graphs import EDGES
from sklearn_struct.estimators.fitting.base_sequence import logarithms
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.graphs.base_grid import BaseGrid
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["GridCRF"]


@with_parameters
class GridCRF(BaseGrid):
    """Conditional random field on the pixels of images, or the voxels of volumes.

    Each pixel is a node with a label, and neighbouring pixels have an edge. With ``unary="scores"``
    the model improves the labels of any classifier or network: it learns how far to trust its
    scores, and how much neighbours agree.

    Read more in :doc:`/user_guide/images`.

    Attributes
    ----------
    scale_ : float or ndarray of shape (n_labels,)
        With ``unary="scores"``: the weight of scores, or that of each label.
    smoothness_ : float or dict of str to float
        With "potts" and "contrast": the weight of neighbours with the same label; by the name of
        the direction if there are `directions`.
    contrast_ : float or dict of str to float
        With "contrast": the further weight of such neighbours where both pixels are alike.
    transition_ : ndarray of shape (n_labels, n_labels)
        Weights of two neighbours, from the label of the pixel that comes first (row) to that of the
        other one. With `directions` they are in ``clique_transition_``, by the direction.
    clique_transition_ : dict of str to ndarray
        The same under the name "edges"; with `directions` under their names.

    See Also
    --------
    GraphCRF : Any graph, with features of edges.
    sklearn_struct.GraphArray.from_segments : Graphs of superpixels, which are quicker.
    sklearn_struct.metrics.mean_iou_score : Compares label images.
    sklearn_struct.inspection.GridDisplay : An image, its labels and those predicted.

    References
    ----------
    .. [1] Y. Boykov and M.-P. Jolly, "Interactive graph cuts for optimal boundary and region
       segmentation of objects in N-D images", ICCV 2001.
    .. [2] C. Rother, V. Kolmogorov and A. Blake, "GrabCut: interactive foreground extraction using
       iterated graph cuts", ACM Transactions on Graphics 23(3), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import GridCRF
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros((20, 8, 10), int)
    >>> y[:, 2:6, 3:8] = 1  # a rectangle
    >>> X = y[..., None] + rng.normal(scale=0.6, size=(20, 8, 10, 1))
    >>> crf = GridCRF().fit(X[:10], y[:10])
    >>> print(f"{np.mean((X[10:, ..., 0] > 0.5) == y[10:]):.2f}")  # pixel by pixel
    0.80
    >>> print(f"{crf.score(X[10:], y[10:]):.2f}")
    0.91
    """

    @property
    def scale_(self) -> float | np.ndarray:
        """The weight of scores, or that of each label."""
        pattern: Pattern = self._fitted("_pattern")
        if not pattern.n_scales:
            raise AttributeError(f"this {type(self).__name__} was fitted with unary='features'")
        scale = self._segments().node
        return float(scale[0]) if pattern.n_scales == 1 else scale.copy()

    @property
    def smoothness_(self) -> float | dict[str, float]:
        """The weight of neighbours with the same label."""
        return self._by_direction(self._segments().columns, "potts' or 'contrast")

    @property
    def contrast_(self) -> float | dict[str, float]:
        """The further weight of such neighbours where both pixels are alike."""
        return self._by_direction(self._segments().features, "contrast")

    def _by_direction(
        self, weights: tuple[np.ndarray, ...], wanted: str
    ) -> float | dict[str, float]:
        potts = all(template.potts for template in self.templates_.values())
        if not potts or any(len(part) != 1 for part in weights):
            raise AttributeError(
                f"this {type(self).__name__} was not fitted with pairwise='{wanted}'"
            )
        values = [float(part[0]) for part in weights]
        return values[0] if EDGES in self.templates_ else dict(zip(self.templates_, values))

    def _labels(self, codes: np.ndarray, sequences: Any) -> np.ndarray:
        labels: np.ndarray = self.classes_[codes]
        return labels if sequences.flat else sequences.layout.in_images(labels)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable labelling of each image, or what `decoder` says.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_images,), or (n_images, h, w) if X is one array
            dtype object, an array (h, w) of labels each. Where pixels of X are masked they are
            masked arrays. For two-dimensional X one array (n,).
        """
        return super().predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Marginal probability of each label at each pixel, p(y_i = k | x).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_images,), or (n_images, h, w, n_labels) if X is one array
            dtype object, an array (h, w, n_labels) each, the last axis in the order of
            ``classes_``. For two-dimensional X one array (n, n_labels).
        """
        images = self._read_X(X, reset=False)
        node = self._label_marginals(images)
        return node if images.flat else images.layout.in_images(node)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`, in the same form.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray
            -inf where a probability is 0, or below the smallest float.
        """
        return logarithms(self.predict_proba(X))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw labellings from p(y | x), by exact inference.

        Parameters
        ----------
        X
            As in `fit`.
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n_images,)
            dtype object, each a list of `n_samples` arrays (h, w).

        Raises
        ------
        ValueError
            For an image that `inference` does not infer exactly.
        """
        return super().sample(X, n_samples, random_state)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of arrays (h, w, n_channels), or array of shape (n_images, h, w, n_channels)
            Arrays (z, h, w, n_channels) are volumes. Masked pixels are no part of the image; their
            predictions are masked. An item may be a tuple (array, picture); then
            ``pairwise="contrast"`` compares the pixels of the picture, an array (h, w) or
            (h, w, n), and without it the channels of the array. A two-dimensional X (n, n_channels)
            is a batch of images of one pixel.
        y : list of arrays (h, w), or array of shape (n_images, h, w)
            Integers or strings, one label a pixel. Pixels that are masked, None, or `ignore_label`
            are unknown, and so are all pixels of an image whose y is None.
        sample_weight : array-like of shape (n_images,), default=None
            Weight of each image's loss; with ``loss="pointwise"`` it may have an array (h, w) of
            weights for each image.
        init : fitted estimator with the same kinds of weights, default=None
            Start from its weights, matched by label and by position of the channel.

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place; ValueError for an image that is too wide for exact inference,
            MemoryError where the tables of ``pairwise="contrast"`` do not fit. The estimator is
            then as it was before.

        Warns
        -----
        InferenceWarning
            If inference does not settle at the weights that are learned.
        """
        super().fit(X, y, sample_weight, init=init)
        return self
