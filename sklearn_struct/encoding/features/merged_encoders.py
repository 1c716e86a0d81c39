"""Encoders of data that lie in parts: each part has a vocabulary of its own, and of all of these
the one is made that a fit on all data learns.

Names are numbered as they first appear. So do those of parts, one part after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_and_dense import SparseAndDense
from sklearn_struct.encoding.features.attribute_reader import _together
from sklearn_struct.encoding.features.column_codes import (
    KeyIndex,
    combine,
    learn_keys,
    merged_values,
)
from sklearn_struct.encoding.features.embeddings import dense, with_numbers
from sklearn_struct.encoding.features.learned_templates import Learnt
from sklearn_struct.encoding.features.string_numbers import Names
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer, float_dtype
from sklearn_struct.exceptions import LengthMismatchError

__all__ = ["MERGED", "EncoderPart", "encoded_part", "merged_encoder"]

# the encoders of which this file knows how vocabularies are merged
MERGED = (FeatureTemplates, SequenceVectorizer)


class _OfTemplates(NamedTuple):
    """What templates learn of a part; ``counts`` are the tokens of each combination."""

    learnt: Learnt
    n_columns: int
    counts: np.ndarray


class _OfVectorizer(NamedTuple):
    """What a vectorizer learns of a part: names, the tokens of each, how long embeddings are, the
    tokens of each of these, and how tokens are written.
    """

    names: Names
    counts: np.ndarray
    lengths: dict[str, int]
    embedded: dict[str, int]
    kind: str


# None of an encoder that has no vocabulary
EncoderPart: TypeAlias = _OfTemplates | _OfVectorizer | None


def encoded_part(encoder: Any, X: Any) -> tuple[SequenceArray, EncoderPart]:
    """The tokens of a part, in columns of its own, and what these are called.

    `encoder` has the parameters; it is not changed.
    """
    encoder._validate_params()
    own = clone(encoder).set_params(min_frequency=1)
    if isinstance(encoder, FeatureTemplates):
        tokens = own.fit_transform(X)
        counts = _counts(tokens.stored)
        return SequenceArray(tokens.stored, tokens.offsets), _OfTemplates(
            own._learnt, own.n_columns_, counts
        )
    if encoder.n_features is not None:
        if encoder.min_frequency > 1:
            # for the error
            encoder.fit_transform(X)
        return own.fit_transform(X), None
    dtype = float_dtype(encoder.dtype)
    names, lengths, attributes, rows = own._taken_in(X, dtype)
    embedded = dict.fromkeys(lengths, 0)
    for name, tokens_of_name, _ in attributes.embeddings:
        embedded[name] += len(tokens_of_name)
    stored: Any = rows
    if lengths:
        stored = SparseAndDense(rows, dense(attributes.embeddings, lengths, rows.shape[0], dtype))
    part = _OfVectorizer(names, _counts(rows), lengths, embedded, attributes.kind)
    return SequenceArray(stored, attributes.offsets), part


def _counts(rows: Any) -> np.ndarray:
    """In how many tokens each column is stored."""
    return np.bincount(rows.indices, minlength=rows.shape[1])


def merged_encoder(
    encoder: Any, parts: Sequence[EncoderPart]
) -> tuple[Any, list[np.ndarray | None]]:
    """The encoder that is fitted on all parts, and where it has the columns of each part: -1 for
    those that it drops, None if they are its own.
    """
    fitted = clone(encoder)
    if isinstance(encoder, FeatureTemplates):
        return fitted, _merge_templates(fitted, [p for p in parts if isinstance(p, _OfTemplates)])
    if encoder.n_features is not None:
        fitted._learn(None)
        return fitted, [None] * len(parts)
    return fitted, _merge_names(fitted, [p for p in parts if isinstance(p, _OfVectorizer)])


def _merge_names(
    vectorizer: SequenceVectorizer, parts: list[_OfVectorizer]
) -> list[np.ndarray | None]:
    names = Names()
    numbers = [names.learn_names(part.names) for part in parts]
    counts = np.zeros(len(names), np.int64)
    for number, part in zip(numbers, parts, strict=True):
        counts[number] += part.counts
    # without tokens are names whose values summed to zero wherever they were read
    kept = counts >= vectorizer.min_frequency
    if not kept.all():
        names = Names(list(compress(names, kept)))
    new = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    lengths = _merged_lengths(parts, vectorizer.min_frequency)
    every = with_numbers(names, lengths, vectorizer.separator) if lengths else names
    vectorizer._learn(every, _together({part.kind for part in parts}))
    ends = len(names) + np.cumsum(list(lengths.values()), dtype=np.int64)
    first = dict(zip(lengths, ends - list(lengths.values()), strict=True))
    columns: list[np.ndarray | None] = []
    for number, part in zip(numbers, parts, strict=True):
        of_numbers = [
            first[name] + np.arange(n) if name in first else np.full(n, -1)
            for name, n in part.lengths.items()
        ]
        columns.append(np.concatenate([new[number], *of_numbers]).astype(np.int32))
    return columns


def _merged_lengths(parts: list[_OfVectorizer], min_frequency: int) -> dict[str, int]:
    """How long the embeddings are that enough tokens have."""
    lengths: dict[str, int] = {}
    counts: dict[str, int] = {}
    for part in parts:
        for name, n in part.lengths.items():
            if lengths.setdefault(name, n) != n:
                raise LengthMismatchError(
                    f"the embeddings of {name!r} have {lengths[name]} numbers in one partition and "
                    f"{n} in another"
                )
            counts[name] = counts.get(name, 0) + part.embedded[name]
    return {name: n for name, n in lengths.items() if counts[name] >= min_frequency}


def _merge_templates(
    templates: FeatureTemplates, parts: list[_OfTemplates]
) -> list[np.ndarray | None]:
    first = parts[0]
    for part in parts:
        if part.n_columns != first.n_columns:
            raise LengthMismatchError(
                f"tokens of one partition have {first.n_columns} columns, and those of another "
                f"{part.n_columns}"
            )
    merged = [
        merged_values([part.learnt.values[c] for part in parts]) for c in range(first.n_columns)
    ]
    learnt = Learnt(
        first.learnt.templates,
        [values for values, _ in merged],
        first.learnt.reach,
        first.learnt.pad,
        [],
        [],
    )
    numbers = [
        _merge_template(learnt, j, parts, [of_parts for _, of_parts in merged], templates)
        for j in range(len(learnt.templates))
    ]
    templates._learnt = learnt
    templates.n_columns_ = first.n_columns
    templates.n_features_out_ = sum(map(len, learnt.indexes))
    starts = np.cumsum([0, *map(len, learnt.indexes)])[:-1]
    columns: list[np.ndarray | None] = []
    for p in range(len(parts)):
        of_templates = [
            np.where(of_parts[p] < 0, -1, of_parts[p] + start)
            for of_parts, start in zip(numbers, starts, strict=True)
        ]
        columns.append(np.concatenate(of_templates).astype(np.int32))
    return columns


def _merge_template(
    learnt: Learnt,
    j: int,
    parts: list[_OfTemplates],
    values: list[list[np.ndarray]],
    templates: FeatureTemplates,
) -> list[np.ndarray]:
    """Learn the combinations of template j; return the number of each of those of each part.

    `values` are for each column and part the numbers of its values.
    """
    cells = learnt.templates[j].parts
    bounds = np.cumsum([0, *(len(part.learnt.indexes[j]) for part in parts)])
    if cells:
        tables = [_renumbered(learnt, j, part, p, values) for p, part in enumerate(parts)]
        codes = [np.concatenate(of_cell) for of_cell in zip(*tables, strict=True)]
        keys, radix, stages = combine(codes, [learnt.n_codes(c) for _, c in cells], None)
    else:
        keys = np.concatenate([part.learnt.indexes[j].keys for part in parts])
        radix = 1
        stages = {}
    index, numbers = learn_keys(keys, radix)
    if templates.min_frequency > 1:
        counts = np.zeros(len(index), np.int64)
        for part, start, stop in zip(parts, bounds[:-1], bounds[1:], strict=True):
            first = sum(map(len, part.learnt.indexes[:j]))
            counts[numbers[start:stop]] += part.counts[first : first + stop - start]
        index = KeyIndex(index.keys[counts >= templates.min_frequency])
        numbers = index.find(keys)
    learnt.stages.append(stages)
    learnt.indexes.append(index)
    return np.split(numbers, bounds[1:-1])


def _renumbered(
    learnt: Learnt, j: int, part: _OfTemplates, p: int, values: list[list[np.ndarray]]
) -> list[np.ndarray]:
    """For each cell of template j its codes in the combinations of part p, in numbers of all."""
    # first come the codes of places beside a sequence, which are the same in all parts
    beside = sum(learnt.reach) * learnt.pad
    of_part = part.learnt.codes(j).T
    return [
        np.append(np.arange(beside), values[c][p] + beside)[codes]
        for codes, (_, c) in zip(of_part, learnt.templates[j].parts, strict=True)
    ]
