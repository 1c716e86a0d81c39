"""Probabilities of sentences and of trees, and what decoders find, against all trees of small
grammars.
"""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.containers.trees import Forest, TreeScores, grammar, tensors
from sklearn_struct.encoding.trees import tree_corpus
from sklearn_struct.encoding.trees.binarization import read
from sklearn_struct.encoding.trees.brackets import words
from sklearn_struct.grammars.parsing import (
    Candidates,
    Parses,
    Plain,
    TreeModel,
    best,
    counted,
    log_probability,
    logarithms,
    most_expected,
    one_state,
    parses,
    tree_log_probabilities,
)
from sklearn_struct.inference.trees import chart_forest
from sklearn_struct.inference.trees.forest_inside_outside import inside, vectors

N_LEAVES = 12
KINDS = ["plain", "states", "three grammars", "signed"]


class Example:
    """A random model, what the tokens of a sentence may be, and all its trees with their
    probabilities.

    `p` (n_grammars, n_trees) are those of the trees, summed over states; `mu` and `edges` have a
    dict for each grammar.
    """

    def __init__(self, seed, n_tokens, kind):
        rng = np.random.default_rng(seed)
        rules = naive_trees.random_grammar(rng, n_rules=14)
        symbol = rng.integers(5, size=N_LEAVES).astype(np.int32)
        plain = Plain(rng.normal(size=14) - 2, rng.normal(size=5), rng.normal(size=N_LEAVES))
        n = {"plain": 0, "three grammars": 3}.get(kind, 1)
        states = tuple(
            naive_trees.random_tensors(rng, rules, N_LEAVES, 3, kind == "signed") for _ in range(n)
        )
        self.model = TreeModel(rules, symbol, plain, states)
        chosen = [
            np.sort(rng.permutation(np.unique(symbol, return_index=True)[1])[:3])
            for _ in range(n_tokens)
        ]
        self.candidates = Candidates(
            np.cumsum([0, *map(len, chosen)]),
            np.concatenate([np.empty(0, int), *chosen]).astype(int),
        )
        leaf = self.candidates.leaf
        self.scores = TreeScores(
            plain.rule, plain.root, self.candidates.indptr, symbol[leaf], plain.leaf[leaf]
        )
        self.naive = naive_trees.Forest(rules, self.scores)
        self.parts = [self.naive.parts(tree) for tree in self.naive.trees]
        if states:
            self.p = np.array(
                [
                    [self.naive.tensor_root(self.local(s), t) for t in self.naive.trees]
                    for s in states
                ]
            )
        else:
            self.p = np.exp(self.naive.total.astype(float))[None]
        self.Z = self.p.sum(axis=1)

    def local(self, states):
        """Tensors whose leaves are the candidates, in their order."""
        starts = states.leaf_start
        rows = [states.leaf[starts[f] : starts[f + 1]] for f in self.candidates.leaf]
        return states._replace(
            leaf=np.concatenate([np.empty(0), *rows]),
            leaf_start=np.cumsum([0, *map(len, rows)]).astype(np.int64),
        )

    def posteriors(self, which):
        """Of items (0) or of edges (1): a dict for each grammar."""
        found = [{} for _ in self.p]
        for table, values, Z in zip(found, self.p, self.Z):
            for parts, value in zip(self.parts, values):
                for part in parts[which]:
                    table[part] = table.get(part, 0.0) + value / Z
        return found

    def tolerance(self):
        """Sums of numbers of both signs are as exact as what is added up."""
        return (
            1e-10 * float(np.max(np.abs(self.p).sum(axis=1) / np.abs(self.Z)))
            if self.p.size
            else 0.0
        )


def spans(nodes):
    return sorted(zip(nodes.symbol.tolist(), nodes.start.tolist(), nodes.stop.tolist()))


