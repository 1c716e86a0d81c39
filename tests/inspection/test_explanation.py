"""The printed form of an explanation, and its data frame."""

from __future__ import annotations

import sys

import fitted
import numpy as np
import pytest

from sklearn_struct.inspection import Explanation, explain
from sklearn_struct.inspection.explanation import Terms


def terms(*rows):
    token, kind, feature, value, weight = zip(*rows, strict=True)
    names = np.empty(len(feature), dtype=object)
    names[:] = feature
    return Terms(np.array(token), np.array(kind), names, np.array(value), np.array(weight))


TERMS = terms(
    (0, 0, "w", 2.0, 1.5),
    (0, 1, None, 1.0, -1.0),
    (1, 0, "v", 1.0, 0.0),
    (1, 2, None, 1.0, 0.25),
    (1, 3, "w", 1.0, 4.0),
)


def test_sums():
    found = Explanation(["a", "b"], ["L", "M"], None, TERMS)
    assert found.contributions.tolist() == [3.0, -1.0, 0.0, 0.25, 4.0]
    assert found.token_scores.tolist() == [2.0, 4.25]
    assert found.score == 6.25


def test_repr_has_a_line_for_each_token_and_its_largest_contributions():
    lines = repr(Explanation(["a", "bc"], ["L", "M"], None, TERMS)).splitlines()
    assert lines == [
        "Explanation(score 6.250, 2 tokens)",
        "  a   L    +2.000  w +3.00, intercept -1.00",
        "  bc  M    +4.250  w at L -> M +4.00, L -> M +0.25",
    ]


def test_repr_names_the_rival_where_it_differs():
    lines = repr(Explanation(["a", "b"], ["L", "M"], ["L", "N"], TERMS)).splitlines()
    assert lines[0] == "Explanation(difference of scores 6.250, 2 tokens)"
    assert lines[1].startswith("  a  L          ")
    assert lines[2].startswith("  b  M (not N)  ")


def test_frame():
    frame = Explanation(["a", "b"], ["L", "M"], ["L", "N"], TERMS).to_frame()
    assert frame["token"].tolist() == [0, 0, 1, 1, 1]
    assert frame["label"].tolist() == ["L", "L", "M", "M", "M"]
    assert frame["rival"].tolist() == ["L", "L", "N", "N", "N"]
    assert (
        frame["previous"].tolist()
        == frame["rival_previous"].tolist()
        == [None, None, None, "L", "L"]
    )
    assert frame["kind"].tolist() == [
        "feature",
        "intercept",
        "feature",
        "transition",
        "edge feature",
    ]
    assert frame["feature"].tolist() == ["w", None, "v", None, "w"]
    assert (frame["value"] * frame["weight"]).tolist() == frame["contribution"].tolist()


def test_frame_sums_by_token():
    case = fitted.case("attributes edges")
    found = explain(case.estimator, case.x)
    np.testing.assert_allclose(
        found.to_frame().groupby("token")["contribution"].sum(), found.token_scores, atol=1e-12
    )


def test_without_pandas_all_but_the_frame_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = Explanation(["a", "b"], ["L", "M"], None, TERMS)
    assert repr(found).startswith("Explanation(score")
    with pytest.raises(ImportError, match=r"Explanation.to_frame needs pandas.*frames"):
        found.to_frame()
