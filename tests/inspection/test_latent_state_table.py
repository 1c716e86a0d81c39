"""What states stand for: sums of the grammar's own numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from nltk.tree import Tree
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sklearn_struct import EMLPCFG, PCFG, LinearChainCRF
from sklearn_struct.datasets import make_treebank
from sklearn_struct.exceptions import InputTypeError, UnknownLabelError
from sklearn_struct.inspection import latent_states

X, Y = make_treebank(n_samples=300, random_state=0)


@pytest.fixture(scope="module")
def parser():
    return EMLPCFG(n_states=4, n_grammars=2, max_iter=200, tol=1e-3, random_state=0).fit(X, Y)


def test_columns_and_order(parser):
    frame = latent_states(parser, "N", n=3)
    assert list(frame.columns) == ["state", "item", "probability"]
    assert frame["state"].tolist() == np.repeat(np.arange(4), 3).tolist()
    assert frame.index.tolist() == list(range(12))
    for _, of_state in frame.groupby("state"):
        assert of_state["probability"].is_monotonic_decreasing
    whole = latent_states(parser, "N", n=None)
    for state in range(4):
        row = whole[whole["state"] == state]
        assert row["probability"].sum() == pytest.approx(1.0)
        assert row["probability"].min() > 0
        assert row["item"].is_unique
        assert row.head(3).to_numpy().tolist() == frame[frame["state"] == state].to_numpy().tolist()


@pytest.mark.parametrize("grammar", [0, 1])
@pytest.mark.parametrize("symbol", ["N", "V", "NP+E"])
def test_words_by_hand(parser, grammar, symbol):
    """The numbers behind each word, looked up one by one."""
    words = parser._codes.lexicon
    states = parser._model.states[grammar]
    code = parser.symbols_.tolist().index(symbol)
    expected = {}
    for names in (words.words, words.signatures, {"(other)": len(words.indptr) - 2}):
        for name, o in names.items():
            for entry in range(words.indptr[o], words.indptr[o + 1]):
                if words.symbol[entry] == code:
                    expected[name] = states.leaf[states.leaf_start[entry] :][:4]
    frame = latent_states(parser, symbol, n=None, grammar=grammar)
    found = {(state, item): p for state, item, p in frame.itertuples(index=False)}
    assert found == {
        (i, name): row[i] for name, row in expected.items() for i in range(4) if row[i] > 0
    }
    seen = {word for tree in Y for word, tag in Tree.fromstring(tree).pos() if tag == symbol[-1]}
    assert {name for name in expected if name in words.words} >= seen & words.words.keys()


@pytest.mark.parametrize("grammar", [0, 1])
def test_rules_by_hand(parser, grammar):
    states = parser._model.states[grammar]
    rules = parser._codes.grammar
    names = parser.symbols_
    frame = latent_states(parser, "NP", n=None, grammar=grammar)
    found = {(state, item): p for state, item, p in frame.itertuples(index=False)}
    assert {item for _, item in found} >= {"NP -> D N", "NP -> NP PP", "NP -> D @NP"}
    for r in np.flatnonzero(names[rules.parent] == "NP"):
        item = f"NP -> {names[rules.left[r]]} {names[rules.right[r]]}"
        tensor = states.rule[states.rule_start[r] : states.rule_start[r + 1]].reshape(4, 4, 8)
        for i in range(4):
            assert found.pop((i, item), 0.0) == pytest.approx(tensor[:, :, i].sum(), abs=1e-15)
    assert not found


def test_states_part_singular_and_plural(parser):
    """What make_treebank hides: people, things, and their number."""
    frame = latent_states(parser, "N", n=2)
    tops = {tuple(sorted(items)) for _, items in frame.groupby("state")["item"]}
    assert ("children", "women") in tops or ("books", "houses") in tops


def test_a_symbol_by_number_and_pipelines(parser):
    code = parser.symbols_.tolist().index("NP")
    expected = latent_states(parser, "NP")
    assert latent_states(parser, code).equals(expected)
    assert latent_states(parser, np.int64(code)).equals(expected)
    assert latent_states(make_pipeline("passthrough", parser), "NP").equals(expected)


def test_symbols_with_few_states_and_states_that_never_occur():
    trees = ["(S (A a) (B b))"] * 5 + ["(S (C c) (B b))"]
    parser = EMLPCFG(n_states=2, tol=1.0, random_state=0, min_frequency=1)
    parser.fit([Tree.fromstring(tree).leaves() for tree in trees], trees)
    assert parser.n_states_[parser.symbols_ == "C"] == 1
    assert latent_states(parser, "C", n=2)["state"].tolist() == [0, 0]
    states = parser._model.states[0]
    code = parser.symbols_.tolist().index("S")
    for r in range(len(states.rule_start) - 1):
        states.rule[states.rule_start[r] : states.rule_start[r + 1]].reshape(-1, 8)[:, 1] = 0.0
    assert latent_states(parser, code)["state"].unique().tolist() == [0]


def test_unknown_symbols_are_told_the_close_ones(parser):
    with pytest.raises(
        UnknownLabelError, match="'np' is not among symbols_; of a similar name are: 'NP', '@NP'"
    ):
        latent_states(parser, "np")
    with pytest.raises(
        UnknownLabelError, match="'xyz' is not among symbols_; of a similar name are: none"
    ):
        latent_states(parser, "xyz")
    for number in (-1, len(parser.symbols_)):
        with pytest.raises(UnknownLabelError, match=f"none has the number {number}"):
            latent_states(parser, number)
    with pytest.raises(UnknownLabelError, match="None is not among"):
        latent_states(parser, None)


def test_a_name_of_two_symbols():
    """A tag and a phrase may be called alike."""
    trees = ["(S (X a) (X (X b) (Y c)))"] * 4
    parser = EMLPCFG(n_states=1, tol=1.0).fit([["a", "b", "c"]] * 4, trees)
    names = parser.symbols_.tolist()
    numbers = [code for code, name in enumerate(names) if name == "X"]
    with pytest.raises(
        ValueError, match=rf"several are called 'X'; give the number of one: \[{numbers[0]}, "
    ):
        latent_states(parser, "X")
    assert set(latent_states(parser, numbers[0], n=None)["item"]) > {"a", "b", "(other)"}
    assert latent_states(parser, numbers[1])["item"].tolist() == ["X -> X Y"]


def test_errors(parser, monkeypatch):
    with pytest.raises(InputTypeError, match="PCFG has no states"):
        latent_states(PCFG().fit(X[:20], Y[:20]), "NP")
    with pytest.raises(ValueError, match="grammar must be from 0 to 1, got 2"):
        latent_states(parser, "NP", grammar=2)
    for options in ({"grammar": -1}, {"grammar": 0.5}, {"n": 0}, {"n": "all"}):
        with pytest.raises(
            ValueError, match=f"The '{next(iter(options))}' parameter of latent_states"
        ):
            latent_states(parser, "NP", **options)
    with pytest.raises(
        InputTypeError, match="must be a tree parser such as PCFG, got LinearChainCRF"
    ):
        latent_states(LinearChainCRF(), "NP")
    with pytest.raises(NotFittedError):
        latent_states(EMLPCFG(), "NP")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="latent_states needs pandas"):
        latent_states(parser, "NP")


@pytest.mark.parametrize("change", [lambda x: -x, lambda x: 2 * x])
def test_states_that_are_no_probabilities(parser, change):
    other = EMLPCFG(n_states=2, tol=1.0, random_state=0).fit(X[:20], Y[:20])
    for numbers in other._model.states[0][2::2]:
        numbers[:] = change(numbers)
    for symbol in ("N", "NP"):
        with pytest.raises(
            InputTypeError, match="the states of this EMLPCFG have no probabilities"
        ):
            latent_states(other, symbol)
