"""The comparison of versions: it sees every bit, knows new names, and has a case for everything."""

from __future__ import annotations

import math
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from public_estimators import CHAINS, public_classes
from real_data import NEEDS_HOME
from sklearn.utils._param_validation import Options, StrOptions
from versions import bits, renamed
from versions.cases import CASES, Case, Spec, built
from versions.compare import Argued, Difference, compared, distance, equal_share, read_argued
from versions.data import CORPORA, DATA, Data, bundle
from versions.outcomes import FAILED, answers, attempt, learned, outcome, parameters
from versions.sides import Side
from versions.worker import file_name, fitted

from sklearn_struct import HMM, LinearChainCRF, MEstimatedCRF, SequenceArray

HERE = Path(__file__).parents[1]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ROWS = Case(Spec("HMM", {}), "rows")


def next_after(x):
    return np.nextafter(x, np.inf)


# ---- outcomes


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, next_after(2.0)])),
        (np.array([0.0]), np.array([-0.0])),
        (np.array([1.0]), np.array([1.0], np.float32)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (1.0, next_after(1.0)),
        ([["a"], ["b"]], [["a", "b"]]),
        (["a", "b"], ["ab"]),
        ({"a": 1.0}, {"a": 2.0}),
        ({"a": 1.0}, {"b": 1.0}),
        (None, "a"),
        (True, False),
        (sp.csr_array(np.eye(2)), sp.csr_array(np.eye(2)[::-1])),
        (sp.csr_array(np.eye(2)), np.eye(2)),
        (SequenceArray(np.eye(3), [0, 1, 3]), SequenceArray(np.eye(3), [0, 2, 3])),
        (np.array([np.zeros(1), np.zeros(2)], dtype=object), np.zeros(3)),
        (outcome, distance),
    ],
)
def test_every_bit_is_in_the_digest(a, b):
    assert outcome(a).digest != outcome(b).digest


def values():
    return [
        [np.array([1.0, np.nan]), {"a": [None, "b", True]}],
        sp.csr_array(np.eye(3)),
        SequenceArray(np.eye(3), [0, 1, 3]),
        {"x", "y", "z"},
        (1, 2.0, np.float32(3)),
    ]


@pytest.mark.parametrize("which", range(len(values())))
def test_equal_values_have_equal_outcomes(which):
    assert outcome(values()[which]).digest == outcome(values()[which]).digest


def test_outcomes_have_numbers_and_words():
    made = outcome([np.array([[1, 2]]), {"a": 3.5}, "b"])
    assert made.numbers.tolist() == [1, 2, 3.5]
    assert made.words == ["a", "b"]
    assert not made.failure


def test_errors_are_failures():
    assert attempt(lambda: {}["a"]).failure == f"{FAILED}KeyError: 'a'"
    assert not attempt(lambda: "a").failure


def test_everything_public_of_an_estimator_is_seen():
    data = bundle("numbers")
    crf = LinearChainCRF(max_iter=2).fit(data.X, data.y)
    everything = learned(crf)
    assert {"coef_", "transition_", "intercept_", "loss_curve_", "classes_"} <= set(everything)
    said = answers(crf, data)
    assert {"predict()", "predict_proba()", "log_proba()", "sample()", "score()"} <= set(said)
    assert not [key for key, value in said.items() if value.failure]
    assert {"parameter C", "parameter solver"} <= set(parameters(crf))


def test_estimators_inside_are_seen():
    data = bundle("two labels")
    steps = [("model", Spec("LinearChainCRF", {"max_iter": 1}))]
    pipeline = built(Spec("Pipeline", {"steps": steps})).fit(data.X, data.y)
    assert "model.coef_" in learned(pipeline)
    assert "parameter model__C" in parameters(pipeline)


def test_methods_that_need_labels_get_none():
    data = Data([["a", "b"]], [["x", "y"]], [["a", "b"]], None)
    said = answers(HMM().fit(data.X, data.y), data)
    assert "predict()" in said
    assert "score()" not in said