def keys(packed):
    """Items and edges of a forest as the twin has them."""
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    items = packed.symbol, packed.start, packed.stop
    edges = packed.rule, packed.start[parent], packed.stop[packed.left], packed.stop[parent]
    return (list(zip(*(column.tolist() for column in columns))) for columns in (items, edges))


every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize("n_tokens", range(6))
@pytest.mark.parametrize("seed", range(3))
class TestEnumeration:
    @every_kind
    def test_posteriors(self, seed, n_tokens, kind):
        example = Example(seed, n_tokens, kind)
        found = parses(example.model, example.candidates, 0.0)
        assert found.item.shape == (len(example.p), len(found.forest.symbol))
        assert found.edge.shape == (len(example.p), len(found.forest.rule))
        if not example.parts:
            assert (found.log_p.tolist(), found.sign.tolist()) == (
                [-np.inf] * len(example.p),
                [0.0] * len(example.p),
            )
            return
        np.testing.assert_array_equal(found.sign, np.sign(example.Z))
        np.testing.assert_allclose(
            np.exp(found.log_p) * found.sign, example.Z, rtol=example.tolerance()
        )
        for which, (names, rows) in enumerate(zip(keys(found.forest), (found.item, found.edge))):
            for table, row in zip(example.posteriors(which), rows):
                assert set(names) == set(table)
                np.testing.assert_allclose(
                    row, [table[name] for name in names], atol=example.tolerance()
                )

    # whose are numbers of candidates
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plain"])
    def test_leaves_are_numbers_of_the_model(self, seed, n_tokens, kind):
        example = Example(seed, n_tokens, kind)
        packed = parses(example.model, example.candidates, 0.0).forest
        is_leaf = packed.leaf >= 0
        np.testing.assert_array_equal(
            example.model.symbol[packed.leaf[is_leaf]], packed.symbol[is_leaf]
        )

    @every_kind
    def test_log_probability(self, seed, n_tokens, kind):
        example = Example(seed, n_tokens, kind)
        total = example.Z.mean() if example.parts else 0.0
        expected = np.log(total) if total > 0 else -np.inf
        found = log_probability(example.model, example.candidates, 0.0)
        assert found == pytest.approx(
            expected, abs=10 * example.tolerance() if example.parts else 0
        )

    @every_kind
    def test_max_recall(self, seed, n_tokens, kind):
        """The largest sum of posterior probabilities of spans, their mean over grammars; by
        magnitude.
        """
        example = Example(seed, n_tokens, kind)
        nodes = best(example.model, example.candidates, "max-recall", 0.0)
        mean = {
            item: np.mean([abs(table[item]) for table in example.posteriors(0)])
            for item in items_of(example)
        }
        self.check(
            example, nodes, [sum(mean[item] for item in items) for items, _ in example.parts]
        )

    @every_kind
    def test_max_rule(self, seed, n_tokens, kind):
        """The largest product of posterior probabilities of edges and of the symbols of words, over
        all grammars.
        """
        example = Example(seed, n_tokens, kind)
        nodes = best(example.model, example.candidates, "max-rule", 0.0)
        of_items = example.posteriors(0)
        of_edges = example.posteriors(1)
        values = []
        for items, edges in example.parts:
            logs = [np.log(abs(table[edge])) for table in of_edges for edge in edges]
            logs += [
                np.log(abs(table[s, i, j])) for table in of_items for s, i, j in items if j == i + 1
            ]
            values.append(sum(logs))
        self.check(example, nodes, values)

    @pytest.mark.parametrize("kind", ["plain", "states"])
    def test_viterbi(self, seed, n_tokens, kind):
        """Without states the most probable tree; with states the most probable one together with
        these.
        """
        example = Example(seed, n_tokens, kind)
        values = example.naive.total
        logs = None
        if kind == "states":
            states = example.model.states[0]
            logs = logarithms(states)
            local = example.local(states)
            with np.errstate(divide="ignore"):
                values = [
                    max(example.naive.state_scores(local, tree)) for tree in example.naive.trees
                ]
        self.check(example, best(example.model, example.candidates, "viterbi", 0.0, logs), values)

    def check(self, example, nodes, values):
        """The nodes are those of a tree with the largest value."""
        if not example.parts:
            assert len(nodes.symbol) == 0
            return
        top = max(values)
        good = [
            sorted(items) for (items, _), value in zip(example.parts, values) if value > top - 1e-9
        ]
        assert spans(nodes) in good


