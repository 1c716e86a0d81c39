"""Random inputs of all methods: each gives a right result or a clear error, and a failed fit
changes nothing.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import inspect
import warnings
from collections import UserList, deque
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from public_estimators import public_classes
from sklearn.base import clone

from fuzz.errors import KINDS, is_clear, told
from fuzz.subjects import FORMS, Subject, drawn, quietly, subjects
from sklearn_struct import GraphArray, MultiLabelCRF, SequenceArray

GOOD = {"a result", "a clear error"}
PATIENCE = 20.0

SCALARS = [
    *(
        None,
        0,
        1,
        -1,
        2**31,
        2**63,
        10**400,
        0.5,
        -0.0,
        1e308,
        -1e308,
        5e-324,
        np.nan,
        np.inf,
        -np.inf,
        1j,
        True,
    ),
    *(
        "",
        "a",
        "the",
        "DET",
        "é",
        "\0",
        "\ud800",
        "a" * 10_000,
        "1.5",
        " ",
        "(",
        "(S (NP a))",
        "word:the",
    ),
    *(
        b"the",
        np.str_("the"),
        np.float32(1.5),
        np.float16(7),
        np.int8(-3),
        np.bool_(True),
        np.longdouble(1),
    ),
    *(pd.NA, pd.NaT, np.datetime64("2020-01-01"), np.datetime64("NaT", "s")),
    np.timedelta64(1, "s"),
    *(datetime.date(2020, 1, 1), decimal.Decimal("1.5"), fractions.Fraction(1, 3)),
    *(len, int, object(), Ellipsis, NotImplemented, range(2), slice(1), np.void(b"ab")),
]
OWN = {  # of parameters other than X and y, what they are for
    "sample_weight": [0, 1, 2.5, -1, np.nan, np.inf, 1e-310, 1e308, "1"],
    "classes": ["DET", "NOUN", "VERB", ".", "A", "B", 1, None],
    "allowed": ["DET", ["DET", "NOUN"], {"VERB"}, set(), None, "UNKNOWN", 3],
    "tags": ["DET", "NOUN", "VERB", ".", "UNKNOWN", ""],
}


def containers() -> list[Any]:
    """New ones, as whoever gets one might write to it."""
    return [
        *(
            [],
            (),
            {},
            set(),
            frozenset(["DET"]),
            "",
            b"ab",
            [[]],
            [[], []],
            [None],
            [None, None],
            [[None]],
            {"a": 1},
        ),
        *(
            {"a": {"b": [1, 2]}},
            {1: 2},
            {"a": None},
            {"a": np.nan},
            {"a": ["b", 3]},
            {"": 1},
            {None: "a"},
            {"a"},
            {1, "a"},
        ),
        *(
            ["a", 1],
            [1, "a"],
            ["a", ["b"]],
            [["a"], "b"],
            [1.0, [2.0]],
            [[1.0], [2.0, 3.0]],
            [["a", "b"]],
            [[["a"]]],
        ),
        *(np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 3)), np.zeros((2, 2, 3))),
        *(
            np.array(5.0),
            np.array("a"),
            np.array(None),
            np.array(["a", "b"]),
            np.array([["a", "b"]]),
            np.zeros(3, "i4,f8"),
        ),
        *(np.zeros((2, 2, 2, 2)), np.zeros((2, 3), bool)),
        *(
            np.array(["a", None, 1], dtype=object),
            np.array([["a"], ["b", "c"], None], dtype=object),
            np.zeros((2, 3), bool),
        ),
        *(
            np.zeros((2, 3), complex),
            np.zeros((2, 3), "M8[s]"),
            np.zeros((2, 3), np.float16),
            np.full((2, 3), np.nan),
        ),
        *(
            np.ma.masked_array(np.zeros((2, 3)), mask=np.eye(2, 3)),
            np.zeros((2, 3), np.longdouble),
            np.eye(3, dtype=int),
        ),
        *(
            np.array([b"a", b"b"]),
            np.matrix([[1.0, 2.0]]),
            np.arange(12.0).reshape(3, 4)[:, ::2],
            np.asfortranarray(np.eye(3)),
        ),
        *(
            sp.coo_array(np.arange(3.0)),
            sp.csr_array(np.eye(3)),
            sp.csr_matrix((0, 3)),
            sp.csc_array(np.eye(2, 3)),
        ),
        *(
            sp.dok_array((2, 3)),
            sp.bsr_array(np.eye(4)),
            sp.lil_array((3, 0)),
            sp.dia_array(np.eye(3)),
        ),
        *(
            sp.csr_array(np.eye(3, dtype=complex)),
            sp.csr_array(np.full((2, 3), np.inf)),
            sp.coo_array((3, 3)),
        ),
        *(
            pd.Series(["a", "b"]),
            pd.Series([1.0, None]),
            pd.Series([["a"], ["b"]]),
            pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}),
        ),
        *(
            pd.DataFrame({"a": ["x", "y"]}),
            pd.DataFrame(),
            pd.Index(["a", "b"]),
            pd.Categorical(["a", "b"]),
        ),
        *(
            pd.Series([1, 2], dtype="Int64"),
            pd.Series(["a", None], dtype="string"),
            pd.array([1, None], dtype="Int64"),
        ),
        *(SequenceArray(np.zeros((3, 2)), [0, 1, 3]), SequenceArray(np.zeros((0, 2)), [0, 0])),
        *(UserList([["a"]]), deque([["a"]]), memoryview(b"abc"), bytearray(b"abc"), range(3)),
    ]


def prepare() -> None:
    for cls in public_classes():
        for subject in subjects(cls):
            model = subject.fitted()
            for name in methods(cls):
                if hasattr(model, name) and "fit" not in name:
                    quietly(lambda: _tolerant(getattr(model, name), subject))  # noqa: B023 - called at once


def _tolerant(method: Any, subject: Subject) -> None:
    """Load kernels; errors are looked at later."""
    try:
        method(
            **{
                name: value
                for name, value in _data(subject).items()
                if name in inspect.signature(method).parameters
            }
        )
    except KINDS:
        return


def family(number: int) -> str:
    classes = public_classes()
    return classes[number % len(classes)].__name__


@cache
def methods(cls: type) -> tuple[str, ...]:
    """All that are public and read X, y or a sequence."""
    found = []
    for name, method in inspect.getmembers(cls, callable):
        if name[0] != "_" and not name.startswith(("set_", "get_")):
            found += [name] * bool({"X", "y", "xseq"} & set(inspect.signature(method).parameters))
    return tuple(found)


def _data(subject: Subject) -> dict[str, Any]:
    data = {
        "X": subject.X,
        "y": subject.y,
        "xseq": subject.X[0],
        "X_dev": subject.X,
        "y_dev": subject.y,
    }
    return data | {"init": None}


# ---------------------------------------------------------------- the cases


def case(number: int) -> str:
    classes = public_classes()
    rng = np.random.RandomState(number)
    subject = drawn(classes[number % len(classes)], rng)
    model = subject.fitted() if rng.rand() < 0.7 else clone(subject.estimator)
    names = [name for name in methods(type(model)) if hasattr(model, name)]
    names += ["fit"] * (len(names) // 2)
    name = names[rng.randint(len(names))]
    given = arguments(getattr(model, name), subject, rng)
    return verdict(model, name, given, subject)


def verdict(model: Any, name: str, given: dict[str, Any], subject: Subject) -> str:
    method = getattr(model, name)
    before = dict(vars(model))
    fits = "fit" in name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # numpy's: something went wrong unseen
        warnings.filterwarnings("error", category=RuntimeWarning)
        warnings.filterwarnings("ignore", module=r"sklearn\.")  # in transformers of others
        try:
            result = method(**given)
        except Exception as error:
            if not is_clear(error):
                return f"an obscure error: {name}: {told(error)}"
            now = vars(model)
            if fits and not (
                now.keys() == before.keys() and all(now[key] is before[key] for key in now)
            ):
                return f"a failed fit has changed something: {name}"
            return "a clear error"
    wrong = quietly(
        lambda: _still_works(model, subject) if fits else _wrong(model, name, result, given)
    )
    return f"a wrong result: {name}: {wrong}" if wrong else "a result"


def _still_works(model: Any, subject: Subject) -> str:
    """What a fitted estimator does with the data that all can read."""
    method = "predict" if hasattr(model, "predict") else "transform"
    try:
        return _wrong(model, method, getattr(model, method)(subject.X), {"X": subject.X})
    except Exception as error:
        return "" if is_clear(error) else told(error)


def _wrong(model: Any, name: str, result: Any, given: dict[str, Any]) -> str:
    """What is impossible about a result, or nothing."""
    if name == "score":
        return (
            ""
            if np.ndim(result) == 0 and (np.isfinite(result) and result <= 1)
            else f"score {result}"
        )
    if (
        "X" not in given
        or not hasattr(given["X"], "__len__")
        or name not in ("predict", "predict_proba", "transform")
    ):
        return ""
    X = given["X"]
    if sp.issparse(X):
        X = X.tocsr()[:, :0].toarray() if X.ndim == 2 else X
    if name == "predict_proba" and isinstance(result, list):
        # of several labels of a token an answer for each
        return next((said for part in result if (said := _wrong(model, name, part, given))), "")
    if len(result) != len(X):
        return f"{len(result)} results for {len(X)}"
    # each label of a row has a probability of its own
    if name == "predict_proba" and not isinstance(model, MultiLabelCRF):
        sums = [np.sum(rows, axis=-1) for rows in result]
        return (
            ""
            if all(np.all(np.abs(np.asarray(s) - 1) < 1e-4) for s in sums)
            else f"probabilities of {sums}"
        )
    if name == "predict" and hasattr(model, "classes_"):
        # a list in the place of an array may have tuples, of which numpy would make rows
        labels = getattr(model.classes_, "tolist", lambda: model.classes_)()
        if all(isinstance(column, np.ndarray) for column in labels):
            # of a table of labels an array for each column
            labels = [label for column in labels for label in column.tolist()]
        known = set(labels)
        rows = getattr(model, "row_classes_", None)
        if rows is not None:
            # labels of each row, a tuple for each token unless there is one row
            known = set(product(*(classes.tolist() for classes in rows)))
            known = {labels[0] for labels in known} if len(rows) == 1 else known
        found = {label for labels in result for label in _labels_of(labels)}
        return "" if found <= known else f"labels {found - known}"
    if name == "transform":
        tokens = result.tokens if isinstance(result, SequenceArray) else result
        width = getattr(model, "n_features_out_", tokens.shape[1])
        return "" if tokens.shape[1] == width else f"{tokens.shape[1]} columns of {width}"
    return ""


def _labels_of(item: Any) -> list[Any]:
    """The labels of a sequence, of an image, or of a single input."""
    if isinstance(item, np.ndarray):
        known: list[Any] = np.ma.compressed(np.ma.asarray(item)).tolist()
        return known
    return item if isinstance(item, list) else [item]


# ---------------------------------------------------------------- what they are given


def arguments(method: Any, subject: Subject, rng: np.random.RandomState) -> dict[str, Any]:
    """Good data of which something is changed, for all parameters that must be there and some of
    the others.
    """
    data = _data(subject)
    if rng.rand() < 0.15:  # of other data than those of fit
        form = list(FORMS)[rng.randint(len(FORMS))]
        data |= dict(zip("Xy", FORMS[form]))
    given = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        needed = parameter.default is parameter.empty or name == "y"
        if name in data and (needed or rng.rand() < 0.2):
            given[name] = data[name]
        elif needed or rng.rand() < 0.2:
            given[name] = for_parameter(name, data, rng)
    names = sorted(given)
    for _ in range(rng.choice([0, 1, 2], p=[0.05, 0.8, 0.15])):
        name = "X" if "X" in given and rng.rand() < 0.6 else names[rng.randint(len(names))]
        given[name] = changed(given[name], rng)
    return given


def for_parameter(name: str, data: dict[str, Any], rng: np.random.RandomState) -> Any:
    """A value for each sequence, or each token, or something else."""
    items = OWN.get(name, SCALARS)

    def one() -> Any:
        return items[rng.randint(len(items))]

    way = rng.randint(4)
    if way == 0:
        return [one() for _ in range(len(data["X"]))]
    if way == 1:
        return [[one() for _ in range(len(s) if hasattr(s, "__len__") else 1)] for s in data["y"]]
    return one() if way == 2 else anything(rng)


def anything(rng: np.random.RandomState) -> Any:
    pool = SCALARS if rng.rand() < 0.4 else quietly(containers)
    return pool[rng.randint(len(pool))]


def changed(value: Any, rng: np.random.RandomState) -> Any:
    """Something else, or the same in another container, or with one thing changed inside."""
    way = rng.rand()
    if way < 0.12:
        return anything(rng)
    if way < 0.3:
        return in_another_form(value, rng)
    return changed_inside(value, rng)


def changed_inside(value: Any, rng: np.random.RandomState) -> Any:
    """A copy, with an item replaced, left out, or there twice."""
    if isinstance(value, np.ndarray) and value.dtype != object and value.size and rng.rand() < 0.7:
        return _changed_array(value, rng)
    if type(value) is dict and value:
        key = list(value)[rng.randint(len(value))]
        inside = changed_inside(value[key], rng) if rng.rand() < 0.5 else anything(rng)
        return value | ({key: inside} if rng.rand() < 0.8 else {anything_hashable(rng): inside})
    if (
        isinstance(value, list | tuple | np.ndarray | SequenceArray | GraphArray)
        and getattr(value, "ndim", 1)
        and len(value)
    ):
        items = list(value)
        at = rng.randint(len(items))
        way = rng.rand()
        if way < 0.1:
            del items[at]
        elif way < 0.2:
            items.insert(at, items[rng.randint(len(items))])
        elif way < 0.7:
            items[at] = changed_inside(items[at], rng)
        else:
            items[at] = anything(rng)
        if hasattr(value, "_fields") and len(items) == len(value):
            return type(value)(*items)
        return tuple(items) if isinstance(value, tuple) else items
    return anything(rng)


def _changed_array(value: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    array = np.array(value)  # no matrix
    if array.dtype.kind == "f" and rng.rand() < 0.7:
        strange = [np.nan, np.inf, 1e308, -1e200, 1e76, 1e-310, 1e38, 0.0]
        array.ravel()[rng.randint(array.size)] = strange[rng.randint(len(strange))]
        return array
    if array.ndim == 2 and rng.rand() < 0.5:
        return [
            array[:, :-1],
            array[:-1],
            array.T,
            array[0],
            array[None],
            np.hstack([array, array]),
        ][rng.randint(6)]
    kinds = ["f4", "f2", "i8", "u1", "?", "c16", "O", "U", "S", "g", "M8[s]"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return array.astype(kinds[rng.randint(len(kinds))])
        except (ValueError, TypeError):
            return array


def anything_hashable(rng: np.random.RandomState) -> Any:
    value = SCALARS[rng.randint(len(SCALARS))]
    try:
        hash(value)
    except TypeError:
        return "a"
    return value


def in_another_form(value: Any, rng: np.random.RandomState) -> Any:
    """The same items otherwise contained."""
    sequences = list | tuple | np.ndarray | SequenceArray | GraphArray
    if not isinstance(value, sequences) or not getattr(value, "ndim", 1):
        return [value]
    items = list(value)
    column = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        column[i] = item
    ways = [
        lambda: tuple(items),
        lambda: [tuple(item) if isinstance(item, list) else item for item in items],
        lambda: column,
        lambda: pd.Series(column),
        lambda: iter(items),
        lambda: (item for item in items),
        lambda: UserList(items),
        lambda: deque(items),
        lambda: dict(enumerate(items)),
        lambda: [items],
        lambda: items[0] if items else items,
        lambda: [np.array(item) if isinstance(item, list) and item else item for item in items],
        lambda: [
            sp.coo_array(item) if isinstance(item, np.ndarray) and item.dtype.kind == "f" else item
            for item in items
        ],
        lambda: [
            pd.DataFrame(item) if isinstance(item, np.ndarray) and item.ndim == 2 else item
            for item in items
        ],
        lambda: [iter(item) if isinstance(item, list) else item for item in items],
        lambda: items * 2,
        lambda: items[:-1],
        lambda: items[::-1],
    ]
    try:
        return ways[rng.randint(len(ways))]()
    except (ValueError, TypeError):  # ragged, or of types that the container does not take
        return items
