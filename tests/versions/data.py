"""Data of the cases: visible corpora, cut so that a fit takes a second or two, and made ones.

Those of corpora need the data home, `SKLEARN_STRUCT_DATA`. Corpora come through the package's own
readers where it has some, so that these are compared, too. Nothing else is random than what a fixed
seed gives.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import sklearn_struct
from sklearn_struct import datasets

__all__ = [
    "CORPORA",
    "DATA",
    "FUNCTIONS",
    "Data",
    "bundle",
    "candidates_of",
    "has_corpora",
    "letters_of",
    "pairs_of",
]


class Data(NamedTuple):
    """What a fit and predictions get."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def has_corpora() -> bool:
    return "SKLEARN_STRUCT_DATA" in os.environ


@cache
def bundle(name: str) -> Data:
    """The data of this name; made once."""
    return DATA[name]()


def _known(
    X: Iterable[Any], y: Iterable[Any], seen: Iterable[Any], n: int
) -> tuple[list[Any], list[Any]]:
    """The first n sequences all of whose labels occur among those that were seen."""
    labels = {label for sequence in seen for label in sequence}
    pairs = [(x, list(tags)) for x, tags in zip(X, y, strict=True) if set(tags) <= labels][:n]
    return [x for x, _ in pairs], [tags for _, tags in pairs]


def _split(X: Any, y: Any, n: int, n_test: int) -> Data:
    """The first n sequences, and behind these some whose labels occur in them."""
    X_test, y_test = _known(X[n:], y[n:], y[:n], n_test)
    return Data(list(X[:n]), [list(labels) for labels in y[:n]], X_test, y_test)


# ---- corpora


def _columns() -> Data:
    """Tuples of word and part of speech, chunk labels in IOB2."""
    return _split(*datasets.fetch_conll2000(return_X_y=True), 80, 25)


def _token(sentence: Any, t: int) -> dict[str, Any]:
    word, tag = sentence[t]
    token = {
        "word": word.lower(),
        "tag": tag,
        "suffix": word[-3:],
        "length": len(word) / 5,
        "title": word.istitle(),
    }
    if t > 0:
        token["tag before"] = sentence[t - 1][1]
    return token


def _dicts() -> Data:
    data = _columns()
    X, X_test = (
        [[_token(s, t) for t in range(len(s))] for s in part] for part in (data.X, data.X_test)
    )
    return data._replace(X=X, X_test=X_test)


def _strings() -> Data:
    """Lists of strings a token."""
    data = _columns()
    X, X_test = (
        [[["w=" + word, "t=" + tag] for word, tag in s] for s in part]
        for part in (data.X, data.X_test)
    )
    return data._replace(X=X, X_test=X_test)


def _packed() -> Data:
    """A SequenceArray of sparse rows, with names."""
    data = _dicts()
    vectorizer = sklearn_struct.SequenceVectorizer().fit(data.X)
    return data._replace(X=vectorizer.transform(data.X), X_test=vectorizer.transform(data.X_test))


def _hashed() -> Data:
    """Sparse matrices without names."""
    data = _strings()
    vectorizer = sklearn_struct.SequenceVectorizer(n_features=512)
    X, X_test = (_matrices(vectorizer.fit_transform(part)) for part in (data.X, data.X_test))
    return data._replace(X=X, X_test=X_test)


def _matrices(packed: Any) -> list[Any]:
    return [sp.csr_array(packed.tokens[low:high]) for low, high in pairwise(packed.offsets)]


def _partial() -> Data:
    """Labels of which some are unknown, some one of two, and some sequences' all unknown."""
    data = _dicts()
    y: list[Any] = []
    for i, labels in enumerate(data.y):
        partly = [
            None if t % 4 == 1 else {x, "O"} if t % 5 == 2 else x for t, x in enumerate(labels)
        ]
        y.append(None if i % 10 == 9 else partly)
    return data._replace(y=y)


def _words() -> Data:
    """Words of the web with universal tags."""
    X, y = datasets.fetch_ud_ewt(return_X_y=True)
    return _split([[form for (form,) in sentence] for sentence in X[:400]], y[:400], 150, 30)


def _words_without_labels() -> Data:
    return _words()._replace(y=None, y_test=None)


