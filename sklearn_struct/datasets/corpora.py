"""Corpora that are downloaded once and then read from the data home."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.utils import Bunch

from sklearn_struct.datasets.conll import Sentence, read_conll

__all__ = ["fetch_conll2000", "fetch_ud_ewt"]

CONLL2000_URL = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/conll2000.zip"
CONLL2000_HASH = "md5:9529b285edd5fe47271da69df1052301"
EWT_URL = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.8/"

CHUNKS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP")

# Of the uncompressed texts; their place in the data home is the name and ".gz".
SHA256 = {
    "conll2000/train.txt": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    "conll2000/test.txt": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
    "ewt/en_ewt-ud-train.conllu": "0f6e92f3fe4b461df863ff4c6c63a936ed4a16f39b7136d4635bc20b87d230b3",
    "ewt/en_ewt-ud-dev.conllu": "9af2d3fb48c7a2084130633e30ba1494cd089ad56450b087e3a587d8dc4fd98a",
}

CONLL2000_DESCR = """\
CoNLL-2000 shared task: text chunking.

Sentences of the Wall Street Journal with automatic part-of-speech tags and IOB2 chunk labels. Training set (sections
15-18): 8,936 sentences, 211,727 tokens, 22 labels; test set (section 20): 2,012 sentences, 47,377 tokens.
The copy is NLTK's. No licence is stated; the text is derived from the Penn Treebank: use it for research, and do not
redistribute it.

E. F. Tjong Kim Sang and S. Buchholz (2000). Introduction to the CoNLL-2000 shared task: chunking. CoNLL-2000, 127-132.
"""

EWT_DESCR = """\
Universal Dependencies, English Web Treebank (EWT), release 2.8: parts of speech.

Sentences of weblogs, newsgroups, e-mails, reviews and answers. Training set: 12,543 sentences, 204,584 words;
development set: 2,001 sentences, 25,149 words. 17 universal tags (upos), 50 Penn Treebank tags (xpos).
Licence: CC BY-SA 4.0.

N. Silveira et al. (2014). A gold standard dependency corpus for English. LREC 2014, 2897-2904.
"""


def fetch_conll2000(
    *,
    subset: str = "train",
    chunks: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the CoNLL-2000 chunking corpus, downloading it if necessary.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        8,936 sentences for training or 2,012 for testing.
    chunks : str, default=None
        The type of chunks to keep: "NP" for noun phrases, or one of the ten others, such as "VP" or "PP". Labels of
        other chunks become "O". None keeps all.
    data_home : str or path, default=None
        The folder that holds the data. None means the environment variable ``SKLEARN_STRUCT_DATA`` or, without it,
        the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download what is missing. Needs pooch: ``pip install "sklearn-struct[datasets]"``.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    corpus : Bunch
        ``data`` has a list for each sentence, with a tuple (word, part of speech) for each token; ``target`` has the
        lists of labels such as "B-NP". ``column_names`` names the parts of the tuples, ``DESCR`` tells of source
        and licence.

    Raises
    ------
    ValueError
        If `subset` or `chunks` is not among the choices.
    OSError
        If the data are missing or cannot be downloaded, or their checksum is wrong.
    ImportError
        If pooch is needed but not installed.
    """
    _check_choice("subset", subset, ("train", "test"))
    if chunks is not None:
        _check_choice("chunks", chunks, CHUNKS)
    text = _text(f"conll2000/{subset}.txt", data_home, download_if_missing)
    sentences = [_with_chunks(sentence, chunks) for sentence in read_conll(io.BytesIO(text))]
    return _corpus(sentences, ["word", "pos"], CONLL2000_DESCR, return_X_y)


