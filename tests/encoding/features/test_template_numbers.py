"""Numbers of combinations in one pass, beside those that are found template by template."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sklearn_struct import FeatureTemplates
from sklearn_struct.encoding.features import templates as module

TEMPLATES = ["a:%x[-2,0]/%x[0,1]", "b:%x[3,0]", "%x[0,2]|%x[1,1]|%x[-1,0]", "c:%x[-1,2]"]


def table(rng, n):
    """Sentences of three columns, one of numbers; some are empty."""
    return [
        [
            (str(rng.integers(9)), str(rng.integers(4)), int(rng.integers(3)))
            for _ in range(rng.integers(0, 7))
        ]
        for _ in range(n)
    ]


@pytest.mark.parametrize("boundary", ["skip", "pad"])
@pytest.mark.parametrize("options", [{}, {"add_bos_eos": True}, {"min_frequency": 3}])
def test_numbers_are_those_of_each_template(monkeypatch, boundary, options):
    rng = np.random.default_rng(0)
    templates = FeatureTemplates(TEMPLATES, boundary=boundary, **options).fit(table(rng, 30))
    X = [*table(rng, 20), [("new", "1", 7)]]
    encoded = templates.transform(X)
    monkeypatch.setattr(module, "_find", module._number)
    expected = templates.transform(X)
    assert encoded.tokens.nnz > 20
    assert encoded == expected
    # sorted alike, so that sums have the same bits
    np.testing.assert_array_equal(encoded.tokens.indices, expected.tokens.indices)


def test_keys_that_are_numbered_anew():
    """Combinations of so many codes that their keys would not fit 64 bits."""
    rng = np.random.default_rng(0)
    X = [[tuple(str(v) for v in rng.integers(0, 3000, 6)) for _ in range(20)] for _ in range(200)]
    templates = FeatureTemplates(["/".join(f"%x[0,{c}]" for c in range(6))])
    encoded = templates.fit_transform(X)
    assert any(templates._learnt.stages)
    assert templates.transform(X) == encoded


def test_copies_do_not_carry_the_tables():
    """They are made again, and say the same."""
    rng = np.random.default_rng(1)
    X = table(rng, 30)
    templates = FeatureTemplates(TEMPLATES).fit(X)
    small = len(pickle.dumps(templates))
    encoded = templates.transform(X)
    assert len(pickle.dumps(templates)) == small
    for other in (copy.deepcopy(templates), pickle.loads(pickle.dumps(templates))):
        assert other.transform(X) == encoded
        assert other._learnt == templates._learnt


def test_another_fit_counts():
    rng = np.random.default_rng(2)
    X = table(rng, 30)
    templates = FeatureTemplates(TEMPLATES).fit(X[:5])
    templates.transform(X)
    templates.fit(X)
    assert templates.transform(X) == FeatureTemplates(TEMPLATES).fit_transform(X)
