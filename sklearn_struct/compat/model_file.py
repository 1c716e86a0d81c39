"""The file of a `CRF`'s model, sklearn-crfsuite's `modelfile`, and models read from such files."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from tempfile import mkstemp
from typing import Any, TypeAlias
from weakref import finalize

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_struct._whole_fits import Published
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.persistence.crfsuite import from_crfsuite
from sklearn_struct.persistence.crfsuite_writer import crfsuite_bytes

__all__ = ["Filed", "ModelFile", "check_path", "size_of"]

Path: TypeAlias = str | os.PathLike[str]

OF_FILES = ("_in_file", "_temporary")  # attributes that copies and pickles leave out


class ModelFile:
    """The file of a model: one that the user has named, or a temporary one.

    A temporary file is written when its name is asked for, and deleted with this object. Copies and
    pickles have files of their own.

    Parameters
    ----------
    filename : str or path, default=None
        None: a temporary file.
    model : LinearChainCRF, default=None
        What a temporary file holds; None: there is no file.
    keep_tempfiles : bool, default=False
        Never delete temporary files.
    """

    suffix = ".crfsuite"
    prefix = "model"

    def __init__(
        self,
        filename: Path | None = None,
        model: LinearChainCRF | None = None,
        keep_tempfiles: bool = False,
    ) -> None:
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self._path = filename
        self._model = model
        self._delete: Callable[[], object] | None = None

    @property
    def name(self) -> Path | None:
        """The path; None for a temporary file of a model that is not fitted yet."""
        self.ensure_name()
        return self._path

    def ensure_name(self) -> None:
        """Write the temporary file, if there is a model and no file yet."""
        if self._path is not None or self._model is None:
            return
        # before there is a file, so that an error leaves none behind
        data = crfsuite_bytes(self._model)
        handle, path = mkstemp(self.suffix, self.prefix)
        if not self.keep_tempfiles:
            self._delete = finalize(self, _delete, path)
        with open(handle, "wb") as file:
            file.write(data)
        self._path = path

    def cleanup(self) -> None:
        """Delete the temporary file; another one is written when its name is asked for."""
        if self._delete is not None:
            self._delete()
            self._path = None

    def refresh(self) -> None:
        """Write the temporary file again."""
        self.cleanup()
        self.ensure_name()

    def __reduce__(self) -> tuple[type[ModelFile], tuple[object, ...]]:
        return ModelFile, (None if self.auto else self._path, self._model, self.keep_tempfiles)


def _delete(path: str) -> None:
    with suppress(OSError):  # others may have moved or deleted it
        os.unlink(path)


def check_path(path: object) -> None:
    """Raise unless this is the path of a file, or None."""
    if path is not None and not isinstance(path, str | bytes | os.PathLike):
        raise InputTypeError(f"model_filename must be the path of a file, or None, got {path!r}")


class Filed(Published):
    """Mixin, before `BaseEstimator`: the model, fitted or from a file, and its file."""

    model_filename: Path | None
    keep_tempfiles: bool
    _crf: Pipeline

    @property
    def crf_(self) -> Pipeline:
        """The vectorizer and the chain that were fitted, else those in the file of the model."""
        if "_crf" in self.__dict__:
            return self._crf
        path = self.model_filename
        read_from, model = self.__dict__.get("_in_file", (None, None))
        # since then set_params may have named another file
        if model is None or read_from != path:
            model = _read(path)
            self._in_file = path, model
        return model

    @property
    def modelfile(self) -> ModelFile:
        """The file of the model; a temporary one where `model_filename` is None."""
        if self.model_filename is not None or "_crf" not in self.__dict__:
            return ModelFile(self.model_filename, None, self.keep_tempfiles)
        temporary = ModelFile(None, self._crf[-1], self.keep_tempfiles)
        # the file is deleted with the object, so the estimator holds on to it
        kept: ModelFile = self.__dict__.setdefault("_temporary", temporary)
        return kept

    def _forget_files(self) -> None:
        """Drop what was read from a file or written to one: there is another model."""
        for name in OF_FILES:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; a damaged file must not break the HTML representation."""
        try:
            return self.crf_ is not None
        except (OSError, TypeError, ValueError):
            return False

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles read the file themselves, and have temporary files of their own."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in OF_FILES}


def _read(path: Path | None) -> Pipeline:
    """The model in a file of CRFsuite's, as `CRF.fit` would have left it.

    Raises
    ------
    NotFittedError
        If there is no file.
    InputTypeError
        If it is no path.
    ModelFileError
        If the file is damaged or holds something else.
    OSError
        If it cannot be read.
    """
    check_path(path)
    if path is None or not os.path.exists(path):
        told = "give the file of a model as model_filename"
        if path is not None:
            told = f"write the model to model_filename={path!r}, which does not exist"
        raise NotFittedError(f"this CRF is not fitted yet: call fit, or {told}")
    chain = from_crfsuite(path)
    vectorizer = chain.vectorizer_.set_params(keep_zeros=True)
    del chain.vectorizer_  # the pipeline has it
    return make_pipeline(vectorizer, chain)


def size_of(model: LinearChainCRF) -> int:
    """The length of a model's file in bytes; AttributeError where no file holds it, as `hasattr`
    must have an answer.
    """
    try:
        return len(crfsuite_bytes(model))
    except InputTypeError as error:
        raise AttributeError(f"size_: {error}") from None
