"""The steps of EM for grammars with states, against all states of the nodes of small trees, one by
one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.trees import tensors
from sklearn_struct.encoding.trees import tree_corpus
from sklearn_struct.encoding.trees.binarization import read
from sklearn_struct.encoding.trees.brackets import words
from sklearn_struct.grammars.latent_em import LatentEM
from sklearn_struct.solvers.em import em

TREES = [
    "(S (N a) (S (N b) (V a)))",
    "(S (N a) (V b))",
    "(N b)",
    "(S (S (V b) (V a)) (S (N a) (V b)))",
    "(X (N b) (S (N a) (V a)))",
    "(S (N a) (V b))",
    "(S (N b) (X (V a) (V a)))",
]


class Example:
    """A treebank with random probabilities, and the twin: of each tree all states of its nodes,
    with their weights.

    A number of the model is a tuple: ("root", symbol, state), ("leaf", leaf, state), or ("rule",
    rule, states of the left child, the right one, and the parent).
    """

    def __init__(self, seed, text=TREES, most=3):
        plain = read(text)
        self.rng = np.random.default_rng(seed)
        self.corpus = tree_corpus.learn([words(tree) for tree in plain], plain, (0, 1), 1, 1.0)
        self.grammar, self.forest, self.leaf_symbol = self.treebank = self.corpus.treebank
        self.n_states = self.rng.integers(1, most + 1, size=len(self.corpus.codes.symbols))
        self.model = tensors(self.grammar, self.n_states, self.leaf_symbol)
        for key, at in self.places().items():
            getattr(self.model, key[0])[at] = self.rng.random() * 0.5

    def places(self):
        """Where each number of the model stands."""
        found = {}
        model = self.model
        n = self.n_states
        for s, i in ((s, i) for s, m in enumerate(n) for i in range(m)):
            found["root", s, i] = model.root_start[s] + i
        for f, i in ((f, i) for f, m in enumerate(n[self.leaf_symbol]) for i in range(m)):
            found["leaf", f, i] = model.leaf_start[f] + i
        for r, (a, b, c) in enumerate(zip(*(side.tolist() for side in self.grammar[1:4]))):
            width = np.diff(model.root_start)[c]
            for j, k, i in product(range(n[a]), range(n[b]), range(n[c])):
                found["rule", r, j, k, i] = model.rule_start[r] + (j * n[b] + k) * width + i
        return found

    def numbers(self, model):
        return {key: float(getattr(model, key[0])[at]) for key, at in self.places().items()}

    def derivations(self, tree):
        """The numbers that go into a tree, for all states of its nodes."""
        forest = self.forest
        first, last = forest.offsets[tree : tree + 2]
        nodes = range(first, last)
        for states in product(*(range(self.n_states[forest.symbol[p]]) for p in nodes)):
            state = dict(zip(nodes, states))
            used = [("root", forest.symbol[last - 1], state[last - 1])]
            for p in nodes:
                if forest.leaf[p] >= 0:
                    used.append(("leaf", forest.leaf[p], state[p]))
                for e in range(forest.indptr[p], forest.indptr[p + 1]):
                    below = state[forest.left[e]], state[forest.right[e]]
                    used.append(("rule", forest.rule[e], *below, state[p]))
            yield used

    def expected(self, model):
        """Expected counts of all numbers, and the log-likelihood."""
        numbers = self.numbers(model)
        counts = Counter()
        total = 0.0
        for tree in range(len(self.forest.offsets) - 1):
            found = [
                (used, np.prod([numbers[key] for key in used])) for used in self.derivations(tree)
            ]
            Z = sum(p for _, p in found)
            total += np.log(Z)
            for used, p in found:
                for key in used:
                    counts[key] += p / Z
        return counts, total

    def condition(self, key):
        """What a number is a probability given."""
        kind, what, *states = key
        if kind == "root":
            return kind
        return kind, (self.leaf_symbol if kind == "leaf" else self.grammar.parent)[what], states[-1]

    def maximised(self, counts, shrinkage):
        """Counts, moved towards their means over the state that is rewritten, and divided by their
        sums.
        """
        counts = {key: counts[key] for key in self.places()}
        same = defaultdict(list)
        for key in counts:
            same[key if key[0] == "root" else key[:-1]].append(key)
        means = {
            key: np.mean([counts[other] for other in keys])
            for keys in same.values()
            for key in keys
        }
        counts = {key: count + shrinkage * (means[key] - count) for key, count in counts.items()}
        mass = Counter()
        for key, count in counts.items():
            mass[self.condition(key)] += count
        return {
            key: count / max(mass[self.condition(key)], 1e-300) for key, count in counts.items()
        }

    def log_inside(self, model):
        """The log-likelihood of the first tree, by vectors that are divided by their sums."""
        numbers = self.numbers(model)
        forest = self.forest
        vectors = []
        total = 0.0
        for p in range(forest.offsets[1]):
            vector = np.zeros(self.n_states[forest.symbol[p]])
            for i in range(len(vector)):
                if forest.leaf[p] >= 0:
                    vector[i] = numbers["leaf", forest.leaf[p], i]
                for e in range(forest.indptr[p], forest.indptr[p + 1]):
                    left = vectors[forest.left[e]]
                    right = vectors[forest.right[e]]
                    for (j, x), (k, y) in product(enumerate(left), enumerate(right)):
                        vector[i] += numbers["rule", forest.rule[e], j, k, i] * x * y
            total += np.log(vector.sum())
            vectors.append(vector / vector.sum())
        root = [numbers["root", forest.symbol[p], i] for i in range(len(vector))]
        return total + np.log(root @ vectors[-1])

    def leaf_sums(self, rows):
        """Without smoothing."""
        found = np.zeros((len(self.leaf_symbol), rows.shape[1]))
        np.add.at(found, self.forest.leaf[self.forest.leaf >= 0], rows)
        return found

    def steps(self, pool, shrinkage=0.0):
        return LatentEM(self.treebank, self.leaf_sums, self.n_states, shrinkage, pool)


@pytest.fixture
def pool():
    with Pool() as opened:
        yield opened


def close(found, expected, **tolerance):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, **tolerance), key


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_by_enumeration(seed, shrinkage, pool):
    example = Example(seed)
    steps = example.steps(pool, shrinkage)
    counts, value = example.expected(example.model)
    found, found_value = steps.expect(example.model)
    assert found_value == pytest.approx(value, abs=1e-10)
    new = steps.maximise(found)
    close(example.numbers(new), example.maximised(counts, shrinkage), abs=1e-10)
    for padded, key in zip((new.rule, new.leaf, new.root), ("rule", "leaf", "root")):
        inside = [at for name, at in example.places().items() if name[0] == key]
        assert not np.delete(padded, inside).any()


def test_more_states_than_a_vector_has(pool):
    example = Example(0, TREES[:3], most=11)
    counts, _ = example.expected(example.model)
    steps = example.steps(pool)
    close(
        example.numbers(steps.maximise(steps.expect(example.model)[0])),
        example.maximised(counts, 0.0),
        abs=1e-10,
    )


def test_steps_do_not_see_each_other(pool):
    """What a step leaves behind does not reach the next one, and what it gave stays as it was."""
    example = Example(1)
    steps = example.steps(pool)
    fresh = example.steps(pool)
    first, _ = steps.expect(example.model)
    kept = [table.copy() for table in first]
    steps.start(np.random.default_rng(0).random((len(example.forest.symbol), 3)))
    again, _ = steps.expect(steps.maximise(first))
    other, _ = fresh.expect(fresh.maximise(fresh.expect(example.model)[0]))
    for found, expected in zip((*first, *again), (*kept, *other)):
        np.testing.assert_array_equal(found, expected)


def test_leaves_may_be_smoothed(pool):
    """Sums over tokens may give anything to any leaf."""
    example = Example(2)
    n = np.sum(example.forest.leaf >= 0)
    weight = example.rng.random((len(example.leaf_symbol), n))
    steps = LatentEM(example.treebank, lambda rows: weight @ rows, example.n_states, 0.0, pool)
    expected, _ = steps.expect(example.model)
    assert expected.leaf.shape[0] == n
    new = example.numbers(steps.maximise(expected))
    rows = weight @ expected.leaf
    for f, s in enumerate(example.leaf_symbol):
        for i in range(example.n_states[s]):
            total = rows[example.leaf_symbol == s, i].sum()
            assert new["leaf", f, i] == pytest.approx(rows[f, i] / total, rel=1e-12)


@pytest.mark.parametrize(("most", "given"), [(3, 3), (1, 20), (3, 20), (11, 11)])
def test_start(most, given, pool):
    """The states of nodes are independent and have the given distributions, of which only as many
    as exist count.
    """
    example = Example(3, TREES[:4], most)
    states = example.rng.random((len(example.forest.symbol), given))
    forest = example.forest
    counts = Counter()
    given = [
        row[: example.n_states[s]] / row[: example.n_states[s]].sum()
        for row, s in zip(states, forest.symbol)
    ]
    for tree in range(len(forest.offsets) - 1):
        last = forest.offsets[tree + 1] - 1
        for p in range(forest.offsets[tree], last + 1):
            for i, x in enumerate(given[p]):
                counts["root", forest.symbol[p], i] += x * (p == last)
                counts["leaf", forest.leaf[p], i] += x
                for e in range(forest.indptr[p], forest.indptr[p + 1]):
                    for (j, y), (k, z) in product(
                        *(enumerate(given[side[e]]) for side in (forest.left, forest.right))
                    ):
                        counts["rule", forest.rule[e], j, k, i] += x * y * z
    steps = example.steps(pool)
    close(
        example.numbers(steps.maximise(steps.start(states))),
        example.maximised(counts, 0.0),
        abs=1e-12,
    )


def test_random_starts(pool):
    """One step from any parameters: distributions that know the trees, and whose states differ."""
    example = Example(0)
    steps = example.steps(pool)
    found = []
    for seed in (0, 0, 1):
        start = example.numbers(steps.random_start(np.random.RandomState(seed)))
        mass = Counter()
        for key, value in start.items():
            mass[example.condition(key)] += value
        assert all(total == pytest.approx(1) or total == 0 for total in mass.values())
        found.append(start)
    assert found[0] == found[1] != found[2]
    two = next(f for f, s in enumerate(example.leaf_symbol) if example.n_states[s] > 1)
    assert found[0]["leaf", two, 0] != found[0]["leaf", two, 1]


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_never_falls(seed, pool):
    example = Example(seed)
    steps = example.steps(pool)
    values = []
    start = steps.random_start(np.random.RandomState(seed))
    em(
        steps.expect,
        steps.maximise,
        start,
        max_iter=60,
        tol=-1.0,
        callback=lambda *args: values.append(args[2]),
    )
    assert np.all(np.diff(values) >= -1e-9)
    assert values[-1] > values[0] + 0.1


def test_one_state_is_counted_at_once(pool):
    """The first step finds relative frequencies, whose likelihood is known."""
    example = Example(5, most=1)
    steps = example.steps(pool)
    new = steps.maximise(steps.expect(example.model)[0])
    forest = example.forest
    parent = example.grammar.parent
    roots = forest.symbol[forest.offsets[1:] - 1]
    for (kind, what, *_), value in example.numbers(new).items():
        if kind == "root":
            expected = np.mean(roots == what)
        elif kind == "leaf":
            expected = np.sum(forest.leaf == what) / np.sum(
                forest.symbol == example.leaf_symbol[what]
            )
        else:
            expected = np.sum(forest.rule == what) / np.sum(parent[forest.rule] == parent[what])
        assert value == pytest.approx(expected, rel=1e-12)


def test_the_same_bits_for_any_number_of_threads():
    example = Example(6, TREES * 20)
    found = []
    for n_jobs in (1, 2, 3):
        with Pool(n_jobs) as several:
            steps = example.steps(several, 0.1)
            expected, value = steps.expect(example.model)
            found.append((*expected, value, *steps.maximise(expected)))
    for other in found[1:]:
        for one, same in zip(found[0], other):
            np.testing.assert_array_equal(one, same)


def test_long_trees_neither_overflow_nor_underflow(pool):
    depth = 3_000
    text = "(S (N a) " * depth + "(S (N a) (V b))" + ")" * depth
    example = Example(7, [text], most=2)
    steps = example.steps(pool)
    expected, value = steps.expect(example.model)
    assert value == pytest.approx(example.log_inside(example.model), rel=1e-12)
    totals = np.bincount(example.leaf_symbol, weights=example.leaf_sums(expected.leaf).sum(axis=1))
    assert sorted(totals[totals > 0]) == pytest.approx([1, depth + 1])
