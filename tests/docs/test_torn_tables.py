"""Rows that a wrapped first cell tears: which are noticed, and that a build says so."""

from __future__ import annotations

import pytest

pytest.importorskip("sphinx")


@pytest.mark.parametrize(
    "cells",
    [
        ["", "the rest of a cell"],
        ["iterator)", ""],
        ["iterator)", "one of its items"],
        ["a list (or an", "its items"],
        ["a file", "its lines, which may be (or not"],
        ["lists,", "and tuples"],
        ["lists and", "as they come"],
        ["lists or", "as they come"],
        ["a name", "x[0", "y"],
        ["a name", "", ""],
    ],
)
def test_torn_rows_are_noticed(cells):
    from torn_tables import is_torn

    assert is_torn(cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["lists", "of dicts"],
        ["a list (or an iterator)", "its items"],
        ["x[0]", "", "y"],
        ["{a: 1}", "f(x)"],
        ["android", "a word that ends otherwise"],
        ["lower case", "is no fault by itself"],
    ],
)
def test_whole_rows_are_not(cells):
    from torn_tables import is_torn

    assert not is_torn(cells)
