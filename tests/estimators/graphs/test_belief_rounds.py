"""Rounds of EM on graphs with few labels: better than none on planted groups."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from typed_graphs import typed_graphs

from sklearn_struct import GraphCRF, persistence
from sklearn_struct.estimators.graphs.belief_rounds import BeliefRounds

N = 240
LABELS = np.array(["a", "b", "c"])


def planted(seed, within=0.08, between=0.008):
    """A graph of three groups with more edges inside of each, nodes that show a little of their
    group, and labels of which four a group are known.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(N) % 3
    same = group[:, None] == group
    edges = np.argwhere(np.triu(rng.random((N, N)) < np.where(same, within, between), 1))
    # each group has ten words of its own, and a node has three of these and nine of any
    words = np.zeros((N, 60))
    for i, k in enumerate(group):
        words[i, rng.integers(10 * k, 10 * k + 10, size=3)] = 1.0
        words[i, rng.integers(60, size=9)] = 1.0
    labels = LABELS[group]
    known = [None] * N
    for i in range(12):
        known[i] = labels[i]
    return (words, edges), labels, known


def accuracy(crf, graph, labels, known):
    hidden = np.array([label is None for label in known])
    return np.mean(np.array(crf.predict([graph])[0])[hidden] == labels[hidden])


SETTINGS = {"symmetric": True, "C": 0.3, "inference": "bp", "max_iter": 50, "tol": 1e-2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rounds_find_planted_groups():
    """Better than the known nodes alone; what the likelihood finds here hangs on where it stops."""
    figures = []
    for seed in range(3):
        graph, labels, known = planted(seed)
        rounds = GraphCRF(n_rounds=2, decoder="marginal", **SETTINGS).fit([graph], [known])
        assert rounds.n_iter_ == len(rounds.loss_curve_) == 2
        assert rounds.converged_
        alone = GraphCRF(C=0.3).fit(graph[0][:12], labels[:12])
        of_rounds = accuracy(rounds, graph, labels, known)
        figures.append([of_rounds, np.mean(alone.predict(graph[0][12:]) == labels[12:])])
    by_rounds, by_nodes = np.mean(figures, axis=0)
    assert by_rounds > by_nodes + 0.1


def test_no_edges_and_one_round_learn_from_what_they_believe():
    """Without edges beliefs are those of a logistic regression, which then fits its own answers."""
    graph, labels, known = planted(0)
    X = [(graph[0], np.zeros((0, 2), int))]
    settings = SETTINGS | {"tol": 1e-7, "max_iter": 500}
    crf = GraphCRF(n_rounds=1, **settings).fit(X, [known])
    first = GraphCRF(**settings).fit(graph[0][:12], labels[:12])
    beliefs = first.predict_proba(graph[0])
    beliefs[:12] = labels[:12, None] == first.classes_
    p = crf.predict_proba(X)[0]
    # the gradient of the loss of nodes is that of the penalty
    np.testing.assert_allclose(0.3 * (beliefs - p).T @ graph[0], crf.coef_, atol=1e-4)
    value = -0.3 * np.sum(beliefs * np.log(p)) + np.sum(crf.coef_**2) / 2
    assert 0.3 * crf.loss_curve_[-1] == pytest.approx(value, rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_forms_threads_and_files(tmp_path):
    (words, edges), _, known = planted(1)
    fits = [
        GraphCRF(n_rounds=1, n_jobs=n, **SETTINGS).fit([(form(words), edges)], [known])
        for n, form in ((1, np.asarray), (2, np.asarray), (1, sp.csr_array))
    ]
    np.testing.assert_array_equal(fits[0]._w, fits[1]._w)
    np.testing.assert_allclose(fits[0].transition_, fits[2].transition_, atol=0.05)
    persistence.save(fits[0], tmp_path / "model")
    again = persistence.load(tmp_path / "model")
    assert again.n_rounds == 1
    assert again.predict([(words, edges)]).tolist() == fits[0].predict([(words, edges)]).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rounds_go_on_from_a_start():
    graph, _, known = planted(2)
    one = GraphCRF(n_rounds=1, **SETTINGS).fit([graph], [known])
    more = GraphCRF(n_rounds=1, **SETTINGS).fit([graph], [known], init=one)
    np.testing.assert_array_equal(more.transition_, one.transition_)
    two = GraphCRF(n_rounds=2, **SETTINGS).fit([graph], [known])
    np.testing.assert_allclose(more.coef_, two.coef_, atol=0.05)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"solver": "sgd"}, "solver='auto' or 'cg' or 'gradient' or 'lbfgs' or 'owlqn'"),
        ({"solver": "newton-cg"}, "got solver='newton-cg'"),
        ({"inference": "gibbs", "solver": "sgd"}, "another inference than 'gibbs'"),
        ({"loss": "pseudo"}, "missing labels, sets of labels and hidden nodes need loss='log_like"),
        ({"n_rounds": -1}, "'n_rounds' parameter of GraphCRF must be"),
    ],
)
def test_what_makes_no_sense_is_refused(options, match):
    graph, labels, known = planted(0)
    crf = GraphCRF(**{"n_rounds": 1, **options})
    with pytest.raises(ValueError, match=match):
        crf.fit([graph], [known])
    assert not hasattr(crf, "classes_")
    with pytest.raises(ValueError, match="here all are known; use n_rounds=0"):
        GraphCRF(n_rounds=1).fit([graph], [labels.tolist()])


def test_hidden_nodes_are_refused():
    """Nothing would be learned of their edges."""
    X, y = typed_graphs(np.random.default_rng(0), hidden=("c",))
    y[0][0] = None
    crf = GraphCRF(n_rounds=1, hidden={"c": 2})
    with pytest.raises(ValueError, match="hidden nodes never are; use n_rounds=0"):
        crf.fit(X, y)
    assert not hasattr(crf, "classes_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_edges_are_learned_beside_scores_that_have_not_seen_the_label(monkeypatch):
    """Each known node is left out of one fit, whose scores it then has; of one in all."""
    fitted = BeliefRounds._fitted
    seen = []

    def spied(self, loss, evidence, w):
        result = fitted(self, loss, evidence, w)
        seen.append((evidence, self._scores(result.w)))
        return result

    monkeypatch.setattr(BeliefRounds, "_fitted", spied)
    graph, _, known = planted(0)
    GraphCRF(n_rounds=1, **SETTINGS).fit([graph], [known])
    of_all, *folds, beside, _ = seen
    is_known = of_all[0].weight == 1.0
    assert np.flatnonzero(is_known).tolist() == list(range(12))
    left_out = np.array([is_known - evidence.weight for evidence, _ in folds])
    np.testing.assert_array_equal(left_out.sum(axis=0), is_known)
    for fold, (_, scores) in zip(left_out, folds, strict=True):
        chosen = fold == 1.0
        assert 0 < chosen.sum() < 12
        np.testing.assert_array_equal(beside[0].scores[chosen], scores[chosen])


def test_a_round_that_stops_early_is_told():
    graph, _, known = planted(0)
    with pytest.warns(ConvergenceWarning):
        GraphCRF(n_rounds=1, **SETTINGS | {"max_iter": 1}).fit([graph], [known])
