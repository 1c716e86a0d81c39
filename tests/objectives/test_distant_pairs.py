"""Pairs of windows at any distance: counts and expectations, against enumeration."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from sklearn_struct import HMM, MEstimatedCRF
from sklearn_struct.estimators.m_estimation.distant_features import read_templates

pytestmark = pytest.mark.twins

# labels only go forward, so that no sequence has more than four tokens; "<OOV>" is emitted, too
X = [
    [("a", 1), ("b", 2), ("a", 1), ("b", 2)],
    [("b", 1), ("a", 2), ("b", 1)],
    [("b", 2)],
    [("a", 2), ("b", 2), ("b", 1)],
    [("b", 1), ("b", 1)],
    [],
]
Y = [["A", "B", "C", "D"], ["A", "C", "D"], ["B"], ["B", "C", "D"], ["A", "B"], []]
VALUES = ["a", "b", "<OOV>"], [1, 2, "<OOV>"]
LONGEST = 4
PAIRS = {
    "tokens": [("%x[0,0]", "%x[0,0]")],
    "windows": [("%x[-1,0]/%x[0,1]", "%x[0,1]"), ("%x[0,0]", "%x[-1,0]/%x[1,0]")],
    "without the own token": [("%x[1,0]", "%x[-1,0]"), ("%x[-2,1]", "%x[0,0]")],
}


def everything(hmm, columns):
    """All sequences of at most `LONGEST` tokens with their labels, and their probabilities."""
    xs = []
    ys = []
    for y in (list(y) for n in range(1, LONGEST + 1) for y in product("ABCD", repeat=n)):
        if all(j < k for j, k in pairwise(y)):
            for x in product(product(*VALUES[:columns]), repeat=len(y)):
                xs.append(list(x))
                ys.append(y)
    return xs, ys, np.exp(hmm.log_joint(xs, ys))


def cells(template):
    """Offsets and columns of a template."""
    texts = [text.strip("%x[]").split(",") for text in template.split("/")]
    return [(int(offset), int(column)) for offset, column in texts]


def shown(x, t, template):
    """What a template shows at a token, as text; None where it leaves the sequence."""
    values = [
        str(x[t + offset][column]) if 0 <= t + offset < len(x) else None
        for offset, column in cells(template)
    ]
    return None if None in values else template + ":" + "/".join(values)


def naive_counts(x, y, templates, names):
    """How often a sequence shows each pair, by looking at all pairs of tokens."""
    counts = dict.fromkeys(names, 0.0)
    for left, right in templates:
        for s, t in combinations(range(len(x)), 2):
            last = s + max(0, *(offset for offset, _ in cells(left)))
            first = t + min(0, *(offset for offset, _ in cells(right)))
            name = shown(x, s, left), y[s], shown(x, t, right), y[t]
            if last < first and name in counts:
                counts[name] += 1.0
    return [counts[name] for name in names]


def fitted(templates, order=1, of_base=1, **options):
    base = HMM(order=of_base, emissions="categorical", oov="smoothing").fit(X, Y)
    return MEstimatedCRF(
        ["%x[0,0]"], base=FrozenEstimator(base), order=order, distant_pairs=templates, **options
    ).fit(X, Y)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("order", "of_base"), [(1, 1), (2, 1), (1, 2)])
def test_expectations_by_enumeration(name, order, of_base):
    model = fitted(PAIRS[name], order, of_base, constant=False)
    names = model.distant_names_
    assert len(names) == len(model.distant_coef_) > 0
    xs, ys, p = everything(model.base_, 2)
    assert p.sum() == pytest.approx(1, abs=1e-10)
    expected = np.zeros(len(names))
    for x, y, probability in zip(xs, ys, p, strict=True):
        if probability > 0:
            expected += probability * np.array(naive_counts(x, y, PAIRS[name], names))
    assert np.all(expected > 0)
    layout = model._layout()
    found = layout.split(model._expectations(layout, None, None))[2]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("name", PAIRS)
def test_counts_in_scores(name):
    model = fitted(PAIRS[name])
    plain = fitted(None)
    # the other weights are those of a model without pairs
    plain._w = model._w
    plain.constant_ = model.constant_
    counts = [naive_counts(x, y, PAIRS[name], model.distant_names_) for x, y in zip(X, Y)]
    assert np.max(counts) > 0
    assert np.any(model.distant_coef_ != 0)
    np.testing.assert_allclose(
        model.log_joint(X, Y), plain.log_joint(X, Y) + counts @ model.distant_coef_, atol=1e-10
    )


def test_weights_are_of_pairs_of_sequences_that_count():
    model = fitted(PAIRS["tokens"])
    base = FrozenEstimator(model.base_)
    weight = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    other = MEstimatedCRF(["%x[0,0]"], base=base, distant_pairs=PAIRS["tokens"])
    other.fit(X, Y, weight)
    a = "%x[0,0]:a"
    b = "%x[0,0]:b"
    assert other.distant_names_ == [(a, "C", b, "D"), (b, "A", a, "C"), (b, "A", b, "D")]
    assert set(other.distant_names_) < set(model.distant_names_)


def test_sequences_with_loops_by_sampling():
    rng = np.random.RandomState(0)
    X = [[rng.choice(["a", "b"]) for _ in range(rng.randint(1, 9))] for _ in range(40)]
    y = [[rng.choice(["x", "y"]) for _ in x] for x in X]
    templates = [("%x[0,0]", "%x[0,0]"), ("%x[1,0]", "%x[-1,0]/%x[0,0]")]
    model = MEstimatedCRF(["%x[0,0]"], base=HMM(oov="smoothing"), distant_pairs=templates, C=0.01)
    model.fit(X, y)
    layout = model._layout()
    exact = layout.split(model._expectations(layout, None, None))[2]
    n = 20_000
    model.set_params(expectations="sampled", n_samples=n, sample_smoothing=0.0, random_state=0)
    sampled = layout.split(model._expectations(layout, None, None))[2]
    drawn_x, drawn_y = model.base_.sample(2000, random_state=1)
    sequences = model._read_X(drawn_x, reset=False)
    codes = model._read_y(drawn_y, sequences, reset=False)
    counts = model.distant_pairs_.counts(sequences.sides, codes, 2)
    spread = np.sqrt(np.asarray(counts.power(2).mean(axis=0)).ravel() / n)
    assert len(exact) > 20
    assert np.mean(np.abs(sampled - exact) > 3 * spread) < 0.1
    # a pair of neighbours is one of many, so sums over paths are needed
    assert np.max(exact) > 1.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["%x[0,0]"], "must be a list of pairs of templates, got '%x"),
        ([("%x[0,0]", 1)], "must be a list of pairs of templates, got"),
        ([("%x[0,0]", "B")], "'B' names no cells"),
        ([("%x[0,0]", "%x[0]")], "malformed|template"),
    ],
)
def test_what_is_no_pair(given, said):
    with pytest.raises(ValueError, match=said):
        read_templates(given)


def test_templates_that_occur_in_several_pairs_are_read_once():
    distant = read_templates([("%x[0,0]", "%x[1,0]"), ("%x[1,0]", "%x[0,0]")] * 2)
    assert distant.encoder.templates == ["%x[0,0]", "%x[1,0]"]
    assert len(distant.templates) == 2
