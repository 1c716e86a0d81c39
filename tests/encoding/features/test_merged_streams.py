"""Vocabularies of streams in parts are those of all data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sklearn_struct.encoding.features.merged_streams import (
    encoded_stream,
    merged_stream,
    stream_part,
)
from sklearn_struct.encoding.features.observation_streams import Column
from sklearn_struct.encoding.features.stream_vocabularies import OOV, learn_values
from sklearn_struct.exceptions import InputTypeError, NonFiniteError

RNG = np.random.default_rng(0)
COLUMNS = {
    "words": [f"w{n}" for n in RNG.geometric(0.1, size=200)],
    "OOV": [OOV if n > 8 else f"w{n}" for n in RNG.geometric(0.2, size=200)],
    "several types": [n if n % 2 else str(n) for n in RNG.geometric(0.2, size=200).tolist()],
}


def column(values):
    """As rows of values are read: distinct ones in their order."""
    distinct = list(dict.fromkeys(values))
    return Column(distinct, np.array([distinct.index(value) for value in values], np.int32))


@pytest.mark.parametrize("oov", ["first", "smoothing", None])
@pytest.mark.parametrize("name", [*COLUMNS, "numbers"])
def test_parts_learn_what_all_data_learn(name, oov):
    used = RNG.random(200) < 0.8
    if name == "numbers":
        numbers = RNG.geometric(0.1, size=200).astype(float)
        whole = Column(numbers, None)
    else:
        whole = column(COLUMNS[name])
    vocabulary, codes = learn_values(whole, used, oov)
    for n_parts in (1, 2, 7):
        bounds = np.linspace(0, 200, n_parts + 1).astype(int)
        slices = [slice(lo, hi) for lo, hi in pairwise(bounds)]
        parts = [
            Column(whole.values[rows], None) if name == "numbers" else column(COLUMNS[name][rows])
            for rows in slices
        ]
        offsets = [np.array([0, rows.stop - rows.start]) for rows in slices]
        seen = [
            stream_part(part, used[rows], of_part, 0)
            for part, rows, of_part in zip(parts, slices, offsets, strict=True)
        ]
        merged, firsts = merged_stream(seen, oov)
        assert list(merged.items()) == list(vocabulary.items())
        of_parts = [
            encoded_stream(part, merged, first, used[rows], oov, of_part, 0)
            for part, first, rows, of_part in zip(parts, firsts, slices, offsets, strict=True)
        ]
        np.testing.assert_array_equal(np.concatenate(of_parts), codes)


def test_values_that_no_vocabulary_can_have():
    part = column([True, "a"])
    used = np.ones(2, bool)
    offsets = np.array([0, 2])
    one = stream_part(part, used, offsets, 0)
    other = stream_part(column([1, "a"]), used, offsets, 0)
    with pytest.raises(InputTypeError, match="the symbols True and 1, which are equal"):
        merged_stream([one, other], None)
    with pytest.raises(NonFiniteError, match=r"X\[0\], token 1, column 3"):
        stream_part(column(["a", float("nan")]), used, offsets, 3)
