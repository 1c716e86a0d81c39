"""What a comparison of direct gradients and EM counts, and that both begin alike."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import NEEDS_HOME

X = [np.array(x, dtype=float)[:, None] for x in ([-1, 0], [0, 1], [1, 1, 0], [0, -1, 1])]
Y = [["inner" if v == 0 else "outer" for v in x[:, 0]] for x in X]
CLASSES = ["ends in" if labels[-1] == "inner" else "ends out" for labels in Y]


def tiny(classes):
    from papers.hidden_starts import Corpus
    from papers.sequence_classes import Task

    labels = CLASSES if classes else Y
    task = Task(X, labels, X, labels)
    return Corpus(lambda quick: task, {"n_states": 2, "C": 10.0}, "accuracy", classes), task


@pytest.mark.parametrize("classes", [False, True])
def test_both_solvers_begin_at_the_same_weights(classes, monkeypatch):
    from papers.hidden_starts import PASSES

    from sklearn_struct.objectives.linear_objective import LinearObjective

    corpus, task = tiny(classes)
    original = LinearObjective.value_and_grad
    seen = []

    def value_and_grad(self, w):
        seen.append(w.copy())
        return original(self, w)

    monkeypatch.setattr(LinearObjective, "value_and_grad", value_and_grad)
    begun = {}
    for solver in PASSES:
        for seed in (0, 1):
            seen.clear()
            corpus.model(solver, seed).set_params(tol=0.1).fit(task.X, task.y)
            begun[solver, seed] = seen[0]
    for seed in (0, 1):
        np.testing.assert_array_equal(begun["lbfgs", seed], begun["em", seed])
    assert not np.array_equal(begun["em", 0], begun["em", 1])


def test_both_may_take_as_many_iterations():
    from papers.hidden_starts import ITERATIONS, iterations

    from sklearn_struct.solvers.convex_difference import M_STEPS

    assert iterations("lbfgs") == ITERATIONS
    assert iterations("em") * M_STEPS == ITERATIONS


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("solver", ["lbfgs", "em"])
def test_an_ending_and_the_minimum_nearby(classes, solver):
    from papers.hidden_starts import ending

    corpus, task = tiny(classes)
    end = ending(corpus, task, solver, 0)
    model = corpus.model(solver, 0).fit(task.X, task.y)
    assert end.converged
    assert end.objective == pytest.approx(model.loss_curve_[-1])
    assert end.score == pytest.approx(model.score(task.X, task.y))
    # each iteration evaluates at least once
    assert end.evaluations > model.n_iter_ > 0
    assert end.objective * 0.99 < end.minimum <= end.objective


def test_a_fit_that_is_stopped_is_not_called_converged(monkeypatch):
    from papers import hidden_starts

    monkeypatch.setattr(hidden_starts, "iterations", lambda solver: 1)
    corpus, task = tiny(classes=False)
    end = hidden_starts.ending(corpus, task, "em", 0)
    assert not end.converged
    assert end.minimum <= end.objective


def test_lower_means_clearly_lower():
    from papers.hidden_starts import CLEARLY, n_lower

    assert CLEARLY == 1e-3
    assert n_lower([1.0, 2.0, 3.0], [1.1, 2.0, 2.0]) == 1
    assert n_lower([1.1, 2.0, 2.0], [1.0, 2.0, 3.0]) == 1
    assert n_lower([0.9995, 0.998], [1.0, 1.0]) == 1
    assert n_lower([], []) == 0


def test_figures_of_all_starts():
    from papers.hidden_starts import Ending, summary

    ends = [
        Ending(5.0, 4.0, 30, 2.0, 0.5, True),
        Ending(3.0, 3.0, 10, 6.0, 0.9, False),
        Ending(9.0, 6.0, 20, 1.0, 0.7, True),
    ]
    figures = summary(ends, "lbfgs", "accuracy")
    assert figures == pytest.approx(
        {
            "starts": 3,
            "lowest objective / C": 3.0,
            "median": 5.0,
            "highest less lowest": 6.0,
            "minima nearby: lowest": 3.0,
            "minima nearby: median": 4.0,
            "minima nearby: highest less lowest": 3.0,
            "median evaluations": 20,
            "passes of forward-backward": 40,
            "median CPU s": 2.0,
            "mean test accuracy": 0.7,
            "lowest test accuracy": 0.5,
            "highest test accuracy": 0.9,
            "starts that reach the tolerance": 2,
        }
    )
    assert summary(ends, "em", "F1")["passes of forward-backward"] == 20


def test_solvers_are_compared_start_by_start():
    from lib.side_by_side import Run
    from papers.hidden_starts import LOWER, LOWER_MINIMUM, finish

    # of each start the objective, and that of the minimum nearby
    direct = Run({}, [(1.0, 1.0), (5.0, 2.0), (2.0, 2.0)])
    em = Run({}, [(2.0, 1.0), (4.0, 3.0), (3.0, 2.0)])
    alone = Run({}, [(1.0, 1.0)])
    finish({"letters, lbfgs": [direct], "letters, em": [em], "vowels, em": [alone]})
    assert direct.figures == {LOWER: 2, LOWER_MINIMUM: 1}
    assert em.figures == {LOWER: 1, LOWER_MINIMUM: 0}
    assert alone.figures == {}


@NEEDS_HOME
@pytest.mark.corpus
def test_parts_of_corpora():
    from papers.hidden_starts import CORPORA

    sizes = {name: corpus.read(False) for name, corpus in CORPORA.items()}
    assert {name: (len(task.X), len(task.X_test)) for name, task in sizes.items()} == {
        "vowels": (270, 370),
        "motions": (40, 40),
        "letters": (141, 1029),
        "seminars": (40, 145),
    }
    for name, corpus in CORPORA.items():
        assert len(corpus.read(True).X) < 60, name
