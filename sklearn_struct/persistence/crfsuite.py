"""CRFsuite's model files: read as they are, without CRFsuite.

All numbers are little-endian, of 4 bytes but for weights. A header names six parts by their
offsets:

    header     "lCRF" size "FOMC" version 0 n_labels n_attributes, offsets of the five other parts
    features   "FEAT" size n, then n times: kind (0 attribute to label, 1 label to label) source
               target weight
    labels     "CQDB" size flags order n offset: strings, found by n offsets that stand at `offset`
               of this part
    attributes the same
    references "LFRF" (of labels) and "AFRF" (of attributes) size n, n offsets: of each source, how
               many features start there, and which

Each string is stored as its number, its length, and its bytes with a zero after them.
"""

from __future__ import annotations

import os
import struct
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern
from sklearn_struct.persistence.encoders import vocabulary
from sklearn_struct.persistence.whole_files import read_whole

__all__ = ["from_crfsuite"]

HEADER = struct.Struct("<4sI4s9I")
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
VERSION = 100
ORDER = 0x62445371  # as the writer's byte order has it
STATE = 0
TRANSITION = 1


class _Model(NamedTuple):
    """What a file holds: labels and attributes in its own order, and features."""

    labels: list[str]
    attributes: list[str]
    state: np.ndarray
    transition: np.ndarray


def from_crfsuite(path: str | os.PathLike[str]) -> LinearChainCRF:
    """Read a model file of CRFsuite as a fitted estimator.

    It gives the labels and probabilities of CRFsuite's own tagger for the same items: dicts, or
    lists of strings, as python-crfsuite takes them. Only where two labellings have equal scores may
    another one be predicted.

    Read more in :doc:`/user_guide/persistence` and :doc:`/migration/crfsuite`.

    Parameters
    ----------
    path : str or path
        A binary model of CRFsuite 0.12 or python-crfsuite (type crf1d), of any of its algorithms.

    Returns
    -------
    LinearChainCRF
        With a ``vectorizer_`` of the model's attributes and labels in sorted order. The file does
        not have parameters of the training, so `C` is the default; ``loss_curve_`` is empty, and
        ``n_iter_`` and ``t_`` are 0.

    Raises
    ------
    ModelFileError
        If the file is no such model, is damaged, or has names that are not UTF-8. CRFsuite's files
        have no checksum: damage to a weight alone, or to a letter, cannot be noticed.
    OSError
        If the file cannot be read, or what has this name is a folder, a device, a pipe or a socket.

    See Also
    --------
    load : Reads models of this package.
    sklearn_struct.compat.CRF : Writes and reads such files itself.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_struct.compat import CRF
    >>> from sklearn_struct.persistence import from_crfsuite
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tags.crfsuite"
    ...     _ = CRF(model_filename=str(path)).fit(X, [["DET", "NOUN"]] * 2)
    ...     crf = from_crfsuite(path)
    >>> crf.predict([[{"word": "a"}, {"word": "cat"}]])[0]
    ['DET', 'NOUN']
    """
    data = read_whole(path)
    try:
        return _estimator(_read(data))
    except ModelFileError as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be read as a model of CRFsuite: {error}"
        ) from error