def fetch_ud_ewt(
    *,
    subset: str = "train",
    tags: str = "upos",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load words and parts of speech of the English Web Treebank (UD 2.8), downloading it if necessary.

    Parameters
    ----------
    subset : {"train", "dev"}, default="train"
        12,543 sentences for training or 2,001 for development.
    tags : {"upos", "xpos"}, default="upos"
        The 17 universal tags or the 50 tags in the manner of the Penn Treebank.
    data_home : str or path, default=None
        The folder that holds the data. None means the environment variable ``SKLEARN_STRUCT_DATA`` or, without it,
        the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download what is missing. Needs pooch: ``pip install "sklearn-struct[datasets]"``.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    corpus : Bunch
        ``data`` has a list for each sentence, with a tuple (form,) for each word, so that templates read it as they
        read other corpora; ``target`` has the lists of tags. ``column_names`` names the parts of the tuples,
        ``DESCR`` tells of source and licence.

    Raises
    ------
    ValueError
        If `subset` or `tags` is not among the choices.
    OSError
        If the data are missing or cannot be downloaded, or their checksum is wrong.
    ImportError
        If pooch is needed but not installed.
    """
    _check_choice("subset", subset, ("train", "dev"))
    _check_choice("tags", tags, ("upos", "xpos"))
    text = _text(f"ewt/en_ewt-ud-{subset}.conllu", data_home, download_if_missing)
    columns = [1, 3 if tags == "upos" else 4]
    return _corpus(read_conll(io.BytesIO(text), columns=columns, conllu=True), ["form"], EWT_DESCR, return_X_y)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _with_chunks(sentence: Sentence, kind: str | None) -> Sentence:
    """The sentence with the labels of other chunks made "O"; the kind is what follows "B-" or "I-"."""
    if kind is None:
        return sentence
    return [token if token[-1][2:] == kind else (*token[:-1], "O") for token in sentence]


def _corpus(sentences: list[Sentence], column_names: list[str], descr: str, as_pair: bool) -> Any:
    """Part the last column, the label, from the others."""
    data = [[token[:-1] for token in sentence] for sentence in sentences]
    target = [[token[-1] for token in sentence] for sentence in sentences]
    return (data, target) if as_pair else Bunch(data=data, target=target, column_names=column_names, DESCR=descr)


def _text(name: str, data_home: str | os.PathLike[str] | None, download_if_missing: bool) -> bytes:
    """The text `name` from the data home, downloaded if it is not there yet, its checksum verified."""
    home = _home(data_home)
    path = home / f"{name}.gz"
    if not path.exists():
        if not download_if_missing:
            raise FileNotFoundError(f"{path} does not exist, and download_if_missing is False")
        _download(name, home)
    try:
        text = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OSError(f"{path} is damaged ({error}); delete it to have it downloaded again") from error
    _check_sha256(text, name, f"{path}, uncompressed; delete it to have it downloaded again")
    return text


def _home(data_home: str | os.PathLike[str] | None) -> Path:
    home = data_home or os.environ.get("SKLEARN_STRUCT_DATA") or _pooch().os_cache("sklearn_struct")
    return Path(home).expanduser()


def _pooch() -> ModuleType:
    try:
        import pooch
    except ImportError as error:
        raise ImportError('downloading corpora needs pooch: pip install "sklearn-struct[datasets]"') from error
    return pooch


def _check_sha256(text: bytes, name: str, what: str) -> None:
    found = hashlib.sha256(text).hexdigest()
    if found != SHA256[name]:
        raise OSError(f"wrong checksum: sha256 {found} instead of {SHA256[name]} for {what}")


def _download(name: str, home: Path) -> None:
    """Put `name`, and what comes in the same archive, into the data home."""
    folder, file = name.split("/")
    if folder == "ewt":
        _store(name, _retrieve(EWT_URL + file, f"sha256:{SHA256[name]}"), home)
        return
    with zipfile.ZipFile(io.BytesIO(_retrieve(CONLL2000_URL, CONLL2000_HASH))) as archive:
        for member in [name for name in SHA256 if name.startswith(f"{folder}/")]:
            if not (home / f"{member}.gz").exists():
                _store(member, archive.read(member), home)


def _retrieve(url: str, known_hash: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Path(_pooch().retrieve(url, known_hash, fname="download", path=folder)).read_bytes()
        except (OSError, ValueError) as error:  # no network, or a wrong checksum
            hint = "data_home or SKLEARN_STRUCT_DATA may name a folder that has the file"
            raise OSError(f"{url} could not be downloaded ({error}); {hint}") from error


def _store(name: str, text: bytes, home: Path) -> None:
    """Write the file under another name and then rename it, so that no half of it is ever read."""
    _check_sha256(text, name, f"the download of {name}")
    path = home / f"{name}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder) / "part"
        part.write_bytes(gzip.compress(text, mtime=0))
        part.replace(path)
