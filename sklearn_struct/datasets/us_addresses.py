"""Addresses of the United States, their parts labelled."""

from __future__ import annotations

import os
from typing import Any
from xml.etree import ElementTree

from sklearn_struct.datasets.conll import Sentence
from sklearn_struct.datasets.data_home import as_corpus, check_choice, read_text, retrieve

__all__ = ["fetch_usaddress"]

# A commit of its own, because the corpus grows.
URL = (
    "https://raw.githubusercontent.com/datamade/usaddress/aa7699b53a0843fc443f9e87285b88cbd9eaf50a/"
)
FILES = {
    "usaddress/train/labeled.xml": "training/labeled.xml",
    "usaddress/test/labeled.xml": "measure_performance/test_data/labeled.xml",
}

# Of the uncompressed texts; their place in the data home is the name and ".gz".
SHA256 = {
    "usaddress/train/labeled.xml": (
        "dbd125fa01fbdbc4e25cce722c648ce4e224e4c9bdb9b5a14498aa8a042aee32"
    ),
    "usaddress/test/labeled.xml": (
        "2a5f222a4c52c73d9abacb3be21b501972d1bfb48ebe7d8bbb80671ea5e755e5"
    ),
}

DESCR = """\
usaddress: addresses of the United States, parsed.

Tokens of addresses with the parts that they belong to, such as AddressNumber, StreetName,
StreetNamePostType, OccupancyIdentifier, PlaceName, StateName and ZipCode. Training set: 1,513
addresses, 10,722 tokens, 29 labels; test set: 146 addresses, 1,094 tokens, 21 labels, all of which
the training set has. Tokens keep their punctuation. Eight addresses are in both sets. Licence: MIT,
(c) 2014 The Atlanta Journal Constitution. Source: https://github.com/datamade/usaddress.
"""


def fetch_usaddress(
    *,
    subset: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load addresses of the United States with labelled parts (usaddress).

    They are downloaded if necessary. The sequences are short, and many words (street types,
    directions, states) say much about their labels. So a model can learn much from a few labelled
    words.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        1,513 addresses for training or 146 for testing.
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
        ``data`` has a list for each address, with a tuple (word,) for each token, so that templates
        read it as they read other corpora; ``target`` has the lists of labels such as "StreetName".
        ``column_names`` names the parts of the tuples, ``DESCR`` has source and licence.

    Raises
    ------
    ValueError
        If `subset` is not among the choices.
    OSError
        If the data are missing or cannot be downloaded, or their checksum is wrong.
    ImportError
        If pooch is needed but not installed.

    See Also
    --------
    make_rental_ads : Sequences of fields without a download.
    sklearn_struct.GECRF : Learns from a few labelled words.

    Examples
    --------
    >>> from sklearn_struct.datasets import fetch_usaddress
    >>> X, y = fetch_usaddress(return_X_y=True)  # doctest: +SKIP
    >>> X[1]  # doctest: +SKIP
    [('3600',), ('West',), ('5th',), ('Ave',)]
    >>> y[1]  # doctest: +SKIP
    ['AddressNumber', 'StreetNamePreDirectional', 'StreetName', 'StreetNamePostType']
    """
    check_choice("subset", subset, ("train", "test"))
    text = read_text(
        f"usaddress/{subset}/labeled.xml", SHA256, _download, data_home, download_if_missing
    )
    return as_corpus(_addresses(text), ["word"], DESCR, return_X_y)


def _addresses(text: bytes) -> list[Sentence]:
    """Addresses as rows (word, label)."""
    # only for text of a known checksum: entities in other XML may take all memory
    return [
        [((part.text or "").strip(), part.tag) for part in address]
        for address in ElementTree.fromstring(text)
    ]


def _download(name: str) -> dict[str, bytes]:
    return {name: retrieve(URL + FILES[name], f"sha256:{SHA256[name]}")}
