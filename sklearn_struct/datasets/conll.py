"""Reader of the CoNLL formats: columns of a token on a line, an empty line after a sentence."""

from __future__ import annotations

import gzip
import operator
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from sklearn_struct.exceptions import InputTypeError

__all__ = ["Lines", "Sentence", "numbered_lines", "read_conll", "source_name", "split_columns"]

Sentence = list[tuple[str, ...]]
Lines = Iterable[str] | Iterable[bytes]


def read_conll(
    source: str | os.PathLike[str] | Lines,
    *,
    columns: Iterable[int] | None = None,
    separator: str | None = None,
    comment: str | None = None,
    conllu: bool = False,
) -> list[Sentence]:
    """Read sentences from a file in a CoNLL format.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    source : str, path, open file or iterable of lines
        A path (gzipped if it ends in ``.gz``; read as UTF-8), or the lines themselves.
    columns : list of int, default=None
        The columns to return, in this order; negative ones count from the last. None returns all.
    separator : str, default=None
        What stands between columns. None means any number of spaces and tabs.
    comment : str, default=None
        Lines that begin with this string are left out. None: there are no comments, so ``#`` may be
        a word, and ``-DOCSTART-`` is a token like any other.
    conllu : bool, default=False
        Whether to read CoNLL-U. The default of `separator` is then a tab, that of `comment` is
        ``#``, and multiword tokens (``1-2``) and empty nodes (``1.1``) are left out.

    Returns
    -------
    sentences : list of list of tuple of str
        A list for each sentence, with a tuple of columns for each token.

    Raises
    ------
    ValueError
        If a line does not have as many columns as the first one, or too few for `columns`, or the
        text is not UTF-8. The message names file and line.
    InputTypeError
        If a line is no string, or `columns` no list of integers.

    See Also
    --------
    fetch_conll2000 : A corpus in this format.
    sklearn_struct.FeatureTemplates : Turns such rows into features.

    Examples
    --------
    >>> from sklearn_struct.datasets import read_conll
    >>> lines = ["He PRP B-NP", "sleeps VBZ B-VP", "", "Yes UH O"]
    >>> read_conll(lines, columns=[0, 2])
    [[('He', 'B-NP'), ('sleeps', 'B-VP')], [('Yes', 'O')]]
    """
    if conllu:
        separator = "\t" if separator is None else separator
        comment = "#" if comment is None else comment
    name = source_name(source)
    chosen = _column_list(columns)
    sentences: list[Sentence] = []
    sentence: Sentence = []
    first: tuple[int, int] | None = None  # number and columns of the first line with a token
    for number, line in numbered_lines(source, name):
        if comment is not None and line.startswith(comment):
            continue
        # not all white space: a no-break space may be a token
        if not line.strip(" \t"):
            if sentence:
                sentences.append(sentence)
                sentence = []
            continue
        fields = split_columns(line, separator)
        if first is None:
            first = number, len(fields)
            _check_columns(chosen, len(fields), f"{name}, line {number}")
        if len(fields) != first[1]:
            n_first = f"{first[1]} in line {first[0]}"
            hint = (
                ""
                if conllu or not _is_conllu(name)
                else "; files in CoNLL-U are read with conllu=True"
            )
            raise ValueError(
                f"{name}, line {number}: {len(fields)} columns, but there are {n_first}{hint}"
            )
        # lines for several words or for empty nodes, which are no tokens of their own
        if not (conllu and re.search(r"[-.]", fields[0])):
            sentence.append(tuple(fields) if chosen is None else tuple([fields[c] for c in chosen]))
    if sentence:
        sentences.append(sentence)
    return sentences


def _is_conllu(name: str) -> bool:
    return name.removesuffix(".gz").endswith((".conllu", ".conllup"))


def source_name(source: object) -> str:
    """What to call the source in errors."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<lines>"


def numbered_lines(source: str | os.PathLike[str] | Lines, name: str) -> Iterator[tuple[int, str]]:
    """The lines without their ends, and their numbers, from 1."""
    number = 0
    try:
        for number, line in enumerate(_lines(source), 1):
            yield number, _text(line, number, name).rstrip("\r\n")
    except UnicodeDecodeError as error:  # from a text file, which decodes ahead of its lines
        raise ValueError(
            f"{name}, somewhere after line {number}: not UTF-8 ({error.reason})"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name}, after line {number}: damaged gzip file ({error})") from error


def _lines(source: str | os.PathLike[str] | Lines) -> Iterator[str | bytes]:
    """Paths are read in binary, so that a bad byte is found in its line."""
    if not isinstance(source, str | os.PathLike):
        yield from source
        return
    path = Path(source)
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from file


def _text(line: str | bytes, number: int, name: str) -> str:
    if isinstance(line, bytes):
        try:
            line = line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}, line {number}: not UTF-8 ({error.reason})") from error
    if not isinstance(line, str):
        raise InputTypeError(f"{name}, line {number} is a {type(line).__name__}, expected a string")
    # Windows' editors write it
    return line.removeprefix("\ufeff") if number == 1 else line


def split_columns(line: str, separator: str | None = None) -> list[str]:
    """The columns of a line."""
    if separator is not None:
        return line.split(separator)
    # `line.split()` would also part at no-break spaces, which occur within words
    return [field for field in line.replace("\t", " ").split(" ") if field]


def _column_list(columns: Iterable[int] | None) -> list[int] | None:
    try:
        return None if columns is None else [operator.index(column) for column in columns]
    except TypeError:
        raise InputTypeError(f"columns must be a list of column numbers, got {columns!r}") from None


def _check_columns(columns: list[int] | None, n_columns: int, place: str) -> None:
    for column in columns or ():
        if not -n_columns <= column < n_columns:
            raise ValueError(f"{place}: {n_columns} columns, so there is no column {column}")
