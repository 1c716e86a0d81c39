"""The forms in which scores of sequences come, and results go back: flat, padded, a list, or a
`SequenceArray`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.ragged import cut, write_bounds
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["Form", "Ragged", "Scores", "as_numbers", "read_form"]

Scores: TypeAlias = ArrayLike | Sequence[ArrayLike] | SequenceArray
Ragged: TypeAlias = np.ndarray | list[np.ndarray] | SequenceArray

WANTED = (
    "unary must be an array (n_tokens, n_labels) with lengths, a padded array (n_sequences, "
    "longest, n_labels), a list with an array for each sequence, or a SequenceArray"
)
MOST = 1 << 40  # tokens of a sequence


@dataclass(frozen=True)
class Form:
    """Flat arrays, one sequence after the other; subclasses are the other forms.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,)
        Bounds of the tokens of each sequence.
    steps : ndarray of shape (n_sequences + 1,)
        Bounds of its steps: the pairs of neighbouring tokens.
    name : str, default="unary"
        What errors call the scores that have the form.
    """

    offsets: np.ndarray
    steps: np.ndarray
    name: str = "unary"

    def of_tokens(self, values: np.ndarray, fill: float = 0) -> Ragged:
        """Give values (n_tokens, ...) the form; `fill` is put where there is no token."""
        return values

    def of_steps(self, values: np.ndarray) -> Ragged:
        """The same for values (n_steps, ...)."""
        return values

    def tables(self, pairwise: Scores) -> np.ndarray:
        """Tables of the steps, which have this form, as one array (n_steps, n_labels, n_labels)."""
        return as_numbers(pairwise, "pairwise")


class Packed(Form):
    """Tokens in a `SequenceArray`; tables of steps stay flat, since it has no place for them."""

    def of_tokens(self, values: np.ndarray, fill: float = 0) -> Ragged:
        """See `Form`."""
        return SequenceArray(values, self.offsets)


class Listed(Form):
    """A list with an array for each sequence."""

    def of_tokens(self, values: np.ndarray, fill: float = 0) -> Ragged:
        """See `Form`."""
        return cut(values, self.offsets)

    def of_steps(self, values: np.ndarray) -> Ragged:
        """See `Form`."""
        return cut(values, self.steps)

    def tables(self, pairwise: Scores) -> np.ndarray:
        """See `Form`."""
        if isinstance(pairwise, np.ndarray) and pairwise.dtype == object and pairwise.ndim:
            pairwise = list(pairwise)
        if not isinstance(pairwise, list | tuple):
            return as_numbers(pairwise, "pairwise")
        parts = [as_numbers(part, f"pairwise[{i}]") for i, part in enumerate(pairwise)]
        if any(part.ndim == 0 for part in parts):
            raise InputTypeError(
                "pairwise must be one table (n_labels, n_labels), or a list with tables (n_steps, "
                "n_labels, n_labels) of each sequence; got a list of numbers"
            )
        counts = np.diff(self.steps).tolist()
        if len(parts) != len(counts):
            raise LengthMismatchError(
                f"pairwise has {len(parts)} items, but {self.name} has {len(counts)} sequences"
            )
        for i, (part, n_steps) in enumerate(zip(parts, counts)):
            if len(part) != n_steps:
                raise LengthMismatchError(
                    f"pairwise[{i}] has {len(part)} tables, but sequence {i} has {n_steps} pairs "
                    "of neighbouring tokens"
                )
        return _joined([part for part in parts if len(part)], "pairwise")


@dataclass(frozen=True)
class Padded(Form):
    """Arrays (n_sequences, longest, ...) in which each sequence takes the first places."""

    longest: int = 0

    def of_tokens(self, values: np.ndarray, fill: float = 0) -> Ragged:
        """See `Form`."""
        return self._spread(values, self.offsets, self.longest, fill)

    def of_steps(self, values: np.ndarray) -> Ragged:
        """See `Form`."""
        return self._spread(values, self.steps, max(self.longest - 1, 0), 0)

    def tables(self, pairwise: Scores) -> np.ndarray:
        """See `Form`."""
        given = as_numbers(pairwise, "pairwise")
        shape = len(self.offsets) - 1, max(self.longest - 1, 0)
        if given.ndim != 4 or given.shape[:2] != shape:
            raise LengthMismatchError(
                "pairwise must be one table (n_labels, n_labels), or, as "
                f"{self.name} is padded, have the shape ({shape[0]}, {shape[1]}, n_labels, "
                f"n_labels); got {given.shape}"
            )
        tables: np.ndarray = given[_places(self.steps, shape[1])]
        return tables

    def _spread(
        self, values: np.ndarray, offsets: np.ndarray, longest: int, fill: float
    ) -> np.ndarray:
        shape = len(offsets) - 1, longest, *values.shape[1:]
        out = np.full(shape, fill, values.dtype)
        out[_places(offsets, longest)] = values
        return out


def read_form(
    unary: Scores, lengths: ArrayLike | None, name: str = "unary"
) -> tuple[np.ndarray, Form]:
    """Scores of all tokens (n_tokens, n_labels), and the form in which they came; `name` is what
    errors call them.
    """
    if isinstance(unary, SequenceArray):
        _refuse_lengths(lengths, f"{name} is a SequenceArray")
        _, steps = _bounds(np.diff(unary.offsets))
        return as_numbers(unary.tokens, name), Packed(unary.offsets, steps, name)
    if _is_list(unary):
        _refuse_lengths(lengths, f"{name} is a list of sequences")
        return _read_list(unary, name)
    scores = as_numbers(unary, name)
    if scores.ndim == 3:
        return _read_padded(scores, lengths, name)
    if scores.ndim != 2:
        raise InputTypeError(f"{WANTED}; got an array of {scores.ndim} dimensions")
    offsets, steps = _bounds([len(scores)] if lengths is None else lengths)
    if offsets[-1] != len(scores):
        raise LengthMismatchError(
            f"lengths sum to {offsets[-1]}, but {name} has {len(scores)} tokens"
        )
    return scores, Form(offsets, steps, name)


def as_numbers(values: object, name: str) -> np.ndarray:
    """An array of numbers, not copied if it is one."""
    if np.ma.isMaskedArray(values):
        raise InputTypeError(
            f"{name} is a masked array: write the scores that count in the place of masked ones, "
            "such as -inf for what is forbidden, with .filled(value)"
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputTypeError(f"{name} has rows of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise InputTypeError(f"{name} must hold numbers, got {_what_is_there(values, array)}")
    return array


def _what_is_there(values: object, array: np.ndarray) -> str:
    """Words for what is no array of numbers."""
    if array.dtype != object:
        return f"an array of {array.dtype}"
    kind = type(values).__name__
    if array.ndim == 0:
        return kind
    others = (type(item).__name__ for item in array.flat if not isinstance(item, Real))
    other = next(others, None)
    return f"{kind} with {other}" if other else "an array of objects: write .astype(float)"


def _is_list(unary: object) -> bool:
    """Whether this is a list with an array for each sequence, and not one of rows of numbers."""
    if isinstance(unary, np.ndarray):
        return unary.dtype == object and unary.ndim == 1
    if not isinstance(unary, list | tuple):
        return False
    # an empty item is a sequence without tokens: the first of the others decides
    filled = [item for item in unary if not hasattr(item, "__len__") or len(item)]
    try:
        return not filled or np.ndim(filled[0]) > 1
    except ValueError:  # rows of different lengths
        return True


def _read_list(unary: Scores, name: str) -> tuple[np.ndarray, Form]:
    parts = [as_numbers(part, f"{name}[{i}]") for i, part in enumerate(unary)]  # type: ignore[arg-type]
    for i, part in enumerate(parts):
        if part.ndim != 2 and part.size:
            raise InputTypeError(
                f"{name}[{i}] must have two dimensions, tokens and labels, got {part.ndim}"
            )
    filled = [part for part in parts if part.size]
    for i, part in enumerate(parts):
        if part.size and part.shape[1] != filled[0].shape[1]:
            raise LengthMismatchError(
                f"{name}[{i}] has scores of {part.shape[1]} labels, but others have scores of "
                f"{filled[0].shape[1]}"
            )
    offsets, steps = _bounds([len(part) for part in parts])
    return _joined(filled, name), Listed(offsets, steps, name)


def _read_padded(
    scores: np.ndarray, lengths: ArrayLike | None, name: str
) -> tuple[np.ndarray, Form]:
    n, longest, K = scores.shape
    offsets, steps = _bounds(np.full(n, longest) if lengths is None else lengths)
    sizes = np.diff(offsets)
    if len(sizes) != n:
        raise LengthMismatchError(f"lengths has {len(sizes)} numbers, but {name} has {n} sequences")
    if np.any(sizes > longest):
        i = int(np.argmax(sizes > longest))
        raise LengthMismatchError(
            f"lengths[{i}] is {sizes[i]}, but {name} has room for {longest} tokens"
        )
    form = Padded(offsets, steps, name, longest)
    if offsets[-1] == n * longest:
        return scores.reshape(-1, K), form
    return scores[_places(offsets, longest)], form


def _bounds(lengths: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the tokens of each sequence, and of its steps."""
    try:
        sizes = np.asarray(lengths)
    except ValueError:  # lists of different lengths
        sizes = np.empty((0, 0))
    if sizes.ndim != 1 or (sizes.size and sizes.dtype.kind not in "iu"):
        raise InputTypeError("lengths must be a list of whole numbers, one for each sequence")
    offsets = np.empty(len(sizes) + 1, np.int64)
    steps = np.empty(len(sizes) + 1, np.int64)
    wrong = write_bounds(np.array(sizes, np.int64), MOST, offsets, steps)
    if wrong >= 0:
        raise ValueError(f"lengths[{wrong}] cannot be {sizes[wrong]}")
    return offsets, steps


def _places(offsets: np.ndarray, longest: int) -> np.ndarray:
    """Which places of a padded array are taken, (n_sequences, longest)."""
    taken: np.ndarray = np.arange(longest) < np.diff(offsets)[:, None]
    return taken


def _joined(parts: list[np.ndarray], name: str) -> np.ndarray:
    """Parts one after the other; without any an array that has no rows."""
    if not parts:
        return np.empty((0, 0))
    try:
        return np.concatenate(parts)
    except ValueError:
        shapes = sorted({part.shape[1:] for part in parts})
        raise LengthMismatchError(
            f"items of {name} have different shapes behind the first dimension: {shapes}"
        ) from None


def _refuse_lengths(lengths: ArrayLike | None, form: str) -> None:
    if lengths is not None:
        raise ValueError(f"lengths must be None where {form}, which has its own")
