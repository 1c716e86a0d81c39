"""TreeDisplay: what stands where, in what shade."""

from __future__ import annotations

import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import tree_checks
import trees
from nltk.tree import Tree
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_struct import EMLPCFG, PCFG, LinearChainCRF
from sklearn_struct.encoding.trees.brackets import as_tree
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)
from sklearn_struct.inspection import TreeDisplay

mpl.use("Agg")

SENTENCE = ["the", "dogs", "near", "the", "house", "that", "run", "run"]
OTHER = (
    "(S (NP (NP (D the) (N dogs)) (PP (P near) (NP (D the) (N house))) "
    "(SBAR (W that) (VP (V run)))) (VP (V run)))"
)
EM = EMLPCFG(n_states=2, n_grammars=2, max_iter=3, random_state=0)
PARSERS = {
    "plain": PCFG(),
    "siblings": PCFG(horizontal_order=0, vertical_order=1, pruning=0),
    "states": EM,
}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def parsers():
    return {name: tree_checks.fitted(parser) for name, parser in PARSERS.items()}


def rendered(display):
    display.figure_.canvas.draw()
    picture = np.asarray(display.figure_.canvas.buffer_rgba())
    assert picture[..., :3].std() > 0
    return picture


def names(display):
    return [text.get_text() for text in display.text_]


def posterior(parser, sentence, label, span, tag):
    """The probability of a constituent, summed over the symbols that stand for it."""
    total = 0.0
    marginals = parser.marginals([sentence])[0]
    for symbol, name in zip(parser._codes.symbols, parser.symbols_):
        labels = symbol.chain[-1:] if tag else symbol.chain[: len(symbol.chain) - symbol.tag]
        if label in labels and symbol.siblings is None and symbol.tag >= tag:
            total += marginals.get((name, *span), 0.0)
    return total


@pytest.mark.parametrize("kind", PARSERS)
@pytest.mark.parametrize("y", [None, OTHER])
def test_shades_are_posterior_probabilities(parsers, kind, y):
    parser = parsers[kind]
    display = TreeDisplay.from_estimator(parser, SENTENCE, y)
    tree = parser.predict([SENTENCE])[0] if y is None else Tree("ROOT", [Tree.fromstring(y)])
    assert names(display) == list(as_tree(tree, "tree").labels)
    expected = []
    at = []
    positions = tree.treepositions()
    for i, place in enumerate(positions):
        if place and isinstance(tree[place], Tree):
            words = [
                leaf
                for leaf, other in enumerate(tree.treepositions("leaves"))
                if other[: len(place)] == place
            ]
            span = words[0], words[-1] + 1
            expected.append(
                posterior(
                    parser, SENTENCE, tree[place].label(), span, isinstance(tree[place][0], str)
                )
            )
            at.append(i)
    np.testing.assert_allclose(display.shades_.get_array(), expected, atol=1e-12)
    boxed = [i for i, text in enumerate(display.text_) if text.get_bbox_patch() is not None]
    assert boxed == at  # neither the root nor words
    assert 0.0 <= min(expected) < 0.99
    assert max(expected) > 0.999
    np.testing.assert_allclose(display.proba[at], expected, atol=1e-12)
    for i, p in zip(at, expected):
        shade = display.text_[i].get_bbox_patch().get_facecolor()
        np.testing.assert_allclose(
            shade, mpl.colormaps["Blues"](float(np.clip(p, 0, 1))), atol=0.01
        )
    rendered(display)


def test_words_on_one_line_and_tags_above(parsers):
    display = TreeDisplay.from_estimator(parsers["plain"], SENTENCE)
    height = {}
    for text in display.text_:
        height.setdefault(text.get_position()[1], []).append(text.get_text())
    assert height[0] == SENTENCE
    assert height[1] == [tag for _, tag in parsers["plain"].predict([SENTENCE])[0].pos()]
    x, y = display.line_.get_data()
    assert np.isnan(x).sum() == len(display.text_) - 1  # a line to each but the root
    assert np.nanmax(y) < max(height)


@pytest.mark.parametrize(
    "tree", [OTHER, Tree.fromstring(OTHER), "( (S (NP-SBJ (-NONE- *)) (VP go)))", "(S yes)"]
)
def test_any_tree_without_shades(tree):
    display = TreeDisplay(tree).plot()
    assert names(display) == list(as_tree(tree, "tree").labels)
    assert display.shades_ is None
    assert len(display.figure_.axes) == 1
    rendered(display)


def test_dollars_are_no_formulas():
    display = TreeDisplay("(S ($ $) (PRP$ $a_b$))").plot()
    assert not any(text.get_parse_math() for text in display.text_)
    rendered(display)


