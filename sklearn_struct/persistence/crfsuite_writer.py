"""Models as CRFsuite's files, which its own tagger and `from_crfsuite` read; `crfsuite` says how
they are made.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.structures import refuse_wider_cliques
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.persistence.crfsuite import FEATURE, HEADER, ORDER, STATE, TRANSITION, VERSION

__all__ = ["crfsuite_bytes"]

N_TABLES = 256  # of a dictionary, each with a list of strings by their hashes
# sources of label features that CRFsuite has had for the ends of sequences; they have no features
MORE = 2


def crfsuite_bytes(crf: LinearChainCRF) -> bytes:
    """The file of a fitted chain of first order, with string labels and names of features, and all
    weights but zeros.

    Raises
    ------
    InputTypeError
        If the model has what these files cannot hold.
    """
    labels, names, coef = _parts(crf)
    pairs = np.flatnonzero(coef.data)
    coef = sp.csr_array((coef.data[pairs], (coef.row[pairs], coef.col[pairs])), shape=coef.shape)
    # CRFsuite's files have no attributes without a weight
    used = np.flatnonzero(np.diff(coef.indptr))
    state = coef[used].tocoo()
    moves = sp.coo_array(crf.transition_)
    features = np.zeros(state.nnz + moves.nnz, FEATURE)
    own = features[: state.nnz]
    between = features[state.nnz :]
    own["kind"] = STATE
    own["source"] = state.row
    own["target"] = state.col
    own["weight"] = state.data
    between["kind"] = TRANSITION
    between["source"] = moves.row
    between["target"] = moves.col
    between["weight"] = moves.data
    of_attributes = np.bincount(own["source"], minlength=len(used))
    of_labels = np.bincount(between["source"], minlength=len(labels))
    parts: list[Any] = [
        b"FEAT" + struct.pack("<2I", 12 + features.nbytes, len(features)) + features.tobytes(),
        _dictionary(labels),
        _dictionary([names[f] for f in used.tolist()]),
    ]
    offsets = []
    place = HEADER.size
    for part in parts:
        offsets.append(place)
        place += len(part)
    parts.append(bytes(-place % 4))  # for numbers to stand where processors like them
    place += len(parts[-1])
    for name, counts, first, more in (
        (b"LFRF", of_labels, state.nnz, MORE),
        (b"AFRF", of_attributes, 0, 0),
    ):
        parts.append(_references(name, counts, first, place, more))
        offsets.append(place)
        place += len(parts[-1])
    header = HEADER.pack(b"lCRF", place, b"FOMC", VERSION, 0, len(labels), len(used), *offsets)
    return header + b"".join(parts)


def _parts(crf: LinearChainCRF) -> tuple[list[str], list[str], sp.coo_array]:
    """Labels, names of features, and weights (features, labels)."""
    other = InputTypeError(
        "CRFsuite's files hold chains of first order, without intercepts and edge features"
    )
    refuse_wider_cliques(crf._pattern.families, other)
    if len(crf.edge_features_) or crf.fit_intercept:
        raise other
    labels = crf.classes_.tolist()
    names = crf.feature_names_in_.tolist()
    for text in (*labels, *names):
        if not isinstance(text, str) or "\0" in text:
            raise InputTypeError(f"CRFsuite's files hold strings without zeros, not {text!r}")
    return labels, names, sp.coo_array(sp.coo_array(crf.coef_).T)


def _references(name: bytes, counts: np.ndarray, first: int, place: int, more: int) -> bytes:
    """Which features start at each source: they are numbered from source to source, from `first`
    on.
    """
    n = len(counts)
    starts = np.cumsum(counts) - counts
    begin = place + 12 + 4 * (n + more)
    offsets = np.concatenate([begin + 4 * np.arange(n) + 4 * starts, np.zeros(more, np.int64)])
    lists = np.insert(first + np.arange(counts.sum()), starts, counts)
    body = offsets.astype("<u4").tobytes() + lists.astype("<u4").tobytes()
    return name + struct.pack("<2I", 12 + len(body), n + more) + body


def _dictionary(strings: list[str]) -> bytes:
    """Strings by number and by hash: constant database, as CRFsuite has it."""
    keys = [text.encode() + b"\0" for text in strings]
    hashes = _hashes(keys)
    begin = 24 + 8 * N_TABLES
    records = [struct.pack("<2I", number, len(key)) + key for number, key in enumerate(keys)]
    places = begin + np.concatenate([[0], np.cumsum([len(record) for record in records])]).astype(
        np.int64
    )
    tables = []
    refs = []
    where = int(places[-1])
    for t in range(N_TABLES):
        own = np.flatnonzero(hashes % N_TABLES == t)
        refs.append((where if len(own) else 0, 2 * len(own)))
        tables.append(_table(hashes[own].tolist(), places[own].tolist()))
        where += len(tables[-1])
    back = places[:-1].astype("<u4").tobytes()
    header = b"CQDB" + struct.pack("<5I", where + len(back), 0, ORDER, len(keys), where)
    return b"".join([header, *(struct.pack("<2I", *ref) for ref in refs), *records, *tables, back])


def _table(hashes: list[int], places: list[int]) -> bytes:
    """Twice as many slots as strings, each with a hash and a place; a slot that is taken leaves the
    next one.
    """
    # as CQDB has it; half of the slots empty, so that searches end
    n = 2 * len(hashes)
    slots = [(0, 0)] * n
    for code, place in zip(hashes, places):
        slot = (code >> 8) % n
        while slots[slot][1]:
            slot = (slot + 1) % n
        slots[slot] = code, place
    return b"".join(struct.pack("<2I", *slot) for slot in slots)


def _hashes(keys: list[bytes]) -> np.ndarray:
    """Jenkins' hash lookup3 of each string, by which CRFsuite finds it."""
    numbers = np.zeros(len(keys), np.uint32)
    n_blocks = np.array([(len(key) + 11) // 12 for key in keys], dtype=np.int64)
    for n in np.unique(n_blocks).tolist():
        own = np.flatnonzero(n_blocks == n)
        text = b"".join(keys[i].ljust(12 * n, b"\0") for i in own.tolist())
        words = np.frombuffer(text, "<u4").reshape(len(own), n, 3)
        length = np.array([len(keys[i]) for i in own.tolist()], dtype=np.uint32)
        state = [np.uint32(0xDEADBEEF) + length for _ in range(3)]
        for block in range(n):
            state = [part + words[:, block, j] for j, part in enumerate(state)]
            _mix(state) if block < n - 1 else _finish(state)
        numbers[own] = state[2]
    return numbers


def _rotated(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))


def _mix(state: list[np.ndarray]) -> None:
    """Between blocks: each round takes the last part from the first, and adds the second to the
    last.
    """
    for round_, k in enumerate((4, 6, 8, 16, 19, 4)):
        a = round_ % 3
        b = (round_ + 1) % 3
        c = (round_ + 2) % 3
        state[a] = (state[a] - state[c]) ^ _rotated(state[c], k)
        state[c] = state[c] + state[b]


def _finish(state: list[np.ndarray]) -> None:
    for round_, k in enumerate((14, 11, 25, 16, 4, 14, 24)):
        a = (round_ + 2) % 3
        b = (round_ + 1) % 3
        state[a] = (state[a] ^ state[b]) - _rotated(state[b], k)
