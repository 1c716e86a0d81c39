"""The reader of bracketed files, the download from a local server, and the real treebank."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest
from real_data import real

from sklearn_struct.datasets import fetch_treebank_sample, read_conll, read_treebank, treebank
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

LINES = [
    "( (S",
    "    (NP-SBJ (PRP I) )",
    "    (VP (VBP sleep) (NP (-NONE- *-1) ))) )",
    "",
    "(INTJ (UH Yes))",
]
Y = ["\n".join(LINES[:3]), LINES[4]]


# ---- files


def test_trees_as_they_stand():
    assert read_treebank(LINES) == ([["I", "sleep"], ["Yes"]], Y)
    assert read_treebank([]) == ([], [])


@pytest.mark.parametrize("name", ["a.mrg", "a.mrg.gz"])
def test_files(tmp_path, name):
    path = tmp_path / name
    text = "\r\n".join(LINES).encode()
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert read_treebank(path) == read_treebank(str(path)) == read_treebank(LINES)


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        (
            "(S (A a)",
            ValueError,
            r"<lines>, tree 2, character 8 \(line 6\): the text ends, but brackets are open: 1",
        ),
        (
            "(A a))",
            ValueError,
            r"<lines>, tree 3, character 0 \(line 6\): '\)' closes a bracket that is not open",
        ),
        (
            "a (A a)",
            ValueError,
            r"<lines>, tree 2, character 0 \(line 6\): 'a' stands outside of brackets",
        ),
        (
            "(S (A ))",
            EmptyDataError,
            r"<lines>, tree 2, character 6 \(line 6\): 'A' has nothing below it",
        ),
        (
            "(S\n ((A a)))",
            ValueError,
            r"<lines>, tree 2, character 4 \(line 7\): a bracket without a label",
        ),
        (b"(S (A \xff))", ValueError, r"<lines>, line 6: not UTF-8"),
        (3, InputTypeError, r"<lines>, line 6 is a int, expected a string"),
    ],
)
def test_errors_name_the_place(line, error, message):
    with pytest.raises(error, match=message):
        read_treebank([*LINES, line])


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "b.mrg"
    path.write_text("(S (A a)) )")
    with pytest.raises(ValueError, match=r"b.mrg, tree 1, character 0 \(line 1\)"):
        read_treebank(path)


# ---- download


@pytest.fixture
def server(httpd, monkeypatch):
    """The server of `httpd`, with an archive of three small files."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for number in (3, 1, 2):
            file.writestr(
                f"treebank/combined/wsj_{number:04}.mrg",
                f"\n( (S (A a{number}) (-NONE- *) (B b)) )\n",
            )
        file.writestr("treebank/README", "not this one")
    (httpd.folder / "treebank.zip").write_bytes(archive.getvalue())
    text = "".join(f"\n( (S (A a{number}) (-NONE- *) (B b)) )\n" for number in (1, 2, 3))
    monkeypatch.setattr(treebank, "URL", httpd.url + "treebank.zip")
    monkeypatch.setattr(treebank, "ZIP_HASH", f"md5:{hashlib.md5(archive.getvalue()).hexdigest()}")
    monkeypatch.setattr(
        treebank, "SHA256", {treebank.NAME: hashlib.sha256(text.encode()).hexdigest()}
    )
    monkeypatch.setattr(treebank, "N_FILES", 3)
    bounds = {"train": (0, 1), "dev": (1, 2), "test": (2, 3), "all": (0, 3)}
    monkeypatch.setattr(treebank, "BOUNDS", bounds)
    return httpd


def test_download(server, tmp_path):
    corpus = fetch_treebank_sample(data_home=tmp_path)
    assert corpus.data == [["a1", "b"]]
    assert corpus.target == ["( (S (A a1) (-NONE- *) (B b)) )"]
    assert "do not redistribute" in corpus.DESCR
    X, y = fetch_treebank_sample(
        subset="all", data_home=tmp_path, return_X_y=True, download_if_missing=False
    )
    assert (X[2], len(X), len(y)) == (["a3", "b"], 3, 3)
    assert server.requested == ["/treebank.zip"]
    assert [path.name for path in tmp_path.rglob("*.gz")] == ["wsj_sample.mrg.gz"]


def test_wrong_checksum_leaves_nothing(server, tmp_path):
    (server.folder / "treebank.zip").write_bytes(b"something else")
    with pytest.raises(OSError, match=r"treebank.zip could not be downloaded .*hash"):
        fetch_treebank_sample(data_home=tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_missing_without_download(tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match=r"wsj_sample.mrg.gz does not exist, and download_if_missing is False",
    ):
        fetch_treebank_sample(data_home=tmp_path, download_if_missing=False)


def test_unknown_choices():
    with pytest.raises(
        ValueError, match="subset must be one of 'train', 'dev', 'test', 'all', got 'valid'"
    ):
        fetch_treebank_sample(subset="valid")
    for length in (0, -1, 2.5, "40"):
        with pytest.raises(
            ValueError, match=f"max_length must be None or a positive integer, got {length!r}"
        ):
            fetch_treebank_sample(max_length=length)


# ---- the real one


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("subset", "max_length", "n"),
    [
        ("train", None, 3_396),
        ("dev", None, 273),
        ("test", None, 245),
        ("all", 40, 3_629),
        ("all", 10, 393),
    ],
)
def test_real_corpus(subset, max_length, n):
    X, y = real(fetch_treebank_sample, subset=subset, max_length=max_length, return_X_y=True)
    assert len(X) == len(y) == n
    assert all(tree[0] == "(" and tree[-1] == ")" for tree in y)
    assert max(map(len, X)) <= (max_length or 249)


@pytest.mark.corpus
def test_real_words():
    X, y = real(fetch_treebank_sample, subset="all", return_X_y=True)
    assert sum(map(len, X)) == 94_084
    assert len({word for sentence in X for word in sentence}) == 11_968
    assert max(map(len, X)) == 249
    assert X[1] == [
        "Mr.",
        "Vinken",
        "is",
        "chairman",
        "of",
        "Elsevier",
        "N.V.",
        ",",
        "the",
        "Dutch",
        "publishing",
        "group",
        ".",
    ]
    parts = [
        real(fetch_treebank_sample, subset=subset, return_X_y=True)
        for subset in ("train", "dev", "test")
    ]
    assert [sentence for part in parts for sentence in part[0]] == X
    assert [tree for part in parts for tree in part[1]] == y


@pytest.mark.corpus
def test_subsets_are_of_whole_files():
    table = Path(os.environ.get("SKLEARN_STRUCT_DATA", "")) / "treebank" / "files.tsv"
    if not table.exists():
        pytest.skip("the data home has no table of the files")
    first = {row[0]: int(row[1]) for row in read_conll(table, separator="\t")[0][1:]}
    starts = [first[f"wsj_{number:04}.mrg"] for number in (1, 160, 180)]
    assert list(treebank.BOUNDS.values()) == [*zip(starts, [*starts[1:], 3_914]), (0, 3_914)]
