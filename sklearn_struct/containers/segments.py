"""Superpixels: the segments of an image as nodes, those that touch as edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.grid_edges import contrasts, directions, edges
from sklearn_struct.containers.pixel_labels import label_array, unknown_pixels

__all__ = ["SegmentGraph", "graph_of_segments", "labels_of_segments"]


class SegmentGraph(NamedTuple):
    """The nodes of an image, in the order of the numbers of their segments, and their edges."""

    nodes: np.ndarray
    edges: np.ndarray
    edge_features: np.ndarray


def graph_of_segments(image: Any, segments: Any, place: str) -> SegmentGraph:
    """The graph of one image or volume.

    Raises
    ------
    ValueError
        With the place, if the segments are no whole numbers, or of another shape than the image, or
        if pixels are masked.
    """
    node, n = _node_of_pixel(segments, place)
    if np.ma.is_masked(image):
        raise ValueError(
            f"images{place} has masked pixels, which each segment would count; write "
            f"images{place}.filled(...), and ignore the labels of these segments"
        )
    pixels = np.asarray(image)
    if pixels.dtype.kind not in "fiub":
        raise ValueError(f"images{place} must hold real numbers, got dtype {pixels.dtype}")
    if pixels.shape[: node.ndim] != node.shape or pixels.ndim > node.ndim + 1:
        raise ValueError(
            f"images{place} has the shape {pixels.shape}, but segments{place} {node.shape}"
        )
    flat = node.ravel()
    size = np.bincount(flat, minlength=n)
    rows = pixels.reshape(len(flat), -1) if len(flat) else np.zeros((0, 1))
    colour = _means(rows, flat, size)
    if not np.isfinite(colour).all():
        raise ValueError(f"images{place} has pixels that are not finite")
    axes = np.indices(node.shape).reshape(node.ndim, -1).T
    position = (_means(axes, flat, size) + 0.5) / node.shape
    nodes = np.column_stack([colour, size / max(len(flat), 1), position])
    table, length = _touching(node)
    outline = np.bincount(table.ravel(), np.repeat(length, 2), minlength=n)
    share = length / np.minimum(outline[table[:, 0]], outline[table[:, 1]])
    [alike] = contrasts(colour, [table])
    return SegmentGraph(nodes, table, np.column_stack([share, alike]))


def labels_of_segments(y: Any, segments: Any, ignore_label: Any, place: str) -> list[Any]:
    """The most frequent label of the pixels of each segment, of several the smallest; None where
    none is known.

    Raises
    ------
    ValueError
        With the place, if y has another shape than the segments.
    InputTypeError
        With the place, if labels are neither integers nor strings.
    """
    node, n = _node_of_pixel(segments, place)
    array = label_array(y, f"y{place}")
    if array.shape != node.shape:
        raise ValueError(f"y{place} has the shape {array.shape}, but segments{place} {node.shape}")
    known = ~unknown_pixels(array, ignore_label).ravel()
    labels = np.ma.getdata(array).ravel()
    classes, codes = np.unique(labels[known], return_inverse=True)
    if not len(classes):
        return [None] * n
    counts = np.zeros((n, len(classes)), np.int64)
    np.add.at(counts, (node.ravel()[known], codes), 1)
    most = classes[counts.argmax(axis=1)].tolist()
    seen = counts.sum(axis=1).tolist()
    return [label if n_seen else None for label, n_seen in zip(most, seen, strict=True)]


def _node_of_pixel(segments: Any, place: str) -> tuple[np.ndarray, int]:
    """The node of each pixel, and how many nodes there are."""
    if np.ma.is_masked(segments):
        raise ValueError(f"segments{place} has masked pixels; give each pixel a segment")
    array = np.asarray(segments)
    if array.dtype.kind not in "iu" or array.ndim not in (2, 3):
        raise ValueError(
            f"segments{place} must be whole numbers of shape (h, w) or (z, h, w), got dtype "
            f"{array.dtype} and shape {array.shape}"
        )
    names, number = np.unique(array, return_inverse=True)
    return number.reshape(array.shape), len(names)


def _means(rows: np.ndarray, node: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The mean row of each node's pixels."""
    sums = [np.bincount(node, weights=column, minlength=len(size)) for column in rows.T]
    means: np.ndarray = np.column_stack(sums) / size[:, None]
    return means


def _touching(node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of nodes (n, 2) that have neighbouring pixels, and how many."""
    steps = directions(4 if node.ndim == 2 else 6).values()
    pixels = np.concatenate([edges(node.shape, step) for step in steps])
    pairs = np.sort(node.ravel()[pixels], axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    table, length = np.unique(pairs, axis=0, return_counts=True)
    return table.astype(np.int64).reshape(-1, 2), length
