"""Files of a `CRF`'s model: what sklearn-crfsuite calls `modelfile`, and models read from them."""

from __future__ import annotations

import os
from contextlib import suppress
from tempfile import mkstemp
from typing import Any
from weakref import finalize

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_struct._published import Published
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.persistence.crfsuite import from_crfsuite
from sklearn_struct.persistence.crfsuite_writer import crfsuite_bytes

__all__ = ["Filed", "ModelFile", "check_path"]

OF_FILES = ("_in_file", "_temporary")  # attributes that no fit makes


class ModelFile:
    """The file of a model, under a name that the user has chosen, or else a temporary one.

    A temporary file is written when its name is asked for, and deleted when nobody holds this
    object any more. Copies and pickles have files of their own.

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
        filename: Any = None,
        model: LinearChainCRF | None = None,
        keep_tempfiles: bool = False,
    ) -> None:
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self._path = filename
        self._model = model
        self._delete: Any = None

    @property
    def name(self) -> Any:
        """The path; None for a temporary file of a model that is not fitted yet."""
        self.ensure_name()
        return self._path

    def ensure_name(self) -> None:
        """Write the temporary file, if there is a model and no file yet."""
        if self._path is not None or self._model is None:
            return
        data = crfsuite_bytes(self._model)
        handle, path = mkstemp(self.suffix, self.prefix)
        if not self.keep_tempfiles:
            self._delete = finalize(self, _delete, path)
        with open(handle, "wb") as file:
            file.write(data)
        self._path = path

    def cleanup(self) -> None:
        """Delete the temporary file; there is another one when its name is asked for again."""
        if self._delete is not None:
            self._delete()
            self._path = None

    def refresh(self) -> None:
        """Write the temporary file again."""
        self.cleanup()
        self.ensure_name()

    def __reduce__(self) -> Any:
        return ModelFile, (None if self.auto else self._path, self._model, self.keep_tempfiles)


def _delete(path: str) -> None:
    with suppress(OSError):  # others may have moved or deleted it
        os.unlink(path)


def check_path(path: Any) -> None:
    """Raise unless this is the path of a file, or None."""
    if path is not None and not isinstance(path, str | bytes | os.PathLike):
        raise InputTypeError(f"model_filename must be the path of a file, or None, got {path!r}")


class Filed(Published):
    """Mixin, before `BaseEstimator`: the model, fitted or from a file, and the file of the model."""

    model_filename: Any
    keep_tempfiles: bool
    _crf: Pipeline

    @property
    def crf_(self) -> Pipeline:
        """The vectorizer and the chain that were fitted, else those in the file of the model."""
        if "_crf" in self.__dict__:
            return self._crf
        path = self.model_filename
        read_from, model = self.__dict__.get("_in_file", (None, None))
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
        return self.__dict__.setdefault("_temporary", temporary)  # held, for its file to stay

    def _forget_files(self) -> None:
        """What was read from a file or written to one is not the model any more."""
        for name in OF_FILES:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; a file without one is no reason for HTML to fail."""
        try:
            return self.crf_ is not None
        except (OSError, TypeError, ValueError):
            return False

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles read the file themselves, and have temporary files of their own."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in OF_FILES}


def _read(path: Any) -> Pipeline:
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
