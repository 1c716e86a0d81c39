"""EMLPCFG: what it must learn, how it tells of it, and the treebank sample; its steps are tested
with `LatentEM`.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import sklearn
from nltk.tree import Tree
from real_data import real
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.fixes import parse_version
from trees import deep

from sklearn_struct import EMLPCFG, PCFG
from sklearn_struct.datasets import fetch_treebank_sample, make_treebank
from sklearn_struct.encoding.trees.binarization import read
from sklearn_struct.encoding.trees.brackets import words

X, Y = make_treebank(150, random_state=0)
X_TEST, Y_TEST = make_treebank(60, random_state=1)
# converges
FEW = {"n_states": 3, "random_state": 0, "init": "random", "max_iter": 1000, "tol": 2e-3}
SUPPORTED = parse_version(sklearn.__version__) >= parse_version("1.9")


def tagged(n, seed):
    """Sentences of which each word is its tag, so that none is rare; and their trees."""
    trees = [Tree.fromstring(tree) for tree in make_treebank(n, random_state=seed)[1]]
    for tree in trees:
        for place in tree.treepositions("leaves"):
            tree[place] = tree[place[:-1]].label().lower()
    return [tree.leaves() for tree in trees], trees


# ---- what it must learn


@pytest.mark.parametrize(("h", "v"), [(0, 1), (1, 2)])
def test_one_state_a_symbol_is_a_pcfg(h, v):
    orders = {"horizontal_order": h, "vertical_order": v, "pruning": 0}
    plain = PCFG(**orders).fit(X, Y)
    model = EMLPCFG(n_states=1, **orders).fit(X, Y)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(
        model.log_joint(X + X_TEST, Y + Y_TEST), plain.log_joint(X + X_TEST, Y + Y_TEST), 1e-12
    )
    np.testing.assert_allclose(model.score_samples(X_TEST), plain.score_samples(X_TEST), 1e-12)
    best = [parser.set_params(decoder="viterbi").predict(X_TEST) for parser in (plain, model)]
    np.testing.assert_allclose(*(plain.log_joint(X_TEST, trees) for trees in best), 1e-12)


def test_states_that_are_made_alike_are_one():
    """With all expected counts moved to their means the states say nothing."""
    model = EMLPCFG(n_states=4, shrinkage=1, random_state=0).fit(X, Y)
    plain = PCFG(horizontal_order=0, vertical_order=1).fit(X, Y)
    np.testing.assert_allclose(model.log_joint(X, Y), plain.log_joint(X, Y), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_never_falls(seed):
    """Without shrinkage, and without words that are also counted as their signatures."""
    X, y = tagged(200, 0)
    options = {
        "shrinkage": 0,
        "unknown_weight": 1e-12,
        "min_frequency": 1,
        "tol": 0,
        "max_iter": 60,
    }
    model = EMLPCFG(n_states=4, random_state=seed, **options).fit(X, y)
    assert len(model.loss_curve_) == model.n_iter_ == 60
    assert np.all(np.diff(model.loss_curve_) <= 1e-7)
    assert model.loss_curve_[-1] < model.loss_curve_[0] - 100


def test_the_curve_is_the_likelihood_of_the_trees():
    model = EMLPCFG(**FEW).fit(X, Y)
    assert model.loss_curve_[-1] == pytest.approx(-model.log_joint(X, Y).sum(), rel=1e-10)
    assert len(model.loss_curve_) == model.n_iter_ > 2
    assert (
        model.loss_curve_[-1]
        < -PCFG(horizontal_order=0, vertical_order=1).fit(X, Y).log_joint(X, Y).sum() - 100
    )


class Known:
    """A grammar over S, N and V with two states each: draws trees, knows their probabilities."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.root = rng.dirichlet([0.5, 0.5])
        self.rules = [("N", "V"), ("N", "S"), ("S", "V")]
        # states of children given the parent's
        below = rng.dirichlet([0.15] * 4, size=(2, 3)).reshape(2, 3, 2, 2)
        self.rule = below * np.array([0.6, 0.25, 0.15])[:, None, None]
        self.words = {"N": ["a", "b", "c"], "V": ["u", "v", "w"]}
        self.word = {tag: rng.dirichlet([0.3] * 3, size=2) for tag in "NV"}

    def draw(self, rng):
        def below(label, state):
            if label != "S":
                return f"({label} {rng.choice(self.words[label], p=self.word[label][state])})"
            r, j, k = np.unravel_index(rng.choice(12, p=self.rule[state].ravel()), (3, 2, 2))
            left, right = self.rules[r]
            return f"(S {below(left, j)} {below(right, k)})"

        return below("S", rng.choice(2, p=self.root))

    def log_p(self, tree):
        def inside(node):
            if node.label() != "S":
                return self.word[node.label()][:, self.words[node.label()].index(node[0])]
            r = self.rules.index(tuple(child.label() for child in node))
            return np.einsum("ijk,j,k->i", self.rule[:, r], *map(inside, node))

        return np.log(self.root @ inside(tree))


