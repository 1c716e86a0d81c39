"""Mean intersection over union, beside scikit-learn's Jaccard score of the same pixels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import jaccard_score
from sklearn.model_selection import cross_val_score

from sklearn_struct import GridCRF
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.metrics import mean_iou_score, mean_iou_scorer

SHAPES = [(3, 4), (2, 2), (1, 5)]


def pairs(seed=0, K=4):
    rng = np.random.default_rng(seed)
    return [[rng.integers(K, size=shape) for shape in SHAPES] for _ in range(2)]


def flat(y):
    return np.concatenate([np.ravel(part) for part in y])


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_jaccard_score_of_all_pixels(seed):
    true, pred = pairs(seed)
    expected = jaccard_score(flat(true), flat(pred), average=None)
    np.testing.assert_allclose(mean_iou_score(true, pred, average=None), expected)
    assert mean_iou_score(true, pred) == pytest.approx(expected.mean())
    names = np.array(["ape", "bee", "cat", "dog"])
    named = [[names[part] for part in side] for side in (true, pred)]
    assert mean_iou_score(*named) == pytest.approx(expected.mean())
    assert mean_iou_score(object_array(true), pred) == pytest.approx(expected.mean())
    together = [np.stack([part[:1, :2] for part in side]) for side in (true, pred)]
    assert mean_iou_score(*together) == pytest.approx(mean_iou_score(*map(list, together)))


def test_labels():
    true = [np.array([[0, 0, 2]])]
    pred = [np.array([[0, 2, 2]])]
    # 1 is in neither, and does not count
    assert mean_iou_score(true, pred) == pytest.approx(0.5)
    assert mean_iou_score(true, pred, labels=[0, 1, 2]) == pytest.approx(0.5)
    values = mean_iou_score(true, pred, labels=[2, 1], average=None)
    np.testing.assert_array_equal(values, [0.5, np.nan])
    assert mean_iou_score(true, true) == 1.0


def test_pixels_that_do_not_count():
    true, pred = pairs(5)
    hidden = [part == 3 for part in true]
    expected = jaccard_score(flat(true)[~flat(hidden)], flat(pred)[~flat(hidden)], average="macro")
    assert mean_iou_score(true, pred, ignore_label=3) == pytest.approx(expected)
    for masked in (0, 1):
        sides = [true, pred]
        sides[masked] = [np.ma.array(p, mask=m) for p, m in zip(sides[masked], hidden, strict=True)]
        assert mean_iou_score(*sides) == pytest.approx(expected)


def test_errors():
    true, pred = pairs()
    for wrong, match in [
        ((true, pred[:2]), "y_true has 3 images but y_pred has 2"),
        ((true, [part.T for part in pred]), r"y_true\[0\] has the shape \(3, 4\)"),
        ((true, [part.astype(str) for part in pred]), "labels of dtype"),
        ((3, pred), "y_true must be a list of arrays, got int"),
        (([], []), "no pixel to count"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            mean_iou_score(*wrong)
    with pytest.raises(ValueError, match="average must be"):
        mean_iou_score(true, pred, average="micro")
    with pytest.raises(ValueError, match="none of the labels"):
        mean_iou_score(true, pred, labels=[9])


def test_scorer():
    rng = np.random.default_rng(0)
    y = [rng.integers(2, size=(3, 3)) for _ in range(6)]
    X = [labels[..., None] + rng.normal(scale=0.2, size=(3, 3, 1)) for labels in y]
    scores = cross_val_score(GridCRF(C=10), X, y, scoring=mean_iou_scorer, cv=2)
    assert np.all(scores > 0.8)
