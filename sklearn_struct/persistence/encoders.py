"""What vectorizers and templates have learnt, to JSON and arrays and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import numpy as np

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.encoding.features.column_codes import _KEY_LIMIT, KeyIndex, Values
from sklearn_struct.encoding.features.embeddings import NamesWithNumbers, with_numbers
from sklearn_struct.encoding.features.learned_templates import Learnt
from sklearn_struct.encoding.features.string_numbers import Names
from sklearn_struct.encoding.features.template_syntax import Template
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.parameter_checks import check_as_fitted
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence.plain_values import (
    Arrays,
    Json,
    fields,
    optional,
    plain,
    put_optional,
    put_texts,
    restore,
    take_optional,
    texts,
)

__all__ = ["Shared", "put_templates", "put_vectorizer", "templates", "vectorizer"]

OPTIONAL = (int, type(None))
# tokens to which a template may reach: with padding, each of them is a value of its own
FARTHEST = 10_000
# numbers of an embedding
LONGEST = 1_000_000


class Shared:
    """Names of features, which an encoder and a model have in common, stored once and known by a
    number.

    `functions` are those that the caller of `save` or `load` has given names.
    """

    def __init__(
        self, arrays: Arrays, functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.arrays = arrays
        self.functions = functions or {}
        self.stored: list[Any] = []
        self.objects: list[Any] = []

    def put(self, names: Any) -> int | None:
        """The number of names in any of their forms: `Names`, what templates have learnt, an array,
        None.
        """
        if names is None:
            return None
        # an encoder and the model behind it share names, which may be most of the file
        for number, known in enumerate(self.objects):
            spelt_out = (
                known._names if isinstance(known, Learnt) else getattr(known, "_array", None)
            )
            if names is known or names is spelt_out:
                return number
        self.objects.append(names)
        where = f"names/{len(self.stored)}"
        if isinstance(names, Learnt):
            self.stored.append(_put_learnt(self.arrays, where, names))
        elif isinstance(names, NamesWithNumbers):
            put_texts(self.arrays, where, list(names.words))
            put_texts(self.arrays, f"{where}/embeddings", list(names.lengths))
            lengths = [int(n) for n in names.lengths.values()]
            self.stored.append({"lengths": lengths, "separator": names.separator})
        else:
            kind = "vocabulary" if isinstance(names, Names) else "array"
            put_texts(
                self.arrays, where, list(names if kind == "vocabulary" else _spelt_out(names))
            )
            self.stored.append(kind)
        return len(self.stored) - 1

    def read(self, stored: list[Any]) -> None:
        """Make the objects of which `stored` tells."""
        for number, kind in enumerate(stored):
            where = f"names/{number}"
            if kind in ("vocabulary", "array"):
                strings = texts(self.arrays, where)
                self.objects.append(
                    vocabulary(strings) if kind == "vocabulary" else object_array(strings)
                )
            elif isinstance(kind, dict) and "lengths" in kind:
                self.objects.append(_with_numbers(self.arrays, where, kind))
            else:
                self.objects.append(_learnt(self.arrays, where, kind))

    def get(self, number: int | None, kind: Any = object) -> Any:
        if number is None:
            return None
        if not 0 <= number < len(self.objects) or not isinstance(self.objects[number], kind):
            raise ModelFileError(f"there are no such names: {number}")
        return self.objects[number]


def _spelt_out(names: Any) -> list[str]:
    spelt: list[str] = np.asarray(names() if callable(names) else names, dtype=object).tolist()
    return spelt


def vocabulary(strings: list[str]) -> Names:
    """Strings by number, all different."""
    names = Names(strings)
    if len(names) != len(strings):
        raise ModelFileError("a name occurs twice")
    return names


def _with_numbers(arrays: Arrays, where: str, stored: Json) -> NamesWithNumbers:
    lengths, separator = fields(stored, where, lengths=list, separator=str)
    names = texts(arrays, f"{where}/embeddings")
    right = len(set(names)) == len(names) == len(lengths) > 0
    if not right or not all(type(n) is int and 0 < n <= LONGEST for n in lengths):
        raise ModelFileError(f"{where}: embeddings have names, and one length each")
    try:
        return with_numbers(
            vocabulary(texts(arrays, where)), dict(zip(names, lengths, strict=True)), separator
        )
    except ValueError as error:
        raise ModelFileError(f"{where}: {error}") from error


def put_vectorizer(estimator: SequenceVectorizer, where: str, shared: Shared) -> dict[str, Any]:
    state = vars(estimator)
    check_as_fitted(estimator, state.get("_as_fitted", {}))
    n_features = state.get("n_features_out_")
    return {
        "names": shared.put(state.get("_names")),
        "n_features_out": None if n_features is None else int(n_features),
        **put_optional(estimator, "tokens_in"),
    }


def vectorizer(estimator: SequenceVectorizer, stored: Any, where: str, shared: Shared) -> None:
    """Give a new vectorizer what another one has learnt."""
    kinds = optional(stored, tokens_in=str)
    number, n_features, *_ = fields(
        stored, "the vectorizer", names=OPTIONAL, n_features_out=OPTIONAL, **kinds
    )
    take_optional(estimator, stored, "tokens_in")
    names = shared.get(number, Names | NamesWithNumbers)
    hashed = estimator.n_features is not None
    if (names is not None) == hashed:
        raise ModelFileError(
            "a vectorizer has names or a number of columns into which they are hashed, not both"
        )
    if n_features is None and hashed:
        return  # one that was never fitted, and need not be
    if n_features != (estimator.n_features if names is None else len(names)):
        raise ModelFileError(f"a vectorizer of {n_features} columns has other names")
    if isinstance(names, NamesWithNumbers) and names.separator != estimator.separator:
        raise ModelFileError("the names of embeddings have another separator")
    estimator._learn(names, stored.get("tokens_in"))


def put_templates(estimator: FeatureTemplates, where: str, shared: Shared) -> dict[str, Any]:
    return {"names": shared.put(estimator._learnt), "n_columns": int(estimator.n_columns_)}


def templates(estimator: FeatureTemplates, stored: Json, where: str, shared: Shared) -> None:
    """Give new templates what others have learnt."""
    number, n_columns = fields(stored, "the templates", names=int, n_columns=int)
    learnt = shared.get(number, Learnt)
    if len(learnt.values) != n_columns:
        raise ModelFileError(
            f"templates of {n_columns} columns have values for {len(learnt.values)}"
        )
    estimator._learnt = learnt
    estimator.n_columns_ = n_columns
    estimator.n_features_out_ = sum(map(len, learnt.indexes))


def _put_learnt(arrays: Arrays, where: str, learnt: Learnt) -> dict[str, Any]:
    if max(learnt.reach) > FARTHEST:
        raise InputTypeError(
            f"templates that reach more than {FARTHEST} tokens away cannot be saved"
        )
    columns: list[Any] = []
    for c, values in enumerate(learnt.values):
        if isinstance(values, Names):
            put_texts(arrays, f"{where}/column {c}", list(values))
        columns.append(
            None if isinstance(values, Names) else [plain(value, f"column {c}") for value in values]
        )
    for j, (index, stages) in enumerate(zip(learnt.indexes, learnt.stages, strict=True)):
        arrays[f"{where}/template {j}"] = index.keys
        for p, stage in stages.items():
            arrays[f"{where}/template {j}, stage {p}"] = stage.keys
    lines = []
    for template in learnt.templates:
        strings = {
            name: plain(getattr(template, name), "template") for name in ("name", "joiners", "text")
        }
        lines.append({**strings, "parts": [list(part) for part in template.parts]})
    return {"templates": lines, "columns": columns, "pad": bool(learnt.pad)}


def _learnt(arrays: Arrays, where: str, stored: Json) -> Learnt:
    lines, columns, pad = fields(stored, where, templates=list, columns=list, pad=bool)
    values = [_values(arrays, f"{where}/column {c}", column) for c, column in enumerate(columns)]
    templates = [_template(line, len(values)) for line in lines]
    offsets = [0, *(offset for template in templates for offset, _ in template.parts)]
    learnt = Learnt(templates, values, (-min(offsets), max(offsets)), pad, [], [])
    for j, template in enumerate(templates):
        stages, index = _indexes(arrays, f"{where}/template {j}", learnt, template)
        learnt.stages.append(stages)
        learnt.indexes.append(index)
    return learnt


def _values(arrays: Arrays, where: str, stored: Json) -> Values:
    if stored is None:
        return vocabulary(texts(arrays, where))
    if type(stored) is not list:
        raise ModelFileError(f"{where} must have a list of values")
    try:
        values = dict(zip(restore(stored), count()))
    except TypeError as error:
        raise ModelFileError(f"{where} has values that cannot be values") from error
    if len(values) != len(stored) or any(value != value for value in values):
        raise ModelFileError(f"{where}: a value occurs twice, or is no value")
    return values


def _template(stored: Json, n_columns: int) -> Template:
    text = (str, dict)
    name, parts, joiners, line = fields(
        stored, "a template", name=text, parts=list, joiners=str, text=text
    )
    pairs = [
        tuple(part) for part in parts if type(part) is list and list(map(type, part)) == [int, int]
    ]
    right = all(abs(offset) <= FARTHEST and 0 <= column < n_columns for offset, column in pairs)
    if (
        len(pairs) < len(parts)
        or not right
        or len(joiners) != max(len(parts) - 1, 0)
        or not set(joiners) <= set("/|")
    ):
        raise ModelFileError(f"a template has other cells than a token has: {str(parts)[:50]}")
    template = Template(restore(name), tuple(pairs), joiners, restore(line))
    if not isinstance(template.name, str) or not isinstance(template.text, str):
        raise ModelFileError("a template's name must be a string")
    return template


def _indexes(
    arrays: Arrays, where: str, learnt: Learnt, template: Template
) -> tuple[dict[int, KeyIndex], KeyIndex]:
    """Numbers of a template's combinations, after a check that all of them can be combinations of
    values.
    """
    sizes = [len(learnt.values[c]) + sum(learnt.reach) * learnt.pad for _, c in template.parts] or [
        1
    ]
    radix = sizes[0]
    stages = {}
    for p, size in enumerate(sizes[1:], start=1):
        if radix * size > _KEY_LIMIT:
            stages[p] = _index(arrays, f"{where}, stage {p}", radix)
            radix = len(stages[p])
        radix *= size
    return stages, _index(arrays, where, radix)


def _index(arrays: Arrays, where: str, radix: int) -> KeyIndex:
    keys = arrays.take(where, np.int64)
    if np.any(keys < 0) or np.any(keys >= radix):
        raise ModelFileError(f"{where}: a combination of values that do not exist")
    index = KeyIndex(keys)
    if len(index) != len(keys):
        raise ModelFileError(f"{where}: a combination occurs twice")
    return index
