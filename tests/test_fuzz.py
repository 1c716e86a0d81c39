"""The harness of the fuzzers: no case can hide that it crashes, hangs or raises."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz import errors, inputs, interrupts, settings, subjects, workers
from fuzz.subjects import subject
from joblib import Parallel, delayed
from public_estimators import public_classes

import sklearn_struct
from sklearn_struct import HMM, PCFG, LinearChainCRF, SequenceVectorizer
from sklearn_struct.encoding.parameter_checks import check_count
from sklearn_struct.exceptions import InputTypeError

DEEDS = {
    1: lambda: "good",
    3: lambda: "fine",
    4: lambda: "no good: at all",
    5: lambda: os.kill(os.getpid(), signal.SIGKILL),
    7: lambda: time.sleep(60),
    8: lambda: 1 / 0,
}


def kind(**more):
    return SimpleNamespace(
        GOOD={"good", "fine"},
        PATIENCE=1.0,
        prepare=lambda: None,
        family=lambda number: "even" if number % 2 == 0 else "odd",
        case=lambda number: DEEDS.get(number, DEEDS[1])(),
        **more,
    )


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_case_has_its_outcome_whatever_became_of_the_others(jobs):
    verdicts = {}
    for outcome in workers.outcomes(kind(), range(1, 12), jobs, gigabytes=64):
        assert outcome.number not in verdicts
        verdicts[outcome.number] = outcome.verdict
    expected = dict.fromkeys(range(1, 12), "good") | {3: "fine", 4: "no good: at all"}
    expected |= {5: "crashed: exit code -9", 7: "hung", 8: "ZeroDivisionError: division by zero"}
    assert verdicts == expected


def test_what_is_bad_is_printed_and_counted(capfd):
    assert workers.report(kind(), range(1, 6), jobs=2, gigabytes=64) == 2
    lines = capfd.readouterr().out.splitlines()
    assert {"case 4 (even): no good: at all", "case 5 (odd): crashed: exit code -9"} <= set(lines)
    assert any(line.startswith("even  1 good, 1 no good; slowest ") for line in lines)
    assert any(line.startswith("odd   1 crashed, 1 fine, 1 good; slowest ") for line in lines)
    assert lines[-1].startswith("5 cases, 2 bad, ")


def in_a_worker(function, *arguments):
    """What it gives in another process of joblib's."""
    return Parallel(n_jobs=2, backend="loky")([delayed(function)(*arguments)])


@pytest.mark.parametrize(
    ("call", "clear"),
    [
        (lambda: LinearChainCRF().fit([[None]], [["a"]]), True),
        (lambda: LinearChainCRF(C=-1).fit([["a"]], [["a"]]), True),  # scikit-learn's message
        (lambda: LinearChainCRF().predict([["a"]]), True),
        (lambda: np.zeros(3).reshape(2, 2), False),
        (lambda: LinearChainCRF().fit(), False),
        (lambda: {}["a"], False),
        (lambda: in_a_worker(check_count, 0, "n"), True),
        (lambda: in_a_worker(int, "a"), False),
    ],
)
def test_an_error_is_clear_if_somebody_wrote_it(call, clear):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    assert errors.is_clear(caught.value) == clear
    assert not errors.is_clear(caught.value, kinds=(InputTypeError,)) or clear
    assert errors.told(caught.value).startswith(f"{type(caught.value).__name__}: ")


@pytest.mark.parametrize("kind", [inputs, settings], ids=["inputs", "settings"])
@pytest.mark.parametrize("number", range(2 * len(public_classes())))
def test_random_inputs_and_settings(kind, number):
    """A few of many: ``python tests/fuzz/run.py inputs --n 10000``, and "settings", of all public
    classes.
    """
    assert kind.case(number) in kind.GOOD


def test_all_public_classes_are_tried():
    assert {
        kind.family(number)
        for kind in (inputs, settings)
        for number in range(len(public_classes()))
    } == {cls.__name__ for cls in public_classes()}
    assert set(sklearn_struct.__all__) & {"HMM", "PCFG", "SequenceUnion"} <= {
        cls.__name__ for cls in public_classes()
    }


def test_a_fit_that_changes_something_before_it_fails_is_seen():
    class Careless(HMM):
        def fit(self, X, y=None):
            self.n_iter_ = 0
            return HMM().fit([[None]])

    good = subject(HMM, 0, "strings")
    model = good.fitted()
    model.__class__ = Careless
    Careless.fit = Careless.fit.__wrapped__  # without a draft
    assert (
        inputs.verdict(model, "fit", {"X": good.X}, good)
        == "a failed fit has changed something: fit"
    )


def test_settings_that_change_what_was_learned_are_seen():
    class Moody(HMM):
        def predict(self, X):
            return (
                super().predict(X)
                if self.smoothing == 1
                else [["NOUN"] * len(words) for words in X]
            )

    good = subject(HMM, 0, "strings")
    model = good.fitted()
    model.__class__ = Moody
    before = settings.outcomes(model, good)
    assert before == settings.outcomes(model, good)
    assert settings.outcomes(model.set_params(smoothing=2.0), good) != before
    assert list(settings.nested(good.fitted())) != []


# ---- Ctrl-C


def waits():
    while True:
        time.sleep(0.001)


def converts():
    try:
        waits()
    except KeyboardInterrupt:
        raise SystemError("returned a result with an exception set") from None


