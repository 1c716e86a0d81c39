"""Labels of pixels: arrays of the shapes of images, some of them unknown."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct._warning import warn
from sklearn_struct.containers.pixel_labels import label_array, unknown_pixels
from sklearn_struct.encoding.images import Layout
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)

__all__ = ["LabelImages", "as_label_images", "classes_of_channels", "codes_of", "known_classes"]


class LabelImages(NamedTuple):
    """For each image the labels of its pixels, and which of them are unknown; labels of unknown
    pixels mean nothing.
    """

    labels: list[np.ndarray]
    unknown: list[np.ndarray]

    def of_nodes(self, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
        """Labels of all nodes, and which are unknown."""
        labels = [layout.of_nodes(part, i) for i, part in enumerate(self.labels)]
        unknown = [layout.of_nodes(part, i) for i, part in enumerate(self.unknown)]
        return _joined(labels, unknown), np.concatenate([np.zeros(0, bool), *unknown])


def as_label_images(y: Any, layout: Layout, ignore_label: Any) -> LabelImages:
    """y as arrays of labels, after a check that they have the shapes of X.

    Raises
    ------
    InputTypeError, LengthMismatchError
        With the place.
    """
    y = as_list(y)
    n = len(layout.shapes)
    if not is_list(y):
        raise InputTypeError(f"y must be a list of arrays of labels, got {type(y).__name__}")
    if len(y) != n:
        raise LengthMismatchError(f"X has {n} images but y has {len(y)}")
    labels = []
    unknown = []
    for i, (given, shape) in enumerate(zip(y, layout.shapes, strict=True)):
        if given is None:
            labels.append(np.zeros(shape, np.int64))
            unknown.append(np.ones(shape, bool))
            continue
        array = label_array(given, f"y[{i}]")
        if array.shape != shape:
            raise LengthMismatchError(f"X[{i}] has pixels {shape} but y[{i}] has {array.shape}")
        labels.append(np.ma.getdata(array))
        unknown.append(unknown_pixels(array, ignore_label))
    return LabelImages(labels, unknown)


def _joined(labels: list[np.ndarray], unknown: list[np.ndarray]) -> np.ndarray:
    """Labels of all images as one array, of objects where their kinds differ."""
    kinds = {part.dtype.kind for part in labels if part.size}
    alike = len({"i" if kind in "biu" else kind for kind in kinds}) <= 1
    if alike and "O" not in kinds:
        filled = [part for part in labels if part.size]
        return np.concatenate(filled) if filled else np.zeros(0, np.int64)
    objects = [part.astype(object) for part in labels]
    together = np.concatenate([np.zeros(0, object), *objects])
    # a label that means nothing must not be of another type than the others
    nowhere = np.concatenate(unknown)
    if np.any(~nowhere):
        together[nowhere] = together[np.argmin(nowhere)]
    return together


def known_classes(labels: np.ndarray, unknown: np.ndarray, layout: Layout) -> np.ndarray:
    """The distinct labels of nodes that are known, sorted.

    Raises
    ------
    EmptyDataError
        If there are none.
    """
    known = labels[~unknown]
    if not len(known):
        raise EmptyDataError("y has no labels: all pixels are unknown")
    if known.dtype == object:
        return label_codes.unique_labels(known.tolist(), np.array([0, len(known)]))
    return np.unique(known)


def classes_of_channels(classes: np.ndarray, n: int, given: Any) -> np.ndarray:
    """The labels of n channels: those given; else 0 ... n - 1 if those that occur are among them;
    else those that occur, if there are n.

    Raises
    ------
    ValueError
        If there are others, or another number.

    Warns
    -----
    UserWarning
        If they may as well count from 1.
    """
    if given is not None:
        labels = np.asarray(given)
        if labels.shape != (n,):
            raise LengthMismatchError(
                f"X has {n} channels of scores, but labels has the shape {labels.shape}"
            )
        if not np.array_equal(labels, np.unique(labels)):
            raise ValueError(
                f"labels must be sorted and distinct, got {labels.tolist()[:20]}; sort the "
                "channels of X alike, X[..., numpy.argsort(labels)]"
            )
        others = [label for label in classes.tolist() if label not in set(labels.tolist())]
        if others:
            raise UnknownLabelError(f"y has the label {others[0]!r}, which is not in labels")
        return labels
    if classes.dtype.kind in "iu" and np.all((classes >= 0) & (classes < n)):
        if classes[0] == 1 and len(classes) > 1:
            warn(
                f"y has the label 1 but not 0: the {n} channels of scores are taken as those of "
                f"the labels 0 to {n - 1}; if they are those of 1 to {n}, write "
                f"labels=range(1, {n + 1})",
                UserWarning,
            )
        return np.arange(n)
    if len(classes) == n:
        return classes
    raise ValueError(
        f"X has {n} channels of scores, one for each label, but y has the {len(classes)} labels "
        f"{classes.tolist()[:20]}: number them from 0 to {n - 1}, or say with the parameter labels "
        "which label each channel is of"
    )


def codes_of(
    labels: np.ndarray,
    unknown: np.ndarray,
    classes: np.ndarray,
    layout: Layout,
    unseen: int | None,
) -> np.ndarray:
    """Codes (int32) of the labels of nodes; any where they are unknown. Labels that are not among
    `classes` have the code `unseen`, if it is given.

    Raises
    ------
    UnknownLabelError
        With the place.
    """
    codes = np.zeros(len(labels), np.int32)
    known = np.flatnonzero(~unknown)
    of_known = labels[known]
    if of_known.dtype == object or classes.dtype == object:
        place = {label: k for k, label in enumerate(classes.tolist())}
        numbers = [place.get(label, -1) for label in of_known.tolist()]
        codes[known] = np.array(numbers, np.int32).reshape(-1)
    elif (of_known.dtype.kind == "U") != (classes.dtype.kind == "U"):
        codes[known] = -1
        unseen = None  # not unseen but mistaken
    else:
        at = np.minimum(np.searchsorted(classes, of_known), len(classes) - 1)
        codes[known] = np.where(classes[at] == of_known, at, -1)
    missing = known[codes[known] < 0]
    if len(missing) and unseen is None:
        node = int(missing[0])
        seen = ", ".join(map(repr, classes.tolist()[:20])) + (", ..." if len(classes) > 20 else "")
        label = labels[node : node + 1].tolist()[0]
        raise UnknownLabelError(
            f"{layout.place(node, 'y')}: label {label!r} was not seen in fit (known: {seen})"
        )
    codes[missing] = -1 if unseen is None else unseen
    return codes
