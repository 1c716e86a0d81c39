"""Images and volumes: arrays of pixels with channels -> one row for each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)

__all__ = ["CALLED", "GivenImages", "Layout", "as_images", "axes_of", "is_table", "layout_of_rows"]

# what an array of pixels is called, and its axes
CALLED = {2: "image", 3: "volume"}
ONE = {2: "an image", 3: "a volume"}
AXES = {2: "(h, w, n_channels)", 3: "(z, h, w, n_channels)"}


class Layout(NamedTuple):
    """Where pixels stand: the shapes of images, and the flat numbers of the pixels that have nodes,
    None for all. ``packed`` says that X is one array.
    """

    shapes: list[tuple[int, ...]]
    kept: list[np.ndarray | None]
    packed: bool

    @property
    def offsets(self) -> np.ndarray:
        """The bounds of the nodes of each image."""
        sizes = [
            int(np.prod(shape)) if kept is None else len(kept)
            for shape, kept in zip(self.shapes, self.kept, strict=True)
        ]
        return np.cumsum([0, *sizes])

    def of_nodes(self, values: np.ndarray, i: int) -> np.ndarray:
        """What the nodes of image i have, of an array of the image's shape."""
        flat = values.reshape(-1)
        kept = self.kept[i]
        return flat if kept is None else flat[kept]

    def without(self, unknown: Sequence[np.ndarray]) -> Layout:
        """The layout in which pixels that are unknown (in each image) have no nodes."""
        kept = []
        for of_image, some in zip(unknown, self.kept, strict=True):
            if not np.any(of_image):
                kept.append(some)
                continue
            known = ~of_image.reshape(-1)
            kept.append(np.flatnonzero(known) if some is None else some[known[some]])
        return self._replace(kept=kept)

    def in_images(self, values: np.ndarray) -> np.ndarray:
        """Values of all nodes (n_nodes, ...) in the form of X, masked where pixels have no node."""
        images = [
            _spread(part, shape, kept)
            for part, shape, kept in zip(cut(values, self.offsets), self.shapes, self.kept)
        ]
        if not self.packed:
            return object_array(images)
        if any(isinstance(image, np.ma.MaskedArray) for image in images):
            together: np.ndarray = np.ma.stack(images)
            return together
        return values.reshape(len(self.shapes), *self.shapes[0], *values.shape[1:])

    def place(self, node: int, name: str = "X") -> str:
        """Image and pixel of a node, in words."""
        i = int(np.searchsorted(self.offsets, node, side="right")) - 1
        within = node - int(self.offsets[i])
        kept = self.kept[i]
        number = within if kept is None else int(kept[within])
        return f"{name}[{i}], {pixel(number, self.shapes[i])}"


class GivenImages(NamedTuple):
    """Images as rows of numbers, one for each pixel that has a node, and ``pictures``: a row for
    each pixel, also of those without a node; None for an image that has no picture of its own.
    """

    rows: list[np.ndarray]
    pictures: list[np.ndarray | None]
    layout: Layout


def axes_of(neighbours: int) -> int:
    """How many axes of pixels there are, where each has so many neighbours."""
    return 2 if neighbours in (4, 8) else 3


def is_table(X: Any) -> bool:
    """Whether X is two-dimensional, with single pixels as its rows, or meant to be."""
    if hasattr(X, "iloc"):
        return True
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray):
        X = np.asarray(X)  # of another library
    if _of_objects(X):
        first = next(X.flat, None)
        return X.ndim == 2 and not is_list(first) and not isinstance(first, str)
    shape = getattr(X, "shape", None)
    if shape is not None:
        # scikit-learn says what is wrong with one dimension
        return len(shape) in (1, 2)
    if not is_list(X) or not len(X):
        return False
    first = X[0]
    if isinstance(first, Number):
        return True
    return isinstance(first, list | tuple) and len(first) > 0 and isinstance(first[0], Number)


def layout_of_rows(n: int) -> Layout:
    """The layout of n single pixels."""
    return Layout([(1,)] * n, [None] * n, False)


def as_images(X: Any, n_axes: int) -> GivenImages:
    """X as images with that many axes of pixels.

    Raises
    ------
    InputTypeError, LengthMismatchError, EmptyDataError, NonFiniteError
        With the place.
    """
    items, packed = _items(X, n_axes)
    arrays = []
    pictures: list[np.ndarray | None] = []
    for i, item in enumerate(items):
        picture = None
        if isinstance(item, tuple):
            if len(item) != 2:
                raise InputTypeError(
                    f"X[{i}] is a tuple of {len(item)} items; one of two is (features, picture)"
                )
            item, picture = item
        arrays.append(_checked(item, n_axes, f"X[{i}]"))
        pictures.append(None if picture is None else _picture(picture, arrays[-1], i))
    _check_channels(arrays)
    layout = Layout(
        [array.shape[:-1] for array in arrays],
        [_kept(array, i) for i, array in enumerate(arrays)],
        packed,
    )
    rows = []
    for i, array in enumerate(arrays):
        flat = np.ma.getdata(array).reshape(-1, array.shape[-1])
        kept = layout.kept[i]
        rows.append(flat if kept is None else flat[kept])
        _check_finite(rows[i], layout, i, "channel")
    return GivenImages(rows, pictures, layout)


