"""Numbers of the combinations that fitted templates show, in one pass: as predictions ask for them.

A fit numbers them template by template, by arrays of all tokens. Of a single sentence each call of
that takes longer than what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import uncounted
from sklearn_struct.containers.ragged import bounds
from sklearn_struct.encoding.features.column_codes import KeyIndex, slot_of
from sklearn_struct.encoding.features.template_syntax import Template

__all__ = ["Cells", "Indexes", "cells_of", "find_numbers", "joined"]


class Cells(NamedTuple):
    """The cells of all templates, those of template j from ``bounds[j]`` to before
    ``bounds[j + 1]``: how far each is from the token, its column, and how many codes that has.

    A template without cells stands for an end of a sequence, the last one where `at_end`.
    """

    bounds: np.ndarray
    offsets: np.ndarray
    columns: np.ndarray
    sizes: np.ndarray
    at_end: np.ndarray


class Indexes(NamedTuple):
    """The hash tables of all templates, one after the other; see `KeyIndex`."""

    slots: np.ndarray
    slot_bounds: np.ndarray
    keys: np.ndarray
    key_bounds: np.ndarray


def cells_of(templates: Sequence[Template], n_codes: Callable[[int], int]) -> Cells:
    """The cells of templates over columns of which each has `n_codes`."""
    parts = [part for template in templates for part in template.parts]
    return Cells(
        bounds(np.array([len(template.parts) for template in templates])),
        np.array([offset for offset, _ in parts], np.int64),
        np.array([column for _, column in parts], np.int64),
        np.array([n_codes(column) for _, column in parts], np.int64),
        np.array([template.name == "__EOS__" for template in templates]),
    )


def joined(indexes: Sequence[KeyIndex]) -> Indexes:
    """Tables side by side, in whose memory the given ones are from now on."""
    slot_bounds = bounds(np.array([len(index.slots) for index in indexes]))
    key_bounds = bounds(np.array([len(index.keys) for index in indexes]))
    slots = np.concatenate([index.slots for index in indexes])
    keys = np.concatenate([index.keys for index in indexes])
    for j, index in enumerate(indexes):
        # the same numbers, so that other threads may read meanwhile
        index.slots = slots[slot_bounds[j] : slot_bounds[j + 1]]
        index.keys = keys[key_bounds[j] : key_bounds[j + 1]]
    return Indexes(slots, slot_bounds, keys, key_bounds)


@uncounted
def find_numbers(
    codes: np.ndarray,
    bounds: np.ndarray,
    special: tuple[int, int],
    cells: Cells,
    indexes: Indexes,
    keys: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Write the numbers (n_templates, n_tokens) of combinations, -1 where there is none.

    ``codes`` (n_columns, n_tokens) are those of columns, in the sequences that `bounds` cuts.
    Positions beside a sequence have ``special`` codes, so many before and so many after it, which
    come before all others; (-1, -1): they have none. ``keys`` (n_tokens,) is scratch.
    """
    before, after = special
    shift = max(before, 0) + max(after, 0)
    for j in range(numbers.shape[0]):
        first = cells.bounds[j]
        last = cells.bounds[j + 1]
        for i in range(len(bounds) - 1):
            begin = bounds[i]
            end = bounds[i + 1]
            for t in range(begin, end):
                # of a template without cells
                at_end = t == (end - 1 if cells.at_end[j] else begin)
                keys[t] = 0 if at_end or last > first else -1
            for p in range(first, last):
                offset = cells.offsets[p]
                column = cells.columns[p]
                size = cells.sizes[p]
                for t in range(begin, end):
                    place = t + offset
                    code: Any = np.int64(-1)
                    if place < begin:
                        code = begin - place - 1 if before >= 0 else -1
                    elif place >= end:
                        code = before + place - end if before >= 0 else -1
                    elif codes[column, place] >= 0:
                        code = np.int64(codes[column, place]) + shift
                    # what is missing stays so
                    keys[t] = -1 if (keys[t] | code) < 0 else keys[t] * size + code
        first_slot = indexes.slot_bounds[j]
        n_slots = indexes.slot_bounds[j + 1] - first_slot
        first_key = indexes.key_bounds[j]
        for t in range(len(keys)):
            key = keys[t]
            number = np.int32(-1)
            if key >= 0:
                slot = slot_of(key, n_slots)
                number = indexes.slots[first_slot + slot]
                while number >= 0 and indexes.keys[first_key + number] != key:
                    slot = slot + 1 if slot + 1 < n_slots else 0
                    number = indexes.slots[first_slot + slot]
            numbers[j, t] = number
