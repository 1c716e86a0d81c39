"""Callbacks of scikit-learn: what they are told of a fit, and that they can end it. Before 1.9
there are none.
"""

from __future__ import annotations

from copy import deepcopy
from importlib.util import find_spec

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.fixes import parse_version

from sklearn_struct import (
    HMM,
    LinearChainCRF,
    LogLinearClassifier,
    ProductFeatures,
    SequenceVectorizer,
)
from sklearn_struct.metrics import token_accuracy_scorer
from sklearn_struct.objectives.linear_objective import LinearObjective

X = [
    ["the", "cat", "sleeps"],
    ["the", "dog", "barks"],
    ["a", "dog", "sleeps"],
    ["dog", "barks"],
] * 3
Y = [
    ["DET", "NOUN", "VERB"],
    ["DET", "NOUN", "VERB"],
    ["DET", "NOUN", "VERB"],
    ["VERB", "NOUN"],
] * 3
SOLVERS = {
    "lbfgs": {},
    "owlqn": {"l1_ratio": 0.5},
    "newton-cg": {},
    "trust-ncg": {},
    "cg": {},
    "gradient": {},
    "sag": {"random_state": 0},
    "sag-lbfgs": {"random_state": 0},
    "sgd": {"random_state": 0},
    "ap": {"random_state": 0},
    "pa": {"random_state": 0},
    "pa-ii": {"random_state": 0},
    "arow": {"random_state": 0, "tol": 0.5},
    "frank-wolfe": {"random_state": 0, "loss": "hinge"},
    "cutting-planes": {"loss": "hinge", "tol": 0.05},
}
SUPPORTED = parse_version(sklearn.__version__) >= parse_version("1.9")


def crf(solver="lbfgs", **options):
    return LinearChainCRF(solver=solver, **{"tol": 1e-3, **SOLVERS[solver], **options})


def test_what_the_installed_scikit_learn_has():
    """Without callbacks a fit works the same, and there is no method that could promise them."""
    assert hasattr(LinearChainCRF, "set_callbacks") == SUPPORTED
    assert crf().fit(X, Y).n_iter_ > 3


def test_every_solver_is_here():
    (choices,) = LinearChainCRF._parameter_constraints["solver"]
    assert choices.options - set(SOLVERS) == {"auto"}


class Recorder:
    """What a callback was told, in order; asks to stop after some iterations, or raises something
    then.
    """

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
        self.events.append(
            ("begin", context.task_name, context.task_id, (X, y, metadata), fitted_estimator)
        )

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.events.append(
            ("end", context.task_name, context.task_id, (X, y, metadata), fitted_estimator)
        )
        done = context.task_name == "iteration" and context.task_id + 1 == self.stop
        if done and self.error is not None:
            raise self.error
        return done

    def states(self, kind, task="iteration"):
        """The estimators that the callback got."""
        found = [event[-1] for event in self.events if event[:2] == (kind, task)]
        return [state for state in found if state is not None]


