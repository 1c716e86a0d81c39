"""The folder that holds downloaded corpora: texts in it, gzipped, each known by the checksum of
what was packed.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.utils import Bunch

from sklearn_struct.datasets.conll import Sentence

__all__ = ["as_corpus", "check_choice", "read_text", "retrieve"]

# a text's name -> it, and the others that come with it
Download = Callable[[str], dict[str, bytes]]


def read_text(
    name: str,
    sha256: dict[str, str],
    download: Download,
    data_home: str | os.PathLike[str] | None,
    download_if_missing: bool,
) -> bytes:
    """The text `name` from the data home, downloaded if it is not there yet, its checksum verified."""
    home = _home(data_home)
    path = home / f"{name}.gz"
    if not path.exists():
        if not download_if_missing:
            raise FileNotFoundError(f"{path} does not exist, and download_if_missing is False")
        for found, text in download(name).items():
            if not (home / f"{found}.gz").exists():
                _check_sha256(text, sha256[found], f"the download of {found}")
                _store(home / f"{found}.gz", text)
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
    """What pooch downloads, its hash checked."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Path(
                _pooch().retrieve(url, known_hash, fname="download", path=folder)
            ).read_bytes()
        except (OSError, ValueError) as error:  # no network, or a wrong checksum
            hint = "data_home or SKLEARN_STRUCT_DATA may name a folder that has the file"
            raise OSError(f"{url} could not be downloaded ({error}); {hint}") from error


def as_corpus(sentences: list[Sentence], column_names: list[str], descr: str, as_pair: bool) -> Any:
    """Part the last column, the label, from the others."""
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
        import pooch
    except ImportError as error:
        raise ImportError(
            'downloading corpora needs pooch: pip install "sklearn-struct[datasets]"'
        ) from error
    return pooch


def _check_sha256(text: bytes, expected: str, what: str) -> None:
    found = hashlib.sha256(text).hexdigest()
    if found != expected:
        raise OSError(f"wrong checksum: sha256 {found} instead of {expected} for {what}")


def _store(path: Path, text: bytes) -> None:
    """Write the file under another name and then rename it, so that no half of it is ever read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder) / "part"
        part.write_bytes(gzip.compress(text, mtime=0))
        part.replace(path)
