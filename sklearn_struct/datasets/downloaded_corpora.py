"""Corpora that are downloaded once and then read from the data home."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

from sklearn_struct.datasets.conll import Sentence, read_conll
from sklearn_struct.datasets.data_home import as_corpus, check_choice, read_text, retrieve

__all__ = ["fetch_conll2000", "fetch_ud_ewt"]

CONLL2000_URL = (
    "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/conll2000.zip"
)
CONLL2000_HASH = "md5:9529b285edd5fe47271da69df1052301"
# a release, whose files never change, as the checksums below say what they are
EWT_URL = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.8/"

CHUNKS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP")

# Of the uncompressed texts; their place in the data home is the name and ".gz".
SHA256 = {
    "conll2000/train.txt": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    "conll2000/test.txt": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
    "ewt/en_ewt-ud-train.conllu": (
        "0f6e92f3fe4b461df863ff4c6c63a936ed4a16f39b7136d4635bc20b87d230b3"
    ),
    "ewt/en_ewt-ud-dev.conllu": "9af2d3fb48c7a2084130633e30ba1494cd089ad56450b087e3a587d8dc4fd98a",
}

CONLL2000_DESCR = """\
CoNLL-2000 shared task: text chunking.

Sentences of the Wall Street Journal with automatic part-of-speech tags and IOB2 chunk labels.
Training set (sections 15-18): 8,936 sentences, 211,727 tokens, 22 labels; test set (section 20):
2,012 sentences, 47,377 tokens. The copy is NLTK's. No licence is stated; the text is derived from
the Penn Treebank: use it for research, and do not redistribute it.

E. F. Tjong Kim Sang and S. Buchholz (2000). Introduction to the CoNLL-2000 shared task: chunking.
CoNLL-2000, 127-132.
"""

EWT_DESCR = """\
Universal Dependencies, English Web Treebank (EWT), release 2.8: parts of speech.

Sentences of weblogs, newsgroups, e-mails, reviews and answers. Training set: 12,543 sentences,
204,584 words; development set: 2,001 sentences, 25,149 words. 17 universal tags (upos), 50 Penn
Treebank tags (xpos). Licence: CC BY-SA 4.0.

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

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        8,936 sentences for training or 2,012 for testing.
    chunks : str, default=None
        The type of chunks to keep: "NP" for noun phrases, or one of the ten others, such as "VP" or
        "PP". Labels of other chunks become "O". None keeps all.
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
        ``data`` has a list for each sentence, with a tuple (word, part of speech) for each token;
        ``target`` has the lists of labels such as "B-NP". ``column_names`` names the parts of the
        tuples, ``DESCR`` has source and licence.

    Raises
    ------
    ValueError
        If `subset` or `chunks` is not among the choices.
    OSError
        If the data are missing or cannot be downloaded, or their checksum is wrong.
    ImportError
        If pooch is needed but not installed.

    See Also
    --------
    read_conll : Files of your own.
    fetch_ud_ewt : Parts of speech.
    sklearn_struct.FeatureTemplates : Turns such rows into features.

    Examples
    --------
    >>> from sklearn_struct.datasets import fetch_conll2000
    >>> X, y = fetch_conll2000(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:3]  # doctest: +SKIP
    [('Confidence', 'NN'), ('in', 'IN'), ('the', 'DT')]
    >>> y[0][:3]  # doctest: +SKIP
    ['B-NP', 'B-PP', 'B-NP']
    """
    check_choice("subset", subset, ("train", "test"))
    if chunks is not None:
        check_choice("chunks", chunks, CHUNKS)
    text = read_text(f"conll2000/{subset}.txt", SHA256, _conll2000, data_home, download_if_missing)
    sentences = [_with_chunks(sentence, chunks) for sentence in read_conll(io.BytesIO(text))]
    return as_corpus(sentences, ["word", "pos"], CONLL2000_DESCR, return_X_y)


def fetch_ud_ewt(
    *,
    subset: str = "train",
    tags: str = "upos",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load words and parts of speech of the English Web Treebank (UD 2.8).

    It is downloaded if necessary.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    subset : {"train", "dev"}, default="train"
        12,543 sentences for training or 2,001 for development.
    tags : {"upos", "xpos"}, default="upos"
        The 17 universal tags or the 50 tags in the manner of the Penn Treebank.
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
        ``data`` has a list for each sentence, with a tuple (form,) for each word, so that templates
        read it as they read other corpora; ``target`` has the lists of tags. ``column_names`` names
        the parts of the tuples, ``DESCR`` has source and licence.

    Raises
    ------
    ValueError
        If `subset` or `tags` is not among the choices.
    OSError
        If the data are missing or cannot be downloaded, or their checksum is wrong.
    ImportError
        If pooch is needed but not installed.

    See Also
    --------
    read_conll : Files of your own, also in CoNLL-U.
    fetch_conll2000 : Chunks of phrases.

    Examples
    --------
    >>> from sklearn_struct.datasets import fetch_ud_ewt
    >>> X, y = fetch_ud_ewt(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:3]  # doctest: +SKIP
    [('Al',), ('-',), ('Zaman',)]
    >>> y[0][:3]  # doctest: +SKIP
    ['PROPN', 'PUNCT', 'PROPN']
    """
    check_choice("subset", subset, ("train", "dev"))
    check_choice("tags", tags, ("upos", "xpos"))
    text = read_text(f"ewt/en_ewt-ud-{subset}.conllu", SHA256, _ewt, data_home, download_if_missing)
    # of CoNLL-U, counted from 0: form, then upos or xpos
    columns = [1, 3 if tags == "upos" else 4]
    return as_corpus(
        read_conll(io.BytesIO(text), columns=columns, conllu=True), ["form"], EWT_DESCR, return_X_y
    )


def _with_chunks(sentence: Sentence, kind: str | None) -> Sentence:
    """The sentence with "O" for the labels of other kinds of chunks; NP is the kind of "B-NP"."""
    if kind is None:
        return sentence
    return [token if token[-1][2:] == kind else (*token[:-1], "O") for token in sentence]


def _conll2000(name: str) -> dict[str, bytes]:
    """Both texts: they come in the same archive."""
    with zipfile.ZipFile(io.BytesIO(retrieve(CONLL2000_URL, CONLL2000_HASH))) as archive:
        return {
            member: archive.read(member) for member in SHA256 if member.startswith("conll2000/")
        }


def _ewt(name: str) -> dict[str, bytes]:
    return {name: retrieve(EWT_URL + name.split("/")[1], f"sha256:{SHA256[name]}")}