def items_of(example):
    return {item for items, _ in example.parts for item in items}


# ---- pruning


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threshold", [0.01, 0.2])
def test_pruning_is_by_the_plain_grammar(kind, threshold):
    example = Example(0, 5, kind)
    expected = chart_forest.forest(example.model.grammar, example.scores, threshold)[0]
    found = parses(example.model, example.candidates, threshold).forest
    for one, other in zip(keys(found), keys(expected)):
        assert one == other
    assert len(found.rule) < len(parses(example.model, example.candidates, 0.0).forest.rule)


@pytest.mark.parametrize("decoder", ["max-recall", "max-rule"])
def test_decoders_among_what_pruning_leaves(decoder):
    """With a threshold of 1 each symbol has the children that are the most probable ones."""
    example = Example(0, 5, "states")
    packed = parses(example.model, example.candidates, 1.0).forest
    items, edges = map(set, keys(packed))
    left = [
        sorted(found)
        for found, rules in example.parts
        if set(found) <= items and set(rules) <= edges
    ]
    assert spans(best(example.model, example.candidates, decoder, 1.0)) in left
    assert len(left) < len(example.parts)


# ---- several grammars, and numbers of both signs


def signed(factors):
    """A model of one tree over one word, and grammars that give it these numbers."""
    rules = grammar(*np.empty((3, 0), int), 1)
    symbol = np.zeros(1, np.int32)
    states = []
    for factor in factors:
        states.append(tensors(rules, np.ones(1, int), symbol))
        states[-1].leaf[0] = 1.0
        states[-1].root[0] = factor
    return TreeModel(rules, symbol, Plain(np.empty(0), np.zeros(1), np.zeros(1)), tuple(states))


ONE_WORD = Candidates(np.array([0, 1]), np.array([0]))


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ([0.5], 0.5),
        ([0.5, 0.25], 0.375),
        ([0.5, -0.25], 0.125),
        ([0.5, 0.0], 0.25),
        ([1e-300, 1e-300], 1e-300),
        ([-0.5], 0),
        ([0.25, -0.5], 0),
        ([0.0, 0.0], 0),
        ([0.5, -0.5], 0),
    ],
)
def test_probabilities_that_are_not_positive_are_none(factors, expected):
    with np.errstate(divide="ignore"):
        expected = np.log(expected)
    model = signed(factors)
    assert log_probability(model, ONE_WORD, 0.0) == pytest.approx(expected, rel=1e-12)
    plain = read(["(N a)"])
    tree = tree_corpus.learn([["a"]], plain, (0, 1), 1, 1.0).treebank.forest._replace(
        leaf=np.zeros(1, np.int32)
    )
    found, known = tree_log_probabilities(model, tree)
    assert found[0] == pytest.approx(expected, rel=1e-12)
    assert known.tolist() == [True]


@pytest.mark.parametrize("decoder", ["max-recall", "max-rule"])
def test_grammars_without_a_tree_have_no_vote(decoder):
    example = Example(0, 4, "three grammars")
    first, second, third = example.model.states
    nothing = second._replace(root=np.zeros_like(second.root))
    found, expected = (
        best(example.model._replace(states=states), example.candidates, decoder, 0.0)
        for states in ((first, nothing, third), (first, third))
    )
    assert spans(found) == spans(expected)


