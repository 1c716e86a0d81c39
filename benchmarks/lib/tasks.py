"""The data of the benchmarks: what each is, its attributes as strings for CRFsuite, and packed for
us.

Contestants read small text files that one process prepared, so that no peer's memory holds this
package.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from lib.side_by_side import Stopwatch

QUICK = {"train": 1000, "test": 500}  # sequences of a quick run
LETTERS_URL = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"
LETTERS_HASH = "md5:6c73f3b1a48b88dc143de1b70218dfcc"

Sentence = list[tuple[str, ...]]
Corpus = tuple[list[Sentence], list[list[str]]]


class Task(NamedTuple):
    """Sequences to learn from.

    ``load(split)`` gives rows and labels, ``strings(sentence)`` the attributes of its tokens as
    CRFsuite wants them, ``encode(train, test)`` the same as packed numbers. With `all_pairs` every
    attribute has a weight for each label.
    """

    title: str
    load: Callable[[str], Corpus]
    strings: Callable[[Sentence], list[list[str]]]
    encode: Callable[[list[Sentence], list[Sentence]], tuple[Any, Any]]
    all_pairs: bool = False


def write(name: str, scratch: Path, quick: bool) -> None:
    """Prepare the data of a task."""
    for split in ("train", "test"):
        X, y = TASKS[name].load(split)
        n = QUICK[split] if quick else len(X)
        with (scratch / f"{name}-{split}.txt").open("w", encoding="utf-8") as file:
            for sentence, labels in zip(X[:n], y[:n], strict=True):
                lines = (
                    "\t".join([*token, label]) + "\n"
                    for token, label in zip(sentence, labels, strict=True)
                )
                file.write("".join(lines) + "\n")


def read(name: str, split: str, watch: Stopwatch) -> Corpus:
    """Rows and labels of a prepared task."""
    with (watch.scratch / f"{name}-{split}.txt").open(encoding="utf-8", newline="\n") as file:
        rows = [
            [line.split("\t") for line in block.split("\n")]
            for block in file.read().rstrip("\n").split("\n\n")
        ]
    return [[tuple(row[:-1]) for row in s] for s in rows], [[row[-1] for row in s] for s in rows]


def packed(name: str, watch: Stopwatch) -> tuple[Any, Any, Any, Any]:
    """X, y, X_test, y_test of a prepared task, X packed."""
    (X, y), (X_test, y_test) = (read(name, split, watch) for split in ("train", "test"))
    encoded, encoded_test = TASKS[name].encode(X, X_test)
    return encoded, y, encoded_test, y_test


def corpus(watch: Stopwatch, form: str) -> tuple[Any, Any, Any, Any]:
    """The chunking corpus as X, y, X_test, y_test; sentences are lists of columns, of dicts or of
    lists of strings.
    """
    make = {
        "columns": list,
        "strings": window_attributes,
        "dicts": lambda s: dicts(window_attributes(s)),
    }[form]
    (X, y), (X_test, y_test) = (read("chunking", split, watch) for split in ("train", "test"))
    return [make(sentence) for sentence in X], y, [make(sentence) for sentence in X_test], y_test


def _chunks(kind: str | None) -> Callable[[str], Corpus]:
    def load(split: str) -> Corpus:
        from sklearn_struct.datasets import fetch_conll2000

        return fetch_conll2000(subset=split, chunks=kind, return_X_y=True)

    return load


def _tags(kind: str) -> Callable[[str], Corpus]:
    def load(split: str) -> Corpus:
        from sklearn_struct.datasets import fetch_ud_ewt

        return fetch_ud_ewt(subset="dev" if split == "test" else split, tags=kind, return_X_y=True)

    return load


def _letters(split: str) -> Corpus:
    """Words of handwritten letters, a string of 128 pixels each; ten folds, the first one for
    testing.
    """
    path = Path(os.environ.get("SKLEARN_STRUCT_DATA", "")) / "letters" / "letter.data.gz"
    if not path.exists():
        import pooch

        path = Path(pooch.retrieve(LETTERS_URL, LETTERS_HASH))
    X: list[Sentence] = []
    y: list[list[str]] = []
    at_start = True
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        _, letter, following, _, _, fold, *pixels = line.split()
        if at_start and (fold == "0") == (split == "test"):
            X.append([])
            y.append([])
        if (fold == "0") == (split == "test"):
            X[-1].append(("".join(pixels),))
            y[-1].append(letter)
        at_start = following == "-1"
    return X, y


WORDS = [(-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1)]
TAGS = [
    (-2,),
    (-1,),
    (0,),
    (1,),
    (2,),
    (-2, -1),
    (-1, 0),
    (0, 1),
    (1, 2),
    (-2, -1, 0),
    (-1, 0, 1),
    (0, 1, 2),
]


def window_attributes(sentence: Sentence) -> list[list[str]]:
    """The attributes of CRFsuite's chunking tutorial."""
    n = len(sentence)
    attributes = []
    for t in range(n):
        token = []
        for column, (name, windows) in enumerate((("w", WORDS), ("pos", TAGS))):
            for window in windows:
                if all(0 <= t + o < n for o in window):
                    names = "|".join(f"{name}[{o}]" for o in window)
                    token.append(names + "=" + "|".join(sentence[t + o][column] for o in window))
        token += ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == n - 1)
        attributes.append(token)
    return attributes