# ---- differences


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [1.0, 2.5], 0.2),
        ([-4.0, 1.0], [-4.0, 2.0], 0.25),
        ([math.inf, math.nan], [math.inf, math.nan], 0.0),
        ([math.inf, 2.0], [math.inf, 4.0], 0.5),
        ([math.inf], [1.0], math.inf),
        ([math.nan], [1.0], math.inf),
        ([1.0], [1.0, 2.0], math.inf),
        ([], [], 0.0),
    ],
)
def test_distance(a, b, expected):
    assert distance(np.array(a), np.array(b)) == expected


def test_share_of_equal_items():
    assert equal_share(["a", "b", "c", "d"], ["a", "b", "c", "x"]) == 0.75
    assert equal_share(["a"], ["a", "b"]) == 0.5
    assert equal_share([], []) == 1


def outcomes(**values):
    return {name: outcome(value) for name, value in values.items()}


def test_differences_are_named_and_measured():
    before = outcomes(a=1.0, b=["x", "y"], c=[1.0, 2.0], d=0, e=1.0)
    after = outcomes(a=1.0, b=["x", "z"], c=[1.0, 2.5], e=np.float32(1.0), new=3)
    assert compared(before, after) == [
        Difference("b", math.inf, 0.5),
        Difference("c", 0.2, 0.5),
        Difference("d", math.inf, 0.0, "is gone"),
        Difference("e", 0.0, 1.0, "other types or shapes"),
    ]
    assert [d.key for d in compared(before, after, ignored={"b", "d"})] == ["c", "e"]


def test_what_fails_now_is_a_difference():
    failure = f"{FAILED}ValueError: no"
    assert compared(outcomes(a=1), None)[0].key == "the fit"
    assert compared(outcomes(a=1), {"the fit": outcome(failure)})[0].what == failure
    assert compared(outcomes(a=1), outcomes(a=failure))[0].what == f"worked -> {failure}"
    assert compared(outcomes(a=1), outcomes(a=1, b=failure))[0] == Difference(
        "b", math.inf, 0.0, failure
    )
    assert compared(outcomes(a=failure), outcomes(a=failure)) == []


ENTRY = "# Title\n\n- `^HMM`: `^a$` within 1e-9\n  Because.\n- `.`: `^b$`\n  Why\n  not.\n"


def test_reasons_are_read():
    assert read_argued(ENTRY) == [
        Argued("^HMM", "^a$", 1e-9, "Because."),
        Argued(".", "^b$", math.inf, "Why not."),
    ]
    for bad in ("- HMM: a\n  Because.", "- `HMM`: `a`", "- `HMM`: `a` within little\n  Because."):
        with pytest.raises(ValueError, match=r"no entry|could not convert"):
            read_argued(bad)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "n_used"),
    [
        ({"a": 1.0}, {"a": 1.0}, "equal", 0),
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, "argued", 1),
        ({"a": 1.0}, {"a": 1.0 + 1e-6}, "DIFFERS", 0),
        ({"a": 1.0, "b": 1}, {"a": 1.0, "b": 2}, "argued", 1),
        ({"a": 1.0, "c": 1}, {"a": 1.0 + 1e-12, "c": 2}, "DIFFERS", 1),
        ({"saving": "no"}, {}, "equal", 0),
        ({"the fit": f"{FAILED}a"}, {"a": 1.0}, "new", 0),
        ({"the fit": f"{FAILED}a"}, {"the fit": f"{FAILED}b"}, "FAILS", 0),
        ({"the fit": f"{FAILED}a"}, None, "FAILS", 0),
    ],
)
def test_verdicts(before, after, verdict, n_used):
    used: set[Argued] = set()
    new = None if after is None else outcomes(**after)
    assert bits.judged(ROWS, outcomes(**before), new, read_argued(ENTRY), used)[0] == verdict
    assert len(used) == n_used


