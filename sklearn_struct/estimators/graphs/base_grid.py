"""How estimators read images: a node for each pixel, an edge to each of its neighbours."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Options, StrOptions

from sklearn_struct.containers.grid_edges import NEIGHBOURS
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.encoding.block_numbers import block_numbers
from sklearn_struct.encoding.graphs import EDGES
from sklearn_struct.encoding.grid_cliques import GridForm, check_room, grid_cliques
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
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import Weights, is_per_token
from sklearn_struct.estimators.fitting.solving import OF_TERMS
from sklearn_struct.estimators.graphs.base_graph import NodeTypes
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_potentials import Inputs
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseGrid"]


class Images(NamedTuple):
    """X as read: as `Graphs`, and where the pixels stand."""

    X: SequenceArray
    flat: bool
    structure: Structure
    clique_rows: list[Matrix | None]
    layout: Layout
    types: NodeTypes | None = None


@with_parameters
class BaseGrid(BaseGraphCRF):
    """A conditional random field whose nodes are pixels.

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
          multiplied by exp(-d / (2 m)), where d is the squared distance of the channels of both
          pixels, and m the mean of d over the edges of the image [1]_, [2]_. So neighbours of the
          same colour may agree more than those at the border of an object.
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
        cliques = grid_cliques(given, self._form() if reset else self._learned_form())
        families, of_cliques = self._read_cliques(cliques, nodes.X.offsets, reset)
        structure = Structure(nodes.X.offsets, families)
        return Images(nodes.X, nodes.flat, structure, of_cliques, given.layout)

    def _form(self) -> GridForm:
        """What edges and weights are, as the parameters say."""
        scores = self.unary == "scores"
        return GridForm(self.neighbours, self.pairwise, self.directions, scores)

    def _learned_form(self) -> GridForm:
        """The same of the model that was learned."""
        first = next(iter(self.templates_.values()))
        # without features, kinds of weights make no other edges
        pairwise = "contrast" if first.features.width else ""
        scores = bool(self._pattern.n_scales)
        return GridForm(self.neighbours, pairwise, EDGES not in self.templates_, scores)

    def _without_unknown(self, given: GivenImages, y: Any) -> GivenImages:
        """The images without the pixels whose labels are unknown."""
        labels = label_images.as_label_images(y, given.layout, self.ignore_label)
        layout = given.layout.without(labels.unknown)
        rows = []
        for i, (part, kept) in enumerate(zip(given.rows, given.layout.kept, strict=True)):
            left = ~labels.unknown[i].reshape(-1)
            rows.append(part[left if kept is None else left[kept]])
        return given._replace(rows=rows, layout=layout)

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
                return np.asarray(moved[codes], np.int32)
            unknown = np.all(codes, axis=1, keepdims=True)
            masks: np.ndarray = np.repeat(unknown, len(self.classes_), axis=1)
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
        allowed: np.ndarray = codes[:, None] == np.arange(K)
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
        if labels.ndim == 2 and (self.loss != "log_likelihood" or self.solver in OF_TERMS):
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
                check_room(family.offsets, len(self.classes_))
        return super()._inputs(sequences)

    @abstractmethod
    def _labels(self, codes: np.ndarray, sequences: Any) -> np.ndarray:
        """Codes -> labels in the form of X."""

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        of = "two neighbours"
        if code is not None:
            of = f"the label {self.classes_.tolist()[code]!r}"
        return f"X[{place.example}], node {place.node}: the score of {of}"


def _flat_weights(sample_weight: Any, sequences: Any) -> Any:
    """Weights of pixels as those of nodes; others as they are."""
    sample_weight = as_list(sample_weight)
    layout = sequences.layout
    if sequences.flat or not is_per_token(sample_weight):
        return sample_weight
    try:
        parts = [np.asarray(part) for part in sample_weight]
    except ValueError:
        return sample_weight  # rows of different lengths, of which others tell
    shaped = [part.shape for part in parts] == layout.shapes
    return [layout.of_nodes(part, i) for i, part in enumerate(parts)] if shaped else parts
