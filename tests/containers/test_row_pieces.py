"""Arrays a few rows at a time."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.containers.row_pieces import NUMBERS, first_row, row_pieces


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (NUMBERS + 1,), (0, 3), (7, 0), (NUMBERS, 3), (3, NUMBERS + 1)]
)
def test_pieces_are_all_rows(shape):
    table = np.zeros(shape, dtype=np.int8)
    pieces = [table[rows] for rows in row_pieces(table)]
    assert sum(map(len, pieces)) == shape[0]
    # a row is never cut
    assert all(len(piece) == 1 or 0 < piece.size <= NUMBERS or not table.size for piece in pieces)


@pytest.mark.parametrize("shape", [(200_000,), (70_000, 3)])
def test_the_first_row_of_all_pieces(shape):
    table = np.zeros(shape)
    assert first_row(table, np.isnan) is None
    assert first_row(table[:0], np.isnan) is None
    for t in (shape[0] - 1, 66_000, 0):
        table[t, ...].reshape(-1)[-1] = np.nan
        assert first_row(table, np.isnan) == t
        # columns of a table do not follow each other
        assert first_row(np.stack([table, table], axis=1)[:, 1], np.isnan) == t
