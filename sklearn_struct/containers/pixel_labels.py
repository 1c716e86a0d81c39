"""Labels of the pixels of an image, some of which may be unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.exceptions import InputTypeError

__all__ = ["label_array", "unknown_pixels"]


def label_array(given: Any, place: str) -> np.ndarray:
    """Labels of pixels as an array, masked where they were.

    Raises
    ------
    InputTypeError
        With the place, for anything but integers and strings.
    """
    try:
        array = given if isinstance(given, np.ndarray) else np.asarray(given)
    except ValueError:
        raise InputTypeError(f"{place} is no array: its rows differ in length") from None
    if not array.size:
        return array.astype(np.int64)  # an empty list has no type
    if array.dtype.kind == "f":
        raise InputTypeError(
            f"{place} has dtype {array.dtype}, but labels are integers or strings; write "
            "y.astype(int)"
        )
    if array.dtype.kind not in "biuUO":
        raise InputTypeError(f"{place} has dtype {array.dtype}, but labels are integers or strings")
    return array


def unknown_pixels(array: np.ndarray, ignore_label: Any) -> np.ndarray:
    """Which pixels are masked, None or `ignore_label`.

    Raises
    ------
    InputTypeError
        If that is a string and labels are integers.
    """
    unknown = np.ma.getmaskarray(array).copy()
    data = np.ma.getdata(array)
    if data.dtype == object:
        unknown |= np.frompyfunc(lambda label: label is None, 1, 1)(data).astype(bool)
    if ignore_label is not None and data.dtype.kind in "biu" and isinstance(ignore_label, str):
        raise InputTypeError(
            f"ignore_label={ignore_label!r} is a string, but y has integers, of which none is "
            "equal to it"
        )
    # a string is equal to no number, and numpy would say so of the whole array
    if ignore_label is not None and (data.dtype.kind == "U") <= isinstance(ignore_label, str):
        unknown |= np.asarray(data == ignore_label, dtype=bool)
    return unknown
