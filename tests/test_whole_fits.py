"""Fits and predictions at once on one estimator: at any moment there is one whole fit."""

from __future__ import annotations

import inspect
from functools import cached_property

import numpy as np
import pytest
from fuzz.subjects import first, made, quietly
from public_estimators import public_classes

from sklearn_struct import (
    LinearChainCRF,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
    TokenWindows,
)
from sklearn_struct import (
    _whole_fits as _published,
)
from sklearn_struct._whole_fits import as_published

N_MOMENTS = 6
WORDS = [["the", "cat", "sleeps"], ["a", "dog"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]


@pytest.fixture(params=public_classes(), ids=lambda cls: cls.__name__)
def subject(request):
    return first(request.param)


def told(result):
    """As something that can be compared, to the last bit."""
    if isinstance(result, SequenceArray):
        return told(result.tokens), result.offsets.tolist()
    if hasattr(result, "toarray"):
        return told(result.toarray())
    if isinstance(result, list | tuple) or (
        isinstance(result, np.ndarray) and result.dtype == object
    ):
        return [told(item) for item in result]
    if type(result).__repr__ is object.__repr__:  # it would show the address
        return type(result).__name__, told(list(vars(result).values()))
    return result.tolist() if isinstance(result, np.ndarray) else str(result)


def readings(subject, model):
    """By name whatever can be asked of a fitted estimator with its X, or with nothing."""
    found = {}
    for name in ("predict", "predict_proba", "score_samples", "transform"):
        if hasattr(model, name):
            found[name] = lambda name=name: told(getattr(model, name)(subject.X))
    for name, member in inspect.getmembers(type(model)):
        if (
            isinstance(member, property | cached_property)
            and name[0] != "_"
            and hasattr(model, name)
        ):
            found[name] = lambda name=name: told(getattr(model, name))
    return found


def other_fit(subject, model):
    """Fit to other data, which have fewer features or labels, or other means."""
    return quietly(lambda: model.fit(subject.X[:2], subject.y[:2]))


def test_while_a_fit_works_all_is_as_before(subject):
    """Whatever it sets, in its order."""
    model = subject.fitted()
    asked = readings(subject, model)
    before = quietly(lambda: {name: ask() for name, ask in asked.items()})
    seen = []

    class Watched(type(model)):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name != "__dict__" and len(seen) < N_MOMENTS:
                seen.append(name)
                assert {name: ask() for name, ask in asked.items()} == before, name

    model.__class__ = Watched
    assert other_fit(subject, model) is model
    assert seen
    after = quietly(lambda: {name: ask() for name, ask in asked.items() if hasattr(model, name)})
    # what learns the width of X alone is as before
    assert after != before or type(subject.fitted()) is TokenWindows


def test_whatever_reads_an_estimator_reads_one_fit(subject):
    """Another takes its place between any two looks at it."""
    one = subject.fitted()
    other = other_fit(subject, subject.fitted())
    at = 0
    count = 0

    class Watched(type(one)):
        def __getattribute__(self, name):
            nonlocal count
            count += 1
            if count == at:
                model.__dict__ = dict(vars(other))
            return super().__getattribute__(name)

    model = subject.fitted()
    model.__class__ = Watched
    asked = readings(subject, model)
    for name, ask in asked.items():
        allowed = [
            quietly(readings(subject, fit)[name]) for fit in (one, other) if hasattr(fit, name)
        ]
        at = 0
        count = 0
        quietly(ask)
        n_reads = count
        for moment in np.unique(np.linspace(1, n_reads, N_MOMENTS).astype(int)):
            model.__dict__ = dict(vars(one))
            at = moment
            count = 0
            assert quietly(ask) in allowed, (name, moment)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_all_that_is_public_goes_this_way(cls):
    """Also what mixins define, and what is only there with some parameters."""
    for parent in cls.__mro__:
        if parent.__module__.split(".")[0] == "sklearn_struct":
            for name, member in vars(parent).items():
                function = getattr(
                    member, "fget", getattr(member, "func", getattr(member, "fn", member))
                )
                if name[0] != "_" and inspect.isfunction(function):
                    assert function.__code__.co_filename == _published.__file__, (
                        f"{parent.__name__}.{name}"
                    )


def test_parameters_that_are_set_during_a_fit_stay():
    crf = made(LinearChainCRF, {})

    class Busy(LinearChainCRF):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "classes_":
                crf.C = 7.0

    crf.__class__ = Busy
    quietly(lambda: crf.fit(WORDS, TAGS))
    assert crf.C == 7.0
    assert crf.max_iter == 3
    assert crf.predict(WORDS).tolist() == TAGS


def test_transformers_of_a_union_are_published_with_it():
    union = SequenceUnion([("a", SequenceVectorizer())])
    given = union.transformer_list
    union.fit(WORDS)
    assert union.transformer_list is not given
    assert union.transform(WORDS).tokens.shape[1] == 5


def test_a_view_is_of_one_fit():
    crf = quietly(lambda: made(LinearChainCRF, {}).fit(WORDS, TAGS))
    view = as_published(crf)
    quietly(lambda: crf.fit(WORDS[1:], TAGS[1:]))
    assert view.classes_.tolist() == ["DET", "NOUN", "VERB"]
    assert crf.classes_.tolist() == ["DET", "NOUN"]


def test_methods_that_return_the_estimator_do_not_return_a_view():
    union = SequenceUnion([("a", SequenceVectorizer())])
    assert union.set_params(n_jobs=2) is union
    assert union.n_jobs == 2