def test_a_known_grammar_is_found():
    """The best of some starts is as good as the truth, on trees that it has not seen; a PCFG is
    not.
    """
    known = Known(1)
    rng = np.random.default_rng(1)
    trees = [Tree.fromstring(known.draw(rng)) for _ in range(2_000)]
    sentences = [tree.leaves() for tree in trees]
    train = slice(1_500)
    test = slice(1_500, None)
    exact = {
        "init": "random",
        "shrinkage": 0,
        "unknown_weight": 1e-9,
        "min_frequency": 1,
        "tol": 1e-5,
        "max_iter": 500,
    }
    models = [EMLPCFG(n_states=2, random_state=start, **exact) for start in range(2)]
    best = min(
        (m.fit(sentences[train], trees[train]) for m in models),
        key=lambda model: model.loss_curve_[-1],
    )
    truth = np.mean([known.log_p(tree) for tree in trees[test]])
    found = np.mean(best.log_joint(sentences[test], trees[test]))
    plain = PCFG(vertical_order=1, min_frequency=1, unknown_weight=1e-9).fit(
        sentences[train], trees[train]
    )
    assert truth - 0.02 < found < truth + 0.01
    assert np.mean(plain.log_joint(sentences[test], trees[test])) < truth - 0.05


@pytest.mark.parametrize(
    "options", [{}, {"init": "random"}, {"n_grammars": 2, "decoder": "max-rule"}], ids=str
)
def test_posteriors_of_numbers_next_to_zero(options):
    """Without shrinkage EM would end with numbers down to the smallest floats."""
    X, y = make_treebank(200, random_state=3)
    X_test, y_test = make_treebank(60, random_state=4)
    model = EMLPCFG(n_states=6, shrinkage=0, random_state=0, **options).fit(X, y)
    assert (
        min(table[table > 0].min() for table in (states.rule for states in model._model.states))
        > 1e-40
    )
    for sentence, found in zip(X_test, model.marginals(X_test)):
        assert sum(p for (_, i, j), p in found.items() if j == i + 1) == pytest.approx(
            len(sentence), abs=1e-6
        )
    assert model.score(X_test, y_test) > 0.88  # all have trees, else it would warn


def test_states_make_a_better_parser():
    plain = PCFG(horizontal_order=0, vertical_order=1).fit(X, Y)
    model = EMLPCFG(n_states=4, random_state=0, max_iter=1000, tol=1e-3).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > plain.score(X_TEST, Y_TEST) + 0.02


# ---- several grammars


def test_log_probabilities_are_those_of_the_mean():
    model = EMLPCFG(**FEW, n_grammars=3, pruning=0).fit(X, Y)
    states = model._model.states
    assert len(states) == 3
    singles = []
    for one in states:
        model._model = model._model._replace(states=(one,))
        singles.append((model.log_joint(X_TEST, Y_TEST), model.score_samples(X_TEST)))
    model._model = model._model._replace(states=states)
    for found, each in zip(
        (model.log_joint(X_TEST, Y_TEST), model.score_samples(X_TEST)), zip(*singles)
    ):
        np.testing.assert_allclose(found, np.logaddexp.reduce(each) - np.log(3), rtol=1e-12)
        assert np.ptp(each, axis=0).min() > 0  # no two are the same
    assert model.loss_curve_[-1] == pytest.approx(
        -sum(_log_likelihood(model, one) for one in states), rel=1e-10
    )


def _log_likelihood(model, states):
    whole = model._model
    model._model = whole._replace(states=(states,))
    found = model.log_joint(X, Y).sum()
    model._model = whole
    return found


def test_one_best_tree_of_several_grammars_there_is_not():
    model = EMLPCFG(**FEW, n_grammars=2, decoder="viterbi")
    before = dict(vars(model))
    with pytest.raises(ValueError, match="decoder='viterbi' takes one grammar, got n_grammars=2"):
        model.fit(X, Y)
    assert vars(model) == before
    with pytest.raises(ValueError, match="got n_grammars=2"):
        EMLPCFG(**FEW, n_grammars=2).fit(X, Y).set_params(decoder="viterbi").predict(X_TEST)


