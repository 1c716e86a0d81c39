"""Texts whose fields are labelled, for learning with few labels: tokens as strings, a label each,
no B- or I-.

All but the made-up advertisements are read from the data home that SKLEARN_STRUCT_DATA names.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Texts = list[list[str]]

SEMINAR_FIELDS = ("speaker", "location", "stime", "etime")
SEMINAR_TAG = re.compile(rf"<(/?)({'|'.join(SEMINAR_FIELDS)}|sentence|paragraph)>")


class Split(NamedTuple):
    """Tokens and labels of texts to learn from and of others to test on."""

    X_train: Texts
    y_train: Texts
    X_test: Texts
    y_test: Texts


class Announcement(NamedTuple):
    """Words of a text, for each the number of its line, and its label."""

    words: list[str]
    lines: list[int]
    labels: list[str]


def load(name: str) -> Split:
    """A corpus of `CORPORA`."""
    return CORPORA[name]()


def _usaddress() -> Split:
    from sklearn_struct.datasets import fetch_usaddress

    texts_and_labels: list[Texts] = []
    for subset in ("train", "test"):
        X, y = fetch_usaddress(subset=subset, return_X_y=True)
        texts_and_labels += [[[word for (word,) in tokens] for tokens in X], y]
    return Split(*texts_and_labels)


def _citations() -> Split:
    """Citations of papers on arXiv; the outermost of their nested labels."""
    from sklearn_struct.datasets import read_conll

    texts_and_labels: list[Texts] = []
    for subset in ("train", "test"):
        rows = read_conll(in_data_home("umass_citations", f"{subset}.parsed.gz"), columns=[0, -1])
        texts_and_labels.append([[word for word, _ in citation] for citation in rows])
        texts_and_labels.append(
            [[path.split("/")[0].partition("-")[2] for _, path in citation] for citation in rows]
        )
    return Split(*texts_and_labels)


def seminars(split: int = 0) -> Split:
    """Announcements of seminars: one of five splits, both of its training parts."""
    texts_and_labels: list[Texts] = []
    for part in announcements(split):
        texts_and_labels += [[text.words for text in part], [text.labels for text in part]]
    return Split(*texts_and_labels)


def announcements(split: int) -> list[list[Announcement]]:
    """What `seminars` has, with lines: texts to learn from and texts to test on."""
    with tarfile.open(in_data_home("seminars", "raw.tar.gz")) as archive:
        texts = {
            Path(member.name).name: archive.extractfile(member).read().decode()
            for member in archive
            if member.isfile()
        }
    found = []
    for parts in (["labeled.25", "unlabeled.25"], ["test"]):
        files = [in_data_home("seminars", f"splits/{part}.{split}.txt") for part in parts]
        names = [name.strip("#") for file in files for name in file.read_text().split()]
        # a text begins after the line with the message's id
        found.append([announcement(texts[name].partition("\n")[2]) for name in names])
    return found


def announcement(text: str) -> Announcement:
    """What white space parts once tags are cut out, so that tokens tell nothing of labels, and the
    fields in tags.

    A token of which but a part is tagged has the field of that part.
    """
    plain, *rest = SEMINAR_TAG.split(text)
    fields = ["O"] * len(plain)
    field = "O"
    for slash, tag, piece in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if tag in SEMINAR_FIELDS:
            field = "O" if slash else tag
        plain += piece
        fields += [field] * len(piece)
    spans = [token.span() for token in re.finditer(r"\S+", plain)]
    return Announcement(
        [plain[a:b] for a, b in spans],
        [plain.count("\n", 0, a) for a, _ in spans],
        [next((field for field in fields[a:b] if field != "O"), "O") for a, b in spans],
    )


def _rental_ads() -> Split:
    from sklearn_struct.datasets import make_rental_ads

    texts_and_labels: list[Texts] = []
    for n_samples, seed in ((1000, 0), (300, 1)):
        X, y = make_rental_ads(n_samples, random_state=seed)
        texts_and_labels += [
            X,
            [[label.removeprefix("B-").removeprefix("I-") for label in labels] for labels in y],
        ]
    return Split(*texts_and_labels)


def in_data_home(*parts: str) -> Path:
    path = Path(os.environ.get("SKLEARN_STRUCT_DATA", ""), *parts)
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist; SKLEARN_STRUCT_DATA must name a folder that has it"
        )
    return path


CORPORA: dict[str, Callable[[], Split]] = {
    "usaddress": _usaddress,
    "umass_citations": _citations,
    "seminars": seminars,
    "rental ads": _rental_ads,
}