def swallows():
    with contextlib.suppress(KeyboardInterrupt):
        waits()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (waits, "answered"),
        (converts, "SystemError: returned a result with an exception set (test_fuzz.py:"),
        (swallows, "swallowed: at test_fuzz.py:"),
        (lambda: None, "done before"),
    ],
)
def test_what_becomes_of_ctrl_c_is_told(call, expected):
    handler = signal.getsignal(signal.SIGINT)
    assert interrupts.verdict(interrupts.interrupted(call, 0.01)).startswith(expected)
    assert signal.getsignal(signal.SIGINT) is handler


def at(work, clock=None):
    return interrupts.Moment(work, work if clock is None else clock)


@pytest.mark.parametrize(
    ("heard", "where", "ended", "expected"),
    [
        (at(0.1), "crf.py:7", at(0.15), "answered"),
        (at(0.1, 3.0), "crf.py:7", at(0.15, 4.0), "answered"),  # on a busy machine
        (
            at(0.3),
            "crf.py:7",
            at(0.3),
            "late: 0.30 s of work, 0.30 s until crf.py:7, 0.00 s of work, 0.00 s until the end",
        ),
        (at(0.0, 6.0), "crf.py:7", at(0.0, 6.0), "late"),  # it waits for something
        (at(0.3), "svd", at(0.4), "answered after one call of svd"),
        (at(0.3), "svd", at(0.6), "late"),
        (at(0.3), "spectral.py:7", at(0.3), "late"),
    ],
)
def test_an_answer_is_prompt_or_comes_after_one_call(heard, where, ended, expected):
    interrupt = interrupts.Interrupt(at(0.0), heard, where, ended, KeyboardInterrupt())
    assert interrupts.verdict(interrupt).startswith(expected)
    assert (interrupts.verdict(interrupt) in interrupts.GOOD) == expected.startswith("answered")


def test_ctrl_c_that_nobody_hears_is_told():
    unheard = interrupts.Interrupt(at(0.0), None, "", at(0.3), None)
    assert interrupts.verdict(unheard).startswith("not heard: 0.30 s of work")
    assert interrupts.verdict(unheard._replace(ended=at(0.1))) == "done before"


@pytest.mark.parametrize(
    ("seconds", "where", "good"),
    [(0.1, "crf.py:7", True), (0.3, "crf.py:7", False), (0.3, "eigh", True)],
)
def test_a_long_silence_is_bad_but_for_one_call(seconds, where, good):
    silence = interrupts.Silence(at(1.0), at(1.0 + seconds), where)
    assert (interrupts.verdict_of_silence(silence) in interrupts.GOOD) == good


def busy():
    total = sum(range(20_000_000))  # longer than a collection of garbage
    for _ in range(5):
        total += sum(range(1000))
    return total


def test_silence_is_measured_where_it_is():
    silence = interrupts.longest_silence(busy)
    assert silence.end.work > silence.begin.work
    assert silence.where.startswith("test_fuzz.py:")


class Careless(LinearChainCRF):
    """An estimator that Ctrl-C leaves half changed."""

    careful = True

    def fit(self, X, y):
        super().fit(X, y)
        if not self.careful:
            waits()
        return self

    def predict(self, X):
        return super().predict(X)


def test_a_fit_that_changes_the_estimator_is_told(monkeypatch):
    # half a second: whatever is done before `waits` is done by then
    subject = subjects.Subject(Careless(max_iter=1), "rows", None, None)
    estimator = Careless(max_iter=1)
    call = interrupts.Call(subject, "many", "fit")
    subjects.quietly(lambda: estimator.fit(*interrupts.data("rows", "many")))
    monkeypatch.setattr(Careless, "careful", False)
    assert interrupts.tried_once(estimator, call, 0.5) == "answered"
    fit = Careless.fit
    monkeypatch.setattr(
        Careless, "fit", lambda self, X, y: fit(vars(self).update(more_=1) or self, X, y)
    )
    assert interrupts.tried_once(estimator, call, 0.5) == "another estimator: answered"
    monkeypatch.setattr(Careless, "fit", fit)
    monkeypatch.setattr(Careless, "predict", lambda self, X: [time.perf_counter()])
    assert interrupts.tried_once(estimator, call, 0.5) == "another result: answered"


@pytest.mark.parametrize(
    ("cls", "method", "shape"), [(LinearChainCRF, "fit", "many"), (PCFG, "predict", "long")]
)
def test_ctrl_c_is_answered(cls, method, shape, monkeypatch):
    monkeypatch.setattr(interrupts, "N_TREES", {"many": 20, "long": 5})
    monkeypatch.setattr(interrupts, "SHAPES", {"many": (30, 20), "long": (1, 600)})
    call = interrupts.Call(subjects.first(cls), shape, method)
    assert interrupts.tried(call, np.random.default_rng(0)) in interrupts.GOOD


def test_calls_are_found():
    found = {(call.method, call.shape) for call in interrupts.of_class(SequenceVectorizer)}
    assert found == {
        (name, shape)
        for name in ("fit", "fit_transform", "transform")
        for shape in ("many", "long")
    }
    names = interrupts.methods(subjects.first(PCFG))
    assert {"fit", "predict", "score", "log_joint", "score_samples", "marginals"} <= set(names)
    assert not {"sample", "get_params"} & set(names)