def _items(X: Any, n_axes: int) -> tuple[Any, bool]:
    """The images of X, and whether it is one array of them."""
    what = CALLED[n_axes]
    X = as_list(X)
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray):
        X = np.asarray(X)  # of another library
    shape = getattr(X, "shape", None)
    if shape is not None and _of_objects(X):
        # numpy makes columns of tuples
        X = list(map(tuple, X)) if len(shape) == 2 else list(X)
        shape = None
    if shape is not None:
        if len(shape) == n_axes + 1:
            raise InputTypeError(
                f"X is a single {what}, or {what}s without channels, of the shape {tuple(shape)}; "
                f"one {what} is [X], {what}s of one channel are X[..., None]"
                f"{_other(len(shape) - 2, n_axes)}"
            )
        if len(shape) != n_axes + 2:
            raise InputTypeError(
                f"X has the shape {tuple(shape)}, but {what}s are an array "
                f"(n_{what}s, {AXES[n_axes][1:]}{_other(len(shape) - 2, n_axes)}"
            )
        if not shape[0]:
            raise EmptyDataError(f"X has no {what}s")
        return X, True
    if not is_list(X):
        raise InputTypeError(f"X must be a list of {what}s or one array, got {type(X).__name__}")
    if not len(X):
        raise EmptyDataError(f"X has no {what}s")
    return X, False


def _of_objects(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == object


def _other(n_axes: int, wanted: int) -> str:
    """What to do about another number of axes."""
    if n_axes not in CALLED or n_axes == wanted:
        return ""
    neighbours = "4 or 8" if n_axes == 2 else "6 or 26"
    return f"; neighbours={neighbours} is for {CALLED[n_axes]}s"


def _numbers(item: Any, place: str) -> np.ndarray:
    """An array of real numbers, masked if the item is."""
    try:
        array = item if isinstance(item, np.ndarray) else np.asarray(item)
    except ValueError:
        raise InputTypeError(f"{place} is no array: its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        raise InputTypeError(f"{place} must hold real numbers, got dtype {array.dtype}")
    return array


def _checked(item: Any, n_axes: int, place: str) -> np.ndarray:
    if item is None or isinstance(item, str | dict):
        raise InputTypeError(f"{place} is a {type(item).__name__}, not an {AXES[n_axes]} array")
    array = _numbers(item, place)
    what = ONE[n_axes]
    if array.ndim == n_axes:
        raise InputTypeError(
            f"{place} has the shape {array.shape}, but the shape of {what} is {AXES[n_axes]}: "
            f"give {what} of one channel as x[..., None]"
            f"{_other(array.ndim - 1, n_axes)}"
        )
    if array.ndim != n_axes + 1:
        raise InputTypeError(
            f"{place} has the shape {array.shape}, but the shape of {what} is {AXES[n_axes]}"
            f"{_other(array.ndim - 1, n_axes)}"
        )
    return array


def _check_channels(arrays: Sequence[np.ndarray]) -> None:
    filled = [i for i, array in enumerate(arrays) if array[..., :1].size or not array.shape[-1]]
    for i in filled:
        n = arrays[i].shape[-1]
        if not n:
            raise EmptyDataError(f"X[{i}] has no channels, its shape is {arrays[i].shape}")
        if n != arrays[filled[0]].shape[-1]:
            raise LengthMismatchError(
                f"X[{i}] has {n} channels but X[{filled[0]}] has {arrays[filled[0]].shape[-1]}"
            )


def _kept(array: np.ndarray, i: int) -> np.ndarray | None:
    """The numbers of the pixels that are not masked, None for all."""
    if not np.ma.is_masked(array):
        return None
    mask = np.ma.getmaskarray(array).reshape(-1, array.shape[-1])
    masked = mask.all(axis=1)
    some = np.flatnonzero(mask.any(axis=1) & ~masked)
    if len(some):
        raise InputTypeError(
            f"X[{i}], {pixel(int(some[0]), array.shape[:-1])}: some channels are masked and others "
            "are not; mask all channels of a pixel that is no part of the image"
        )
    return np.flatnonzero(~masked)


def _check_finite(rows: np.ndarray, layout: Layout, i: int, what: str) -> None:
    if rows.dtype.kind != "f" or np.isfinite(rows).all():
        return
    number, channel = divmod(int(np.flatnonzero(~np.isfinite(rows).ravel())[0]), rows.shape[1])
    kept = layout.kept[i]
    place = pixel(number if kept is None else int(kept[number]), layout.shapes[i])
    value = rows[number, channel]
    hint = ""
    if value == -np.inf:
        hint = "; of probabilities that may be 0 take numpy.log(numpy.maximum(p, 1e-6))"
    raise NonFiniteError(f"X[{i}], {place}, {what} {channel}: not finite ({value}){hint}")


def _picture(picture: Any, array: np.ndarray, i: int) -> np.ndarray:
    """The picture of an image, a row for each of its pixels."""
    pixels = np.ma.getdata(_numbers(picture, f"the picture of X[{i}]"))
    shape = array.shape[:-1]
    if pixels.shape[: len(shape)] != shape or pixels.ndim > len(shape) + 1:
        raise LengthMismatchError(
            f"X[{i}] has the shape {array.shape}, but its picture has {pixels.shape}"
        )
    n = int(np.prod(shape))
    return pixels.reshape(n, -1) if n else np.zeros((0, 1))


def _spread(values: np.ndarray, shape: tuple[int, ...], kept: np.ndarray | None) -> np.ndarray:
    """Values of the nodes of an image in its shape."""
    more = values.shape[1:]
    if kept is None:
        return values.reshape(*shape, *more)
    n = int(np.prod(shape))
    spread = np.zeros((n, *more), values.dtype)
    spread[kept] = values
    masked = np.ones((n, *more), bool)
    masked[kept] = False
    return np.ma.MaskedArray(spread.reshape(*shape, *more), masked.reshape(*shape, *more))


def pixel(number: int, shape: tuple[int, ...]) -> str:
    """A pixel in words, by its row and column."""
    return f"pixel ({', '.join(map(str, np.unravel_index(number, shape)))})"
