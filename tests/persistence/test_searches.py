"""Fitted searches in files."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from fuzz import files
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - sets the attributes that are imported next
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline

from sklearn_struct import MEMM, LinearChainCRF, SequenceVectorizer
from sklearn_struct.compat import CRF, metrics
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.metrics import sequence_accuracy_scorer, token_accuracy_scorer
from sklearn_struct.model_selection import KeepUnlabeled
from sklearn_struct.persistence import load, save

WORDS = [*files.WORDS, ["a", "cat", "."], ["the", "cat"], ["dog", "."]]
TAGS = [*files.TAGS, ["DET", "NOUN", "."], ["DET", "NOUN"], ["NOUN", "."]]
QUICK = {"max_iter": 5, "tol": 9.0}


def quick():
    return make_pipeline(SequenceVectorizer(), LinearChainCRF(**QUICK))


def worst(results):
    return int(np.argmin(results["mean_test_score"]))


def several(estimator, X, y):
    return {"a": estimator.score(X, y), "b": 0.5}


def of_kinds():
    """Searches of all forms."""
    grid = {"linearchaincrf__C": [0.1, 10.0]}
    models = [
        {"linearchaincrf": [MEMM(**QUICK)]},
        {"linearchaincrf__edge_features": [None, ["a"]], **grid},
    ]
    drawn = {
        "linearchaincrf__C": scipy.stats.loguniform(0.1, 10),
        "linearchaincrf__max_iter": scipy.stats.randint(2, 5),
    }
    both = {"tokens": token_accuracy_scorer, "all": sequence_accuracy_scorer}
    flat = make_scorer(metrics.flat_f1_score, average="micro")
    yield GridSearchCV(quick(), grid, cv=2)
    yield GridSearchCV(
        quick(), models, cv=KFold(3), scoring=token_accuracy_scorer, return_train_score=True
    )
    yield GridSearchCV(quick(), grid, cv=KeepUnlabeled(KFold(2)), refit=worst, scoring=flat)
    yield GridSearchCV(quick(), grid, cv=2, refit=False, scoring=both)
    yield GridSearchCV(quick(), grid, cv=2, refit="b", scoring=several)
    yield RandomizedSearchCV(
        quick(), drawn, n_iter=2, cv=2, scoring=both, refit="all", random_state=0
    )
    yield GridSearchCV(
        CRF(max_iterations=3), {"c1": [0.0, 0.1]}, cv=[([0, 1, 2, 3], [4, 5])], scoring=flat
    )
    yield make_pipeline("passthrough", GridSearchCV(quick(), grid, cv=2))
    by_samples = {"factor": 2, "min_resources": 3, "random_state": 0, "cv": 2}
    by_iterations = {
        "resource": "linearchaincrf__max_iter",
        "max_resources": 4,
        "min_resources": 2,
        "factor": 2,
    }
    yield HalvingGridSearchCV(quick(), grid, **by_samples)
    yield HalvingGridSearchCV(
        quick(), grid, refit=False, scoring=token_accuracy_scorer, **by_iterations, cv=KFold(3)
    )
    yield HalvingRandomSearchCV(
        quick(),
        {"linearchaincrf__C": drawn["linearchaincrf__C"]},
        random_state=0,
        n_candidates=3,
        **by_iterations,
        cv=2,
    )


def shown(value):
    """As it is shown, where numbers of numpy may be Python's."""
    return re.sub(r"np\.\w+\(([^()]*)\)", r"\1", repr(value))


def without_addresses(value):
    return re.sub("0x[0-9a-f]+", "", repr(value))


NAMES = {"worst": worst, "several": several}


