"""The folder of downloaded corpora: gzipped texts, each with a known checksum of the plain text."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.utils import Bunch

from sklearn_struct.datasets.conll import Sentence

__all__ = ["as_corpus", "check_choice", "read_text", "retrieve"]

# from the name of a text to this text, and others that come with it, by name
Download = Callable[[str], dict[str, bytes]]


def read_text(
    name: str,
    sha256: dict[str, str],
    download: Download,
    data_home: str | os.PathLike[str] | None,
    download_if_missing: bool,
) -> bytes:
    """The text `name` from the data home, downloaded if it is not there, with a known checksum."""
    home = _home(data_home)
    path = home / f"{name}.gz"
    if not path.exists():
        if not download_if_missing:
            raise FileNotFoundError(f"{path} does not exist, and download_if_missing is False")
        for each, text in download(name).items():
            # one download may bring several texts, and another process some of them
            if not (home / f"{each}.gz").exists():
                _check_sha256(text, sha256[each], f"the download of {each}")
                _store(home / f"{each}.gz", text)
    try:
        text = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OSError(
            f"{path} is damaged ({error}); delete it to have it downloaded again"
        ) from error
    _check_sha256(
        text, sha256[name], f"{path}, uncompressed; delete it to have it downloaded again"
    )
    return text


def retrieve(url: str, known_hash: str) -> bytes:
    """The content of a URL, downloaded and checked by pooch."""
    # the texts in it are kept, not the download itself
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Path(
                _pooch().retrieve(url, known_hash, fname="download", path=folder)
            ).read_bytes()
        except (OSError, ValueError) as error:  # no network, or a wrong checksum
            hint = "data_home or SKLEARN_STRUCT_DATA may name a folder that has the file"
            raise OSError(f"{url} could not be downloaded ({error}); {hint}") from error


def as_corpus(sentences: list[Sentence], column_names: list[str], descr: str, as_pair: bool) -> Any:
    """The corpus as a Bunch or as (data, target): the last column is the label."""
    data = [[token[:-1] for token in sentence] for sentence in sentences]
    target = [[token[-1] for token in sentence] for sentence in sentences]
    return (
        (data, target)
        if as_pair
        else Bunch(data=data, target=target, column_names=column_names, DESCR=descr)
    )


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _home(data_home: str | os.PathLike[str] | None) -> Path:
    home = data_home or os.environ.get("SKLEARN_STRUCT_DATA") or _pooch().os_cache("sklearn_struct")
    return Path(home).expanduser()


def _pooch() -> ModuleType:
    try:
        return import_module("pooch")
    except ImportError as error:
        raise ImportError(
            'downloading corpora needs pooch: pip install "sklearn-struct[datasets]"'
        ) from error


def _check_sha256(text: bytes, expected: str, what: str) -> None:
    checksum = hashlib.sha256(text).hexdigest()
    if checksum != expected:
        raise OSError(f"wrong checksum: sha256 {checksum} instead of {expected} for {what}")


def _store(path: Path, text: bytes) -> None:
    """Write the file under another name and then rename it, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # beside the file, since renaming works only within one file system
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder) / "part"
        part.write_bytes(gzip.compress(text, mtime=0))  # the same bytes at any time
        part.replace(path)
