"""The harness of the fuzzers: no case can hide that it crashes, hangs or raises."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz import errors, inputs, settings, workers
from fuzz.subjects import public_classes, subject

import sklearn_struct
from sklearn_struct import HMM, LinearChainCRF
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


@pytest.mark.parametrize(
    ("call", "clear"),
    [
        (lambda: LinearChainCRF().fit([[None]], [["a"]]), True),
        (lambda: LinearChainCRF(C=-1).fit([["a"]], [["a"]]), True),  # scikit-learn's message
        (lambda: LinearChainCRF().predict([["a"]]), True),
        (lambda: np.zeros(3).reshape(2, 2), False),
        (lambda: LinearChainCRF().fit(), False),
        (lambda: {}["a"], False),
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
    """A few of many: ``python tests/fuzz/run.py inputs --n 10000``, and "settings", of all public classes."""
    assert kind.case(number) in kind.GOOD


def test_all_public_classes_are_tried():
    assert {kind.family(number) for kind in (inputs, settings) for number in range(len(public_classes()))} == {
        cls.__name__ for cls in public_classes()
    }
    assert set(sklearn_struct.__all__) & {"HMM", "PCFG", "SequenceUnion"} <= {cls.__name__ for cls in public_classes()}


def test_a_fit_that_changes_something_before_it_fails_is_seen():
    class Careless(HMM):
        def fit(self, X, y=None):
            self.n_iter_ = 0
            return HMM().fit([[None]])

    good = subject(HMM, 0, "strings")
    model = good.fitted()
    model.__class__ = Careless
    Careless.fit = Careless.fit.__wrapped__  # without a draft
    assert inputs.verdict(model, "fit", {"X": good.X}, good) == "a failed fit has changed something: fit"


def test_settings_that_change_what_was_learned_are_seen():
    class Moody(HMM):
        def predict(self, X):
            return super().predict(X) if self.smoothing == 1 else [["NOUN"] * len(words) for words in X]

    good = subject(HMM, 0, "strings")
    model = good.fitted()
    model.__class__ = Moody
    before = settings.outcomes(model, good)
    assert before == settings.outcomes(model, good)
    assert settings.outcomes(model.set_params(smoothing=2.0), good) != before
    assert list(settings.nested(good.fitted())) != []
