"""M-estimation of trees: what it finds, and what it refuses; the contract of grammars is in
test_trees.py.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from nltk.tree import Tree
from real_data import real
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from sklearn_struct import EMLPCFG, PCFG, MEstimatedPCFG
from sklearn_struct.datasets import fetch_treebank_sample, make_treebank
from sklearn_struct.encoding.trees import binarization, tree_corpus
from sklearn_struct.exceptions import ForbiddenLabelError, InputTypeError, NonFiniteError
from sklearn_struct.grammars.fragments import expected, places, scores
from sklearn_struct.grammars.sums_over_trees import tree_sums

BASE = PCFG(horizontal_order=1, vertical_order=1, min_frequency=1)
MADE = make_treebank(n_samples=120, random_state=0)


def dependent_trees():
    """16 trees in which a noun phrase below S and one below VP become the same with different
    probabilities.

    Three quarters of those below S have a determiner, one quarter of those below VP.
    """
    phrases = {"D": "(NP (D the) (N dog))", "P": "(NP (P big) (N dog))"}
    X = []
    y = []
    for subject, n in (("D", 3), ("P", 1)):
        for object_, m in (("D", 1), ("P", 3)):
            tree = f"(S {phrases[subject]} (VP (V sees) {phrases[object_]}))"
            words = {"D": ["the", "dog"], "P": ["big", "dog"]}
            X += [[*words[subject], "sees", *words[object_]]] * (n * m)
            y += [tree] * (n * m)
    return X, y


@pytest.mark.parametrize("pieces", ["nodes", "trees"])
def test_finds_the_truth(pieces):
    """Of data that are exactly as their distribution; only a PCFG with the features has it."""
    X, y = dependent_trees()
    model = MEstimatedPCFG(
        "parent-rule", base=BASE, pieces=pieces, C=np.inf, solver="lbfgs", tol=1e-9
    ).fit(X, y)
    true = PCFG(horizontal_order=1, vertical_order=2, min_frequency=1).fit(X, y).log_joint(X, y)
    plain = model.base_.log_joint(X, y)
    assert np.abs(plain - true).max() > 0.3
    np.testing.assert_allclose(model.log_joint(X, y), true, atol=1e-6)
    np.testing.assert_allclose(model.score_samples(X), true, atol=1e-6)


def test_prefers_the_truth():
    """It parses what the base cannot tell apart."""
    X = [["the", "dog", "sees", "the", "dog"]] * 4
    y = ["(S (NP (A the) (N dog)) (VP (V sees) (NP (B the) (N dog))))"] * 4
    model = MEstimatedPCFG("parent-rule", base=BASE).fit(X, y)
    assert model.predict(X[:1])[0] == Tree("ROOT", [Tree.fromstring(y[0])])
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("pieces", ["nodes", "trees"])
@pytest.mark.parametrize("constant", [True, False])
def test_objective(pieces, constant):
    """Its value, and that each direction leads up."""
    X, y = MADE
    options = {
        "base": BASE,
        "pieces": pieces,
        "constant": constant,
        "C": 5.0,
        "solver": "lbfgs",
        "tol": 1e-8,
    }
    model = MEstimatedPCFG(["rule-rule", "parent-word"], **options).fit(X, y)
    expectation = expected(model._fragments, model._model, tree_sums(model._model))
    n_nodes = np.array([2 * len(sentence) - 1 for sentence in X])

    def objective():
        if pieces == "trees":
            loss = np.mean(np.exp(model.base_.log_joint(X, y) - model.log_joint(X, y)))
            of_constant = model.constant_
        else:
            loss = loss_of_nodes(model, X, y)
            of_constant = model.constant_ * n_nodes.mean()
        return loss + model.coef_ @ expectation + of_constant + model.coef_ @ model.coef_ / 10.0

    best = objective()
    assert model.loss_curve_[-1] == pytest.approx(best, rel=1e-9)
    assert constant or model.constant_ == 0.0
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = rng.normal(size=len(model.coef_)) * 1e-2
        model.coef_ += step
        assert objective() > best
        model.coef_ -= step
    if constant:
        model.constant_ += 1e-2
        assert objective() > best


def loss_of_nodes(model, X, y):
    """A mean over trees of sums over nodes."""
    trees = tree_corpus.forest(model._codes, X, binarization.read(y))
    found = scores(
        model._fragments, model._model, places(trees, len(model._model.plain.rule)), model.coef_
    )
    return np.exp(-found - model.constant_).sum() / len(X)


def test_expects_what_it_sees_of_single_productions():
    """Without smoothing the base expects each rule as often as the trees have it, so weights of
    rules stay 0.
    """
    X, y = MADE
    model = MEstimatedPCFG(
        ["rule", "parent-symbol", "sibling-symbol"], base=BASE, pieces="trees", tol=1e-8
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-6)


def test_solvers_agree():
    X, y = MADE
    found = [
        MEstimatedPCFG(base=BASE, C=10, solver=solver, tol=1e-6, random_state=0).fit(X, y)
        for solver in ("lbfgs", "sdca", "newton-cg")
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.coef_, found[0].coef_, atol=2e-3)
        np.testing.assert_allclose(other.log_joint(X, y), found[0].log_joint(X, y), atol=2e-2)
    sparse = MEstimatedPCFG(base=BASE, C=10, l1_ratio=1.0).fit(X, y)
    assert 0 < np.mean(sparse.coef_ != 0) < 0.5


def test_features():
    """Names say what is counted; pieces seen too rarely are none."""
    X, y = dependent_trees()
    model = MEstimatedPCFG(["rule-rule", "sibling-word", "symbol"], base=BASE).fit(X, y)
    names = set(model.feature_names_)
    assert len(names) == len(model.coef_)
    assert {
        "rule-rule: root | S -> NP VP",
        "rule-rule: S -> NP VP | left | NP -> D N",
        "rule-rule: VP -> V NP | right | NP -> P N",
        "sibling-word: N | left | P -> big",
        "symbol: NP",
    } <= names
    weight = dict(zip(model.feature_names_, model.coef_))
    assert (
        weight["rule-rule: S -> NP VP | left | NP -> D N"]
        > 0.1
        > -0.1
        > weight["rule-rule: S -> NP VP | left | NP -> P N"]
    )
    fewer = clone(model).set_params(min_frequency=20).fit(X, y)
    assert set(fewer.feature_names_) < names
    assert "symbol: NP" in set(fewer.feature_names_)


def test_trees_of_the_base_that_need_not_end():
    """Much smoothing makes each rule of a symbol equally probable, so that trees grow for ever."""
    X = [["a", "b"], ["a", "b", "a", "b"], ["a", "b", "a", "b"]]
    y = [
        "(X (A a) (B b))",
        "(X (X (A a) (B b)) (Y (A a) (B b)))",
        "(X (Y (A a) (B b)) (X (A a) (B b)))",
    ]
    y[1:1] = ["(Y (X (A a) (B b)) (Y (Y (A a) (B b)) (X (A a) (B b))))"]
    X[1:1] = [["a", "b"] * 3]
    y += ["(X (X (A a) (B b)) (X (A a) (B b)))", "(Y (Y (A a) (B b)) (Y (A a) (B b)))"]
    X += [["a", "b", "a", "b"]] * 2
    base = PCFG(horizontal_order=1, vertical_order=1, min_frequency=1, smoothing=100)
    model = MEstimatedPCFG("rule-rule", base=base, pieces="trees").fit(X, y)
    sums = tree_sums(model._model)
    assert 0 < np.exp(model._model.plain.root) @ sums.inside < 0.9
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.log_joint(X, y)))


def test_a_base_without_finite_expectations():
    """Two rules of the same probability, one of which makes two of one."""
    X = [["a", "b"] * 2] * 2
    y = ["(X (X (A a) (B b)) (X (A a) (B b)))"] * 2
    base = PCFG(horizontal_order=1, vertical_order=1, min_frequency=1, smoothing=1e15)
    with pytest.raises(NonFiniteError, match="expected size"):
        MEstimatedPCFG("rule-rule", base=base).fit(X, y)


def test_frozen_base():
    X, y = MADE
    base = clone(BASE).fit(X[:80], y[:80])
    known = np.flatnonzero(base.log_joint(X, y) > -np.inf)
    known_X, known_y = ([side[i] for i in known] for side in (X, y))
    model = MEstimatedPCFG(base=FrozenEstimator(base)).fit(known_X, known_y)
    np.testing.assert_array_equal(
        model.base_.log_joint(known_X, known_y), base.log_joint(known_X, known_y)
    )
    assert model.score(X, y) > 0.8
    strange = "(S (NP (D the) (N dog)) (NP (D the) (N dog)))"
    with pytest.raises(
        ForbiddenLabelError, match=r"y\[1\]: the base gives this tree probability 0"
    ):
        model.fit([known_X[0], ["the", "dog", "the", "dog"]], [known_y[0], strange])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"templates": ["rule-rule", "rules"]}, ValueError, "templates has 'rules'"),
        ({"templates": "word-rule"}, ValueError, "none of rule, word"),
        (
            {"base": EMLPCFG(n_states=2, max_iter=1)},
            InputTypeError,
            "base must be a PCFG, got EMLPCFG",
        ),
        ({"C": np.inf}, ValueError, "no minimum"),
        ({"solver": "lbfgs", "l1_ratio": 0.5}, ValueError, "no L1 penalty"),
        ({"pieces": "words"}, ValueError, "pieces"),
    ],
)
def test_bad_parameters(options, error, message):
    model = MEstimatedPCFG(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(error, match=message):
            model.fit(*MADE)
    assert not hasattr(model, "coef_")


def test_curve_and_warning():
    X, y = MADE
    model = MEstimatedPCFG(C=30, base=BASE).fit(X, y)
    assert len(model.loss_curve_) == model.n_iter_
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MEstimatedPCFG(base=BASE, max_iter=2).fit(X, y)


@pytest.mark.corpus
def test_treebank():
    """Weights raise the F1 of their base by far; terms of nodes by more than those of trees."""
    X, y = real(fetch_treebank_sample, subset="train", max_length=25, return_X_y=True)
    X_dev, y_dev = real(fetch_treebank_sample, subset="dev", max_length=20, return_X_y=True)
    base = PCFG(vertical_order=1, decoder="max-recall", pruning=1e-4)
    nodes = MEstimatedPCFG(base=base, C=300).fit(X, y)
    trees = MEstimatedPCFG(base=base, C=20, pieces="trees").fit(X, y)
    plain, by_trees, by_nodes = (model.score(X_dev, y_dev) for model in (nodes.base_, trees, nodes))
    assert plain + 0.02 < by_trees
    assert plain + 0.05 < by_nodes
