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
        ["a list of", "one dict"],
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


TORN = """\
Text.

============ ========
forms        of
============ ========
a list with  one dict
strings      per token
============ ========

a line that  ends
here
"""


def test_rows_that_go_on_in_the_source_are_noticed():
    from torn_tables import wrapped_rows

    assert list(wrapped_rows(TORN)) == [(7, "a list with", "strings")]


@pytest.mark.parametrize(
    "rest", ["Strings", "``strings``", "5 strings", "", "\nstrings", "x"], ids=repr
)
def test_rows_of_their_own_are_not(rest):
    """A capital, code, a number, no cell, a blank line before it, a word that had room."""
    from torn_tables import wrapped_rows

    above = "a list with" if rest != "x" else "a list"
    text = TORN.replace("a list with", f"{above:<11}").replace("strings     ", f"{rest:<12}")
    assert list(wrapped_rows(text)) == []