@pytest.mark.filterwarnings("error")
def test_nodes_that_are_all_alike():
    """There are fewer clusters than states."""
    model = EMLPCFG(n_states=4).fit([["a"]] * 200, ["(N a)"] * 200)
    assert model.log_joint([["a"]], ["(N a)"])[0] == model.score_samples([["a"]])[0]


def test_decoders_may_be_changed_after_fit():
    model = EMLPCFG(**FEW).fit(X, Y)
    found = {
        decoder: model.set_params(decoder=decoder).predict(X_TEST)
        for decoder in ("viterbi", "max-rule")
    }
    found["max-recall"] = model.set_params(decoder="max-recall").predict(X_TEST)
    joint = {decoder: model.log_joint(X_TEST, trees).sum() for decoder, trees in found.items()}
    assert joint["viterbi"] > joint["max-recall"]
    assert all([tree.leaves() for tree in trees] == X_TEST for trees in found.values())


# ---- how it learns


def test_attributes():
    model = EMLPCFG(**FEW, horizontal_order=1).fit(X, Y)
    plain = PCFG(vertical_order=1).fit(X, Y)
    assert model.symbols_.tolist() == plain.symbols_.tolist()
    assert model.tags_ == plain.tags_
    assert model.n_states_.shape == model.symbols_.shape
    assert set(model.n_states_) == {1, 2, 3}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rare_symbols_have_fewer_states():
    """At most half the root of the number of their nodes, and at least one."""
    y = ["(S (N a) (V b))"] * 20 + ["(T (N a) (V b))"] * 15 + ["(T (N a) (N a))"]
    sentences = [words(tree) for tree in read(y)]
    model = EMLPCFG(n_states=3, random_state=0, max_iter=2).fit(sentences, y)
    assert dict(zip(model.symbols_.tolist(), model.n_states_.tolist())) == {
        "N": 3,
        "V": 2,
        "S": 2,
        "T": 2,
    }
    assert model._model.states[0].n_states.tolist() == model.n_states_.tolist()
    assert set(EMLPCFG(n_states=3, max_iter=2).fit(sentences[-16:], y[-16:]).n_states_) == {1, 2}


def test_seeds():
    one, same, other = (EMLPCFG(**FEW | {"random_state": seed}).fit(X, Y) for seed in (0, 0, 1))
    assert one.loss_curve_ == same.loss_curve_
    assert one.loss_curve_ != other.loss_curve_
    state = EMLPCFG(**FEW | {"random_state": np.random.RandomState(0)}).fit(X, Y)
    assert state.loss_curve_ == one.loss_curve_


@pytest.mark.filterwarnings("error")
def test_convergence_is_said():
    EMLPCFG(**FEW).fit(X, Y)
    with pytest.warns(
        ConvergenceWarning,
        match="EM stopped after 2 iterations without reaching tol=0.002; allow more",
    ):
        model = EMLPCFG(**FEW | {"max_iter": 2}).fit(X, Y)
    assert model.n_iter_ == 2


def test_tol_is_a_gain_a_token():
    model = EMLPCFG(**FEW).fit(X, Y)
    gains = -np.diff(model.loss_curve_) / sum(map(len, X))
    assert gains[-1] <= FEW["tol"] < gains[:-1].min()


def test_verbose(capsys):
    model = EMLPCFG(**FEW, verbose=1).fit(X, Y)
    *lines, end = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert end.startswith("[EMLPCFG] EM stopped after ")
    for n, (line, value) in enumerate(zip(lines, model.loss_curve_), start=1):
        found = re.fullmatch(r"\[EMLPCFG\] iteration (\d+), objective (\d+\.\d{6})", line)
        assert (int(found[1]), float(found[2])) == (n, pytest.approx(value, abs=1e-6))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_states", 0), ("n_states", 1.5), ("n_grammars", 0), ("shrinkage", -0.1),
        ("shrinkage", 1.1), ("max_iter", 0), ("tol", -1), ("random_state", "x"), ("verbose", -1),
        ("decoder", "mbr"), ("pruning", -1), ("unknown_weight", 0),
    ],
)  # fmt: skip
def test_parameters(name, value):
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of EMLPCFG must be"):
        EMLPCFG(**{name: value}).fit(X, Y)


# ---- callbacks of scikit-learn


