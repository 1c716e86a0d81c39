"""The made-up treebank: its form, and that its states, which it hides, decide between parses."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from sklearn_struct.datasets import make_treebank
from sklearn_struct.datasets.generated_treebank import GRAMMAR, RULES, draw, without_states
from sklearn_struct.encoding.trees.binarization import encode, read
from sklearn_struct.encoding.trees.brackets import Tree, format_tree, parse_tree, words
from sklearn_struct.metrics import bracket_f1_score


def test_form():
    X, y = make_treebank(200, random_state=0)
    assert len(X) == len(y) == 200
    assert [words(parse_tree(tree, "")) for tree in y] == X
    labels = {label for tree in y for label, n in zip(*parse_tree(tree, "")) if n}
    assert labels == set("ACDENPSVW") | {"NP", "VP", "PP", "SBAR"}
    assert all(2 <= len(sentence) <= 40 for sentence in X)
    assert 12 < np.mean([len(sentence) for sentence in X]) < 15


def test_same_seed_same_trees():
    assert make_treebank(20, random_state=1) == make_treebank(20, random_state=1)
    assert make_treebank(20, random_state=1) != make_treebank(20, random_state=2)
    X, y = make_treebank(20, random_state=1)
    assert make_treebank(7, random_state=np.random.RandomState(1)) == (X[:7], y[:7])


def test_trees_are_as_a_treebank_has_them_already():
    _, y = make_treebank(100, random_state=0)
    assert [format_tree(tree) for tree in read(y)] == [f"(ROOT {tree})" for tree in y]


@pytest.mark.parametrize("n", [-1, 2.5, "3", None])
def test_number_of_trees(n):
    assert make_treebank(0) == ([], [])
    with pytest.raises(ValueError, match="n_samples must be an integer, not negative, got"):
        make_treebank(n)


def test_every_name_of_the_grammar_occurs():
    rng = np.random.RandomState(0)
    seen = Counter(label for _ in range(2_000) for label in draw(rng).labels)
    renamed = {
        name for name, (_, choices) in RULES.items() if all(len(choice) == 1 for choice in choices)
    }
    assert set(GRAMMAR) - set(seen) <= {
        name for name in renamed if name.split(".")[0] in ("NP", "VP")
    }
    assert {word for _, choices in RULES.values() for choice in choices for word in choice} <= set(
        seen
    ) | set(GRAMMAR)


# ---- a small parser


class Parser:
    """The most probable parse under a PCFG of relative frequencies."""

    def __init__(self, trees):
        binary, self.symbols = encode(trees)
        count = np.bincount(binary.symbol)
        inner = binary.left >= 0
        self.tags = defaultdict(dict)
        tagged = zip(
            binary.symbol[~inner].tolist(), (word for tree in trees for word in words(tree))
        )
        for (code, word), n in Counter(tagged).items():
            self.tags[word][code] = np.log(n / count[code])
        nodes = (
            binary.symbol[inner],
            binary.symbol[binary.left[inner]],
            binary.symbol[binary.right[inner]],
        )
        rules, n = np.unique(np.stack(nodes), axis=1, return_counts=True)
        self.rules = list(zip(*rules.tolist(), np.log(n / count[rules[0]]).tolist()))
        self.root = Counter(binary.symbol[binary.offsets[1:] - 1].tolist())

    def __call__(self, sentence):
        n = len(sentence)
        best = {}
        for i, word in enumerate(sentence):
            best[i, i + 1] = {
                code: (score, self.tags[word]) for code, score in self.tags[word].items()
            }
        for length in range(2, n + 1):
            for i in range(n - length + 1):
                cell = best[i, i + length] = {}
                for k in range(i + 1, i + length):
                    left = best[i, k]
                    right = best[k, i + length]
                    for parent, b, c, score in self.rules if left and right else ():
                        if b in left and c in right:
                            total = score + left[b][0] + right[c][0]
                            if parent not in cell or total > cell[parent][0]:
                                cell[parent] = total, (k, b, c)
        roots = {
            code: score + np.log(self.root[code])
            for code, (score, _) in best[0, n].items()
            if self.root[code]
        }
        return self.tree(best, sentence, max(roots, key=roots.get))

    def tree(self, best, sentence, root):
        """The parse as a tree, the rests of children taken away."""

        def walk(i, j, code):
            symbol = self.symbols[code]
            if j == i + 1:
                below = [sentence[i]]
            else:
                k, b, c = best[i, j][code][1]
                below = walk(i, k, b) + walk(k, j, c)
            if symbol.siblings is None:
                for label in reversed(symbol.chain):
                    below = [f"({label} {' '.join(below)})"]
            return below

        return walk(0, len(sentence), root)[0]


def states_gone(text):
    return format_tree(without_states(parse_tree(text, "")))


def test_states_are_worth_knowing():
    """A PCFG of the labels makes three times the errors of one of labels with their states."""
    rng = np.random.RandomState(0)
    train = [draw(rng) for _ in range(2_000)]
    test = [tree for tree in (draw(rng) for _ in range(90)) if tree.arity.count(0) <= 25]
    true = [without_states(tree) for tree in test]
    scores = []
    for forms in ([without_states(tree) for tree in train], train):
        parser = Parser(read(forms))
        scores.append(bracket_f1_score(true, [states_gone(parser(words(tree))) for tree in test]))
    assert scores[0] < 0.88
    assert scores[1] > 0.94
    assert isinstance(true[0], Tree)
