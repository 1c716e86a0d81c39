"""Files of format 1, in which some parameters had other names, made of today's by hand."""

from __future__ import annotations

import pytest
import scipy.stats
from fuzz import files
from fuzz.files import in_format_1
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - sets the attribute that is imported next
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_struct import (
    EMLPCFG,
    GECRF,
    HMM,
    MEMM,
    PCFG,
    LinearChainCRF,
    MEstimatedCRF,
    MEstimatedPCFG,
    SequenceVectorizer,
    SpectralHMM,
    SpectralLPCFG,
)
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.files import FORMAT, _bytes
from sklearn_struct.persistence.former_names import RENAMED, renamed
from sklearn_struct.persistence.known_classes import class_named

WORDS = [*files.WORDS, ["a", "cat", "."], ["the", "cat"], ["dog", "."]]
TAGS = [*files.TAGS, ["DET", "NOUN", "."], ["DET", "NOUN"], ["NOUN", "."]]
LABELS = [".", "DET", "NOUN", "VERB"]
QUICK = {"max_iter": 3, "tol": 9.0}
GIVEN = {"cat": "NOUN", "the": "DET"}


def loaded(path, data):
    path.write_bytes(data)
    return load(path)


FREQUENCY = ("min_frequency", "min_count")
INIT = ("init", "start")
STATES = ("n_states", "states")
WEIGHT = ("target_weight", "constraint_weight")
DECODER = ("decoder", "decoding")
BASE = HMM(n_states=LABELS, init="random")


def one_by_one():
    """Fitted estimators, each with the names of its file in format 1."""
    yield EMLPCFG(min_frequency=1, n_states=2, random_state=0, **QUICK), [FREQUENCY]
    yield GECRF(GIVEN, classes=LABELS, target_weight=2.0, init="random", **QUICK), [WEIGHT, INIT]
    yield HMM(n_states=LABELS, init="random", random_state=0), [INIT, STATES]
    yield MEMM(decoder="beam", beam_width=2), [DECODER]
    yield MEstimatedPCFG(base=PCFG(min_frequency=3), min_frequency=2, **QUICK), [FREQUENCY]
    yield PCFG(min_frequency=1, decoder="max-rule"), [FREQUENCY]
    yield SpectralHMM(min_frequency=1, n_states=2), [FREQUENCY]
    yield SpectralLPCFG(min_frequency=1, n_states=2), [FREQUENCY]
    yield MEstimatedCRF(["%x[0,0]"], base=BASE, **QUICK), [INIT, STATES]
    frozen = FrozenEstimator(clone(BASE).fit(WORDS, TAGS))
    yield MEstimatedCRF(["%x[0,0]"], base=frozen, **QUICK), [INIT, STATES]
    yield make_pipeline(SequenceVectorizer(), MEMM(decoder="greedy", **QUICK)), [DECODER]
    yield LinearChainCRF(min_frequency=2), []


