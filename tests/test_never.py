"""What the survey sees of things that are never done, on small packages with planted faults."""

from __future__ import annotations

import ast

import pytest
from survey import never, style
from survey.source import Module
from test_house import modules_of


def module(text, path="m.py"):
    return Module(path.removesuffix(".py"), path, text, ast.parse(text))


# ---- code from data


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import os, pickle as p",
        "from pickle import loads",
        "import joblib\njoblib.load(path)",
        "import joblib as j\nj.load(path)",
        "import joblib\nread = joblib.load",
        "from joblib import load",
        "from joblib import numpy_pickle",
        "import numpy\nnumpy.load(path, allow_pickle=True)",
        "import numpy as np\nnp.load(path, allow_pickle=trusted)",
        "import numpy as np\nnp.load(path, None, True)",
        "import numpy as np\nnp.load(path, **options)",
        "import numpy as np\nnp.load(*arguments)",
        "from numpy import load\nload(path, None, True)",
        "np.lib.format.read_array(file, allow_pickle=True)",
        "pd.read_pickle(path)",
        "frame.to_pickle(path)",
        "x = eval(text)",
        "exec(text)",
        "run = exec",
        "compile(text, '', 'eval')",
        "import builtins\nbuiltins.eval(text)",
        "from builtins import exec as run",
        "__import__(name)",
        "import importlib\nimportlib.import_module(name)",
        "from importlib import import_module\nimport_module(name)",
        "from importlib import import_module as read\nread(f'sklearn.{name}')",
        "import pydoc\npydoc.locate(name)",
    ],
)
def test_what_runs_data_is_seen(text):
    assert len(never.code_from_data(module(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import joblib\njoblib.hash(x)",
        "from joblib import Parallel",
        "import numpy as np\nnp.load(path)",
        "import numpy as np\nnp.load(path, allow_pickle=False)",
        "import re\nre.compile(text)",
        "import ast\nast.literal_eval(text)",
        "model.eval()",
        "from importlib import import_module\nimport_module('pooch')",
        "load(path)",
        "from re import compile\ncompile(text)",
        "'eval(text)'",
    ],
)
def test_what_runs_no_data(text):
    assert never.code_from_data(module(text)) == []


def test_places_say_where():
    assert never.code_from_data(module("a = 1\nb = eval(c)")) == ["m.py:2 eval"]


# ---- private names

DEFINES = """
_table = 1


def _function():
    pass


class Model:
    _declared: int

    def __init__(self):
        self._learned = 2

    def _method(self):
        pass
"""


@pytest.mark.parametrize(
    "statement",
    [
        "model._learned",
        "model._learned = 3",
        "self.model._method()",
        "models[0]._declared",
        "read()._learned",
        "x._function()",
        "from made.b import y\ny._table",
        "from made.b.y import _function",
        "from made.b.y import Model, _table as table",
        "from ..b.y import _table",
        "getattr(model, '_learned')",
        "getattr(model, '_learned', None)",
        "hasattr(self.model, '_learned')",
        "setattr(model, '_learned', 3)",
    ],
)
def test_private_names_of_other_rooms_are_seen(tmp_path, statement):
    modules = modules_of(tmp_path, a__init="", a__x=statement, b__init="", b__y=DEFINES)
    assert len(never.private_of_others(modules, "made")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "self._learned",
        "cls._method()",
        "super()._method()",
        "type(self)._declared",
        "getattr(self, '_learned', None)",
        "model._own",
        "model.__dict__",
        "pair._replace(a=1)",
        "sklearn_object._nobody_here",
        "model.learned",
        "getattr(model, name)",
        "from numpy import _table",
        "from made import _loose",
    ],
)
def test_other_names_are_no_private_ones_of_other_rooms(tmp_path, statement):
    own = f"class Own:\n    _own = 1\n\n\n{statement}"
    modules = modules_of(
        tmp_path, a__init="", a__x=own, b__init="", b__y=f"{DEFINES}_own = 1", _loose=""
    )
    assert never.private_of_others(modules, "made") == []


def test_rooms_inside_a_room_are_no_others(tmp_path):
    files = {"a__b__x": "model._learned", "a__c__y": DEFINES}
    assert never.private_of_others(modules_of(tmp_path, **files), "made") == []


# ---- estimators as bags, tuples of tuples


@pytest.mark.parametrize(
    "text",
    [
        "def f(estimator): pass",
        "def f(estimator: Any): pass",
        "def f(*, base_estimator: object = None): pass",
        "def f(estimator: Learns):\n    vars(estimator).update(x)",
        "def f(estimator: Learns):\n    estimator.__dict__ |= x",
        "def f(estimator: Learns):\n    return getattr(estimator, '_ends', False)",
        "def f(estimator: Learns):\n    setattr(estimator, 'n_iter_', 1)",
        "class A:\n    def __init__(self, estimator: Learns):\n        self.estimator = estimator\n"
        "    def end(self):\n        vars(self.estimator).update(x)",
    ],
)
def test_bags_are_seen(text):
    assert len(style.takers_of_estimators([module(text)])) == 1
    assert style.takers_of_estimators([module(text, "persistence/m.py")]) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(estimator: Learns):\n    return estimator.tol",
        "def f(estimator: BaseEstimator, *names: str):\n    return getattr(estimator, names[0])",
        "def f(estimators: list[Any]): pass",
        "def f(learned: Callable[[Any], Any], tol: float): pass",
        "class A:\n    def f(self, estimator: Learns): pass\n"
        "    def g(self, x):\n        return vars(x)",
    ],
)
def test_what_is_no_bag(text):
    assert style.takers_of_estimators([module(text)]) == []


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("a, b = x, y", 1),
        ("[a, b] = x, y", 1),
        ("a[0], b[0] = x, (y, z)", 1),
        ("a, b = b, a + b", 1),
        ("c = a, b = x, y", 1),
        ("a, b = b, a", 0),
        ("x[i], x[j] = x[j], x[i]", 0),
        ("a, b = pair", 0),
        ("a, *b = x, y, z", 0),
        ("a = x, y", 0),
    ],
)
def test_tuples_of_tuples_are_seen(text, n):
    """An exchange is none."""
    assert len(style.tuple_assignments([module(text)])) == n