def _words_partly() -> Data:
    data = _words()
    y = [
        None if i % 2 else [None if t % 3 == 0 else x for t, x in enumerate(s)]
        for i, s in enumerate(data.y)
    ]
    return data._replace(y=y)


def _letters() -> Data:
    """Pixels of handwritten letters, dense."""
    path = Path(os.environ["SKLEARN_STRUCT_DATA"]) / "letters" / "letter.data.gz"
    X: list[Any] = [[]]
    y: list[Any] = [[]]
    for line in gzip.decompress(path.read_bytes()).decode().splitlines()[:1800]:
        _, letter, following, _, _, _, *pixels = line.split()
        X[-1].append([float(pixel) for pixel in pixels])
        y[-1].append(letter)
        if following == "-1":
            X.append([])
            y.append([])
    return _split([np.array(word) for word in X[:-1]], y[:-1], 100, 30)


def _letters_sparse() -> Data:
    data = _letters()
    return data._replace(
        X=[sp.csr_array(x) for x in data.X], X_test=[sp.csr_array(x) for x in data.X_test]
    )


def _vowels() -> Data:
    """Sounds as twelve coefficients a frame; the label of each frame is the speaker."""
    path = (
        Path(os.environ["SKLEARN_STRUCT_DATA"]) / "japanese_vowels" / "JapaneseVowels_TRAIN.ts.gz"
    )
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    X = []
    y = []
    for line in lines[lines.index("@data") + 1 :: 3]:
        *channels, speaker = line.split(":")
        X.append(
            np.array([[float(number) for number in channel.split(",")] for channel in channels]).T
        )
        y.append([int(speaker)] * len(X[-1]))
    return _split([*X[::2], *X[1::2]], [*y[::2], *y[1::2]], len(X[::2]), 15)


def _addresses() -> Data:
    return _split(*datasets.fetch_usaddress(return_X_y=True), 150, 40)


def _citations() -> Data:
    """Words of citations, the field of each."""
    path = Path(os.environ["SKLEARN_STRUCT_DATA"]) / "umass_citations" / "dev.parsed.gz"
    blocks = gzip.decompress(path.read_bytes()).decode().split("\n\n")[:120]
    rows = [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]
    X = [[{"word": row[0].lower(), "shape": _shape(row[0])} for row in block] for block in rows]
    y = [[row[-1].split("/")[0][2:] or "O" for row in block] for block in rows]
    return _split(X, y, 60, 20)


def _shape(word: str) -> str:
    return "".join(
        "d" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in word[:4]
    )


