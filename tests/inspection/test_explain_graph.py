"""Explanations of graphs: they add up to the score that inference gives, for every form of X."""

from __future__ import annotations

import sys

import fitted_graphs
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from typed_graphs import typed_graphs

from sklearn_struct import GraphArray, GraphCRF, GridCRF
from sklearn_struct.datasets import make_snakes
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inspection import explain


@pytest.fixture(scope="module", params=fitted_graphs.KINDS)
def case(request):
    return fitted_graphs.case(request.param)


def in_a_batch(case):
    return case.x if isinstance(case.x, np.ndarray | GraphArray) else [case.x]


def score(case, labels):
    """log p(y | x) + log Z, as exact inference has them."""
    X = in_a_batch(case)
    y = labels if isinstance(X, np.ndarray) else [labels]
    return (case.estimator.log_proba(X, y) + case.estimator.log_partition(X))[0]


def test_contributions_add_up_to_the_score(case):
    tolerance = 1e-4 if case.estimator.dtype == "float32" else 1e-10
    for labels in (None, case.y):
        found = explain(case.estimator, case.x, labels)
        assert found.score == pytest.approx(score(case, found.labels), abs=tolerance)
        total = found.node_scores.sum() + found.edge_scores.sum()
        assert np.sum(found.contributions) == pytest.approx(total, abs=1e-12)
        assert found.score != 0
    assert found.labels == case.y


def test_the_prediction_is_explained_and_ahead_of_rivals(case):
    tolerance = 1e-4 if case.estimator.dtype == "float32" else 1e-10
    best = np.ravel(case.estimator.predict(in_a_batch(case)).tolist()).tolist()
    found = explain(case.estimator, case.x, rival=case.y)
    assert found.labels == best
    assert found.rival == case.y
    assert found.score == pytest.approx(score(case, best) - score(case, case.y), abs=tolerance)
    assert found.score > 0


def test_a_batch_of_one_is_one(case):
    found = explain(case.estimator, in_a_batch(case))
    assert repr(found) == repr(explain(case.estimator, case.x))


def test_each_term_is_a_value_times_a_weight():
    case = fitted_graphs.case("strings")
    crf = case.estimator
    frame = explain(crf, case.x, case.y).to_frame()
    nodes, edges, _ = case.x
    names = crf.feature_names_in_.tolist()
    of_edges = crf.edge_vectorizer_.get_feature_names_out().tolist()
    values = crf.edge_vectorizer_.transform([case.x[2]])[0].toarray()
    label = {k: i for i, k in enumerate(crf.classes_.tolist())}
    assert frame["kind"].unique().tolist() == ["feature", "intercept", "transition", "edge feature"]
    assert frame["kind"].value_counts().to_dict() == {
        "feature": 4,
        "intercept": 4,
        "transition": 4,
        "edge feature": np.count_nonzero(values),
    }
    for row in frame.itertuples():
        j = label[row.label]
        assert row.label == case.y[row.node]
        assert row.contribution == row.value * row.weight
        if row.kind in ("feature", "intercept"):
            assert frame.loc[row.Index, ["edge", "second_node", "second_label"]].isna().all()
        else:
            assert edges[row.edge] == [row.node, row.second_node]
            assert row.second_label == case.y[row.second_node]
            k = label[row.second_label]
        if row.kind == "feature":
            assert row.feature == nodes[row.node]
            assert row.weight == crf.coef_.toarray()[j, names.index(row.feature)]
        elif row.kind == "intercept":
            assert (row.value, row.weight) == (1, crf.intercept_[j])
        elif row.kind == "transition":
            assert (row.value, row.weight) == (1, crf.transition_[j, k])
        else:
            f = of_edges.index(row.feature)
            assert row.value == values[row.edge, f]
            assert row.weight == crf.edge_coef_.toarray()[j * 3 + k, f]


def test_rivals_in_the_table():
    case = fitted_graphs.case("numbers")
    found = explain(case.estimator, case.x, rival=case.y)
    frame = found.to_frame()
    edges = frame[frame["kind"] == "edge feature"]
    assert set(edges["feature"]) == {"z0", "z1"}
    assert frame["rival"].tolist() == [case.y[t] for t in frame["node"]]
    assert edges["second_rival"].tolist() == [case.y[t] for t in edges["second_node"]]
    assert frame["contribution"].sum() == pytest.approx(found.score)


