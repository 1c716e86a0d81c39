"""Expectations of features, against the enumeration of all sequences that a model can emit."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from sklearn_struct import HMM, FeatureTemplates, MEstimatedCRF
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.estimators.m_estimation.base_distribution import read_base
from sklearn_struct.estimators.m_estimation.base_features import features_of
from sklearn_struct.objectives.counted_features import Layout, counted_features

pytestmark = pytest.mark.twins

# labels only go forward, so that no sequence has more than three tokens; "<OOV>" is emitted, too
X = [
    [("a", 1), ("b", 2), ("a", 1)],
    [("b", 1), ("a", 2)],
    [("b", 2)],
    [("a", 2), ("b", 2)],
    [("b", 1), ("b", 1)],
]
Y = [["A", "B", "C"], ["A", "C"], ["B"], ["B", "C"], ["A", "B"]]
VALUES = ["a", "b", "<OOV>"], [1, 2, "<OOV>"]


def everything(hmm):
    """All sequences with their labels, and the probability of each pair."""
    xs = []
    ys = []
    for y in (list(y) for n in (1, 2, 3) for y in product("ABC", repeat=n)):
        if all(j < k for j, k in pairwise(y)):
            for x in product(product(*VALUES), repeat=len(y)):
                xs.append(list(x))
                ys.append(y)
    return xs, ys, np.exp(hmm.log_joint(xs, ys))


TEMPLATES = {
    "own": ["%x[0,0]", "%x[0,1]"],
    "windows": ["%x[-1,0]/%x[0,1]", "%x[1,1]", "%x[-2,0]"],
    "gaps": ["%x[-1,0]/%x[1,0]", "%x[-2,1]/%x[0,0]/%x[0,1]"],
}


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("boundary", ["skip", "pad"])
@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize(
    ("order", "of_base", "edges"), [(1, 1, None), (1, 1, "all"), (2, 1, "all"), (1, 2, "all")]
)
def test_by_enumeration(name, boundary, ends, order, of_base, edges):
    hmm = HMM(order=of_base, emissions="categorical").fit(X, Y)
    model = MEstimatedCRF(
        FeatureTemplates(TEMPLATES[name], boundary=boundary, add_bos_eos=ends),
        base=FrozenEstimator(hmm),
        order=order,
        edge_features=edges,
        feature_pairs="all",
        input_features=True,
        C=0.01,
    )
    model.fit(X, Y)
    layout = Layout(model._pattern, inputs=True, constant=True)
    xs, ys, p = everything(hmm)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    base = read_base(hmm, layout.pattern.order)
    found = features_of(model.features_, base, xs, base.observe(xs)[0])
    codes = label_codes.encode([k for y in ys for k in y], hmm.classes_, found.offsets)
    expected = p @ counted_features(layout, found, codes)
    np.testing.assert_allclose(model._expectations(layout, None, None), expected, atol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
def test_numbers_by_enumeration_of_labels(order):
    rng = np.random.RandomState(0)
    numbers = [rng.normal(size=(len(y), 2)) for y in Y]
    hmm = HMM(order=order).fit(numbers, Y)
    model = MEstimatedCRF(
        base=FrozenEstimator(hmm), order=2, edge_features="all", input_features=True, C=0.01
    )
    model.fit(numbers, Y)
    layout = Layout(model._pattern, True, True)
    base = read_base(hmm, 2)
    ys = [
        list(y)
        for n in (1, 2, 3)
        for y in product("ABC", repeat=n)
        if all(j < k for j, k in pairwise(y))
    ]
    # features are linear in what is emitted
    means = [hmm.means_[np.searchsorted(hmm.classes_, y)] for y in ys]
    log_p = [
        hmm.log_joint([x], [y])[0]
        + 0.5 * np.sum(np.log(2 * np.pi * hmm.variances_[np.searchsorted(hmm.classes_, y)]))
        for x, y in zip(means, ys)
    ]
    found = features_of(None, base, means, base.observe(means)[0])
    codes = label_codes.encode([k for y in ys for k in y], hmm.classes_, found.offsets)
    expected = np.exp(log_p) @ counted_features(layout, found, codes)
    np.testing.assert_allclose(model._expectations(layout, None, None), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("order", "of_base", "edges"), [(1, 1, None), (2, 1, "all"), (1, 2, "all")]
)
def test_empirical_inputs_by_enumeration_of_labels(order, of_base, edges):
    hmm = HMM(order=of_base, emissions="categorical", transition_smoothing=0.5).fit(X, Y)
    model = MEstimatedCRF(
        ["%x[0,0]", "%x[-1,1]"],
        base=FrozenEstimator(hmm),
        inputs="empirical",
        order=order,
        edge_features=edges,
        C=0.1,
    )
    weight = np.array([1.0, 2.0, 0.0, 0.5, 1.0])
    model.fit(X, Y, weight)
    layout = Layout(model._pattern, True, True)
    sequences = model._read_X(X, reset=False)
    total = 0.0
    for x, w in zip(X, weight, strict=True):
        ys = [list(y) for y in product("ABC", repeat=len(x))]
        log_p = hmm.log_joint([x] * len(ys), ys)
        found = model._read_X([x] * len(ys), reset=False).X
        codes = label_codes.encode([k for y in ys for k in y], hmm.classes_, found.offsets)
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        total = total + w * (p @ counted_features(layout, found, codes))
    np.testing.assert_allclose(
        model._expectations(layout, sequences, weight), total / weight.sum(), atol=1e-10
    )
