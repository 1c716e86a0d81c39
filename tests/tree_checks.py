"""What every grammar over trees must do, whatever it has learned.

    @tree_checks([PCFG(), ...])
    def test_contract(estimator, check): check(estimator)

Each check gets a fresh clone.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import warnings

import naive_trees
import numpy as np
import pytest
from nltk.tree import Tree
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_struct.containers.trees import TreeScores
from sklearn_struct.datasets import make_treebank
from sklearn_struct.encoding.trees.lexicon import observe
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)
from sklearn_struct.metrics import bracket_f1_score

X, Y = make_treebank(n_samples=120, random_state=0)
X_TEST, Y_TEST = make_treebank(n_samples=40, random_state=1)
BAD_FITS = [
    ("a string", X[0], InputTypeError, "X"),
    (["a sentence"], Y[:1], InputTypeError, r"X\[0\].*split it"),
    ([["a", 3]], Y[:1], InputTypeError, r"X\[0\], token 1"),
    ([["a", ""]], Y[:1], ValueError, r"X\[0\], token 1"),
    (X[:3], Y[:2], LengthMismatchError, "3 sentences"),
    ([X[0], X[2]], Y[:2], LengthMismatchError, r"X\[1\]"),
    (X[:2], [Y[0], "(S (NP"], ValueError, r"y\[1\]"),
    (X[:2], [Y[0], "(S (NP ))"], EmptyDataError, r"y\[1\]"),
    (X[:1], [Tree("S", [])], EmptyDataError, r"y\[0\]"),
    (X[:1], [["S"]], InputTypeError, r"y\[0\]"),
    (X[:1], Y[0], InputTypeError, "y"),
    (X[:1], None, InputTypeError, "y"),
    ([], [], EmptyDataError, "X"),
]


def newly_fitted(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, Y)


KEPT = {}  # a fitted model, and what it says, by the text of the last estimator


def kept(estimator):
    """A fitted model that no check may change, and its outputs."""
    key = estimator.__repr__(N_CHAR_MAX=10_000)
    if key not in KEPT:
        KEPT.clear()
        model = newly_fitted(estimator)
        KEPT[key] = model, outputs(model)
    return KEPT[key]


def fitted(estimator):
    """A copy of a fitted model; `check_pickles_and_copies` says that copies are as good."""
    return copy.deepcopy(kept(estimator)[0])


def named(estimator, parameter):
    """The parameter of the estimator, or of its base."""
    return parameter if parameter in estimator.get_params(deep=False) else f"base__{parameter}"


def outputs(estimator, sentences=X_TEST[:20], trees=Y_TEST[:20]):
    """Everything that a fitted estimator says, in comparable form."""
    return {
        "trees": [str(tree) for tree in estimator.predict(sentences)],
        "score": estimator.score(sentences, trees),
        "samples": estimator.score_samples(sentences).tolist(),
        "joint": estimator.log_joint(X[:40], Y[:40]).tolist(),
        "marginals": [sorted(found.items()) for found in estimator.marginals(sentences[:10])],
    }


def check_trees_are_over_the_words(estimator):
    found = fitted(estimator).predict(X_TEST)
    assert found.dtype == object
    assert found.shape == (len(X_TEST),)
    assert all(isinstance(tree, Tree) for tree in found)
    assert [tree.leaves() for tree in found] == X_TEST


def check_score_is_bracket_f1(estimator):
    model = fitted(estimator)
    found = model.score(X_TEST, Y_TEST)
    assert found == bracket_f1_score(Y_TEST, model.predict(X_TEST))
    assert found > 0.8


def check_forms_of_trees(estimator):
    other = clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other.fit(np.array([*X, None], dtype=object)[:-1], [Tree.fromstring(tree) for tree in Y])
    assert outputs(other) == kept(estimator)[1]


def check_same_bits_for_any_number_of_threads(estimator):
    parallel = newly_fitted(clone(estimator).set_params(n_jobs=2))
    assert outputs(parallel) == kept(estimator)[1]


def check_sentences_do_not_see_each_other(estimator):
    model = fitted(estimator)
    together = model.predict(X_TEST[:8])
    alone = [model.predict([sentence])[0] for sentence in X_TEST[:8]]
    assert list(together) == alone
    np.testing.assert_array_equal(
        model.score_samples(X_TEST[:8])[::-1], model.score_samples(X_TEST[:8][::-1])
    )


def check_pickles_and_copies(estimator):
    model, expected = kept(estimator)
    assert outputs(pickle.loads(pickle.dumps(model))) == expected
    assert outputs(copy.deepcopy(model)) == expected


def check_refitting_forgets(estimator):
    rest = clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rest.fit(X[:50], Y[:50]).fit(X, Y)
    assert outputs(rest) == kept(estimator)[1]


def check_decoding_may_be_changed_after_fit(estimator):
    model = fitted(estimator)
    found = [str(tree) for tree in model.predict(X_TEST[:5])]
    for decoder in ("max-recall", "max-rule"):
        assert len(model.set_params(decoder=decoder).predict(X_TEST[:5])) == 5
    for method in (model.set_params(decoder="mbr").predict, model.fit):
        with pytest.raises(
            ValueError, match=f"The 'decoder' parameter of {type(model).__name__} must be"
        ):
            method(*((X_TEST,) if method != model.fit else (X, Y)))
    model.set_params(decoder=estimator.decoder)
    assert [str(tree) for tree in model.predict(X_TEST[:5])] == found
    assert len(model.set_params(pruning=1).predict(X_TEST[:5])) == 5
    model.set_params(pruning=2)
    for method in (model.predict, model.marginals, model.score_samples):
        with pytest.raises(ValueError, match="The 'pruning' parameter of"):
            method(X_TEST)


def check_not_fitted(estimator):
    for method in (estimator.predict, estimator.score_samples, estimator.marginals):
        with pytest.raises(NotFittedError):
            method(X)
    for method in (estimator.score, estimator.log_joint):
        with pytest.raises(NotFittedError):
            method(X, Y)


def check_bad_fits_change_nothing(estimator):
    model = fitted(estimator)
    fresh = clone(estimator)
    for bad_X, bad_y, error, place in BAD_FITS:
        for subject in (model, fresh):
            before = dict(vars(subject))
            with pytest.raises(error, match=place):
                subject.fit(bad_X, bad_y)
            assert vars(subject).keys() == before.keys()
            assert all(vars(subject)[name] is value for name, value in before.items())
    assert outputs(model) == kept(estimator)[1]


def check_bad_sentences(estimator):
    model = fitted(estimator)
    for bad, error, place in (
        ("a b", InputTypeError, "X"),
        ([["a", None]], InputTypeError, r"X\[0\], token 1"),
    ):
        for method in (model.predict, model.score_samples, model.marginals):
            with pytest.raises(error, match=place):
                method(bad)
    with pytest.raises(LengthMismatchError, match=r"X\[1\]"):
        model.log_joint([X[0], X[1][:-1]], Y[:2])
    with pytest.raises(UnknownLabelError, match=r"y\[0\]: the label 'STRANGE'"):
        model.log_joint([["a"]], ["(STRANGE (D a))"])
    for tags, error, place in (
        ([["D"]], LengthMismatchError, r"X\[0\] has 2 words"),
        ([["D", "STRANGE"]], UnknownLabelError, r"tags\[0\], token 1"),
        ([["D", "N"]] * 2, LengthMismatchError, "1 sentences"),
        ("DN", InputTypeError, "tags"),
    ):
        with pytest.raises(error, match=place):
            model.predict([["the", "child"]], tags=tags)


def check_given_tags(estimator):
    model = fitted(estimator)
    gold = [[tag for _, tag in Tree.fromstring(tree).pos()] for tree in Y_TEST]
    found = model.predict(X_TEST, tags=gold)
    assert [[tag for _, tag in tree.pos()] for tree in found] == gold
    assert model.score(X_TEST, Y_TEST, tags=gold) == bracket_f1_score(Y_TEST, found)
    (tree,) = model.predict([["Zyx", "runs"]], tags=[["E", "V"]])
    assert tree.pos() == [("Zyx", "E"), ("runs", "V")]


def check_any_sentence_gets_a_tree(estimator):
    model = fitted(estimator)
    rng = np.random.default_rng(0)
    words = [*{word for sentence in X for word in sentence}, "Zyx", "3.14", "é", "(", "-LRB-", " "]
    strange = [[*rng.choice(words, size=n)] for n in (1, 2, 3, 5, 8, 13) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=r"\d+ of \d+ sentences have no tree", category=UserWarning
        )
        found = model.predict(strange)
    assert [tree.leaves() for tree in found] == strange
    samples = model.score_samples(strange)
    assert not np.any(np.isnan(samples))


def check_what_cannot_be_parsed_is_said(estimator):
    model = fitted(estimator)
    sentences = [X[0], ["and"] * 4]
    with pytest.warns(
        UserWarning, match=r"1 of 2 sentences have no tree and got a flat one; first X\[1\]"
    ):
        found = model.predict(
            sentences, tags=[[tag for _, tag in Tree.fromstring(Y[0]).pos()], ["C"] * 4]
        )
    assert found[1].height() == 4
    assert found[1].pos() == [("and", "C")] * 4
    assert (
        model.score_samples([["and", "and"]])[0] == -np.inf
        or estimator.get_params().get("smoothing", 0) != 0
    )


def check_empty_sentences(estimator):
    model = fitted(estimator)
    found = model.predict([[], X[0], []])
    assert (found[0], found[2]) == (Tree("ROOT", []), Tree("ROOT", []))
    assert found[1] == model.predict(X[:1])[0]
    assert model.score_samples([[]])[0] == -np.inf
    assert model.marginals([[]])[0] == {}
    assert len(model.predict([])) == len(model.score_samples([])) == len(model.marginals([])) == 0


def check_model_selection(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(
            clone(estimator), {named(estimator, "unknown_weight"): [0.5, 1.0]}, cv=2
        ).fit(X, Y)
        assert search.score(X_TEST, Y_TEST) == search.best_estimator_.score(X_TEST, Y_TEST)
        scores = cross_val_score(clone(estimator), X, Y, cv=2)
        assert np.all(scores > 0.6)
        predicted = cross_val_predict(clone(estimator), X, Y, cv=2)
        assert [tree.leaves() for tree in predicted] == X
        pipeline = make_pipeline("passthrough", clone(estimator)).fit(X, Y)
        assert pipeline.score(X_TEST, Y_TEST) == kept(estimator)[0].score(X_TEST, Y_TEST)


def check_encodings_are_reused(estimator, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    cached = clone(estimator).set_params(**{named(estimator, "memory"): str(folder)})
    expected = kept(estimator)[1]
    assert outputs(newly_fitted(cached)) == expected
    written = sorted(file.stat().st_mtime_ns for file in folder.rglob("*.pkl"))
    assert written
    assert outputs(newly_fitted(cached)) == expected
    assert sorted(file.stat().st_mtime_ns for file in folder.rglob("*.pkl")) == written


def check_probabilities_by_enumeration(estimator):
    """p(x), p(x, tree) and posteriors of spans, from all binary trees over short sentences."""
    model = fitted(clone(estimator).set_params(pruning=0))
    sentences = [sentence for sentence in X_TEST + X if len(sentence) <= 6][:6]
    gold = dict(zip(map(tuple, X_TEST + X), Y_TEST + Y))
    total = model.score_samples(sentences)
    joint = model.log_joint(sentences, [gold[tuple(sentence)] for sentence in sentences])
    for sentence, log_p, log_joint, marginals in zip(
        sentences, total, joint, model.marginals(sentences)
    ):
        forest, values = enumerate_trees(model, sentence)
        if values.sum() <= 0:  # a spectral estimate
            assert log_p == -np.inf
        else:
            assert log_p == pytest.approx(np.log(values.sum()), abs=1e-10)
        if values.sum() == 0:
            continue
        assert np.any(np.isclose(values, np.exp(log_joint), rtol=1e-9, atol=0))
        expected = {}
        for value, tree in zip(values / values.sum(), forest.trees):
            for symbol, start, stop in forest.parts(tree)[0]:
                key = model.symbols_[symbol], start, stop
                expected[key] = expected.get(key, 0.0) + value
        assert marginals.keys() <= expected.keys()
        for key, value in expected.items():
            assert marginals.get(key, 0.0) == pytest.approx(value, abs=1e-9)


def enumerate_trees(model, sentence):
    """All trees over a sentence, and p(x, tree) of each, the mean over grammars."""
    inner = model._model
    indptr, leaf = model._candidates(sentence, None)
    scores = TreeScores(
        inner.plain.rule, inner.plain.root, indptr, inner.symbol[leaf], inner.plain.leaf[leaf]
    )
    forest = naive_trees.Forest(inner.grammar, scores)
    if not inner.states:
        of_pieces = [weight_of_pieces(model, sentence, forest, tree) for tree in forest.trees]
        return forest, np.exp(forest.total.astype(float) + of_pieces)
    values = np.zeros(len(forest.trees))
    for states in inner.states:
        rows = np.concatenate([states.leaf[slice(*states.leaf_start[f : f + 2])] for f in leaf])
        starts = np.concatenate([[0], np.cumsum(np.diff(states.leaf_start)[leaf])])
        local = states._replace(leaf=rows, leaf_start=starts)
        values += [forest.tensor_root(local, tree) for tree in forest.trees]
    return forest, values / len(inner.states)


def weight_of_pieces(model, sentence, forest, tree):
    """w . f of a log-linear model, by the names of its features; of others 0."""
    if not hasattr(model, "feature_names_"):
        return 0.0
    weights = dict(zip(model.feature_names_, model.coef_))
    names = model.symbols_
    lexicon = model._codes.lexicon
    shown = [*lexicon.words, *lexicon.signatures, "any other word"]

    def production(node):
        if len(node) == 2:
            return f"{names[forest.symbol(node)]} -> {shown[observe(lexicon, sentence)[node[0]]]}"
        return " ".join(
            [names[forest.symbol(node)], "->", *(names[forest.symbol(child)] for child in node[1:])]
        )

    def of_node(node, contexts):
        lower = {
            "symbol": names[forest.symbol(node)],
            ("rule", "word")[len(node) == 2]: production(node),
        }
        total = sum(
            weights.get(f"{a}{b}: {shows}{what}", 0.0)
            for a, shows in contexts.items()
            for b, what in lower.items()
        )
        for child, beside, side in ((1, 2, "left"), (2, 1, "right")) if len(node) == 3 else ():
            above = {"parent-": names[forest.symbol(node)], "rule-": production(node)}
            above["sibling-"] = names[forest.symbol(node[beside])]
            total += of_node(
                node[child],
                {"": ""} | {kind: f"{name} | {side} | " for kind, name in above.items()},
            )
        return total

    total = of_node(tree, {"": ""} | dict.fromkeys(["parent-", "sibling-", "rule-"], "root | "))
    return total + model.constant_ * (2 * len(sentence) - 1 if model.pieces == "nodes" else 1)


CHECKS = [check for name, check in globals().items() if name.startswith("check_")]


def tree_checks(estimators):
    """Enrol estimators."""

    def decorate(test):
        cases = [
            pytest.param(
                estimator,
                check,
                id=f"{type(estimator).__name__}{i}-{check.__name__.removeprefix('check_')}",
            )
            for (i, estimator), check in itertools.product(enumerate(estimators), CHECKS)
        ]

        @pytest.mark.parametrize(("estimator", "check"), cases)
        def run(estimator, check, request):
            wanted = inspect.signature(check).parameters
            more = {name: request.getfixturevalue(name) for name in list(wanted)[1:]}
            test(clone(estimator), lambda subject: check(subject, **more))

        run.__doc__ = test.__doc__
        return run

    return decorate
