"""Explanations: they add up to the score that inference gives, for every kind of X and every chain
estimator.
"""

from __future__ import annotations

import fitted
import numpy as np
import pytest
import scipy.sparse as sp
from public_estimators import CHAINS, small
from sklearn.base import BaseEstimator

from sklearn_struct import HMM, LinearChainCRF, MEstimatedCRF, SequenceArray
from sklearn_struct.estimators.m_estimation.chain_over_base import BaseBasedChain
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inspection import explain
from sklearn_struct.inspection.single_sequence import read_labels, read_one
from sklearn_struct.objectives.linear_potentials import bind


def path_score(estimator, x, labels):
    """The score of a labelling by potentials and inference, in float64."""
    model, sequences, _ = read_one(estimator, x)
    if isinstance(model, BaseBasedChain):
        return model.log_joint([x], [labels])[0] - model._of_inputs(sequences.X)[0]
    if hasattr(model, "states_"):
        codes = np.array([model.states_.tolist().index(state) for state in labels], np.int32)
    else:
        codes = read_labels(model, labels, sequences)
    X = SequenceArray(sequences.X.tokens.astype(np.float64), sequences.X.offsets)
    pattern = model._pattern
    inference = Chain(pattern.order)
    structure = inference.structure(X.offsets)
    potentials = bind(pattern, X, structure, np.dtype(np.float64))
    (block,) = inference.blocks(structure, pattern.n_labels)
    theta = potentials.forward(potentials.expand(model._w), block)
    return inference.scores(theta, block.structure, codes)[0]


@pytest.fixture(scope="module", params=fitted.KINDS)
def case(request):
    return fitted.case(request.param)


def test_contributions_add_up_to_the_score_of_the_prediction(case):
    found = explain(case.estimator, case.x)
    expected = path_score(case.estimator, case.x, found.labels)
    assert expected != 0
    assert found.score == pytest.approx(expected, abs=1e-10)
    assert np.sum(found.contributions) == pytest.approx(expected, abs=1e-10)


def test_contributions_add_up_for_any_labelling_and_against_a_rival(case):
    y = path_score(case.estimator, case.x, case.y)
    assert explain(case.estimator, case.x, case.y).score == pytest.approx(y, abs=1e-10)
    best = explain(case.estimator, case.x)
    ahead = explain(case.estimator, case.x, rival=case.y)
    assert ahead.score == pytest.approx(best.score - y, abs=1e-10)
    assert ahead.score > 0
    assert ahead.rival == ([case.y] if isinstance(case.y, str) else case.y)


def test_the_difference_is_that_of_log_probabilities(case):
    if hasattr(case.estimator, "steps") or isinstance(case.x, SequenceArray):
        X = case.estimator[:-1].transform([case.x]) if hasattr(case.estimator, "steps") else case.x
    else:
        X = [case.x]
    model = getattr(case.estimator, "steps", [(None, case.estimator)])[-1][1]
    best = explain(case.estimator, case.x).labels
    flat = isinstance(case.y, str)
    expected = model.log_proba(X, best if flat else [best]) - model.log_proba(X, [case.y])
    tolerance = 1e-4 if model.dtype == "float32" else 1e-9
    assert explain(case.estimator, case.x, rival=case.y).score == pytest.approx(
        expected[0], abs=tolerance
    )


@pytest.mark.parametrize("estimator", CHAINS)
@pytest.mark.parametrize("numeric", [False, True])
def test_every_chain_estimator(estimator, numeric):
    rng = np.random.RandomState(1)
    X = fitted.numbers(rng) if numeric else fitted.attributes(rng)
    y = [[fitted.LABELS[k] for k in rng.randint(3, size=len(s))] for s in X]
    model = small(estimator).fit(X, y)
    for x in X:
        found = explain(model, x)
        labels = found.labels
        if hasattr(model, "states_"):  # the best states of the prediction
            labels = [label for label, _ in found.labels]
        assert labels == model.predict([x])[0]
        assert found.score == pytest.approx(path_score(model, x, found.labels), abs=1e-10)


class Decoded(LinearChainCRF):
    """Decodes other potentials than it trains: label x is forbidden."""

    def _decode_potentials(self, potentials, structure):
        node = potentials.node.copy()
        node[:, 0] = -np.inf
        return potentials._replace(node=node)


def test_scores_are_the_models_own_whatever_is_decoded():
    rng = np.random.RandomState(1)
    X = fitted.attributes(rng)
    model = Decoded().fit(X, [["x"] * (len(s) - 1) + ["y"] for s in X])
    assert explain(model, X[2]).labels == ["y"] * 4
    found = explain(model, X[2], ["x"] * 4)
    assert np.isfinite(found.score)
    assert found.score == pytest.approx(path_score(model, X[2], ["x"] * 4), abs=1e-10)