@pytest.mark.parametrize(("model", "names"), list(one_by_one()), ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_equal_estimator_comes_back(tmp_path, model, names):
    trees = isinstance(model, EMLPCFG | PCFG | MEstimatedPCFG | SpectralLPCFG)
    data = (files.WORDS, files.TREES) if trees else (WORDS, TAGS)
    data = (WORDS, [None] * 6) if isinstance(model, GECRF) else data
    today = _bytes(model.fit(*data))
    found = loaded(tmp_path / "model", in_format_1(today, *names))
    assert repr(found.get_params()) == repr(model.get_params())
    assert list(map(str, found.predict(data[0]))) == list(map(str, model.predict(data[0])))
    assert files.content(_bytes(found)) == files.content(today)


def searches():
    """Fitted searches, each with the names of its file in format 1."""
    several = [
        {"start": [BASE, HMM(n_states=[*LABELS, "ADV"])], "start__init": ["random"]},
        {"start": [MEMM(**QUICK)], "start__decoder": ["beam"]},
        {"start__min_frequency": [1, 2]},
    ]
    changed = [INIT, STATES, ("start__init", "start__start"), DECODER]
    yield (
        GridSearchCV(MEMM(**QUICK), {"decoder": ["greedy", "beam"]}, cv=2),
        [DECODER, ("param_decoder", "param_decoding")],
    )
    yield (
        GridSearchCV(make_pipeline(MEMM(**QUICK)), {"memm__decoder": ["greedy"]}, cv=2),
        [
            DECODER,
            ("memm__decoder", "memm__decoding"),
            ("param_memm__decoder", "param_memm__decoding"),
        ],
    )
    yield (  # a step with the former name of a parameter
        GridSearchCV(Pipeline([("start", LinearChainCRF(**QUICK))]), several, cv=2),
        [
            *changed,
            ("param_start__init", "param_start__start"),
            ("start__decoder", "start__decoding"),
            ("param_start__decoder", "param_start__decoding"),
        ],
    )
    yield (
        GridSearchCV(
            MEstimatedCRF(["%x[0,0]"], base=BASE, **QUICK), {"base__n_states": [LABELS]}, cv=2
        ),
        [
            INIT,
            STATES,
            ("base__n_states", "base__states"),
            ("param_base__n_states", "param_base__states"),
        ],
    )
    inner = Pipeline([("inner", Pipeline([("m", SpectralHMM(n_states=1))]))])
    name = "inner__m__min_frequency"
    former = "inner__m__min_count"
    both = [FREQUENCY, (name, former), (f"param_{name}", f"param_{former}")]
    drawn = {name: scipy.stats.randint(1, 4)}
    yield RandomizedSearchCV(inner, drawn, n_iter=2, cv=2, random_state=0), both
    halves = {"resource": name, "min_resources": 1, "max_resources": 2, "factor": 2, "cv": 2}
    yield HalvingGridSearchCV(inner, {"inner__m__n_states": [1, 2]}, **halves), both


def searched(search):
    """What a search tries, and what it has tried and found, in words."""
    results = {
        name: column.tolist() if name.startswith("param_") else None
        for name, column in search.cv_results_.items()
    }
    kept = {name: value for name, value in search.get_params(deep=False).items() if "param" in name}
    shown = repr((kept, results, search.cv_results_["params"], search.best_params_))
    return shown.replace(repr(kept.get("param_distributions")), "") if "rv_" in shown else shown


@pytest.mark.parametrize(("search", "names"), list(searches()))
@pytest.mark.filterwarnings("ignore")
def test_an_equal_search_comes_back(tmp_path, search, names):
    today = _bytes(search.fit(WORDS, TAGS))
    found = loaded(tmp_path / "model", in_format_1(today, *names))
    assert searched(found) == searched(search)
    assert files.content(_bytes(found)) == files.content(today)
    assert found.predict(WORDS).tolist() == search.predict(WORDS).tolist()
    scores = search.cv_results_["mean_test_score"].tolist()
    assert found.fit(WORDS, TAGS).cv_results_["mean_test_score"].tolist() == scores


def inside(name, **params):
    return {"estimator": {"class": name, "params": params}}


@pytest.mark.parametrize("first", [0, 1])
def test_names_that_became_one_are_one_column(first):
    """Of two models in the same place, one had the name of today."""
    steps = [{"tuple": ["m", inside("SpectralHMM")]}]
    models = [
        {"dict": [["m", inside("SpectralHMM", min_count=2)], ["m__min_count", 1]]},
        {"dict": [["m", inside("LinearChainCRF")], ["m__min_frequency", 3]]},
    ]
    columns = [["param_m__min_count", "masked"], ["param_m__min_frequency", "masked"]]
    turned = slice(None, None, -1 if first else 1)
    stored = {
        "class": "GridSearchCV",
        "params": {"estimator": inside("Pipeline", steps=steps), "param_grid": models[turned]},
        "state": {"params": models[turned], "columns": [["mean", "numbers"], *columns[turned]]},
    }
    found = renamed(stored)
    models[0] = {
        "dict": [["m", inside("SpectralHMM", min_frequency=2)], ["m__min_frequency", 1]],
    }
    assert found["params"]["param_grid"] == found["state"]["params"] == models[turned]
    assert found["state"]["columns"] == [["mean", "numbers"], ["param_m__min_frequency", "masked"]]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        3,
        "steps",
        [],
        {},
        [[]],
        {"dict": 3},
        {"dict": [[1, 2]]},
        {"dict": [["m"]]},
        {"tuple": [{"dict": [["m__n__states", 1]]}]},
        {"estimator": 3},
        {"estimator": {"class": [], "params": {}}},
        inside("Pipeline", steps=3),
        inside("Pipeline", steps=[3, {"tuple": 3}, {"tuple": [3, 4]}, {"tuple": ["m", 5]}]),
        inside("Pipeline", steps=[{"tuple": ["m", inside("HMM")]}, ["m", {"estimator": 3}]]),
    ],
)
def test_what_is_no_search_is_left_to_others(odd):
    """Nothing has looked at the JSON before: it stays as it is, and nothing else is raised."""
    tried = {"dict": [["m__n__states", [odd]], ["m", odd], ["states", 1]]}
    params = {"estimator": odd, "param_grid": odd, "param_distributions": tried, "resource": odd}
    for state in (odd, {"params": odd, "columns": odd}, {"search": odd}):
        stored = {"class": "GridSearchCV", "params": params, "state": state}
        assert renamed(stored) == stored


def test_former_names_belong_to_their_format(tmp_path):
    hmm = HMM(n_states=LABELS).fit(WORDS, TAGS)
    today = _bytes(hmm)
    with pytest.raises(ModelFileError, match="HMM had no parameter 'init' in format 1"):
        loaded(tmp_path / "model", in_format_1(today, STATES))
    former = in_format_1(today, INIT, STATES)
    header, model, arrays = files.taken_apart(former)
    model["format"] = FORMAT
    with pytest.raises(ModelFileError, match="HMM has no parameter 'start'"):
        loaded(tmp_path / "model", files.sealed(files.put_together(header, model, arrays)))


def test_a_later_format_is_refused(tmp_path):
    header, model, arrays = files.taken_apart(_bytes(HMM().fit(WORDS, TAGS)))
    model["format"] = FORMAT + 1
    with pytest.raises(ModelFileError, match=f"format {FORMAT + 1}, of a later version"):
        loaded(tmp_path / "model", files.sealed(files.put_together(header, model, arrays)))


def test_what_is_saved_again_has_the_names_of_today(tmp_path):
    hmm = HMM(n_states=LABELS).fit(WORDS, TAGS)
    former = loaded(tmp_path / "model", in_format_1(_bytes(hmm), INIT, STATES))
    save(former, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == _bytes(hmm)


def test_the_table_names_parameters():
    for name, names in RENAMED.items():
        known = class_named(name)._get_param_names()
        assert set(names.values()) <= set(known)
        assert not names.keys() & set(known)