def written(folder, **values):
    folder.mkdir()
    (folder / file_name(ROWS)).write_bytes(pickle.dumps(outcomes(**values)))
    return folder


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (next_after(1.0), 1)])
def test_the_report_fails_if_something_differs(tmp_path, capsys, monkeypatch, value, code):
    monkeypatch.setattr(bits, "ARGUED", tmp_path / "none")
    bits.ARGUED.write_text("- `^Nobody`: `x`\n  Why.\n")
    before = written(tmp_path / "before", coef_=1.0, classes_=["a", "b"])
    after = written(tmp_path / "after", coef_=value, classes_=["a", "b"])
    assert bits.report(before, after, [ROWS]) == code
    printed = capsys.readouterr().out
    assert ("coef_: 2.2e-16 apart, 0.00% equal" in printed) == bool(code)
    assert "nothing needs the reason for `^Nobody`: `x`" in printed


def test_a_report_of_nothing_fails(tmp_path):
    assert bits.report(tmp_path, tmp_path, [ROWS]) == 1


# ---- names of other versions


class Older:
    def __init__(self, states=None, C=1.0):
        self.states = states
        self.C = C


class PCFG:
    """With the name of a class in which a method was renamed."""

    def log_proba(self):
        return "joint"


class Newer(PCFG):
    def log_joint(self):
        return "joint"

    def log_proba(self):
        return "conditional"


Newer.__name__ = "PCFG"


def test_settings_have_the_names_of_the_version():
    assert renamed.options(Older, {"n_states": 3, "C": 2.0}) == {"states": 3, "C": 2.0}
    assert renamed.options(Older, {"states": 3}) == {"states": 3}
    with pytest.raises(TypeError, match="Older has no parameter order"):
        renamed.options(Older, {"order": 2})


def test_methods_have_the_names_of_the_version():
    assert renamed.method(PCFG(), "log_proba") is None
    assert renamed.method(PCFG(), "log_joint")() == "joint"
    assert renamed.method(Newer(), "log_proba")() == "conditional"
    assert renamed.method(Newer(), "log_joint")() == "joint"
    assert renamed.method(Older(), "log_joint") is None


def test_names_of_today():
    table = {"n_states": ("states",)}
    assert renamed.newest("states", table) == "n_states"
    assert renamed.newest("model__states", table) == "model__n_states"
    assert renamed.newest("n_states", table) == "n_states"
    assert renamed.newest("states__C", table) == "states__C"


# ---- cases


