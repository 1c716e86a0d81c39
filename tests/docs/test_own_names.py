"""Names of the package on pages: which become links, and which are misprints."""

from __future__ import annotations

import pytest

pytest.importorskip("sphinx")

NAMES = [
    "sklearn_struct.GraphCRF",
    "sklearn_struct.GraphCRF.fit",
    "sklearn_struct.SequenceArray.from_frame",
    "sklearn_struct.a.Twice",
    "sklearn_struct.b.Twice",
]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("GraphCRF", "sklearn_struct.GraphCRF"),
        ("GraphCRF.fit", "sklearn_struct.GraphCRF.fit"),
        ("SequenceArray.from_frame", "sklearn_struct.SequenceArray.from_frame"),
        ("CRF", None),
        ("fit", None),
        ("Twice", None),
        ("", None),
    ],
)
def test_short_names_stand_for_public_ones(target, name):
    from own_names import own_name

    assert own_name(target, NAMES) == name


@pytest.mark.parametrize(
    "target", ["LinearChainCFR", "GraphCRF.fitt", "sklearn_struct.metrcs", "sklearn_struct.a.b.c"]
)
def test_misprints(target):
    from own_names import is_misprint

    assert is_misprint(target)


@pytest.mark.parametrize(
    "target",
    [
        "C",
        "sklearn_struct.__version__",
        "tol",
        "coef_",
        "ValueError",
        "GridSearchCV",
        "sklearn_struct.metrics",
        "y_true",
        "X[0]",
    ],
)
def test_parameters_and_names_of_others_are_none(target):
    from own_names import is_misprint

    assert not is_misprint(target)