@pytest.mark.parametrize("search", list(of_kinds()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_equal_search_comes_back(tmp_path, search):
    search = clone(search)
    inner = search[-1] if hasattr(search, "steps") else search
    functions = NAMES | ({"scoring": inner.scoring} if callable(inner.scoring) else {})
    search.fit(WORDS, TAGS)
    save(search, tmp_path / "model", functions=functions)
    loaded = load(tmp_path / "model", functions=functions)
    found = loaded[-1] if hasattr(search, "steps") else loaded
    inner = search[-1] if hasattr(search, "steps") else search
    learned = [
        name
        for name in vars(inner)
        if name.endswith("_") and name not in ("scorer_", "best_estimator_")
    ]
    assert {name for name in vars(found) if name.endswith("_")} == {
        name for name in vars(inner) if name.endswith("_")
    }
    for name in learned:
        if name not in ("cv_results_", "feature_names_in_"):
            assert shown(getattr(found, name)) == shown(getattr(inner, name))
    assert list(found.cv_results_) == list(inner.cv_results_)
    for name, column in inner.cv_results_.items():
        assert shown(found.cv_results_[name]) == shown(column)
        assert getattr(found.cv_results_[name], "dtype", None) == getattr(column, "dtype", None)
    if inner.refit:
        assert loaded.predict(WORDS).tolist() == search.predict(WORDS).tolist()
        if inner.scoring is not several:  # of which scikit-learn itself cannot choose one
            assert loaded.score(WORDS, TAGS) == search.score(WORDS, TAGS)
    assert without_addresses(clone(loaded)) == without_addresses(clone(search))


def fitted(**options):
    options = {"cv": 2, "scoring": token_accuracy_scorer, **options}
    return GridSearchCV(quick(), {"linearchaincrf__C": [0.1, 10.0]}, **options).fit(WORDS, TAGS)


def test_a_loaded_search_can_be_fitted_again(tmp_path):
    search = fitted()
    save(search, tmp_path / "model")
    again = load(tmp_path / "model").fit(WORDS, TAGS)
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def halved(cls=HalvingGridSearchCV, **options):
    options = {"min_resources": 3, "factor": 2, "random_state": 0, "cv": 2, **options}
    return cls(quick(), {"linearchaincrf__C": [0.1, 10.0]}, **options).fit(WORDS, TAGS)


def test_a_loaded_halving_search_can_be_fitted_again(tmp_path):
    search = halved()
    save(search, tmp_path / "model")
    again = load(tmp_path / "model").fit(WORDS, TAGS)
    assert again.n_candidates_ == search.n_candidates_ == [2, 1]
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


IN_ANOTHER_PROCESS = """
import sys
from sklearn import model_selection
from sklearn_struct.persistence import load
print("sklearn.model_selection._search_successive_halving" in sys.modules)
print(load(sys.argv[1]).best_params_)
print("HalvingGridSearchCV" in vars(model_selection))
"""


def test_what_is_experimental_is_not_enabled(tmp_path):
    """Nor is the module imported before a file has such a search."""
    search = halved()
    save(search, tmp_path / "model")
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["False", str(search.best_params_), "False"], done.stderr


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            lambda state: state["n_resources"].append(12),
            "have not tried the candidates of the results",
        ),
        (
            lambda state: state["n_candidates"].reverse() or state["n_candidates"].pop(),
            "have not tried the candidates",
        ),
        (
            lambda state: state.update(n_candidates=[1, 1]),
            "have not tried the candidates of the results",
        ),
        (lambda state: state.update(n_candidates=["2", 1]), "n_candidates must be whole numbers"),
        (
            lambda state: state.update(n_resources=[3, -1]),
            "n_resources is not a number of things: -1",
        ),
        (
            lambda state: state["resources"].update(min_resources=2.5),
            "min_resources cannot be of type float",
        ),
        (
            lambda state: state["resources"].pop("max_resources"),
            "its resources must have the fields",
        ),
        (lambda state: state["search"].update(best_index=9), "none of those that were tried"),
    ],
)
def test_halving_searches_that_nobody_has_made(tmp_path, how, said):
    path = tmp_path / "model"
    save(halved(), path)
    header, model, arrays = files.taken_apart(path.read_bytes())
    how(model["estimator"]["state"])
    path.write_bytes(files.sealed(files.put_together(header, model, arrays)))
    with pytest.raises(ModelFileError, match=said):
        load(path)


