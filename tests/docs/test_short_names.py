"""Names of the package on pages: which become links, and which are misprints."""

from __future__ import annotations

import pytest

pytest.importorskip("sphinx")

KINDS = {
    "sklearn_struct.GraphCRF": "class",
    "sklearn_struct.GraphCRF.fit": "method",
    "sklearn_struct.SequenceArray.from_frame": "method",
    "sklearn_struct.metrics.span_f1_score": "function",
    "sklearn_struct.a.Twice": "class",
    "sklearn_struct.b.Twice": "class",
}


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("GraphCRF", "sklearn_struct.GraphCRF"),
        ("GraphCRF.fit", "sklearn_struct.GraphCRF.fit"),
        ("SequenceArray.from_frame", "sklearn_struct.SequenceArray.from_frame"),
        ("span_f1_score", "sklearn_struct.metrics.span_f1_score"),
        ("CRF", None),
        ("fit", None),
        ("Twice", None),
        ("", None),
    ],
)
def test_short_names_stand_for_public_ones(target, name):
    from short_names import whole_name

    assert whole_name(target, KINDS) == name


@pytest.mark.parametrize(
    "target", ["LinearChainCFR", "GraphCRF.fitt", "sklearn_struct.metrcs", "sklearn_struct.a.b.c"]
)
def test_misprints(target):
    from short_names import is_misprint

    assert is_misprint(target)


@pytest.mark.parametrize(
    "target",
    [
        "C",
        "sklearn_struct.__version__",
        "tol",
        "coef_",
        "ValueError",
        "sklearn_struct.metrics",
        "y_true",
        "X[0]",
    ],
)
def test_parameters_and_names_of_others_are_none(target):
    from short_names import is_misprint

    assert not is_misprint(target)
