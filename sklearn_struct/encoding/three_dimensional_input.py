"""Arrays of three dimensions, of which nobody has said whether time or channels come first."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from sklearn_struct.encoding.sequences import is_list

__all__ = ["check_layout", "refuse_squares"]


def _shape(X: object) -> tuple[int, ...]:
    """The shape of an array of three dimensions; (0, 0, 0) for anything else."""
    return X.shape if isinstance(X, np.ndarray) and X.ndim == 3 else (0, 0, 0)


def _refuse(shape: tuple[int, ...]) -> NoReturn:
    raise ValueError(
        f"X has the shape {shape}, and nothing says which dimension is time: write "
        f"SequenceArray.from_3d(X, layout='ntc') if these are {shape[0]} sequences of {shape[1]} "
        f"tokens with {shape[2]} streams, or layout='nct' if they are {shape[0]} sequences of "
        f"{shape[2]} tokens with {shape[1]} streams, as in aeon"
    )


def refuse_squares(X: object) -> None:
    """Raise ValueError for an array of as many tokens as streams, or as many streams as tokens:
    its other reading fits all that is known, also a number of streams or of labels.
    """
    shape = _shape(X)
    if shape[1] == shape[2] > 1:
        _refuse(shape)


def check_layout(X: object, y: Any, is_known: bool) -> None:
    """Raise ValueError for an array whose layout is neither known nor said by the lengths of known
    labels; these are compared with the tokens elsewhere.

    One stream is read: there, the other layout has sequences of one token.
    """
    shape = _shape(X)
    if is_known or shape[2] <= 1:
        return
    # a y of another form has no lengths
    if not (is_list(y) and any(map(is_list, y))):
        _refuse(shape)