@pytest.mark.parametrize("random_state", [np.random.RandomState(0), np.random.default_rng(0)])
def test_random_states_are_told_the_remedy(tmp_path, random_state):
    cv = ShuffleSplit(2, random_state=np.random.RandomState(0))
    search = fitted(cv=cv)
    cv.random_state = random_state  # scikit-learn's splitters cannot draw from a Generator
    for chosen, what in ((cv, "cv"), (KeepUnlabeled(cv), "cv.cv")):
        search.set_params(cv=chosen)
        said = (
            rf"^{what}.random_state: .* cannot be saved; "
            rf"set {what}.random_state to an int, or to None$"
        )
        with pytest.raises(InputTypeError, match=said):
            save(search, tmp_path / "model")
    cv.random_state = 0
    save(search, tmp_path / "model")
    assert load(tmp_path / "model").cv.cv.random_state == 0


def test_splitters_that_are_not_known_are_told_the_remedy(tmp_path):
    search = fitted()
    for cv, what in ((StratifiedKFold(2), "cv"), (KeepUnlabeled(StratifiedKFold(2)), "cv.cv")):
        with pytest.raises(
            InputTypeError,
            match=rf"^{what}: Strat.* cannot be saved; set {what} to a number, to a list",
        ):
            save(search.set_params(cv=cv), tmp_path / "model")


def test_a_function_without_a_name_is_an_error_that_names_it(tmp_path):
    with pytest.raises(
        InputTypeError, match=r"refit: .* is a Python function.* functions=\{'refit': worst\}"
    ):
        save(fitted(refit=worst), tmp_path / "model")
    save(fitted(refit=worst), tmp_path / "model", functions=NAMES)
    with pytest.raises(ModelFileError, match="it needs the function 'worst'"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda search: search["state"].update(best_index=2), "none of those that were tried"),
        (lambda search: search["state"].update(params=[]), "tried no candidates"),
        (lambda search: search["state"]["params"].pop(), "must have 1 numbers"),
        (lambda search: search["state"].update(multimetric=True), "other scores than its results"),
        (lambda search: search["state"]["columns"].append(["more", "masked"]), "unknown column"),
        (lambda search: search["state"]["columns"].append(["params", "params"]), "different names"),
        (
            lambda search: search["state"].update(best_score={"tuple": []}),
            "best_score is no number",
        ),
        (
            lambda search: search["params"].update(cv={"splitter": ["KFold", [0, False, None]]}),
            "KFold cannot have",
        ),
        (
            lambda search: search["params"].update(cv={"splitter": ["os.system", ["ls"]]}),
            "unknown kind of value",
        ),
        (lambda search: search["params"].update(scoring={"scorer": "os"}), "unknown kind of value"),
        (lambda search: search["params"].update(scoring="no such"), "'scoring' parameter"),
        (lambda search: search["params"].update(estimator=None), "'estimator' parameter|no array"),
        (
            lambda search: search["params"].update(
                estimator={"estimator": {"class": "open", "params": {}}}
            ),
            "unknown class",
        ),
        (
            lambda search: search["params"].update(
                cv={"distribution": ["expon", ["x"], {"dict": []}]}
            ),
            "no numbers|cannot have",
        ),
    ],
)
def test_searches_that_nobody_has_made(tmp_path, how, said):
    path = tmp_path / "model"
    save(fitted(), path)
    header, model, arrays = files.taken_apart(path.read_bytes())
    how(model["estimator"])
    path.write_bytes(files.sealed(files.put_together(header, model, arrays)))
    with pytest.raises(ModelFileError, match=said):
        load(path)