class Recorder:
    """What a callback was told; asks to stop after some iterations, or raises something then."""

    def __init__(self, stop=None, error=None):
        self.events = []
        self.stop = stop
        self.error = error

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.events.append(("begin", context.task_name, fitted_estimator))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.events.append(("end", context.task_name, fitted_estimator))
        done = context.task_name == "iteration" and context.task_id + 1 == self.stop
        if done and self.error is not None:
            raise self.error
        return done

    def states(self, kind):
        found = [event[-1] for event in self.events if event[:2] == (kind, "iteration")]
        return [state for state in found if state is not None]


class TestCallbacks:
    __test__ = SUPPORTED

    def test_each_iteration_is_a_task(self):
        recorder = Recorder()
        model = EMLPCFG(**FEW).set_callbacks(recorder).fit(X, Y)
        assert model.loss_curve_ == EMLPCFG(**FEW).fit(X, Y).loss_curve_
        first = recorder.states("begin")[0]
        ends = recorder.states("end")
        assert (first.n_iter_, first.loss_curve_) == (0, [])
        assert [state.n_iter_ for state in ends] == list(range(1, model.n_iter_ + 1))
        for state in (first, *ends):
            state.score(X_TEST, Y_TEST)
        assert ends[-1].log_joint(X, Y).tobytes() == model.log_joint(X, Y).tobytes()
        assert -ends[0].log_joint(X, Y).sum() == pytest.approx(model.loss_curve_[0], rel=1e-10)
        assert (recorder.events[0], recorder.events[-1]) == ("setup", "teardown")

    @pytest.mark.filterwarnings("error")
    def test_a_callback_may_end_the_fit(self):
        recorder = Recorder(stop=2)
        model = EMLPCFG(**FEW | {"tol": 0}).set_callbacks(recorder).fit(X, Y)
        assert model.n_iter_ == len(model.loss_curve_) == 2

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
    def test_an_interruption_leaves_no_trace(self, error):
        for model in (EMLPCFG(**FEW), EMLPCFG(**FEW).fit(X, Y)):
            recorder = Recorder(stop=1, error=error())
            model.set_callbacks(recorder)
            before = dict(vars(model))
            with pytest.raises(error):
                model.fit(X_TEST, Y_TEST)
            assert vars(model) == before
            assert recorder.events[-1] == "teardown"

    def test_a_pcfg_has_no_iterations_to_tell_of(self):
        recorder = Recorder()
        PCFG().set_callbacks(recorder).fit(X, Y)
        assert recorder.states("end") == []
        assert [event[:2] for event in recorder.events[1:-1]] == [("begin", "fit"), ("end", "fit")]


# ---- strange trees


STRANGE = {
    "brackets": ([["(", "a", ")"]], ["(S (-LRB- -LRB-) (N a) (-RRB- -RRB-))"]),
    "tags are phrases": (
        [["a", "b"], ["a"], ["a"] * 3],
        ["(X (X a) (Y b))", "(X a)", "(Y (X (X a) (Y a)) (Y a))"],
    ),
    "single words": ([["a"], ["b"]], ["(N a)", "(S (N b))"]),
    "ROOT": ([["a", "b", "c"], ["a", "b"]], ["(S (ROOT (N a) (V b)) (N c))", "((ROOT a) (V b))"]),
    "numpy": (np.array([["a", "b"]] * 4), np.array(["(S (N a) (V b))"] * 4)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("repeated", [1, 20])  # once, no symbol has states
@pytest.mark.parametrize(
    "options", [{}, {"decoder": "viterbi"}, {"decoder": "max-rule", "n_grammars": 2}], ids=str
)
@pytest.mark.parametrize("name", STRANGE)
def test_strange_treebanks(name, options, repeated):
    sentences, y = (list(column) * repeated for column in STRANGE[name])
    model = EMLPCFG(n_states=9, max_iter=3, random_state=0, **options).fit(sentences, y)
    assert [tree.leaves() for tree in model.predict(sentences)] == [
        list(sentence) for sentence in sentences
    ]
    joint = model.log_joint(sentences, y)
    total = model.score_samples(sentences)
    assert np.all(joint > -np.inf)
    assert np.all(joint <= total + 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["chain", "left", "right", "both"])
def test_deep_trees(kind):
    tree = deep(2_000, kind=kind)
    model = EMLPCFG(n_states=3, max_iter=2, random_state=0).fit([words(tree)], [tree])
    assert -np.inf < model.log_joint([words(tree)], [tree])[0] < 0


# ---- the treebank sample


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_figures_of_the_treebank_sample():
    def sample(subset, **options):
        return real(fetch_treebank_sample, subset=subset, return_X_y=True, **options)

    model = EMLPCFG(n_states=8, random_state=0).fit(*sample("train", max_length=25))
    assert model.score(*sample("dev", max_length=15)) >= 0.85
