"""Conditional random fields on grids: the pixels of images and volumes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Options, StrOptions

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.encoding.block_numbers import block_numbers
from sklearn_struct.encoding.graphs import EDGES, GivenCliques
from sklearn_struct.encoding.grid_edges import NEIGHBOURS, contrasts, directions, edges
from sklearn_struct.encoding.images import (
    GivenImages,
    Layout,
    as_images,
    axes_of,
    is_table,
    layout_of_rows,
)
from sklearn_struct.encoding.labels import label_images
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.base_sequence import logarithms
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import Weights, is_per_token
from sklearn_struct.estimators.graphs.base_graph import NodeTypes
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_potentials import Inputs
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["GridCRF"]

COPIES = 3  # of tables of single edges: scores, their exponentials, marginals


class Images(NamedTuple):
    """X as read: as `Graphs`, and where the pixels stand."""

    X: SequenceArray
    flat: bool
    structure: Structure
    clique_rows: list[Matrix | None]
    layout: Layout
    types: NodeTypes | None = None


@with_parameters
class GridCRF(BaseGraphCRF):
    """Conditional random field on the pixels of images, or the voxels of volumes.

    Each pixel is a node with a label, and neighbouring pixels have an edge. With ``unary="scores"``
    the model improves the labels of any classifier or network: it learns how far to trust its
    scores, and how much neighbours agree.

    Read more in :doc:`/user_guide/images`.

    Parameters
    ----------
    neighbours : {4, 8, 6, 26}, default=4
        How many neighbours a pixel has: 4 or 8 in images. 6 or 26 say that X are volumes. 8 and 26
        count diagonal neighbours, too.
    unary : {"features", "scores"}, default="features"
        What the channels of X are:

        - "features": each has a weight for each label.
        - "scores": there is a channel for each label, in the order of ``classes_``, with the
          log-probability or the decision value of that label at that pixel. Scores are multiplied
          by `scale`. There is no intercept, whatever `fit_intercept` says, since a label that does
          not occur in y would then never be predicted.
    scale : {"shared", "label"}, default="shared"
        With ``unary="scores"``: whether all labels share one weight of their scores, or each label
        has its own.
    labels : array-like of shape (n_channels,), default=None
        With ``unary="scores"``: the label of each channel, sorted, such as ``classes_`` of the
        classifier. None: the labels are 0 to n_channels - 1 if those of y are among these; else y
        must have as many labels as X has channels.
    pairwise : {"potts", "contrast", "table", "symmetric"}, default="potts"
        The weights of two neighbours i and j:

        - "potts": one weight if both have the same label.
        - "contrast": two weights if both have the same label: one as with "potts", and one that is
          multiplied by exp(-\\|x_i - x_j\\|^2 / (2 m)), where m is the mean of \\|x_i - x_j\\|^2 over
          the edges of the image [1]_, [2]_. So neighbours of the same colour may agree more than
          those at the border of an object.
        - "table": one for each pair of labels, n_labels^2. The first label is that of the pixel
          that comes first, row by row.
        - "symmetric": one for each pair of labels in any order, n_labels * (n_labels + 1) / 2.
    directions : bool, default=False
        Whether each direction has pairwise weights of its own. There are 2 directions for 4
        neighbours ("right" and "down"), 4 for 8, 3 for 6, and 13 for 26. By default all directions
        share their weights.
    ignore_label : int or str, default=None
        Pixels of y with this value are unknown, such as 255. So are those that are masked, where y
        are masked arrays.
    unknown : {"marginal", "drop"}, default="marginal"
        What `fit` does with unknown pixels:

        - "marginal": it sums over their labels. This needs ``loss="log_likelihood"``, which is
          then not convex, and takes longer.
        - "drop": it leaves them out, as if they were no part of the image. Their neighbours lose
          an edge. This goes with all losses.

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
    GraphArray.from_segments : Graphs of superpixels, which are quicker than pixels.
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
    >>> y = np.zeros((20, 6, 8), int)
    >>> y[:, 2:5, 3:7] = 1  # a rectangle
    >>> X = y[..., None] + rng.normal(scale=0.8, size=(20, 6, 8, 1))
    >>> crf = GridCRF().fit(X[:10], y[:10])
    >>> print(f"{np.mean((X[10:, ..., 0] > 0.5) == y[10:]):.2f}")  # pixel by pixel
    0.74
    >>> print(f"{crf.score(X[10:], y[10:]):.2f}")
    0.91
    """

    neighbours: int = 4
    unary: str = "features"
    scale: str = "shared"
    labels: ArrayLike | None = None
    pairwise: str = "potts"
    directions: bool = False
    ignore_label: int | str | None = None
    unknown: str = "marginal"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "neighbours": [Options(Integral, set(NEIGHBOURS))],
        "unary": [StrOptions({"features", "scores"})],
        "scale": [StrOptions({"shared", "label"})],
        "labels": [None, "array-like"],
        "pairwise": [StrOptions({"potts", "contrast", "table", "symmetric"})],
        "directions": ["boolean"],
        "ignore_label": [None, Integral, str],
        "unknown": [StrOptions({"marginal", "drop"})],
    }
    _settings: ClassVar[tuple[str, ...]] = (*BaseGraphCRF._settings, "neighbours", "ignore_label")

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

    # ---- reading: a node for each pixel

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        if self.labels is not None and self.unary != "scores":
            raise ValueError("labels are those of scores: they need unary='scores'")
        X = as_list(X)
        y = as_list(y)
        # which pixels are dropped is known before the others become nodes
        self._labels_of_fit = y if self.unknown == "drop" else None
        super()._fit(X, y, sample_weight, init, progress)

    def _accept_rows(self, X: Any, reset: bool) -> None:
        if reset or getattr(self, "_rows_in", True):
            super()._accept_rows(X, reset)
            return
        raise InputTypeError(
            f"X is two-dimensional, a pixel in each row, but {type(self).__name__} was fitted on "
            "images; one image of one channel is [X[..., None]]"
        )

    def _read_X(self, X: Any, reset: bool) -> Any:
        X = as_list(X)
        dropped = self.__dict__.pop("_labels_of_fit", None) if reset else None
        if is_table(X):
            nodes = self._read_nodes(X, reset)
            layout = layout_of_rows(len(nodes.X))
            given = GivenImages([], [None] * len(nodes.X), layout)
            if dropped is not None and self.ignore_label is not None:
                raise ValueError("unknown='drop' is for images: leave out rows of X instead")
        else:
            given = as_images(X, axes_of(self.neighbours))
            if dropped is not None:
                given = self._without_unknown(given, dropped)
            rows = given.rows
            tokens = rows[0] if len(rows) == 1 else np.concatenate(rows)
            nodes = self._read_nodes(SequenceArray(tokens, given.layout.offsets), reset)
        families, rows = self._read_cliques(
            self._given_edges(given, nodes.X, reset), nodes.X.offsets, reset
        )
        structure = Structure(nodes.X.offsets, families)
        return Images(nodes.X, nodes.flat, structure, rows, given.layout)

    def _without_unknown(self, given: GivenImages, y: Any) -> GivenImages:
        """The images without the pixels whose labels are unknown."""
        labels = label_images.as_label_images(y, given.layout, self.ignore_label)
        layout = given.layout.without(labels.unknown)
        rows = []
        for i, (part, kept) in enumerate(zip(given.rows, given.layout.kept, strict=True)):
            left = ~labels.unknown[i].reshape(-1)
            rows.append(part[left if kept is None else left[kept]])
        return given._replace(rows=rows, layout=layout)

    def _given_edges(
        self, given: GivenImages, X: SequenceArray, reset: bool
    ) -> dict[str, GivenCliques]:
        """The edges of each direction, or of all, with features where contrast has a weight."""
        if reset:
            pairwise = self.pairwise
            apart = self.directions
        else:
            # predictions see what `fit` has seen
            some = next(iter(self.templates_.values()))
            pairwise = "contrast" if some.features.width else ""
            apart = EDGES not in self.templates_
        steps = directions(self.neighbours)
        tables: dict[str, list[np.ndarray]] = {name: [] for name in steps}
        features: dict[str, list[np.ndarray]] = {name: [] for name in steps}
        known: dict[tuple[int, ...], list[np.ndarray]] = {}
        has_contrast = pairwise == "contrast" and len(given.rows)
        for i, (shape, kept) in enumerate(zip(given.layout.shapes, given.layout.kept)):
            if len(shape) == 1:
                of_image = [np.zeros((0, 2), np.int64) for _ in steps]
            elif kept is not None:
                of_image = [edges(shape, step, kept) for step in steps.values()]
            else:
                if shape not in known:
                    known[shape] = [edges(shape, step) for step in steps.values()]
                of_image = known[shape]
            for name, table in zip(steps, of_image, strict=True):
                tables[name].append(table)
            if has_contrast:
                values = contrasts(self._picture(given, i, reset), of_image)
                for name, part in zip(steps, values, strict=True):
                    features[name].append(part[:, None])
        kinds = pairwise == "symmetric", pairwise in ("potts", "contrast"), True
        if apart:
            return {
                name: GivenCliques(
                    2, tables[name], _packed(features[name]) if has_contrast else None, *kinds
                )
                for name in steps
            }
        parts = zip(*tables.values(), strict=True)
        together = [np.concatenate(part) for part in parts]
        of_all = [np.concatenate(part) for part in zip(*features.values(), strict=True)]
        packed = _packed(of_all) if has_contrast else None
        return {EDGES: GivenCliques(2, together, packed, *kinds)}

    def _picture(self, given: GivenImages, i: int, reset: bool) -> np.ndarray:
        """What the pixels of image i are compared by: its picture, or else its channels."""
        picture = given.pictures[i]
        if picture is None:
            scores = self.unary == "scores" if reset else bool(self._pattern.n_scales)
            if scores:
                raise InputTypeError(
                    f"X[{i}] has scores and no picture: with pairwise='contrast' an item of X is a "
                    "tuple (scores, picture), or use pairwise='potts'"
                )
            return given.rows[i]
        kept = given.layout.kept[i]
        return picture if kept is None else picture[kept]

    def _read_labels(
        self, y: Any, sequences: Any, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        layout = sequences.layout
        if sequences.flat:
            if self.ignore_label is not None and y is not None:
                y = [None if label == self.ignore_label else label for label in as_list(y)]
            codes = super()._read_labels(y, sequences, reset, unseen)
            if not reset or self.unary != "scores":
                return codes
            known = self.classes_
            self._learn_classes(known, sequences)
            moved = np.searchsorted(self.classes_, known)
            if codes.ndim == 1:
                return moved[codes].astype(np.int32)
            masks = np.repeat(codes.all(axis=1)[:, None], len(self.classes_), axis=1)
            masks[:, moved] |= codes
            return masks
        if y is None:
            if reset:
                return self._read_y(y, sequences, reset)  # which says that it is needed
            y = [None] * len(layout.shapes)
        labels, unknown = label_images.as_label_images(y, layout, self.ignore_label).of_nodes(
            layout
        )
        if reset:
            self._learn_classes(label_images.known_classes(labels, unknown, layout), sequences)
        codes = label_images.codes_of(labels, unknown, self.classes_, layout, unseen)
        K = len(self.classes_)
        if not np.any(unknown) or (reset and K == 1):
            return codes
        allowed = codes[:, None] == np.arange(K)
        allowed[unknown] = True
        return allowed

    def _learn_classes(self, known: np.ndarray, sequences: Any) -> None:
        """The labels of the model, of which those known occur in y."""
        self.classes_ = known
        if self.unary == "scores":
            n = sequences.X.tokens.shape[1]
            self.classes_ = label_images.classes_of_channels(known, n, self.labels)

    def _read_weights(
        self, sample_weight: Any, sequences: Any, labels: np.ndarray
    ) -> tuple[Weights, Loss]:
        if labels.ndim == 2 and (self.loss != "log_likelihood" or self.solver == "sag"):
            raise ValueError(
                "some pixels of y are unknown, which needs loss='log_likelihood' and another "
                f"solver than 'sag', got loss={self.loss!r} and solver={self.solver!r}; "
                "unknown='drop' leaves such pixels out, and goes with all losses"
            )
        return super()._read_weights(_flat_weights(sample_weight, sequences), sequences, labels)

    def _read_token_weight(self, sample_weight: Any, sequences: Any) -> np.ndarray:
        return super()._read_token_weight(_flat_weights(sample_weight, sequences), sequences)

    def _block_numbers(self, graphs: Any, sequences: Any) -> np.ndarray:
        layout = sequences.layout
        numbers = iter(range(len(layout.shapes)))

        def rule(image: Any) -> Any:
            given = np.asarray(self.blocks(image))
            i = next(numbers)
            return layout.of_nodes(given, i) if given.shape == layout.shapes[i] else given

        return block_numbers(graphs, rule, sequences.X.offsets)

    def _observe(self, sequences: Any, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        pattern = super()._observe(sequences, codes, weight)
        if self.unary == "features":
            return pattern
        n = 1 if self.scale == "shared" else pattern.n_labels
        return pattern._replace(node=None, fit_intercept=False, n_scales=n)

    def _inputs(self, sequences: Any) -> Inputs:
        for family, rows in zip(sequences.structure.families, sequences.clique_rows):
            if rows is not None:
                _check_room(np.diff(family.offsets), len(self.classes_))
        return super()._inputs(sequences)

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        of = "two neighbours"
        if code is not None:
            of = f"the label {self.classes_.tolist()[code]!r}"
        return f"X[{place.example}], node {place.node}: the score of {of}"

    # ---- predictions, in the form of X

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


def _packed(parts: list[np.ndarray]) -> SequenceArray:
    bounds = np.cumsum([0, *map(len, parts)])
    return SequenceArray(np.concatenate([np.zeros((0, 1)), *parts]), bounds)


def _flat_weights(sample_weight: Any, sequences: Any) -> Any:
    """Weights of pixels as those of nodes; others as they are."""
    sample_weight = as_list(sample_weight)
    layout = sequences.layout
    if sequences.flat or not is_per_token(sample_weight):
        return sample_weight
    parts = [np.asarray(part) for part in sample_weight]
    shaped = [part.shape for part in parts] == layout.shapes
    return [layout.of_nodes(part, i) for i, part in enumerate(parts)] if shaped else parts


def _check_room(n_edges: np.ndarray, n_labels: int) -> None:
    """Raise MemoryError if the tables of the edges of an image do not fit."""
    if not len(n_edges):
        return
    i = int(np.argmax(n_edges))
    n = int(n_edges[i])
    reserve(
        COPIES * 8 * n * n_labels**2,
        f"pairwise='contrast' (pairwise='potts' needs no tables of single edges): X[{i}] has {n:,} "
        f"edges with tables of {n_labels} x {n_labels} labels, which",
    )
