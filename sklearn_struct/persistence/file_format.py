"""One JSON text and named arrays as a safetensors file, under a checksum.

The checksum is the SHA-256 of all bytes, taken with zeros in place of its own 64 digits.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from sklearn_struct.exceptions import ModelFileError

__all__ = ["pack", "unpack"]

KEY = "sklearn_struct"
# what stands before the checksum, and can stand nowhere else
DIGEST = b'"sklearn_struct":"{\\"sha256\\":\\"'
N_DIGITS = 64
DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            'saving and loading models needs safetensors: pip install "sklearn-struct[persistence]"'
        ) from error
    return safetensors


def pack(model: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """The bytes of a file."""
    # first with zeros: the digest stands inside of what it is a digest of
    text = json.dumps({"sha256": "0" * N_DIGITS, **model}, allow_nan=False, separators=(",", ":"))
    dense = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    data = bytearray(_safetensors().numpy.save(dense, {KEY: text}))
    place = _place(data)
    data[place : place + N_DIGITS] = _digest(data, place)
    return bytes(data)


def unpack(data: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    """What `pack` was given; ModelFileError for anything else."""
    safetensors = _safetensors()
    place = _place(data)
    if data[place : place + N_DIGITS] != _digest(data, place):
        raise ModelFileError("its checksum is wrong, so it was damaged or changed")
    try:
        tensors = safetensors.deserialize(data)
        header = json.loads(data[8 : _end_of_header(data)])
        # Python's JSON would take NaN and Infinity
        model = json.loads(header["__metadata__"][KEY], parse_constant=_refuse)
        del model["sha256"]
    # RecursionError: deep brackets are hostile, but no reason to crash
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"its header cannot be read ({error})") from error
    return model, {name: _array(name, stored) for name, stored in tensors}


def _end_of_header(data: bytes | bytearray) -> int:
    end = 8 + int.from_bytes(data[:8], "little")
    if len(data) < 8 or end > len(data):
        raise ModelFileError("it is no safetensors file, or not all of it is there")
    return end


def _place(data: bytes | bytearray) -> int:
    """Where the checksum stands."""
    end = _end_of_header(data)
    # in the header alone: arrays may hold any bytes, also these
    place = data.find(DIGEST, 8, end) + len(DIGEST)
    if place < len(DIGEST) or place + N_DIGITS > end:
        raise ModelFileError("it was not written by this package")
    return place


def _digest(data: bytes | bytearray, place: int) -> bytes:
    view = memoryview(data)
    digest = hashlib.sha256(view[:place])
    digest.update(b"0" * N_DIGITS)
    digest.update(view[place + N_DIGITS :])
    return digest.hexdigest().encode()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _array(name: str, stored: dict[str, Any]) -> np.ndarray:
    """A writable copy of a stored array, in the machine's byte order."""
    shape = stored["shape"]
    data = stored["data"]
    dtype = DTYPES.get(stored["dtype"])
    if dtype is None or len(shape) > 2:
        raise ModelFileError(
            f"array {name!r} is of type {stored['dtype']} and shape {tuple(shape)}"
        )
    little = np.dtype(dtype).newbyteorder("<")
    n_rows, n_columns = [*shape, 1, 1][:2]
    # an array of no bytes may claim any number of rows times 0 columns
    if n_rows * n_columns * little.itemsize != len(data) or max(n_rows, n_columns) > len(data) + 1:
        raise ModelFileError(f"array {name!r} has not the size of its shape {tuple(shape)}")
    # numpy takes other bytes without a word
    if dtype is np.bool_ and np.any(np.frombuffer(data, np.uint8) > 1):
        raise ModelFileError(f"array {name!r} holds other values than true and false")
    # a copy: the buffer is read-only, and may lie at any address
    return np.frombuffer(data, little).reshape(shape).astype(dtype)