def test_each_token_gets_its_features_its_intercept_and_the_transition_into_it():
    case = fitted.case("attributes edges")
    model = case.estimator
    frame = explain(case.estimator, case.x, case.y).to_frame()
    names = model.feature_names_in_.tolist()
    label = {k: i for i, k in enumerate(model.classes_.tolist())}
    y = [label[k] for k in case.y]
    coef = model.coef_.toarray()
    edge_coef = model.edge_coef_.toarray()
    tokens = model.vectorizer_.transform([case.x])[0].toarray()
    assert set(frame["kind"]) == {"feature", "intercept", "transition", "edge feature"}
    for row in frame.itertuples():
        t = row.token
        f = names.index(row.feature) if row.feature is not None else None
        if row.kind == "feature":
            assert (row.value, row.weight) == (tokens[t, f], coef[y[t], f])
        elif row.kind == "intercept":
            assert (row.value, row.weight) == (1, model.intercept_[y[t]])
        elif row.kind == "transition":
            assert (row.value, row.weight, row.previous) == (
                1,
                model.transition_[y[t - 1], y[t]],
                case.y[t - 1],
            )
        else:
            e = model.edge_features_.tolist().index(f)
            assert (row.value, row.weight) == (tokens[t, f], edge_coef[y[t - 1] * 3 + y[t], e])
        assert row.contribution == row.value * row.weight
        assert row.label == case.y[t]
        assert (row.previous is None) == (row.kind in ("feature", "intercept"))
    counts = frame.groupby(["token", "kind"]).size()
    assert counts.xs("intercept", level="kind").tolist() == [1, 1, 1, 1]
    assert counts.xs("transition", level="kind").index.tolist() == [1, 2, 3]
    assert counts.xs("feature", level="kind").tolist() == np.count_nonzero(tokens, axis=1).tolist()


def test_weights_of_three_labels_and_how_they_are_shown():
    case = fitted.case("attributes second edges")
    model = case.estimator
    found = explain(case.estimator, case.x, case.y)
    frame = found.to_frame()
    y = [fitted.LABELS.index(k) for k in case.y]
    edge_coef = model.edge_coef_.toarray()
    names = model.feature_names_in_.tolist()
    seconds = frame[frame["kind"] == "second transition"]
    assert seconds["token"].tolist() == [2, 3]
    for row in frame[frame["kind"].isin(["second transition", "edge feature"])].itertuples():
        t = row.token
        f = names.index(row.feature) if row.feature is not None else None
        if f is None:
            assert row.weight == model.transition2_[y[t - 2], y[t - 1], y[t]]
            assert (row.value, row.previous) == (1, case.y[t - 1])
            continue
        e = model.edge_features_.tolist().index(f)
        weight = edge_coef[y[t - 1] * 3 + y[t], e]
        if t > 1:
            weight += edge_coef[9 + (y[t - 2] * 3 + y[t - 1]) * 3 + y[t], e]
        assert row.weight == pytest.approx(weight, abs=1e-14)
    moves = [[k] * 3 for k in LABELS_IN_A_ROW]
    assert any(
        f"{a} -> {b} -> {c} " in repr(explain(model, case.x, [a, b, c, c])) for a, b, c in moves
    )


LABELS_IN_A_ROW = ["x", "y", "z"]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("of_base", [1, 2])
def test_the_part_of_a_base(order, of_base):
    X = [["a", "b", "a", "b"], ["b", "a"], ["b"], []]
    y = [["x", "y", "x", "x"], ["y", "x"], ["x"], []]
    base = HMM(order=of_base, transition_smoothing=0.5)
    model = MEstimatedCRF(["%x[0,0]"], base=base, order=order, input_features=True).fit(X, y)
    assert model.constant_ != 0
    assert np.any(model.input_coef_ != 0)
    for x, labels in zip(X, y, strict=True):
        found = explain(model, x, labels)
        frame = found.to_frame()
        of_base_alone = frame[frame["kind"].str.startswith("base").astype(bool)]
        assert of_base_alone["contribution"].sum() == pytest.approx(
            model.base_.log_joint([x], [labels])[0], abs=1e-10
        )
        shown = model.features_.transform([[(value,) for value in x]]).tokens
        rest = model.constant_ + float(np.sum(shown @ model.input_coef_))
        assert found.score + rest == pytest.approx(model.log_joint([x], [labels])[0], abs=1e-10)
    assert of_base_alone.empty
    frame = explain(model, X[1], y[1]).to_frame()
    assert frame.loc[frame["kind"] == "base", "previous"].tolist() == [None, None]
    assert frame.loc[frame["kind"] == "base transition", "previous"].tolist() == ["y"]
    assert "base y -> x " in repr(explain(model, X[1], y[1]))


