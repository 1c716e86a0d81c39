"""Labels that are missing or open, in `fit`, `score` and `log_proba` of the CRF (the loss:
tests/losses).
"""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import EmptyDataError, ForbiddenLabelError

X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"], ["a", "cat"], []]
Y = [
    ["DET", "NOUN", {"VERB", "NOUN"}],
    [None, "NOUN", "VERB"],
    ["DET", frozenset(["NOUN"]), "VERB"],
    None,
    [],
]
ANY = {"DET", "NOUN", "VERB"}


def assert_same(a, b, atol=0.0):
    assert a._pattern.size == b._pattern.size
    np.testing.assert_allclose(a._w, b._w, atol=atol)


def potentials_of(crf, x):
    found = []
    crf._each_block(crf._read_X([x], reset=False), lambda theta, block: found.append(theta))
    return found[0]


@pytest.mark.parametrize("order", [1, 2])
def test_log_proba_sums_over_what_is_allowed(order):
    crf = LinearChainCRF(C=10, order=order).fit(X, Y)
    codes = {label: k for k, label in enumerate(crf.classes_.tolist())}
    for x, y, found in zip(X[:3], Y[:3], crf.log_proba(X[:3], Y[:3])):
        node, cliques = potentials_of(crf, x)
        assert len(cliques) == order
        twin = naive.Chain(node, *cliques)
        allowed = [
            {codes[k] for k in (ANY if e is None else e if isinstance(e, set | frozenset) else {e})}
            for e in y
        ]
        p = sum(p for p, path in zip(twin.p, twin.y) if all(k in a for k, a in zip(path, allowed)))
        assert found == pytest.approx(float(np.log(p)), abs=1e-10)
    assert crf.log_proba(X[3:], Y[3:]).tolist() == [0.0, 0.0]


def test_all_labels_in_a_set_are_none():
    y = [
        [ANY if label is None else label for label in labels] if labels else labels for labels in Y
    ]
    assert_same(LinearChainCRF().fit(X, y), LinearChainCRF().fit(X, Y))


def test_sets_of_one_label_are_that_label():
    """Then the loss is the likelihood."""
    known = [
        ["DET", "NOUN", "VERB"],
        ["DET", "NOUN", "VERB"],
        ["DET", "NOUN", "VERB"],
        ["DET", "NOUN"],
        [],
    ]
    sets = [[{label} for label in labels] for labels in known]
    assert_same(LinearChainCRF(tol=1e-8).fit(X, sets), LinearChainCRF(tol=1e-8).fit(X, known), 1e-6)


def test_sequences_without_labels_change_nothing():
    assert_same(LinearChainCRF().fit(X, Y), LinearChainCRF().fit([*X[:3], X[4]], [*Y[:3], Y[4]]))


@pytest.mark.parametrize("solver", ["owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sgd"])
def test_solvers_lower_the_same_loss(solver):
    options = {"max_iter": 300, "random_state": 0} if solver == "sgd" else {}
    crf = LinearChainCRF(C=0.5, solver=solver, tol=1e-6, **options).fit(X, Y)
    assert crf.loss_curve_[-1] == pytest.approx(
        LinearChainCRF(C=0.5, tol=1e-6).fit(X, Y).loss_curve_[-1], rel=1e-3
    )


def test_half_of_the_labels_teach_nearly_as_much(request):
    """On data: better than the labels of half of the sequences would be."""
    rng = np.random.default_rng(0)
    X, y = make_rental_ads(120, random_state=0)
    half = [[label if rng.random() < 0.5 else None for label in labels] for labels in y[:60]]
    partial, few, many = (
        LinearChainCRF(C=5).fit(X[:n], labels)
        for n, labels in ((60, half), (20, y[:20]), (60, y[:60]))
    )
    scores = [crf.score(X[60:], y[60:]) for crf in (few, partial, many)]
    assert scores == sorted(scores)


def test_with_one_label_nothing_is_open():
    crf = LinearChainCRF().fit([["a", "b"], ["b"]], [["A", None], None])
    assert_same(crf, LinearChainCRF().fit([["a", "b"], ["b"]], [["A", "A"], ["A"]]))
    assert crf.predict([["b"]])[0] == ["A"]


