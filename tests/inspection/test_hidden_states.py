"""What is shown of the hidden states of labels."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import GraphCRF, HiddenStateClassifier, LatentChainCRF
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inspection import (
    FeatureWeightsDisplay,
    LatentStateDisplay,
    MarginalDisplay,
    TransitionDisplay,
    explain,
    feature_weights,
    latent_states,
    transition_weights,
)

X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]] * 2
Y = [["DET", "NOUN", "VERB"]] * 6


@pytest.fixture(scope="module", params=[{}, {"order": 2, "edge_features": "all"}], ids=str)
def crf(request):
    options = {"n_states": {"NOUN": 2, "VERB": 3}, "C": 10, "random_state": 0, "tol": 1e-3}
    return LatentChainCRF(**options, **request.param).fit(X, Y)


def test_a_labelling_is_explained_by_its_best_states(crf):
    x = ["a", "cat", "barks"]
    given = explain(crf, x, ["DET", "VERB", "NOUN"])
    states = crf.predict_states([x], allowed=[["DET", "VERB", "NOUN"]])[0]
    assert given.labels == states
    assert [label for label, _ in states] == ["DET", "VERB", "NOUN"]
    score = explain(crf, x).score
    assert explain(crf, x, rival=["DET", "VERB", "NOUN"]).score == pytest.approx(
        score - given.score, abs=1e-12
    )
    masks = [[label] for label, _ in explain(crf, x).labels]
    assert crf.predict_states([x], allowed=[masks])[0] == explain(crf, x).labels


def test_the_score_is_that_of_the_best_path(crf):
    """log p(states | x), plus log Z, of a sequence of one token, by hand."""
    coef = crf.coef_.toarray()
    cat = crf.feature_names_in_.tolist().index("cat")
    scores = coef[:, cat] + crf.intercept_
    nouns = [k for k, (label, _) in enumerate(crf.states_) if label == "NOUN"]
    assert explain(crf, ["cat"], ["NOUN"]).score == pytest.approx(scores[nouns].max(), abs=1e-12)


def test_tables_have_a_row_for_each_state(crf):
    pytest.importorskip("pandas")
    table = transition_weights(crf)
    assert table.index.tolist() == crf.states_.tolist()
    np.testing.assert_array_equal(table.to_numpy(), crf.transition_)
    some = feature_weights(crf, n=2, labels=["NOUN", ("VERB", 1)])
    assert set(some["label"]) == {("NOUN", 0), ("NOUN", 1), ("VERB", 1)}
    with pytest.raises(UnknownLabelError, match="was not seen"):
        feature_weights(crf, labels=[("NOUN", 2)])


def test_states_differ_by_what_is_above_the_mean(crf):
    pytest.importorskip("pandas")
    table = latent_states(crf, "NOUN", n=3)
    assert table.columns.tolist() == ["state", "item", "weight"]
    coef = crf.coef_.toarray()[1:3]
    names = crf.feature_names_in_.tolist()
    assert len(table) > 0
    for state, item, weight in table.itertuples(index=False):
        column = coef[:, names.index(item)]
        assert weight == pytest.approx(column[state] - column.mean())
        assert weight > 0
    with pytest.raises(UnknownLabelError, match="'ADJ' was not seen"):
        latent_states(crf, "ADJ")


def test_pictures(crf):
    pytest.importorskip("matplotlib").use("agg")
    display = LatentStateDisplay.from_estimator(crf, "VERB", n=2)
    assert display.ax_.get_ylabel() == "state of VERB"
    assert display.proba.shape[0] == 3
    low, high = display.im_.get_clim()
    assert low == -high < 0
    assert TransitionDisplay.from_estimator(crf).transition.shape == (6, 6)
    marginal = MarginalDisplay.from_estimator(crf, X[0])
    np.testing.assert_allclose(np.sum(marginal.proba, axis=1), 1)
    assert marginal.proba.shape == (3, 3)
    assert np.size(FeatureWeightsDisplay.from_estimator(crf, n=2).ax_) >= 6


# ------------------------------------------------------------------ classes of whole sequences


@pytest.fixture(scope="module")
def classifier():
    return HiddenStateClassifier(2, C=10, random_state=0, tol=1e-3).fit(X, ["a", "b", "a"] * 2)


def test_features_of_the_states_of_a_class(classifier):
    pytest.importorskip("pandas")
    table = latent_states(classifier, "a", n=1)
    assert table["state"].tolist() == [0, 1]
    rows = classifier.coef_[:2] - classifier.coef_[:2].mean(axis=0)
    names = classifier.feature_names_in_
    assert table["item"].tolist() == names[rows.argmax(axis=1)].tolist()
    np.testing.assert_allclose(table["weight"], rows.max(axis=1))
    with pytest.raises(UnknownLabelError, match="'c' was not seen"):
        latent_states(classifier, "c")


def test_weights_of_states_of_classes(classifier):
    pytest.importorskip("pandas")
    table = transition_weights(classifier)
    assert table.index.tolist() == classifier.states_.tolist()
    np.testing.assert_array_equal(table.to_numpy(), classifier.transition_)
    assert set(feature_weights(classifier, n=2, labels=["b"])["label"]) == {("b", 0), ("b", 1)}


def test_pictures_of_states_of_classes(classifier):
    pytest.importorskip("matplotlib")
    display = LatentStateDisplay.from_estimator(classifier, "b", n=2)
    assert display.proba.shape[0] == 2
    assert display.ax_.get_ylabel() == "state of b"
    assert TransitionDisplay.from_estimator(classifier).im_.get_array().shape == (4, 4)


@pytest.mark.parametrize(
    "options", [{}, {"tied": True}, {"state_transitions": "left-to-right"}], ids=str
)
def test_a_class_is_explained_by_its_best_states(options):
    model = HiddenStateClassifier(2, C=10, random_state=0, tol=1e-3, **options)
    model.fit(X, ["a", "b", "a"] * 2)
    coef = model.coef_
    names = model.feature_names_in_.tolist()
    alphabet = model.states_.tolist()
    for x in X[:3]:
        predicted = model.predict([x])[0]
        assert {label for label, _ in explain(model, x).labels} == {predicted}
        scores = {}
        for label in "ab":
            numbers = model.predict_states([x], [label])[0]
            given = explain(model, x, label)
            assert given.labels == [(label, number) for number in numbers]
            assert given.texts == x
            rows = [alphabet.index(state) for state in given.labels]
            by_hand = sum(coef[s, names.index(word)] for s, word in zip(rows, x, strict=True))
            by_hand += model.intercept_[rows].sum() + model.transition_[rows[:-1], rows[1:]].sum()
            assert given.score == pytest.approx(by_hand, abs=1e-12)
            assert given.token_scores.sum() == pytest.approx(by_hand, abs=1e-12)
            # one path of a class has at most the sum of all
            log_Z = np.atleast_1d(model.decision_function([x])[0])
            assert len(log_Z) == 1
            scores[label] = given.score
        ahead = explain(model, x, "a", rival=["b"])
        assert ahead.score == pytest.approx(scores["a"] - scores["b"], abs=1e-12)
        assert ahead.rival == explain(model, [x], ["b"]).labels
    with pytest.raises(UnknownLabelError, match="'c' was not seen"):
        explain(model, X[0], "c")
    with pytest.raises(LengthMismatchError, match="X has 1 sequences but y has 2 labels"):
        explain(model, X[0], ["a", "b"])


def test_the_terms_of_a_class_are_features_intercepts_and_transitions(classifier):
    pytest.importorskip("pandas")
    frame = explain(classifier, X[0], "b").to_frame()
    assert frame["kind"].value_counts().to_dict() == {
        "feature": 3,
        "intercept": 3,
        "transition": 2,
    }
    assert {label for label, _ in frame["label"]} == {"b"}
    assert frame["contribution"].sum() == pytest.approx(explain(classifier, X[0], "b").score)
    with pytest.raises(InputTypeError, match="must be a chain such as LinearChainCRF"):
        MarginalDisplay.from_estimator(classifier, X[0])


# ------------------------------------------------------------------------------------------ graphs

EDGES = [[0, 1], [0, 2]]
GRAPHS = [(words, EDGES) for words in X]


@pytest.fixture(scope="module")
def of_graphs():
    options = {"n_states": {"NOUN": 2, "VERB": 3}, "C": 10, "random_state": 0, "tol": 1e-3}
    return GraphCRF(**options, symmetric=True).fit(GRAPHS, Y)


def test_a_labelling_of_a_graph_is_explained_by_its_best_states(of_graphs):
    graph = GRAPHS[2]
    given = explain(of_graphs, graph)
    assert [label for label, _ in given.labels] == of_graphs.predict([graph])[0]
    assert given.labels == of_graphs.predict_states([graph])[0]
    other = ["VERB", "VERB", "NOUN"]
    # of all states of this labelling none has a higher score
    coef = of_graphs.coef_.toarray()
    columns = [of_graphs.feature_names_in_.tolist().index(word) for word in graph[0]]
    labels = [label for label, _ in of_graphs.states_]
    table = of_graphs.transition_
    own = [[s for s, label in enumerate(labels) if label == wanted] for wanted in other]
    node = coef[:, columns] + of_graphs.intercept_[:, None]
    best = max(
        node[a, 0] + node[b, 1] + node[c, 2] + table[a, b] + table[a, c]
        for a in own[0]
        for b in own[1]
        for c in own[2]
    )
    rival = explain(of_graphs, graph, other)
    assert rival.score == pytest.approx(best, abs=1e-12)
    ahead = explain(of_graphs, graph, rival=other)
    assert ahead.score == pytest.approx(given.score - best, abs=1e-12)
    assert ahead.rival == rival.labels


def test_tables_and_pictures_of_states_of_graphs(of_graphs):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    table = latent_states(of_graphs, "NOUN")
    coef = of_graphs.coef_.toarray()[1:3]
    rows = coef - coef.mean(axis=0)
    names = of_graphs.feature_names_in_.tolist()
    assert len(table) > 0
    for state, item, weight in table.itertuples(index=False):
        assert weight == pytest.approx(rows[state, names.index(item)])
    np.testing.assert_array_equal(transition_weights(of_graphs).to_numpy(), of_graphs.transition_)
    some = feature_weights(of_graphs, n=2, labels=["NOUN", ("VERB", 1)])
    assert set(some["label"]) == {("NOUN", 0), ("NOUN", 1), ("VERB", 1)}
    assert LatentStateDisplay.from_estimator(of_graphs, "VERB", n=2).proba.shape[0] == 3
    plain = GraphCRF(tol=0.1).fit(GRAPHS, Y)
    with pytest.raises(InputTypeError, match=r"those of GraphCRF\(n_states=2\) can be shown"):
        latent_states(plain, "NOUN")
    assert explain(plain, GRAPHS[0]).labels == plain.predict(GRAPHS[:1])[0]