@pytest.mark.parametrize("solver", SOLVERS)
class TestEverySolver:
    __test__ = SUPPORTED

    def test_each_iteration_is_a_task(self, solver):
        recorder = Recorder()
        model = crf(solver, max_iter=50).set_callbacks(recorder).fit(X, Y)
        expected = crf(solver, max_iter=50).fit(X, Y)
        assert expected._w.tobytes() == model._w.tobytes()
        assert recorder.events[0] == "setup"
        assert recorder.events[-1] == "teardown"
        names = [event[:3] for event in recorder.events[1:-1]]
        assert names[0] == ("begin", "fit", 0)
        assert names[-1] == ("end", "fit", 0)
        tasks = (len(names) - 2) // 2
        assert names[1:-1] == [
            (kind, "iteration", i) for i in range(tasks) for kind in ("begin", "end")
        ]
        # of which the last may find nothing left to do
        assert model.n_iter_ <= tasks <= model.n_iter_ + 1

    def test_the_last_state_is_the_model(self, solver):
        recorder = Recorder()
        model = crf(solver, max_iter=50).set_callbacks(recorder).fit(X, Y)
        last = recorder.states("end")[-1]
        assert last._w.tobytes() == model._w.tobytes()
        for state in (last, *recorder.states("end", "fit")):
            assert (state.n_iter_, state.t_, state.loss_curve_) == (
                model.n_iter_,
                model.t_,
                model.loss_curve_,
            )
            assert state.predict(X).tolist() == model.predict(X).tolist()

    @pytest.mark.filterwarnings("error")
    def test_a_callback_may_end_the_fit(self, solver):
        """With the weights it saw last, and without a warning."""
        recorder = Recorder(stop=2)
        model = crf(solver).set_params(tol=0).set_callbacks(recorder).fit(X, Y)
        assert model.n_iter_ == len(model.loss_curve_) == len(recorder.states("end")) == 2
        assert model._w.tobytes() == recorder.states("end")[-1]._w.tobytes()
        assert recorder.states("end", "fit")[0].n_iter_ == 2

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
    def test_an_interruption_leaves_no_trace(self, solver, error):
        for model in (crf(solver), crf(solver).fit(X, Y)):
            recorder = Recorder(stop=2, error=error())
            model.set_params(tol=0).set_callbacks(recorder)
            before = dict(vars(model))
            w = deepcopy(vars(model).get("_w"))
            with pytest.raises(error):
                model.fit(X, Y)
            assert vars(model) == before
            np.testing.assert_array_equal(vars(model).get("_w"), w)
            assert recorder.events[-1] == "teardown"