def affix_attributes(sentence: Sentence) -> list[list[str]]:
    """Words around a token, the beginnings and ends of its word, what it looks like."""
    words = [token[0] for token in sentence]
    padded = ["<start>"] * 2 + [word.lower() for word in words] + ["<end>"] * 2
    attributes = []
    for t, word in enumerate(words):
        token = ["word=" + word] + [f"w[{o}]={padded[t + 2 + o]}" for o in range(-2, 3)]
        token += [
            f"w[-1]|w[0]={padded[t + 1]}|{padded[t + 2]}",
            f"w[0]|w[1]={padded[t + 2]}|{padded[t + 3]}",
        ]
        for length in range(1, min(4, len(word)) + 1):
            token += [f"prefix{length}={word[:length]}", f"suffix{length}={word[-length:]}"]
        token += (
            ["title"] * word.istitle()
            + ["upper"] * word.isupper()
            + ["digit"] * any(map(str.isdigit, word))
        )
        attributes.append(token + ["hyphen"] * ("-" in word))
    return attributes


def pixel_attributes(sentence: Sentence) -> list[list[str]]:
    """The pixels that are on."""
    return [[f"p{i}" for i, pixel in enumerate(token[0]) if pixel == "1"] for token in sentence]


def dicts(attributes: list[list[str]]) -> list[dict[str, Any]]:
    """Attributes such as ``w[0]=dog`` as a dict, as sklearn-crfsuite's users write them."""
    return [dict(a.split("=", 1) if "=" in a else (a, True) for a in token) for token in attributes]


def _by_templates(train: list[Sentence], test: list[Sentence]) -> tuple[Any, Any]:
    from sklearn_struct import FeatureTemplates

    templates = FeatureTemplates("chunking", add_bos_eos=True)
    return templates.fit_transform(train), templates.transform(test)


def _by_strings(train: list[Sentence], test: list[Sentence]) -> tuple[Any, Any]:
    from sklearn_struct import SequenceVectorizer

    vectorizer = SequenceVectorizer()
    return vectorizer.fit_transform(map(affix_attributes, train)), vectorizer.transform(
        map(affix_attributes, test)
    )


def _by_pixels(*splits: list[Sentence]) -> tuple[Any, Any]:
    import numpy as np

    from sklearn_struct import SequenceArray

    def pack(sentences: list[Sentence]) -> Any:
        text = "".join(token[0] for sentence in sentences for token in sentence)
        pixels = np.frombuffer(text.encode(), dtype=np.uint8).reshape(-1, 128) - ord("0")
        return SequenceArray(pixels.astype(np.float64), np.cumsum([0, *map(len, sentences)]))

    return pack(splits[0]), pack(splits[1])


TASKS = {
    "chunking": Task(
        "CoNLL-2000 chunking, 22 labels", _chunks(None), window_attributes, _by_templates
    ),
    "noun-phrases": Task(
        "CoNLL-2000 noun phrases, 3 labels", _chunks("NP"), window_attributes, _by_templates
    ),
    "upos": Task("EWT parts of speech, 17 labels", _tags("upos"), affix_attributes, _by_strings),
    "xpos": Task("EWT parts of speech, 50 labels", _tags("xpos"), affix_attributes, _by_strings),
    "letters": Task(
        "OCR letters, 128 dense pixels, 26 labels", _letters, pixel_attributes, _by_pixels, True
    ),
}
