"""Bytes that hold no model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fuzz import files

from sklearn_struct import LinearChainCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import file_format as container
from sklearn_struct.persistence import load, save


def fitted():
    return LinearChainCRF().fit([["the", "cat"], ["a", "dog"]], [["DET", "NOUN"], ["DET", "NOUN"]])


def test_what_is_packed_is_unpacked():
    arrays = {
        "b": np.arange(6, dtype=np.int32).reshape(2, 3),
        "a": np.zeros(0),
        "c": np.array([True, False]),
    }
    model, found = container.unpack(
        container.pack({"text": '\0"sha256":"😀', "list": [1, 0.1, None]}, arrays)
    )
    assert model == {"text": '\0"sha256":"😀', "list": [1, 0.1, None]}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape, found[name].tolist()) == (
            array.dtype,
            array.shape,
            array.tolist(),
        )
        assert found[name].flags.writeable


def test_the_checksum_is_of_every_byte():
    data = container.pack({"a": 1}, {"w": np.arange(3.0)})
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 4
        with pytest.raises(ModelFileError):
            container.unpack(bytes(damaged))


@pytest.mark.parametrize("data", [b"", b"1234567", bytes(8), b"\xff" * 100, b"a" * 10_000])
def test_no_model(tmp_path, data):
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load(tmp_path / "model")


@pytest.mark.parametrize("shape", [[0, 2**40], [2**63, 0], [2**64, 2**64], [1, 1, 12], [], [-1]])
def test_shapes_without_sense(tmp_path, shape):
    save(fitted(), tmp_path / "model")
    header, _, arrays = files.taken_apart((tmp_path / "model").read_bytes())
    header["labels"]["shape"] = shape
    if 0 in shape:
        header["labels"]["data_offsets"][1] = header["labels"]["data_offsets"][0]
    (tmp_path / "model").write_bytes(files.sealed(rebuilt(header, arrays)))
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_json_that_is_nested_deeply(tmp_path):
    save(fitted(), tmp_path / "model")
    header, model, arrays = files.taken_apart((tmp_path / "model").read_bytes())
    for depth in (500, 100_000):
        value = "[" * depth + "]" * depth
        model["estimator"]["params"]["C"] = "HERE"
        data = files.put_together(header, model, arrays)
        header["__metadata__"]["sklearn_struct"] = header["__metadata__"]["sklearn_struct"].replace(
            '"HERE"', value
        )
        data = files.sealed(rebuilt(header, arrays))
        (tmp_path / "model").write_bytes(data)
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")


def rebuilt(header, arrays):
    text = json.dumps(header, separators=(",", ":")).encode()
    return len(text).to_bytes(8, "little") + text + arrays