class TestFits:
    __test__ = SUPPORTED

    # which always evaluates its last pass
    @pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"sag", "sag-lbfgs"}))
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_states_are_estimators_as_after_so_many_iterations(self, solver):
        recorder = Recorder()
        crf(solver, max_iter=50).set_callbacks(recorder).fit(X, Y)
        for n, state in enumerate(recorder.states("end")[:4], start=1):
            same = crf(solver, max_iter=n).fit(X, Y)
            assert state.n_iter_ == n
            assert state.loss_curve_ == same.loss_curve_
            assert state.predict_proba(X)[0].tobytes() == same.predict_proba(X)[0].tobytes()

    def test_what_callbacks_are_given(self):
        recorder = Recorder()
        weight = np.linspace(1, 2, len(X))
        crf().set_callbacks(recorder).fit(X, Y, weight)
        for event in recorder.events[1:-1]:
            given_X, given_y, metadata = event[3]
            assert (given_X is X, given_y is Y, metadata["sample_weight"] is weight) == (
                True,
                True,
                True,
            )

    def test_iterators_are_read_once(self):
        recorder = Recorder()
        model = crf().set_callbacks(recorder).fit(iter(X), iter(Y))
        assert recorder.events[1][3] == (X, Y, None)
        assert model._w.tobytes() == crf().fit(X, Y)._w.tobytes()

    def test_mistakes_in_the_data_come_with_a_teardown(self):
        recorder = Recorder()
        with pytest.raises(ValueError, match="sequences"):
            crf().set_callbacks(recorder).fit(X, Y[1:])
        assert recorder.events[-1] == "teardown"

    def test_mistakes_in_a_setup_change_nothing(self):
        class Refusing(Recorder):
            def setup(self, estimator, context):
                raise RuntimeError("no")

        model = crf().set_callbacks(Refusing())
        before = dict(vars(model))
        with pytest.raises(RuntimeError, match="no"):
            model.fit(X, Y)
        assert vars(model) == before

    def test_states_keep_what_they_are(self):
        """They share no arrays with the fit that goes on, and hold no expanded weights of each
        other.
        """
        recorder = Recorder()
        crf().set_callbacks(recorder).fit(X, Y)
        states = recorder.states("end")
        kept = [state._w.copy() for state in states]
        predicted = [state.predict_proba(X)[0] for state in states]
        assert len({p.tobytes() for p in predicted}) == len(states)
        for state, w, proba in zip(states, kept, predicted):
            np.testing.assert_array_equal(state._w, w)
            np.testing.assert_array_equal(state.predict_proba(X)[0], proba)

    def test_a_warm_start_that_has_nothing_left_to_do(self):
        recorder = Recorder()
        model = crf(warm_start=True).fit(X, Y).set_callbacks(recorder).fit(X, Y)
        assert model.n_iter_ == 0
        assert [event[:3] for event in recorder.events[2:-2]] == [
            ("begin", "iteration", 0),
            ("end", "iteration", 0),
        ]
        assert recorder.states("begin")[0].predict(X)[0] == Y[0]
        assert recorder.states("end") == []

    def test_threads(self, monkeypatch):
        """A callback that predicts while the threads of the fit wait."""
        scores = []

        class Scoring(Recorder):
            def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
                if fitted_estimator is not None:
                    scores.append(fitted_estimator.score(X, Y))

        crf(n_jobs=2).set_callbacks(Scoring()).fit(X, Y)
        assert scores[0] < scores[-1] == 1.0

    def test_interrupted_evaluations(self, monkeypatch):
        recorder = Recorder()
        calls = []
        value_and_grad = LinearObjective.value_and_grad

        def interrupted(self, w):
            calls.append(w)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return value_and_grad(self, w)

        monkeypatch.setattr(LinearObjective, "value_and_grad", interrupted)
        model = crf().set_callbacks(recorder)
        before = dict(vars(model))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
        assert vars(model) == before
        assert recorder.events[-1] == "teardown"

    def test_scoring_monitor(self):
        from sklearn.callback import ScoringMonitor

        monitor = ScoringMonitor(
            scoring={"tokens": token_accuracy_scorer, "score": LinearChainCRF.score}
        )
        model = crf().set_callbacks(monitor).fit(X, Y)
        rows = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
        assert len(rows) == model.n_iter_
        assert all(row["tokens"] == row["score"] for row in rows)
        assert rows[0]["score"] < rows[-1]["score"] == model.score(X, Y) == 1.0

    @pytest.mark.parametrize(
        "weights", [[2.0] * len(X), [[2.0] * len(labels) for labels in Y]], ids=["one", "many"]
    )
    def test_scoring_monitor_with_weights(self, weights):
        """Those of tokens are for the fit alone: metrics take one a sequence."""
        from sklearn.callback import ScoringMonitor

        monitor = ScoringMonitor(scoring={"score": token_accuracy_scorer})
        crf(loss="pointwise").set_callbacks(monitor).fit(X, Y, weights)
        assert monitor.get_logs().data[-1]["score"] == 1.0

    def test_early_stopping_on_held_out_data(self):
        class EarlyStopping(Recorder):
            """Ends the fit when the score on other data has not risen for three iterations."""

            def __init__(self, X, y):
                super().__init__()
                self.X = X
                self.y = y
                self.scores = []

            def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
                if context.task_name != "iteration" or fitted_estimator is None:
                    return False
                self.scores.append(fitted_estimator.score(self.X, self.y))
                return len(self.scores) > 3 and max(self.scores[-3:]) <= max(self.scores[:-3])

        stopping = EarlyStopping(X[:4], Y[:4])
        model = crf().set_params(tol=0).set_callbacks(stopping).fit(X[4:], Y[4:])
        assert model.n_iter_ == len(stopping.scores) < 20
        assert model.score(X[:4], Y[:4]) == stopping.scores[-1]

    def test_clones_and_second_fits_have_the_callbacks_of_the_first(self):
        recorder = Recorder()
        model = clone(crf().set_callbacks(recorder)).fit(X, Y)
        n_events = len(recorder.events)
        model.fit(X, Y)
        assert len(recorder.events) == 2 * n_events > 0
        model.set_callbacks().fit(X, Y)
        assert len(recorder.events) == 2 * n_events

    def test_in_a_pipeline(self):
        """A callback of the last step, and one of the pipeline that goes on into it."""
        own = Recorder()
        of_all = Recorder()
        of_all.max_propagation_depth = None
        pipe = Pipeline([("vectorizer", SequenceVectorizer()), ("crf", crf().set_callbacks(own))])
        with pytest.warns(UserWarning, match="SequenceVectorizer does not support callbacks"):
            pipe.set_callbacks(of_all).fit(X, Y)
        n = pipe["crf"].n_iter_
        assert len(own.states("end")) == n
        assert len(of_all.states("end")) == n
        assert len([event for event in of_all.events if event == "teardown"]) == 1

    def test_in_a_grid_search(self):
        own = Recorder()
        of_all = Recorder()
        of_all.max_propagation_depth = None
        search = GridSearchCV(
            crf().set_callbacks(own), {"C": [0.1, 1.0]}, cv=2, error_score="raise"
        )
        search.set_callbacks(of_all).fit(X, Y)
        assert own.events.count("setup") == own.events.count("teardown") == 5
        assert of_all.events.count("setup") == of_all.events.count("teardown") == 1
        assert len(of_all.states("end")) == len(own.states("end")) > 5
        assert own.states("end")[-1].n_iter_ == search.best_estimator_.n_iter_

    def test_partial_fit_has_no_iterations_to_tell_of(self):
        recorder = Recorder()
        rows = np.eye(3)
        crf("pa").set_callbacks(recorder).partial_fit(rows, ["a", "b", "a"], ["a", "b"])
        assert recorder.events == []


