"""Treebanks: sentences and the trees over them, in brackets."""

from __future__ import annotations

import io
import numbers
import os
import zipfile
from typing import Any

from sklearn.utils import Bunch

from sklearn_struct.datasets.conll import Lines, numbered_lines, source_name
from sklearn_struct.datasets.data_home import check_choice, read_text, retrieve
from sklearn_struct.encoding.trees.binarization import TRACE
from sklearn_struct.encoding.trees.brackets import parse_trees, tagged_words

__all__ = ["fetch_treebank_sample", "read_treebank"]

URL = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/treebank.zip"
ZIP_HASH = "md5:78c24a97940c2504d0ad35dd3f8a560b"
NAME = "treebank/wsj_sample.mrg"
SHA256 = {NAME: "f018900543fbff4571439fd5e5ebdae00ba53dfdd6543e48491230d76d0e06a1"}

N_FILES = 199
BOUNDS = {"train": (0, 3396), "dev": (3396, 3669), "test": (3669, 3914), "all": (0, 3914)}

DESCR = """\
Penn Treebank sample: sentences of the Wall Street Journal and the trees over them.

199 files, about 5 % of the treebank's Wall Street Journal, with 3,914 trees over 94,084 words; the
longest sentence has 249 words, 3,629 have at most 40. 27 labels of phrases without function tags,
with the root's, and 45 of words. Training set: files 1 to 159, 3,396 trees; development set: 160 to
179, 273 trees; test set: 180 to 199, 245 trees. No split is official. The copy is NLTK's. (C) 1995
Linguistic Data Consortium, for non-commercial use only: do not redistribute it.

M. P. Marcus, B. Santorini and M. A. Marcinkiewicz (1993). Building a large annotated corpus of
English: the Penn Treebank. Computational Linguistics 19, 313-330.
"""


def fetch_treebank_sample(
    *,
    subset: str = "train",
    max_length: int | None = None,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load NLTK's sample of the Penn Treebank, downloading it if necessary.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    subset : {"train", "dev", "test", "all"}, default="train"
        3,396 trees for training (files 1 to 159), 273 for development (160 to 179), 245 for testing
        (180 to 199), or all.
    max_length : int, default=None
        Leave out sentences with more words. 3,629 of all sentences have at most 40 words.
    data_home : str or path, default=None
        The folder that holds the data. None means the environment variable ``SKLEARN_STRUCT_DATA``
        or, without it, the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download what is missing. Needs pooch: ``pip install
        "sklearn-struct[datasets]"``.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    corpus : Bunch
        ``data`` has a list of words for each sentence, ``target`` its tree in brackets, as it
        stands in the file: with traces and function tags. ``DESCR`` has source and licence.

    Raises
    ------
    ValueError
        If `subset` is not among the choices or `max_length` is not a positive integer.
    OSError
        If the data are missing or cannot be downloaded, or their checksum is wrong.
    ImportError
        If pooch is needed but not installed.

    See Also
    --------
    read_treebank : Trees of your own.
    make_treebank : Trees without a download.
    sklearn_struct.PCFG : Learns from such trees.

    Examples
    --------
    >>> from sklearn_struct.datasets import fetch_treebank_sample
    >>> X, y = fetch_treebank_sample(return_X_y=True)  # doctest: +SKIP
    >>> X[1][:7]  # doctest: +SKIP
    ['Mr.', 'Vinken', 'is', 'chairman', 'of', 'Elsevier', 'N.V.']
    >>> y[1][:49]  # doctest: +SKIP
    '( (S \\n    (NP-SBJ (NNP Mr.) (NNP Vinken) )\\n    (V'
    """
    check_choice("subset", subset, tuple(BOUNDS))
    if max_length is not None and (not isinstance(max_length, numbers.Integral) or max_length < 1):
        raise ValueError(f"max_length must be None or a positive integer, got {max_length!r}")
    text = read_text(NAME, SHA256, _download, data_home, download_if_missing)
    X, y = read_treebank(io.BytesIO(text))
    kept = [i for i in range(*BOUNDS[subset]) if max_length is None or len(X[i]) <= max_length]
    data = [X[i] for i in kept]
    target = [y[i] for i in kept]
    return (data, target) if return_X_y else Bunch(data=data, target=target, DESCR=DESCR)


def read_treebank(source: str | os.PathLike[str] | Lines) -> tuple[list[list[str]], list[str]]:
    """Read bracketed trees, as treebanks have them.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    source : str, path, open file or iterable of lines
        A path (gzipped if it ends in ``.gz``; read as UTF-8), or the lines themselves. A tree may
        take several lines.

    Returns
    -------
    X : list of list of str
        The words of each tree. Traces (below ``-NONE-``) are not words.
    y : list of str
        The trees, as they stand in the file.

    Raises
    ------
    ValueError
        If brackets do not match, a bracket has no label (the outermost one of a tree need not have
        one), something stands outside of brackets, or the text is not UTF-8. The message names the
        tree, counted from 0, and the place.
    EmptyDataError
        If there is nothing in a bracket but a label.
    InputTypeError
        If a line is not a string.

    See Also
    --------
    fetch_treebank_sample : Trees of newspaper text.
    make_treebank : Trees from a small grammar.

    Examples
    --------
    >>> from sklearn_struct.datasets import read_treebank
    >>> X, y = read_treebank(["((S (NP-SBJ (PRP I)) (VP (VBP sleep))))", "(INTJ (UH Yes))"])
    >>> X
    [['I', 'sleep'], ['Yes']]
    >>> y[1]
    '(INTJ (UH Yes))'
    """
    name = source_name(source)
    text = "\n".join(line for _, line in numbered_lines(source, name))

    def place(number: int, start: int, at: int) -> str:
        return (
            f"{name}, tree {number}, character {at - start} (line {text.count(chr(10), 0, at) + 1})"
        )

    X = []
    y = []
    for tree, start, stop in parse_trees(text, place):
        X.append([word for word, tag in tagged_words(tree) if tag != TRACE])
        y.append(text[start:stop])
    return X, y


def _download(name: str) -> dict[str, bytes]:
    """The archive has a file of each article."""
    with zipfile.ZipFile(io.BytesIO(retrieve(URL, ZIP_HASH))) as archive:
        members = (f"treebank/combined/wsj_{number:04}.mrg" for number in range(1, N_FILES + 1))
        return {name: b"".join(archive.read(member) for member in members)}
