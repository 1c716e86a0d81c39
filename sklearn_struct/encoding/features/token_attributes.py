"""The attributes of one token, by every rule of how they may be written."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from sklearn_struct.containers.typing import Token
from sklearn_struct.encoding.features.embeddings import (
    is_embedding,
    read_vector,
    refuse_whole_numbers,
)
from sklearn_struct.exceptions import InputTypeError, NonFiniteError

__all__ = ["FloatType", "attributes_of"]

FloatType: TypeAlias = type[np.float32] | type[np.float64]


def attributes_of(
    token: Token, separator: str, place: str, dtype: FloatType
) -> Iterator[tuple[str, float | np.ndarray]]:
    """Names and values of one token; the value of an embedding is an array."""
    if isinstance(token, str):
        yield _text(token, place), 1.0
    elif isinstance(token, dict):
        yield from _flatten(token, "", separator, place, dtype)
    elif isinstance(token, list | tuple | set | frozenset):
        for name in _texts(token, place):
            yield name, 1.0
    else:
        kind = type(token).__name__
        raise InputTypeError(
            f"{place}: a token is a dict, a string, or a list or set of strings; got {kind}"
        )


def _flatten(
    token: dict[str, Any], prefix: str, separator: str, place: str, dtype: FloatType
) -> Iterator[tuple[str, float | np.ndarray]]:
    """Names and values of a dict; those of dicts inside it begin with their key."""
    for key, value in token.items():
        name = prefix + _text(key, place)
        here = f"{place}, feature {name!r}"
        if isinstance(value, str):
            yield name + separator + _text(value, here), 1.0
        elif isinstance(value, numbers.Number | np.bool_):
            yield name, _number(value, here, dtype)
        elif isinstance(value, dict):
            yield from _flatten(value, name + separator, separator, place, dtype)
        elif is_embedding(value):
            yield name, read_vector(value, here, dtype)
        elif isinstance(value, list | tuple | set | frozenset):
            refuse_whole_numbers(value, here)
            for text in _texts(value, here):
                yield name + separator + text, 1.0
        else:
            expected = (
                "a value is a number, a string, a list or set of strings, a dict of values, or an "
                "array of floats"
            )
            raise InputTypeError(f"{here}: {expected}; got {type(value).__name__}")


def _text(name: object, place: str) -> str:
    if not isinstance(name, str):
        raise InputTypeError(
            f"{place}: names of features must be strings, got {name!r} ({type(name).__name__})"
        )
    return str.__str__(name)  # a plain string, whatever a subclass makes of str()


def _texts(names: Iterable[object], place: str) -> list[str]:
    """The strings of a list in its order, those of a set sorted."""
    texts = [_text(name, place) for name in names]
    # the order of a set of strings differs from process to process
    return sorted(texts) if isinstance(names, set | frozenset) else texts


def _number(value: Any, place: str, dtype: FloatType) -> float:
    try:
        number = float(value)
    except TypeError:
        raise InputTypeError(f"{place}: a value must be a real number, got {value!r}") from None
    except OverflowError:
        number = math.inf
    with np.errstate(over="ignore"):
        rounded = float(dtype(number))
    if not math.isfinite(rounded):
        raise NonFiniteError(f"{place}: not finite ({number})")
    return rounded