def test_what_a_base_forbids():
    """Scores are -inf, and differences are those of what is possible."""
    model = MEstimatedCRF(["%x[0,0]"]).fit([["a", "b"], ["b", "a"]], [["x", "y"], ["x", "y"]])
    forbidden = explain(model, ["a", "b"], ["y", "x"])
    assert forbidden.score == -np.inf
    assert explain(model, ["a", "b"], rival=["x", "x"]).score == np.inf
    assert np.isnan(explain(model, ["a", "b"], ["x", "x"], rival=["y", "y"]).score)
    same = explain(model, ["a", "b"], ["y", "x"], rival=["y", "x"])
    assert same.contributions.tolist() == [0.0] * len(same.contributions)
    long = explain(model, ["a", "b", "a"])  # of which the base has none: what predictions go by
    assert np.isfinite(long.score)


class Given(BaseEstimator):
    """A base by the protocol."""

    def fit(self, X, y):
        self.classes_ = np.array(fitted.LABELS)
        return self

    def chain_scores(self, X):
        rng = np.random.RandomState(0)
        return [(-rng.rand(len(x), 3), -rng.rand(max(len(x) - 1, 0), 3, 3)) for x in X]

    def sample(self, n_samples, random_state):
        raise NotImplementedError


def test_the_part_of_any_base():
    X = [["a", "b", "a", "b"], ["b", "a"], ["b"]]
    y = [["x", "y", "z", "x"], ["y", "x"], ["x"]]
    model = MEstimatedCRF(["%x[0,0]"], base=Given(), order=2, inputs="empirical").fit(X, y)
    found = explain(model, X[0], y[0])
    assert found.score == pytest.approx(path_score(model, X[0], y[0]), abs=1e-10)
    [(node, edge)] = model.base_.chain_scores(X[:1])
    frame = found.to_frame()
    assert (
        frame.loc[frame["kind"] == "base", "weight"].tolist()
        == node[range(4), [0, 1, 2, 0]].tolist()
    )
    steps = frame.loc[frame["kind"] == "base transition", "weight"].tolist()
    assert steps == edge[range(3), [0, 1, 2], [1, 2, 0]].tolist()


def test_one_sequence_in_every_form_of_numbers():
    case = fitted.case("numbers")
    forms = [case.x, case.x.tolist(), sp.csr_array(case.x), SequenceArray.from_sequences([case.x])]
    scores = [explain(case.estimator, x).score for x in forms]
    assert scores == pytest.approx([scores[0]] * 4, abs=1e-12)


def test_empty_sequence():
    found = explain(fitted.case("strings").estimator, [])
    assert (found.score, found.labels, len(found.contributions)) == (0.0, [], 0)
    assert len(found.to_frame()) == 0


def test_an_attribute_that_was_not_seen_contributes_nothing():
    model = fitted.case("strings").estimator
    frame = explain(model, ["never seen"]).to_frame()
    assert frame["kind"].tolist() == ["intercept"]


def test_a_search_is_explained_by_its_best_estimator():
    case = fitted.case("pipeline")

    class Search:
        best_estimator_ = case.estimator

    assert explain(Search(), case.x).score == explain(case.estimator, case.x).score


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (
            {"x": SequenceArray.from_sequences([np.ones((2, 3))] * 2)},
            LengthMismatchError,
            "one sequence, got 2",
        ),
        (
            {"x": np.ones((2, 3)), "y": ["x"]},
            LengthMismatchError,
            "X\\[0\\] has 2 tokens but y\\[0\\] has 1 labels",
        ),
        (
            {"x": np.ones((2, 3)), "rival": ["x", "w"]},
            UnknownLabelError,
            "token 1: label 'w' was not seen",
        ),
        ({"x": ["a"]}, InputTypeError, "fitted on numbers"),
    ],
)
def test_errors(arguments, error, match):
    with pytest.raises(error, match=match):
        explain(fitted.case("numbers").estimator, **arguments)


def test_no_chain():
    with pytest.raises(InputTypeError, match="must be a chain such as LinearChainCRF, got int"):
        explain(3, ["a"])
    with pytest.raises(ValueError, match="not fitted yet"):
        explain(LinearChainCRF(), ["a"])