def test_given_tags(parsers):
    parser = parsers["plain"]
    tags = ["D", "N", "P", "D", "N", "W", "V", "V"]
    display = TreeDisplay.from_estimator(parser, SENTENCE, tags=tags)
    assert [
        name for name, text in zip(names(display), display.text_) if text.get_position()[1] == 1
    ] == tags
    other = TreeDisplay.from_estimator(parser, ["the", "Zyx", "sleep"], tags=["D", "N", "V"])
    of_tags = [p for p, text in zip(other.proba, other.text_) if text.get_position()[1] == 1]
    np.testing.assert_allclose(of_tags, 1.0, atol=1e-9)


def test_a_sentence_without_trees_has_no_shades(parsers):
    with pytest.warns(UserWarning, match="got a flat one"):
        display = TreeDisplay.from_estimator(parsers["plain"], ["and"] * 4, tags=["C"] * 4)
    assert display.shades_ is None
    assert np.all(np.isnan(display.proba))
    rendered(display)


def test_a_sentence_that_needs_other_tags_has_shades(parsers):
    """Its trees are those in which words may have all tags that unknown words have."""
    parser = parsers["plain"]
    sentence = ["the", "the"]
    assert parser.marginals([sentence])[0] == {}
    display = TreeDisplay.from_estimator(parser, sentence)
    assert np.nanmax(display.proba) > 0.9


def test_estimators_that_end_in_a_parser(parsers):
    expected = rendered(TreeDisplay.from_estimator(parsers["plain"], SENTENCE))
    X = tree_checks.X
    y = tree_checks.Y
    pipeline = make_pipeline("passthrough", PCFG()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds
        search = GridSearchCV(PCFG(), {"smoothing": [0.0]}, cv=2).fit(X, y)
    for estimator in (pipeline, search):
        np.testing.assert_array_equal(
            rendered(TreeDisplay.from_estimator(estimator, SENTENCE)), expected
        )


def test_draws_on_given_axes_in_smaller_letters(parsers):
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    display = TreeDisplay.from_estimator(parsers["plain"], SENTENCE, ax=axes[1], colorbar=False)
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert len(figure.axes) == 2
    assert display.text_[0].get_fontsize() < 10
    rendered(display)


def test_plot_draws_again_elsewhere(parsers):
    display = TreeDisplay.from_estimator(parsers["plain"], SENTENCE)
    first = display.figure_
    picture = rendered(display)
    assert display.plot() is display
    assert display.figure_ is not first
    np.testing.assert_array_equal(rendered(display), picture)
    display.plot(cmap="Greens", text_kw={"fontsize": 7, "color": "red"}, colorbar=False)
    assert {text.get_fontsize() for text in display.text_} == {7.0}
    assert {text.get_color() for text in display.text_} == {"red"}
    assert display.shades_.get_cmap().name == "Greens"


def test_figures_grow_with_trees_but_not_for_ever():
    sizes = [
        TreeDisplay(trees.deep(n, kind="left")).plot().figure_.get_size_inches()
        for n in (5, 40, 3000)
    ]
    assert np.all(np.diff(sizes, axis=0) > 0)
    assert sizes[-1].max() <= 160
    long = TreeDisplay("(S " + " ".join(f"(N w{i})" for i in range(250)) + ")").plot()
    assert 100 < long.figure_.get_size_inches()[0] < 160
    assert long.text_[0].get_fontsize() == 10


def test_errors(parsers, monkeypatch):
    parser = parsers["plain"]

    def draw(*args, **options):
        return TreeDisplay.from_estimator(*args, **options)

    for sentence, error, said in (
        ("the dog", InputTypeError, "split it into words"),
        (["the", 3], InputTypeError, "token 1"),
        (5, InputTypeError, "int"),
        ([], EmptyDataError, "no words to draw"),
    ):
        with pytest.raises(error, match=said):
            draw(parser, sentence)
    with pytest.raises(LengthMismatchError, match=r"X\[0\] has 2 words but y\[0\] has 1"):
        draw(parser, ["the", "dog"], "(NP (D the))")
    with pytest.raises(LengthMismatchError, match="word 1 is 'dog'"):
        draw(parser, ["the", "dog"], "(NP (D the) (N cat))")
    with pytest.raises(ValueError, match="brackets are open"):
        draw(parser, ["the"], "(NP (D the)")
    with pytest.raises(UnknownLabelError, match="STRANGE"):
        draw(parser, ["the"], tags=["STRANGE"])
    with pytest.raises(LengthMismatchError, match="has 1 words"):
        draw(parser, ["the"], tags=["D", "N"])
    with pytest.raises(NotFittedError):
        draw(PCFG(), ["the"])
    with pytest.raises(
        InputTypeError, match="must be a tree parser such as PCFG, got LinearChainCRF"
    ):
        draw(LinearChainCRF(), ["the"])
    with pytest.raises(LengthMismatchError, match=r"shape \(2,\) but the tree 3 nodes"):
        TreeDisplay("(S (N a))", [0.5, 0.5]).plot()
    with pytest.raises(InputTypeError, match="tree is a list"):
        TreeDisplay(["S"]).plot()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'TreeDisplay needs matplotlib: .*"plots"'):
        draw(parser, SENTENCE)