def _rain() -> Data:
    """Days of months, with rain and without; the label is the half of the month."""
    path = Path(os.environ["SKLEARN_STRUCT_DATA"]) / "rain" / "rain.txt.gz"
    X = [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    y = [["early" if t < 14 else "late" for t in range(len(days))] for days in X]
    return _split(X, y, 120, 30)


def _rain_without_labels() -> Data:
    return _rain()._replace(y=None, y_test=None)


def _trees() -> Data:
    X, y = datasets.fetch_treebank_sample(max_length=12, return_X_y=True)
    labels = [re.findall(r"\(([^\s()]+)", tree) for tree in y]
    seen = {label for tree in labels[:250] for label in tree}
    tests = [i for i in range(250, len(y)) if set(labels[i]) <= seen][:20]
    return Data(X[:250], y[:250], [X[i] for i in tests], [y[i] for i in tests])


def _tagged_words() -> Data:
    """Words and labels for inputs that are no sequences."""
    X, y = datasets.fetch_ud_ewt(return_X_y=True)
    pairs = [
        (form, tag)
        for sentence, tags in zip(X[:120], y[:120])
        for (form,), tag in zip(sentence, tags)
    ]
    words = [word for word, _ in pairs]
    tags = [tag for _, tag in pairs]
    return Data(words[:800], tags[:800], words[800:900], tags[800:900])


# ---- made data


def _ads() -> Data:
    """Advertisements; most without labels."""
    X, y = _fields()
    data = _split(X, y, 50, 20)
    return data._replace(y=[labels if i < 8 else None for i, labels in enumerate(data.y)])


def _ads_without_labels() -> Data:
    return _ads()._replace(y=[None] * 50)


def _fields() -> tuple[list[Any], list[Any]]:
    X, y = datasets.make_rental_ads(70, random_state=3)
    return [[word.lower() for word in ad] for ad in X], [
        [label[2:] or label for label in labels] for labels in y
    ]


def _made_trees() -> Data:
    X, y = datasets.make_treebank(150, random_state=5)
    return Data(X[:130], y[:130], X[130:], y[130:])


def _numbers() -> Data:
    """Dense rows, sequences of one token and long ones, labels that are numbers."""
    rng = np.random.RandomState(11)
    lengths = [1, 40, 2, 7, 1, 90, *rng.randint(1, 15, size=60)]
    X = [rng.normal(size=(n, 6)) for n in lengths]
    weights = rng.normal(size=(6, 5))
    y = [(x @ weights + rng.normal(size=(len(x), 5))).argmax(axis=1).tolist() for x in X]
    return _split(X, y, 50, 16)


def _numbers_float32() -> Data:
    data = _numbers()
    return data._replace(
        X=[x.astype(np.float32) for x in data.X], X_test=[x.astype(np.float32) for x in data.X_test]
    )


def _numbers_without_labels() -> Data:
    return _numbers()._replace(y=None, y_test=None)


def _two_labels() -> Data:
    """Sparse rows with stored zeros, and two labels."""
    rng = np.random.RandomState(2)
    X = []
    y = []
    for n in rng.randint(1, 30, size=60):
        rows = sp.csr_array(np.where(rng.rand(n, 40) < 0.1, rng.normal(size=(n, 40)), 0))
        rows.data[::5] = 0.0
        X.append(rows)
        y.append(np.where(rng.rand(n).cumsum() % 3 > 1.4, "yes", "no").tolist())
    return _split(X, y, 45, 15)


def _rows() -> Data:
    """A table, whose rows are sequences of length one."""
    rng = np.random.RandomState(4)
    X = rng.normal(size=(260, 7))
    y = np.array(["A", "B", "C"])[
        (X @ rng.normal(size=(7, 3)) + rng.normal(size=(260, 3))).argmax(axis=1)
    ]
    return Data(X[:200], y[:200], X[200:], y[200:])


def _sparse_rows() -> Data:
    data = _rows()
    X, X_test = (
        sp.csr_array(np.where(np.abs(part) > 0.7, part, 0)) for part in (data.X, data.X_test)
    )
    return data._replace(X=X, X_test=X_test)


CORPORA: dict[str, Callable[[], Data]] = {
    "columns": _columns,
    "dicts": _dicts,
    "strings": _strings,
    "packed": _packed,
    "hashed": _hashed,
    "partial": _partial,
    "words": _words,
    "words without labels": _words_without_labels,
    "words partly labelled": _words_partly,
    "letters": _letters,
    "letters, sparse": _letters_sparse,
    "vowels": _vowels,
    "addresses": _addresses,
    "citations": _citations,
    "rain": _rain,
    "rain without labels": _rain_without_labels,
    "trees": _trees,
    "tagged words": _tagged_words,
}
MADE: dict[str, Callable[[], Data]] = {
    "ads": _ads,
    "ads without labels": _ads_without_labels,
    "made trees": _made_trees,
    "numbers": _numbers,
    "numbers, float32": _numbers_float32,
    "numbers without labels": _numbers_without_labels,
    "two labels": _two_labels,
    "rows": _rows,
    "sparse rows": _sparse_rows,
}
DATA = CORPORA | MADE


# ---- functions that estimators get


def letters_of(word: Any) -> list[str]:
    return ["any", f"end={word[-2:]}", f"start={word[:1]}"]


def pairs_of(word: Any, label: Any) -> list[str]:
    return [f"{part}/{label}" for part in letters_of(word)]


def candidates_of(word: Any) -> list[str]:
    """A word of letters is no punctuation mark."""
    return [tag for tag in TAGS if tag != "PUNCT"] if word.isalpha() else TAGS


WORD_CLASSES = ["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON"]
TAGS = [*WORD_CLASSES, "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"]
FUNCTIONS = {function.__name__: function for function in (letters_of, pairs_of, candidates_of)}
