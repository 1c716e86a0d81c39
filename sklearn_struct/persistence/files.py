"""Save a fitted estimator to a file, and load it."""

from __future__ import annotations

import os
from typing import Any

from sklearn.base import BaseEstimator

import sklearn_struct
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.file_format import pack, unpack
from sklearn_struct.persistence.former_names import renamed
from sklearn_struct.persistence.named_functions import Functions
from sklearn_struct.persistence.plain_values import Arrays, fields
from sklearn_struct.persistence.registry import estimator as read_estimator
from sklearn_struct.persistence.registry import put_estimator
from sklearn_struct.persistence.whole_files import read_whole, write_whole

__all__ = ["load", "save"]

FORMAT = 2  # in format 1 some parameters had other names


def save(
    estimator: BaseEstimator, path: str | os.PathLike[str], *, functions: Functions | None = None
) -> None:
    """Save a fitted estimator to a file.

    The file has the parameters and everything that was learned. `load` returns an estimator with
    the same predictions, bit by bit, which can go on learning. It is a safetensors file: numbers
    and text with a checksum, and no pickle. Metadata requests, callbacks and attributes of your own
    are not saved.

    Read more in :doc:`/user_guide/persistence`.

    Parameters
    ----------
    estimator : estimator
        Any estimator or encoder of this package, some of scikit-learn's transformers, a Pipeline or
        SequenceUnion of these, nested at most eight deep, or a grid, randomized or halving search
        over them; the user guide has the list. Labels and parameters may be strings,
        numbers, booleans, None, and tuples, lists or sets of these. Of an MEstimatedCRF the base
        must be an HMM, and the features numbers or FeatureTemplates.
    path : str or path
        Where to write. A file that is there is replaced as a whole; if something goes wrong, it
        stays as it is. A link is followed.
    functions : dict of {str: callable}, default=None
        Names for the functions among the parameters. The file holds the names alone; give the same
        dict to `load`.

    Raises
    ------
    InputTypeError
        If the estimator, a label or a parameter cannot be saved. Set a `random_state` that is no
        number to an int or None, and give functions names.
    NotFittedError
        If the estimator is not fitted.
    ModelFileError
        If what was learned could not be loaded again, as it was changed since.
    OSError
        If the file cannot be written there, or what has this name is a folder, a device, a pipe or
        a socket.
    ImportError
        If safetensors is not installed.

    See Also
    --------
    load : Reads the file.
    from_crfsuite : Reads models of CRFsuite.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.persistence import load, save
    >>> X = [["the", "cat"], ["a", "dog"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN"]] * 2)
    >>> with TemporaryDirectory() as folder:
    ...     save(crf, Path(folder) / "crf.safetensors")
    ...     loaded = load(Path(folder) / "crf.safetensors")
    >>> loaded.predict([["a", "cat"]])[0]
    ['DET', 'NOUN']
    """
    write_whole(path, _bytes(estimator, functions))


def _bytes(estimator: BaseEstimator, functions: Functions | None = None) -> bytes:
    """The file of an estimator, after a check that it can be loaded."""
    shared = Shared(Arrays(), functions)
    model = {
        "format": FORMAT,
        "version": sklearn_struct.__version__,
        "estimator": put_estimator(estimator, "", shared),
    }
    data = pack({**model, "names": shared.stored}, shared.arrays)
    try:
        # what could not be loaded is not saved
        _read(data, functions)
    except ModelFileError as error:
        raise ModelFileError(f"this {type(estimator).__name__} cannot be saved: {error}") from error
    return data


def load(path: str | os.PathLike[str], *, functions: Functions | None = None) -> Any:
    """Load an estimator that `save` has written.

    Everything in the file is checked before it is used: a file that is damaged, or made to do harm,
    is refused. Time and memory are in proportion to its size.

    Read more in :doc:`/user_guide/persistence`.

    Parameters
    ----------
    path : str or path
        The file.
    functions : dict of {str: callable}, default=None
        The functions that `save` was given, under the same names. Nothing else is ever called.

    Returns
    -------
    estimator
        It has the same parameters as the saved one, and is fitted.

    Raises
    ------
    ModelFileError
        If the file was not written by `save`, is damaged, has a later format than this version
        knows, or needs a function that is not given.
    OSError
        If the file cannot be read, or what has this name is a folder, a device, a pipe or a socket.
    ImportError
        If safetensors is not installed.

    See Also
    --------
    save : Writes the file.
    from_crfsuite : Reads models of CRFsuite.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.persistence import load, save
    >>> crf = LinearChainCRF().fit([["the", "cat"], ["a", "dog"]], [["DET", "NOUN"]] * 2)
    >>> with TemporaryDirectory() as folder:
    ...     save(crf, Path(folder) / "crf.safetensors")
    ...     load(Path(folder) / "crf.safetensors")
    LinearChainCRF()
    """
    data = read_whole(path)
    try:
        return _read(data, functions)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fsdecode(path)} cannot be loaded: {error}") from error


def _read(data: bytes, functions: Functions | None) -> Any:
    model, arrays = unpack(data)
    # before the fields are checked, which may be others in later formats; `is int`, as True is an
    # instance of int
    if type(model) is dict and type(model.get("format")) is int and model["format"] > FORMAT:
        raise ModelFileError(
            f"it has format {model['format']}, of a later version of sklearn_struct: upgrade to "
            "load it"
        )
    kinds = {"format": int, "version": str, "estimator": dict, "names": list}
    number, _, stored, names = fields(model, "the file", **kinds)
    if number not in (1, FORMAT):
        raise ModelFileError(f"it has the unknown format {number}")
    shared = Shared(Arrays(arrays), functions)
    try:
        shared.read(names)
        estimator = read_estimator(renamed(stored) if number == 1 else stored, "", shared)
    except RecursionError as error:
        raise ModelFileError("it is nested too deeply") from error
    # what is loaded must give the same bytes when it is saved again
    if shared.arrays:
        raise ModelFileError(f"it has an array too many: {next(iter(shared.arrays))[:50]!r}")
    return estimator