@pytest.mark.parametrize("decoder", ["max-recall", "max-rule", "viterbi"])
@pytest.mark.parametrize("n_grammars", [1, 2])
def test_where_no_states_have_a_tree_the_plain_grammar_decides(decoder, n_grammars):
    example = Example(0, 5, "states")
    nothing = example.model.states[0]._replace(root=np.zeros_like(example.model.states[0].root))
    model = example.model._replace(states=(nothing,) * n_grammars)
    logs = None
    if decoder == "viterbi":
        logs = logarithms(nothing)
    found = best(model, example.candidates, decoder, 0.0, logs)
    assert spans(found) == spans(best(model._replace(states=()), example.candidates, decoder, 0.0))
    assert len(found.symbol) == 9


def test_logarithms():
    example = Example(0, 2, "signed")
    states = example.model.states[0]
    logs = logarithms(states)
    for name in ("rule", "leaf", "root"):
        numbers = getattr(states, name)
        found = getattr(logs, name)
        np.testing.assert_allclose(np.exp(found), np.maximum(numbers, 0.0), rtol=1e-12)
        assert np.all(found[numbers <= 0] == -np.inf)
    assert logs.rule_start is states.rule_start


# ---- probabilities from counts

TREES = ["(S (N a) (V b))", "(S (N a) (S (N a) (V a)))", "(S (V b) (V b))", "(N a)"]