def test_score_counts_what_is_known():
    crf = LinearChainCRF(C=10).fit(X, Y)
    assert crf.predict(X[:1])[0] == ["DET", "NOUN", "VERB"]
    assert crf.score(X[:1], [["DET", None, {"NOUN", "VERB"}]]) == 1.0
    assert crf.score(X[:1], [["NOUN", None, {"DET", "VERB"}]]) == 0.5
    assert crf.score(X[:1], [["DET", "?", {"VERB", "?"}]]) == pytest.approx(2 / 3)
    with pytest.raises(EmptyDataError, match="no tokens of positive weight to score"):
        crf.score(X[:1], [None])


@pytest.mark.parametrize("order", [1, 2])
def test_observed_weights_are_those_that_labels_may_show(order):
    options = {"transition_features": "observed", "order": order, "fit_intercept": False}
    crf = LinearChainCRF(**options).fit([["a", "b"], ["c", "d"]], [["A", {"A", "B"}], ["B", None]])
    pairs = crf._pattern.node
    shown = sp.csr_array(
        (np.ones(len(pairs.indices)), pairs.indices, pairs.indptr), shape=(4, 2)
    ).toarray()
    np.testing.assert_array_equal(shown, [[1, 0], [1, 1], [0, 1], [1, 1]])
    assert crf._pattern.families[0].columns.tolist() == [0, 1, 2, 3]
    alone = LinearChainCRF(**options).fit([["a", "b", "a"]], [["A", {"A", "B"}, "A"]])
    expected = [[0, 1, 2], [0, 2]][:order]
    assert [family.columns.tolist() for family in alone._pattern.families] == expected


def test_least_frequency_counts_each_label_that_may_stand():
    crf = LinearChainCRF(min_frequency=2).fit(
        [["a", "a"], ["a", "b"]], [["A", {"A", "B"}], ["B", "A"]]
    )
    np.testing.assert_array_equal(np.diff(crf._pattern.node.indptr), [2, 0])


def test_edge_features_have_all_pairs():
    crf = LinearChainCRF(edge_features="all").fit(X, Y)
    assert crf.edge_coef_.shape == (9, 6)
    assert crf._pattern.sizes[1] == 9 * 6


def test_forms_of_data():
    packed = SequenceVectorizer().fit_transform(X)
    expected = LinearChainCRF().fit(packed, Y)
    flat = np.array(
        [e for labels, x in zip(Y, X) for e in (labels or [None] * len(x))], dtype=object
    )
    assert_same(LinearChainCRF().fit(packed, SequenceArray(flat, packed.offsets)), expected)
    assert_same(LinearChainCRF().fit(packed, iter(Y)), expected)
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    crf = LinearChainCRF().fit(rows, ["a", "b", None])
    assert_same(crf, LinearChainCRF().fit(rows[:2], ["a", "b"]), 1e-6)


@pytest.mark.parametrize(
    "options", [{"loss": "pointwise"}, {"solver": "sag"}, {"solver": "ap"}, {"solver": "pa"}]
)
def test_what_needs_all_labels_says_so(options):
    crf = LinearChainCRF(random_state=0, **options)
    with pytest.raises(
        ValueError, match="missing labels and sets of labels need loss='log_likelihood'"
    ):
        crf.fit(X, Y)
    assert not hasattr(crf, "classes_")


def test_weights_of_tokens_and_labels_are_refused():
    rows = np.eye(3)
    with pytest.raises(ValueError, match="need labels that are all known"):
        LinearChainCRF(class_weight="balanced").fit(rows, ["a", "b", None])
    with pytest.raises(EmptyDataError, match="no sequence with labels has a positive weight"):
        LinearChainCRF().fit(X, Y, sample_weight=[0, 0, 0, 1, 1])


def test_labels_that_transitions_forbid():
    rule = {"DET": ["VERB", "NOUN"]}
    with pytest.raises(
        ForbiddenLabelError, match=r"X\[0\], token 1: allowed_transitions forbids every label"
    ):
        LinearChainCRF(allowed_transitions=rule, constrain_training=True).fit(X, Y)
    crf = LinearChainCRF(allowed_transitions={"VERB": ["NOUN"]}, constrain_training=True).fit(X, Y)
    assert crf.predict(X[:1])[0] == ["DET", "NOUN", "VERB"]


def test_equal_bits_for_any_number_of_threads():
    X, y = make_rental_ads(150, random_state=3)
    y = [[None if t % 4 == 0 else label for t, label in enumerate(labels)] for labels in y]
    packed = SequenceVectorizer().fit_transform(X)
    with pytest.warns(match="max_iter"):
        models = [LinearChainCRF(max_iter=5, n_jobs=n_jobs).fit(packed, y) for n_jobs in (1, 2, 3)]
    for model in models[1:]:
        assert_same(model, models[0])