def _estimator(model: _Model) -> LinearChainCRF:
    labels = sorted(set(model.labels))
    if len(labels) < len(model.labels):
        raise ModelFileError("a label occurs twice")
    K = len(labels)
    n = len(model.attributes)
    new = {label: k for k, label in enumerate(labels)}
    rank = np.array([new[label] for label in model.labels], dtype=np.int64)
    pairs, w_node = _sorted(
        model.state["source"], rank[model.state["target"]], K, model.state["weight"]
    )
    moves, w_edge = _sorted(
        rank[model.transition["source"]],
        rank[model.transition["target"]],
        K,
        model.transition["weight"],
    )
    indptr = np.concatenate([[0], np.cumsum(np.bincount(pairs // K, minlength=n))]).astype(np.int64)
    node = CSR(indptr, (pairs % K).astype(np.int32), np.empty(0, np.int32))
    names = vocabulary(model.attributes)
    vectorizer = SequenceVectorizer()
    vectorizer._learn(names)
    crf: Any = LinearChainCRF(
        fit_intercept=False,
        transition_features="all" if len(moves) == n_columns(K, 2) else "observed",
    )
    crf.classes_ = np.array(labels)
    crf.vectorizer_ = vectorizer
    crf._names_in = names
    crf.n_features_in_ = n
    transitions = CliquePattern(2, 0, None, moves)
    crf._pattern = Pattern(n, K, node, (transitions,), np.arange(0), False)
    crf._w = np.concatenate([w_node, w_edge])
    crf._stream = None
    crf._prepared = Prepared()
    crf.n_iter_ = 0
    crf.t_ = 0
    crf.loss_curve_ = []
    fitted: LinearChainCRF = crf
    return fitted


def _sorted(
    source: np.ndarray, target: np.ndarray, K: int, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs as ascending numbers source * K + target, and their weights."""
    pairs = source.astype(np.int64) * K + target
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    # sorted, so equal ones are neighbours
    if np.any(pairs[1:] == pairs[:-1]):
        raise ModelFileError("a feature occurs twice")
    return pairs, weight[order].astype(np.float64)


def _read(data: bytes) -> _Model:
    if len(data) < HEADER.size:
        raise ModelFileError("it is too short")
    magic, size, kind, version, _, n_labels, n_attributes, *offsets = HEADER.unpack_from(data)
    if magic != b"lCRF" or kind != b"FOMC" or version != VERSION:
        raise ModelFileError(f"it begins with {magic!r}, {kind!r} and version {version}")
    if size != len(data):
        raise ModelFileError(f"it has {len(data)} bytes but should have {size}")
    features, labels, attributes, label_references, attribute_references = offsets
    records = _features(data, features)
    model = _Model(
        _strings(data, labels, n_labels),
        _strings(data, attributes, n_attributes),
        records[records["kind"] == STATE],
        records[records["kind"] == TRANSITION],
    )
    if not n_labels:
        raise ModelFileError("it has no labels")
    if len(model.state) + len(model.transition) < len(records):
        raise ModelFileError("it has features of an unknown kind")
    _check_numbers(model)
    # not needed to read the model, but CRFsuite predicts by them: a file in which they differ means
    # two models
    _check_references(data, label_references, b"LFRF", n_labels, records, TRANSITION)
    _check_references(data, attribute_references, b"AFRF", n_attributes, records, STATE)
    return model


def _chunk(data: bytes, offset: int, name: bytes, header: int) -> int:
    """Where a part ends, after a check that its header of so many bytes, and all else of it, is
    there.
    """
    if offset + header > len(data) or data[offset : offset + 4] != name:
        raise ModelFileError(f"there is no part {name.decode()} where it should be")
    end = offset + int.from_bytes(data[offset + 4 : offset + 8], "little")
    if not offset + header <= end <= len(data):
        raise ModelFileError(f"part {name.decode()} does not fit into it")
    return end


def _features(data: bytes, offset: int) -> np.ndarray:
    end = _chunk(data, offset, b"FEAT", 12)
    n = int.from_bytes(data[offset + 8 : offset + 12], "little")
    if offset + 12 + n * FEATURE.itemsize != end:
        raise ModelFileError(f"it has no room for its {n} features")
    return np.frombuffer(data, FEATURE, n, offset + 12)


def _strings(data: bytes, offset: int, n: int) -> list[str]:
    """The n strings of a dictionary, in the order of their numbers."""
    end = _chunk(data, offset, b"CQDB", 24)
    _, order, n_stored, where = struct.unpack_from("<4I", data, offset + 8)
    if order != ORDER or n_stored != n or offset + where + 4 * n > end:
        raise ModelFileError(f"it has no dictionary of {n} strings where one should be")
    # in 64 bits: what a damaged file adds up to might come round to a small number in 32
    places = np.frombuffer(data, "<u4", n, offset + where).astype(np.int64) + offset
    if np.any(places + 8 > end):
        raise ModelFileError("a string lies outside its dictionary")
    begins = places + 8
    lengths = _numbers(data, places + 4)
    # strings that overlap could take memory out of proportion to the file
    if np.any(begins + lengths > end) or np.any(lengths < 1) or np.sum(lengths) > end - offset:
        raise ModelFileError("a string lies outside its dictionary")
    if np.any(_numbers(data, places) != np.arange(n)):
        raise ModelFileError("a string has another number than its place says")
    strings = [
        data[begin : begin + length] for begin, length in zip(begins.tolist(), lengths.tolist())
    ]
    # CRFsuite would read it as a shorter string
    if any(text.find(0) != len(text) - 1 for text in strings):
        raise ModelFileError("a string does not end where it should")
    try:
        return [text[:-1].decode() for text in strings]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"a string is not UTF-8 ({error})") from error


def _numbers(data: bytes, places: np.ndarray) -> np.ndarray:
    """The numbers at these places, all of them inside the data."""
    return (
        # byte by byte, as numbers may stand anywhere, not at multiples of four alone
        np.frombuffer(data, np.uint8)[places[:, None] + np.arange(4)]
        .view("<u4")[:, 0]
        .astype(np.int64)
    )


def _check_numbers(model: _Model) -> None:
    """Sources and targets must exist, and weights be finite."""
    K = len(model.labels)
    for features, n_sources in ((model.state, len(model.attributes)), (model.transition, K)):
        if np.any(features["source"] >= n_sources) or np.any(features["target"] >= K):
            raise ModelFileError("a feature is of an attribute or label that does not exist")
        if not np.all(np.isfinite(features["weight"])):
            raise ModelFileError("a weight is not finite")


def _check_references(
    data: bytes, offset: int, name: bytes, n: int, features: np.ndarray, kind: int
) -> None:
    """The features that are listed for each of n sources, by which CRFsuite finds them, must be
    just those it has.
    """
    end = _chunk(data, offset, name, 12)
    if offset + 12 + 4 * n > end:
        raise ModelFileError(f"part {name.decode()} is too short")
    places = np.frombuffer(data, "<u4", n, offset + 12).astype(np.int64)
    if np.any(places < offset) or np.any(places + 4 > end):
        raise ModelFileError(f"part {name.decode()} refers to what is outside")
    counts = _numbers(data, places)
    own = np.flatnonzero(features["kind"] == kind)
    if np.sum(counts) != len(own) or np.any(places + 4 + 4 * counts > end):
        raise ModelFileError(f"part {name.decode()} has not as many features as there are")
    first = np.cumsum(counts) - counts
    numbers = _numbers(data, np.repeat(places + 4 - 4 * first, counts) + 4 * np.arange(len(own)))
    if not np.array_equal(np.sort(numbers), own):
        raise ModelFileError(f"part {name.decode()} lists other features than there are")
    if np.any(features["source"][numbers] != np.repeat(np.arange(n), counts)):
        raise ModelFileError(f"part {name.decode()} lists features of others")