def specs(value):
    """All specs in a value."""
    if isinstance(value, Spec):
        yield value
        for item in value.settings.values():
            yield from specs(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from specs(item)


ALL = [spec for case in CASES for spec in specs(case.spec)]


def test_all_public_classes_have_cases():
    classes = {cls.__name__ for cls in public_classes()}
    assert classes - NEW <= {spec.name for spec in ALL}


def choices(cls):
    """(Newest name, choice) of parameters that have a list of choices, but for defaults."""
    plain = built(Spec(cls.__name__, NEEDED.get(cls.__name__, {})))
    for name in plain.get_params(deep=False):
        for constraint in getattr(cls, "_parameter_constraints", {}).get(name, ()):
            if isinstance(constraint, StrOptions | Options):
                for choice in constraint.options - {getattr(plain, name)}:
                    yield renamed.newest(name, renamed.PARAMETERS), repr(choice)


def test_all_choices_have_cases():
    """But for defaults, which all other cases have."""
    missing = []
    for cls in public_classes():
        if cls.__name__ in NEW:
            continue
        settings = [spec.settings for spec in ALL if spec.name == cls.__name__]
        tried = {(name, repr(value)) for one in settings for name, value in one.items()}
        missing += [
            (cls.__name__, *choice)
            for choice in choices(cls)
            if choice not in tried
            and choice not in NEW_CHOICES
            and (cls.__name__, choice[0]) not in NOT_TRIED
        ]
    assert not missing


NEW = {  # which no earlier version has
    "ConstraintDrivenHMM",
    "FactorialCRF",
    "GraphCRF",
    "GridCRF",
    "HSMM",
    "HiddenStateClassifier",
    "LatentChainCRF",
    "LinearChainCRFCV",
    "MultiLabelCRF",
    "NonHomogeneousHMM",
    "PrototypeMRF",
    "SemiMarkovCRF",
    "SkipChainCRF",
    "TokenWindows",
}
NEW_CHOICES = {  # which no earlier version has
    ("covariance_type", "'full'"),
    ("covariance_type", "'spherical'"),
    ("covariance_type", "'tied'"),
    ("distance", "'posterior'"),
    ("emissions", "'multinomial'"),
    ("emissions", "'poisson'"),
    ("learning_rate", "'optimal'"),
    ("nodes", "'one-unweighted'"),
    ("solver", "'cutting-planes'"),
    ("solver", "'em'"),
    ("solver", "'frank-wolfe'"),
    ("solver", "'gradient'"),
    ("solver", "'sag-lbfgs'"),
    ("solver", "'owlqn'"),  # of LogLinearClassifier; the chains' is tried
    ("svd_solver", "'randomized'"),
}
NEEDED = {
    "PrototypeFeatures": {"prototypes": ["a"]},
    "SequenceUnion": {"transformer_list": []},
    "TokenTransformer": {"transformer": None},
}
NOT_TRIED = {  # chains read schemes alike
    (cls.__name__, "allowed_transitions")
    for cls in (*CHAINS, MEstimatedCRF, HMM)
    if cls is not LinearChainCRF
}


def test_cases_have_different_names_and_data():
    assert len({case.name for case in CASES}) == len({file_name(case) for case in CASES})
    assert {case.data for case in CASES} == set(DATA)
    assert not {case.name for case in CASES if " at 0x" in case.name}


@pytest.mark.parametrize("how", ["", "sequences", "tokens", "again", "init", "batches"])
def test_ways_to_fit(how):
    settings = {"max_iter": 3, "loss": "pointwise"} if how == "tokens" else {"max_iter": 3}
    settings |= {"warm_start": True} if how == "again" else {}
    case = Case(
        Spec("LinearChainCRF", settings | {"solver": "sgd", "random_state": 0}), "numbers", how
    )
    plain = case._replace(how="")
    data = bundle("numbers")
    coefs = [fitted(one, data).coef_ for one in (case, plain)]
    assert np.array_equal(*coefs) == (how == "")


# ---- the command


def checkout(folder):
    """A copy of this version."""
    shutil.copytree(HERE / "sklearn_struct", folder / "sklearn_struct")
    return folder


CHANGE = """
import sys

sys.modules[__name__].LogLinearClassifier.score = lambda self, X, y: 0.5
"""


def change(folder):
    """Another score of a model in a checkout."""
    with (folder / "sklearn_struct" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(CHANGE)


@pytest.mark.slow
def test_the_command_sees_a_change(tmp_path):
    other = checkout(tmp_path / "after")
    command = [sys.executable, str(HERE / "tests" / "versions" / "run.py")]
    options = ["--before", str(HERE), "--after", str(other), "--cache", str(tmp_path / "cache")]
    options += ["--only", "^LogLinearClassifier.solver=.lbfgs., max_iter=8. on rows"]

    def answer(kind):
        return subprocess.run(
            [*command, kind, *options], capture_output=True, text=True, check=False
        )

    assert answer("bits").returncode == 0
    change(other)
    for kind in ("bits", "files"):
        changed = answer(kind)
        assert changed.returncode == 1, changed.stdout + changed.stderr
        assert "score(): " in changed.stdout


def test_a_folder_that_is_no_checkout_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a checkout"):
        Side.of("before", tmp_path)


def test_a_side_has_its_own_package_and_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    here, there = (checkout(tmp_path / name) for name in ("here", "there"))
    a, b = (Side.of("x", folder, tmp_path / "cache") for folder in (here, there))
    assert a.environment(HERE)["PYTHONPATH"].startswith(str(here))
    assert "PYTHONDONTWRITEBYTECODE" not in a.environment()
    assert a.environment()["NUMBA_CACHE_DIR"] != b.environment()["NUMBA_CACHE_DIR"]


@NEEDS_HOME
@pytest.mark.corpus
@pytest.mark.parametrize("name", CORPORA)
def test_corpora_can_be_read(name):
    data = bundle(name)
    assert len(data.X) >= 40
    assert len(data.X_test) >= 15
