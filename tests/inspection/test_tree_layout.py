"""Where nodes stand: words in a row, nothing over anything else."""

from __future__ import annotations

import numpy as np
import pytest
import trees
from hypothesis import given

from sklearn_struct.encoding.trees.brackets import parse_tree
from sklearn_struct.inspection.tree_layout import _width, layout, spans


def naive_spans(tree):
    """By recursion over nested tuples."""
    found = []

    def walk(node, start):
        place = len(found)
        found.append(None)
        stop = start
        for child in () if isinstance(node, str) else node[1:]:
            stop = walk(child, stop)
        found[place] = start, max(stop, start + 1)
        return found[place][1]

    walk(trees.nested(tree), 0)
    return found


@given(
    trees.trees(
        labels=["S", "NP", "A+VERY+LONG+LABEL", "日本語"],
        words=["a", "antidisestablishmentarianism"],
    )
)
def test_any_tree(tree):
    places = layout(tree)
    found = spans(tree)
    assert found == naive_spans(tree)
    word = np.array(tree.arity) == 0
    assert np.all(places.y[word] == 0)
    assert np.all(places.y[~word] > 0)
    assert np.all(np.diff(places.x[word]) > 0)
    assert places.parent[0] == -1
    for i in range(len(tree.labels)):
        children = np.flatnonzero(places.parent == i)
        assert len(children) == tree.arity[i]
        if len(children):
            assert places.y[i] == 1 + places.y[children].max()
    half = np.array([_width(label) for label in tree.labels]) / 2
    left = places.x - half
    right = places.x + half
    assert left.min() >= -1e-9
    assert right.max() <= places.width + 1e-9
    for level in range(places.y[0] + 1):  # no text is over another
        row = np.flatnonzero(places.y == level)
        assert np.all(left[row[1:]] >= right[row[:-1]] - 1e-9)
    # no text is over the upright part of a line, which is in its own column
    for i in range(1, len(tree.labels)):
        crossing = (places.y > places.y[i]) & (places.y < places.y[places.parent[i]])
        assert not np.any(crossing & (left < places.x[i] - 1e-9) & (right > places.x[i] + 1e-9))


def test_nodes_stand_above_the_middle_of_their_children():
    places = layout(
        parse_tree("(S (NP (D the) (N dog)) (VP (V saw) (NP (N cats)) (A then)))", "the tree")
    )
    x = dict(
        zip(
            ["S", "NP", "D", "the", "N", "dog", "VP", "V", "saw", "NP2", "N2", "cats", "A", "then"],
            places.x,
        )
    )
    assert x["NP"] == pytest.approx((x["D"] + x["N"]) / 2)
    assert x["VP"] == pytest.approx((x["V"] + x["A"]) / 2)
    assert x["S"] == pytest.approx((x["NP"] + x["VP"]) / 2)
    assert x["N2"] == x["NP2"] == x["cats"]
    assert places.y.tolist() == [4, 2, 1, 0, 1, 0, 3, 1, 0, 2, 1, 0, 1, 0]


def test_long_labels_make_room():
    short, long = (
        layout(parse_tree(f"({label} (D a) (N b))", "the tree")) for label in ("NP", "NP" * 20)
    )
    assert long.width == pytest.approx(_width("NP" * 20))
    assert short.width < long.width / 5
    assert _width("日本") == _width("abcd")


@pytest.mark.parametrize("kind", ["chain", "left", "right", "both"])
def test_deep_trees(kind):
    places = layout(trees.deep(5000, kind=kind))
    assert places.y[0] == 5001
    assert np.all(np.isfinite(places.x))
