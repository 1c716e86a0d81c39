"""Models of segments to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.features.segment_attributes import functions_of
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.segments.observed_segments import of_lengths
from sklearn_struct.estimators.segments.segment_labels import OUTSIDE, Form
from sklearn_struct.estimators.segments.semi_markov_crf import SemiMarkovCRF
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.clique_weights import CliqueFiles, Families
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Arrays, fields, optional, plain, restore

__all__ = ["put_segments", "read_segments"]

ENDS = "first", "last"
WHOLE = (*ENDS, "whole")


def _put(pattern: Pattern, where: str, arrays: Arrays) -> dict[str, Any]:
    """Pairs of segments; which weights lengths have is said by the longest segments."""
    moves, *others = pattern.families
    if moves.features is not None:
        checks.put_pairs(arrays, where + "edge", moves.features)
    arrays[where + "edge_columns"] = np.asarray(pattern.edge_columns, np.int64)
    arrays[where + "transitions"] = np.asarray(moves.columns, np.int64)
    conditioned = [family for family in others if family.n_features]
    # first and last tokens have features, or none of them has; what stands alone is of whole
    # segments
    names = WHOLE[-1:] if len(conditioned) == 1 else WHOLE
    for name, family in zip(names, conditioned):
        if family.features is not None:
            checks.put_pairs(arrays, where + name, family.features)
    return {"edge": moves.features is not None}


def _read(model: Any, stored: dict[str, Any], where: str, arrays: Arrays) -> Families:
    K = checks.n_rows(model)
    longest = arrays.take(where + "longest", np.int64)
    # tables of lengths grow with the longest segment, which a file may not claim at will
    n_lengths = int(longest.max(initial=0))
    n_weights = np.size(arrays.get(where + "w", ()))
    if len(longest) != K or longest.min(initial=1) < 1 or n_lengths > n_weights + 1:
        raise ModelFileError(f"{where}longest must have a number of tokens for each label")
    most = tuple(longest.tolist())
    model._longest = most
    columns = checks.ascending(arrays, where + "edge_columns", stored["n_features"])
    width = n_columns(K, 2)
    seen = checks.ascending(arrays, where + "transitions", width)
    edge = checks.pairs(arrays, where + "edge", len(columns), width) if stored["edge"] else None
    moves = CliquePattern(2, len(columns), edge, seen)
    families = [moves, *of_lengths(most)]
    end_columns = checks.ascending(arrays, where + "end_columns", stored["n_features"])
    model._end_columns = end_columns
    n_ends = len(end_columns)
    if n_ends and n_lengths == 1:
        raise ModelFileError("segments of one token have no weights of their ends")
    for name in ENDS if n_ends else ():
        has_pairs = f"{where}{name}/indptr" in arrays
        of_ends = checks.pairs(arrays, where + name, n_ends, K) if has_pairs else None
        families.append(CliquePattern(1, n_ends, of_ends, np.arange(0)))
    encoder = vars(model).get("segment_vectorizer_")
    n_whole = 0 if encoder is None else encoder.n_features_out_
    if n_whole:
        of_whole = checks.pairs(arrays, where + "whole", n_whole, K)
        families.append(CliquePattern(1, n_whole, of_whole, np.arange(0)))
    return tuple(families), columns


OF_SEGMENTS = CliqueFiles(_put, {"edge": bool}, _read, lambda pattern: np.arange(pattern.size))


def put_segments(model: SemiMarkovCRF, where: str, shared: Shared) -> dict[str, Any]:
    form = model._form
    shared.arrays[where + "longest"] = np.array(model._longest, np.int64)
    shared.arrays[where + "end_columns"] = np.asarray(model._end_columns, np.int64)
    encoder = vars(model).get("segment_vectorizer_")
    if (encoder is None) != (not functions_of(model.segment_features)):
        raise InputTypeError("segment_features are others than in fit; fit again before you save")
    of_whole = {}
    if encoder is not None:
        at = where + "segment_vectorizer/"
        of_whole = {"segment_vectorizer": put_estimator(encoder, at, shared)}
    return {
        "chain": put_chain(model, where, shared, OF_SEGMENTS),
        "scheme": form.scheme,
        "outside": plain(form.outside, "outside"),
        "spans": form.spans,
        "single": form.single,
        **of_whole,
    }


def read_segments(model: Any, stored: Any, where: str, shared: Shared) -> None:
    outside_kinds = (str, int, dict, type(None))
    kinds = {"chain": dict, "scheme": str, "outside": outside_kinds, "spans": bool, "single": bool}
    of_whole = optional(stored, segment_vectorizer=dict)
    of_chain, scheme, outside, spans, single, *_ = fields(stored, "the model", **kinds, **of_whole)
    if ("segment_vectorizer" in stored) != bool(functions_of(model.segment_features)):
        raise ModelFileError("there is a segment_vectorizer with segment_features, and only then")
    if "segment_vectorizer" in stored:
        at = where + "segment_vectorizer/"
        encoder = estimator(stored["segment_vectorizer"], at, shared)
        if type(encoder) is not SequenceVectorizer or encoder.n_features is not None:
            raise ModelFileError("the segment_vectorizer is no fitted SequenceVectorizer")
        model.segment_vectorizer_ = encoder
    read_chain(model, of_chain, where, shared, OF_SEGMENTS)
    if not checks.is_allowed(model, "scheme", scheme):
        raise ModelFileError(f"there is no scheme {scheme[:50]!r}")
    outside = restore(outside)
    if not checks.is_allowed(model, "outside", outside):
        raise ModelFileError("the label outside of spans cannot be this")
    if scheme != "IO" and not spans and outside != OUTSIDE:
        raise ModelFileError(f"tags of the scheme {scheme} have 'O' outside of spans")
    longest = zip(model.classes_.tolist(), model._longest, strict=True)
    if any(n_tokens > 1 and (single or label == outside) for label, n_tokens in longest):
        raise ModelFileError("segments of single tokens cannot be longer")
    model._form = Form(scheme, outside, spans, single)
