"""Values as JSON, and back."""

from __future__ import annotations

import json

import pytest

from sklearn_struct.persistence.plain_values import plain, restore


@pytest.mark.parametrize("kind", [set, frozenset])
def test_equal_sets_make_equal_files(kind):
    one = kind([0, 8])
    other = kind([8, 0])
    assert list(one) != list(other)  # both fall into one place, so the order of making stays
    assert json.dumps(plain(one, "a")) == json.dumps(plain(other, "a"))
    assert restore(plain(other, "a")) == one


def test_a_set_may_hold_what_has_no_order():
    mixed = {"a", 1, None, (2, "b"), float("inf")}
    assert restore(json.loads(json.dumps(plain(mixed, "a")))) == mixed