@pytest.mark.parametrize("y", [None, [None, *Y[1:]]], ids=["unlabelled", "partly"])
class TestExpectationMaximisation:
    __test__ = SUPPORTED

    def hmm(self, **options):
        return HMM(n_states=["DET", "NOUN", "VERB"], random_state=0, max_iter=500, **options)

    def test_each_iteration_is_a_task(self, y):
        recorder = Recorder()
        model = self.hmm().set_callbacks(recorder).fit(X, y)
        expected = self.hmm().fit(X, y)
        assert model.loss_curve_ == expected.loss_curve_
        assert len(recorder.states("end")) == model.n_iter_ > 1
        first = recorder.states("begin")[0]
        last = recorder.states("end")[-1]
        assert (first.n_iter_, first.loss_curve_) == (0, [])
        assert last.loss_curve_ == model.loss_curve_
        assert last.score_samples(X).tobytes() == model.score_samples(X).tobytes()

    @pytest.mark.filterwarnings("error")
    def test_a_callback_may_end_the_fit(self, y):
        recorder = Recorder(stop=2)
        model = self.hmm(tol=0).set_callbacks(recorder).fit(X, y)
        assert model.n_iter_ == len(model.loss_curve_) == 2

    def test_an_interruption_leaves_no_trace(self, y):
        recorder = Recorder(stop=1, error=KeyboardInterrupt())
        model = self.hmm(tol=0).fit(X, y).set_callbacks(recorder)
        before = dict(vars(model))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
        assert vars(model) == before
        assert recorder.events[-1] == "teardown"


class TestProgressBar:
    __test__ = SUPPORTED and find_spec("rich") is not None

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_a_bar_that_is_complete_in_the_end(self, solver, capsys):
        from sklearn.callback import ProgressBar

        crf(solver, max_iter=50).set_callbacks(ProgressBar()).fit(X, Y)
        assert "LinearChainCRF - fit" in (out := capsys.readouterr().out)
        assert "100%" in out


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "gradient"])
@pytest.mark.filterwarnings("error")
class TestLogLinear:
    __test__ = SUPPORTED

    def test_each_iteration_is_a_task_and_may_be_the_last(self, solver):
        words, tags = ([item for several in sequences for item in several] for sequences in (X, Y))
        model = LogLinearClassifier(ProductFeatures(lambda word: [word]), solver=solver, tol=0)
        recorder = Recorder(stop=2)
        model.set_callbacks(recorder).fit(words, tags)
        assert model.n_iter_ == len(model.loss_curve_) == len(recorder.states("end")) == 2
        last = recorder.states("end")[-1]
        assert last.predict(words).tolist() == model.predict(words).tolist()
        assert recorder.events[0] == "setup"
        assert recorder.events[-1] == "teardown"