def learned(text=TREES):
    plain = read(text)
    sentences = [words(tree) for tree in plain]
    return sentences, tree_corpus.learn(sentences, plain, (0, 1), 1, 1.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_counted(smoothing):
    """S -> N V, N S and V V each once and N V once more; a root is S three times of four."""
    _, (treebank, codes, _) = learned()
    n_leaf = np.bincount(
        treebank.forest.leaf[treebank.forest.leaf >= 0], minlength=len(treebank.leaf_symbol)
    )
    found = counted(treebank, n_leaf.astype(float), smoothing)
    names = [str(symbol) for symbol in codes.symbols]
    assert names == ["N", "V", "S"]
    total = 4 + 3 * smoothing
    rules = {
        (names[b], names[c]): float(np.exp(x))
        for b, c, x in zip(treebank.grammar.left, treebank.grammar.right, found.rule)
    }
    expected = {("N", "V"): 2, ("N", "S"): 1, ("V", "V"): 1}
    assert rules == pytest.approx({key: (n + smoothing) / total for key, n in expected.items()})
    np.testing.assert_allclose(np.exp(found.root), [1 / 4, 0, 3 / 4])
    for s, n_of_words in enumerate(({"a": 4}, {"a": 1, "b": 3})):
        for word, n in n_of_words.items():
            (entry,) = (
                e
                for e in range(*codes.lexicon.indptr[codes.lexicon.words[word] :][:2])
                if codes.lexicon.symbol[e] == s
            )
            assert np.exp(found.leaf[entry]) == pytest.approx(n / 4)


def test_what_was_never_seen_has_no_probability():
    _, (treebank, _, _) = learned()
    counts = np.bincount(
        treebank.forest.leaf[treebank.forest.leaf >= 0], minlength=len(treebank.leaf_symbol)
    )
    found = counted(treebank, counts.astype(float), 0.0)
    assert np.all(found.leaf[counts == 0] == -np.inf)
    assert found.root[1] == -np.inf


def test_one_state_is_the_grammar_itself():
    sentences, (treebank, _, emissions) = learned()
    counts = emissions.sums(np.ones((sum(map(len, sentences)), 1)))[:, 0]
    model = TreeModel(treebank.grammar, treebank.leaf_symbol, counted(treebank, counts, 0.0))
    same = model._replace(states=(one_state(model),))
    for one, other in zip(*(tree_log_probabilities(m, treebank.forest) for m in (model, same))):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    inner = vectors(treebank.forest, same.states[0].n_states)
    inside(treebank.grammar, same.states[0], treebank.forest, inner)
    assert np.all(inner.scale > -np.inf)


# ---- trees


@pytest.mark.parametrize("kind", KINDS)
def test_trees_by_enumeration(kind):
    """Of all trees over a sentence, as forests of one tree each."""
    example = Example(1, 4, kind)
    for tree, values in zip(example.naive.trees, example.p.T):
        forest = single(example, tree)
        mean = values.mean()
        found, known = tree_log_probabilities(example.model, forest)
        assert known.tolist() == [True]
        assert found[0] == pytest.approx(np.log(mean) if mean > 0 else -np.inf, rel=1e-9)
    assert example.parts


def single(example, tree):
    """A twin's tree as a forest."""
    columns = []
    edges = []

    def walk(node, i):
        if len(node) == 2:
            at = example.naive.leaf[node[0]][node[1]]
            columns.append((node[1], i, i + 1, example.candidates.leaf[at], 0))
            return len(columns) - 1, i + 1
        left, middle = walk(node[1], i)
        right, stop = walk(node[2], middle)
        columns.append((example.naive.symbol(node), i, stop, -1, 1))
        edges.append((left, right, node[0]))
        return len(columns) - 1, stop

    walk(tree, 0)
    symbol, start, stop, leaf, n_edges = np.array(columns, dtype=np.int32).T
    left, right, rule = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    offsets = np.array([0, len(symbol)])
    indptr = np.concatenate([[0], np.cumsum(n_edges)]).astype(np.int64)
    return Forest(offsets, symbol, start, stop, leaf, indptr, left, right, rule)


@pytest.mark.parametrize("states", [False, True])
def test_trees_of_which_something_is_unknown(states):
    sentences, (treebank, codes, emissions) = learned()
    counts = emissions.sums(np.ones((sum(map(len, sentences)), 1)))[:, 0]
    model = TreeModel(treebank.grammar, treebank.leaf_symbol, counted(treebank, counts, 0.0))
    if states:
        model = model._replace(states=(one_state(model),) * 2)
    trees = read(
        [
            "(S (N a) (V b))",
            "(S (V b) (N a))",
            "(N (N a) (V b))",
            "(S (V c) (V b))",
            "(N a)",
            "(V b)",
        ]
    )
    forest = tree_corpus.forest(codes, [words(tree) for tree in trees], trees)
    found, known = tree_log_probabilities(model, forest)
    assert known.tolist() == [True, False, False, True, True, True]
    # the last for its root
    assert (found > -np.inf).tolist() == [True, False, False, True, True, False]


def test_no_trees():
    _, (treebank, codes, _) = learned()
    counts = np.ones(len(treebank.leaf_symbol))
    model = TreeModel(treebank.grammar, treebank.leaf_symbol, counted(treebank, counts, 0.0))
    found, known = tree_log_probabilities(model, tree_corpus.forest(codes, [], []))
    assert (found.shape, known.shape) == ((0,), (0,))


def test_max_rule_where_no_tree_is_possible_in_all_grammars():
    """Three words, two trees, of which each grammar knows one: that of the larger sum."""
    one = grammar(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int), 1)
    packed, *_ = chart_forest.forest(one, naive_trees.scores([0.0], [0.0], np.zeros((3, 1))), 0.0)
    middle = packed.stop[packed.left]  # of an edge over all words: where it is split
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    whole = packed.stop[parent] - packed.start[parent] == 3
    for favourite in (1, 2):
        knows = [
            np.where(whole, middle == split, packed.stop[parent] == (2, 3)[split == 1])
            for split in (1, 2)
        ]
        shares = [
            known * (1.0 if split == favourite else 0.6) for known, split in zip(knows, (1, 2))
        ]
        found = Parses(
            packed, np.ones((2, len(packed.symbol))), np.array(shares), np.zeros(2), np.ones(2)
        )
        nodes = most_expected(found, "max-rule")
        assert len(nodes.symbol) == 5
        assert ((1, 3) if favourite == 1 else (0, 2)) in set(
            zip(nodes.start.tolist(), nodes.stop.tolist())
        )