def test_printed_form():
    X = [(["the", "cat"], [[1, 0]]), (["a", "cat"], [[1, 0]]), (["the", "dog"], [[1, 0]])]
    crf = GraphCRF(C=10).fit(X, [["DET", "NOUN"]] * 3)
    found = explain(crf, (["a", "dog"], [[1, 0]]))
    first, *lines = repr(found).split("\n")
    assert first == f"GraphExplanation(score {found.score:.3f}, 2 nodes, 1 edges)"
    assert [line[:12] for line in lines] == ["  a    DET  ", "  dog  NOUN ", "  dog -- a  "]
    assert lines[2].startswith(f"  dog -- a  NOUN, DET  {found.edge_scores[0]:+8.3f}  transition +")
    ahead = explain(crf, (["a", "dog"], [[1, 0]]), rival=["NOUN", "NOUN"])
    assert "DET (not NOUN)" in repr(ahead)
    assert repr(ahead).startswith("GraphExplanation(difference of scores ")
    network = fitted_graphs.case("networks")
    assert "\n  n3 -- n2  " in repr(explain(network.estimator, network.x))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_large_graphs_are_printed_in_part():
    X, y = make_snakes(3, random_state=0)
    crf = GraphCRF(max_iter=3, inference="bp").fit(X, y)
    found = explain(crf, X[:1], y[0])
    lines = repr(found).split("\n")
    assert len(lines) == 1 + 2 * (20 + 1)
    assert lines[21] == f"  and {len(y[0]) - 20} more of smaller scores"
    shown = {int(line.split()[0]) for line in lines[1:21]}
    hidden = [abs(s) for t, s in enumerate(found.node_scores) if t not in shown]
    assert max(hidden) <= min(abs(found.node_scores[t]) for t in shown)
    # features of nodes have names
    assert "here=" in repr(found)


def test_pipelines_and_searches():
    case = fitted_graphs.case("numbers")
    X = [case.x] * 4
    y = [case.y] * 4
    pipeline = make_pipeline("passthrough", GraphCRF()).fit(X, y)
    search = GridSearchCV(GraphCRF(), {"C": [1.0]}, cv=2).fit(GraphArray.from_graphs(X), y)
    for estimator in (pipeline, search):
        assert explain(estimator, case.x).score == pytest.approx(
            explain(GraphCRF().fit(X, y), case.x).score, abs=1e-4
        )


def test_what_is_refused(monkeypatch):
    case = fitted_graphs.case("numbers")
    crf = case.estimator
    with pytest.raises(LengthMismatchError, match="x must be one graph, got 2"):
        explain(crf, [case.x] * 2)
    with pytest.raises(LengthMismatchError):
        explain(crf, case.x, ["x"])
    with pytest.raises(UnknownLabelError, match="strange"):
        explain(crf, case.x, ["strange"] * 4)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"GraphExplanation\.to_frame needs pandas"):
        explain(crf, case.x).to_frame()


def test_nodes_of_types_some_of_which_are_hidden():
    X, y = typed_graphs(np.random.default_rng(0), hidden=("c",))
    crf = GraphCRF(C=5.0, hidden={"c": 2}).fit(X, y)
    # with the states that go best with the labels
    for labels in (None, y[0]):
        found = explain(crf, X[0], labels)
        assert [name for name, _ in found.labels] == X[0][0].types
        states = [label if name == "c" else None for name, label in found.labels]
        if labels is None:
            assert states == crf.predict_states(X[:1])[0]
            best = found.score
        else:
            assert [k if name != "c" else None for name, k in found.labels] == labels
            assert found.score <= best
            total = crf.log_proba(X[:1], [labels])[0] + crf.log_partition(X[:1])[0]
            assert found.score <= total <= found.score + states_weight(states)
            assert len(found.edges) == len(X[0][1])


def states_weight(states):
    """The logarithm of the number of all states of two each."""
    return sum(state is not None for state in states) * np.log(2)


def test_no_images():
    crf = GridCRF().fit([np.eye(2)[..., None]], [np.eye(2, dtype=int)])
    with pytest.raises(InputTypeError, match="explain knows sequences and graphs, but no images"):
        explain(crf, np.eye(2)[..., None])
