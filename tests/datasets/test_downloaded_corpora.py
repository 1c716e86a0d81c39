"""Downloads from a server on this machine, checksums, and the counts of the real corpora."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import zipfile

import pytest
from real_data import real

from sklearn_struct.datasets import downloaded_corpora, fetch_conll2000, fetch_ud_ewt
from sklearn_struct.metrics import extract_spans

TEXTS = {
    "conll2000/train.txt": b"He PRP B-NP\nsleeps VBZ B-VP\n\nYes UH O\n\n",
    "conll2000/test.txt": b"She PRP B-NP\n\n",
    "ewt/en_ewt-ud-train.conllu": b"# text = Hi\n1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n\n",
    "ewt/en_ewt-ud-dev.conllu": b"1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_\n\n",
}


@pytest.fixture
def small_corpora(monkeypatch):
    """Checksums of small texts in place of the real ones; returns the archive of CoNLL-2000."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in TEXTS.items():
            if name.startswith("conll2000"):
                file.writestr(name, text)
    content = archive.getvalue()
    monkeypatch.setattr(
        downloaded_corpora, "CONLL2000_HASH", f"md5:{hashlib.md5(content).hexdigest()}"
    )
    monkeypatch.setattr(
        downloaded_corpora,
        "SHA256",
        {name: hashlib.sha256(text).hexdigest() for name, text in TEXTS.items()},
    )
    return content


@pytest.fixture
def server(small_corpora, httpd, monkeypatch):
    """The server of `httpd`, with the small corpora."""
    (httpd.folder / "conll2000.zip").write_bytes(small_corpora)
    for name, text in TEXTS.items():
        (httpd.folder / name.split("/")[1]).write_bytes(text)
    monkeypatch.setattr(downloaded_corpora, "CONLL2000_URL", httpd.url + "conll2000.zip")
    monkeypatch.setattr(downloaded_corpora, "EWT_URL", httpd.url)
    return httpd


def files(home):
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file())


def test_download_conll2000(server, tmp_path):
    home = tmp_path / "new" / "home"
    corpus = fetch_conll2000(data_home=home)
    assert corpus.data == [[("He", "PRP"), ("sleeps", "VBZ")], [("Yes", "UH")]]
    assert corpus.target == [["B-NP", "B-VP"], ["O"]]
    assert corpus.column_names == ["word", "pos"]
    assert "CoNLL-2000" in corpus.DESCR
    assert files(home) == ["conll2000/test.txt.gz", "conll2000/train.txt.gz"]
    X, y = fetch_conll2000(subset="test", data_home=home, return_X_y=True)
    assert (X, y) == ([[("She", "PRP")]], [["B-NP"]])
    # the archive has both, and nothing is downloaded twice
    assert server.requested == ["/conll2000.zip"]
    for chunks, labels in (
        ("NP", [["B-NP", "O"], ["O"]]),
        ("VP", [["O", "B-VP"], ["O"]]),
        ("PP", [["O", "O"], ["O"]]),
    ):
        assert fetch_conll2000(chunks=chunks, data_home=home, return_X_y=True) == (
            corpus.data,
            labels,
        )


def test_download_ud_ewt(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_STRUCT_DATA", str(tmp_path / "home"))
    corpus = fetch_ud_ewt()
    assert (corpus.data, corpus.target, corpus.column_names) == ([[("Hi",)]], [["INTJ"]], ["form"])
    assert "CC BY-SA" in corpus.DESCR
    assert fetch_ud_ewt(subset="dev", tags="xpos", return_X_y=True) == ([[("No",)]], [["UH"]])
    assert files(tmp_path / "home") == [
        "ewt/en_ewt-ud-dev.conllu.gz",
        "ewt/en_ewt-ud-train.conllu.gz",
    ]
    assert server.requested == ["/en_ewt-ud-train.conllu", "/en_ewt-ud-dev.conllu"]


@pytest.mark.parametrize(
    ("fetch", "file"),
    [(fetch_conll2000, "conll2000.zip"), (fetch_ud_ewt, "en_ewt-ud-train.conllu")],
)
def test_wrong_checksum_of_a_download_leaves_nothing(server, tmp_path, fetch, file):
    (server.folder / file).write_bytes(b"not what was expected")
    with pytest.raises(OSError, match=f"{file} could not be downloaded .*hash"):
        fetch(data_home=tmp_path / "home")
    assert files(tmp_path / "home") == []


def test_wrong_text_in_the_archive_leaves_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setitem(downloaded_corpora.SHA256, "conll2000/train.txt", "0" * 64)
    with pytest.raises(
        OSError,
        match=r"wrong checksum: sha256 .* instead of 0{64} for the download of conll2000/train.txt",
    ):
        fetch_conll2000(data_home=tmp_path / "home")
    assert files(tmp_path / "home") == []


def test_a_download_keeps_files_that_are_there(server, tmp_path):
    path = tmp_path / "conll2000" / "test.txt.gz"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    fetch_conll2000(subset="train", data_home=tmp_path)
    assert path.read_bytes() == b"mine"


def test_file_that_the_server_does_not_have(server, tmp_path):
    (server.folder / "conll2000.zip").unlink()
    with pytest.raises(OSError, match="404"):
        fetch_conll2000(data_home=tmp_path / "home")
    assert files(tmp_path / "home") == []


@pytest.mark.parametrize("fetch", [fetch_conll2000, fetch_ud_ewt])
def test_missing_without_download(tmp_path, fetch):
    with pytest.raises(
        FileNotFoundError, match=r"train\..*\.gz does not exist, and download_if_missing is False"
    ):
        fetch(data_home=tmp_path, download_if_missing=False)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            gzip.compress(b"He PRP O\n", mtime=0),
            "wrong checksum: sha256 .*train.txt.gz, uncompressed; delete it",
        ),
        (b"He PRP O\n", r"train.txt.gz is damaged \(Not a gzipped file"),
        (gzip.compress(TEXTS["conll2000/train.txt"], mtime=0)[:-4], r"train.txt.gz is damaged \("),
    ],
)
def test_changed_file_in_the_data_home(small_corpora, tmp_path, content, message):
    path = tmp_path / "conll2000" / "train.txt.gz"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(OSError, match=message):
        fetch_conll2000(data_home=tmp_path)


def test_data_home_is_argument_then_environment_then_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SKLEARN_STRUCT_DATA", str(tmp_path / "environment"))
    with pytest.raises(FileNotFoundError, match="argument"):
        fetch_conll2000(data_home=tmp_path / "argument", download_if_missing=False)
    with pytest.raises(FileNotFoundError, match="environment"):
        fetch_conll2000(download_if_missing=False)
    monkeypatch.setenv("SKLEARN_STRUCT_DATA", "")
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)
    with pytest.raises(FileNotFoundError, match=r"cache.sklearn_struct.conll2000"):
        fetch_conll2000(download_if_missing=False)


def test_without_pooch_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pip install "sklearn-struct\[datasets\]"'):
        fetch_conll2000(data_home=tmp_path)


def test_unknown_choices():
    with pytest.raises(ValueError, match="subset must be one of 'train', 'test', got 'dev'"):
        fetch_conll2000(subset="dev")
    with pytest.raises(ValueError, match=r"chunks must be one of 'ADJP', .*, got 'P'"):
        fetch_conll2000(chunks="P")
    with pytest.raises(ValueError, match="subset must be one of 'train', 'dev', got 'test'"):
        fetch_ud_ewt(subset="test")
    with pytest.raises(ValueError, match="tags must be one of 'upos', 'xpos', got 'pos'"):
        fetch_ud_ewt(tags="pos")


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("fetch", "options", "n_sentences", "n_tokens", "n_labels"),
    [
        (fetch_conll2000, {"subset": "train"}, 8_936, 211_727, 22),
        (fetch_conll2000, {"subset": "test"}, 2_012, 47_377, 19),
        (fetch_conll2000, {"subset": "test", "chunks": "NP"}, 2_012, 47_377, 3),
        (fetch_ud_ewt, {"subset": "train"}, 12_543, 204_584, 17),
        (fetch_ud_ewt, {"subset": "train", "tags": "xpos"}, 12_543, 204_584, 50),
        (fetch_ud_ewt, {"subset": "dev"}, 2_001, 25_149, 17),
    ],
)
def test_real_corpora(fetch, options, n_sentences, n_tokens, n_labels):
    X, y = real(fetch, **options, return_X_y=True)
    assert len(X) == len(y) == n_sentences
    assert [len(sentence) for sentence in X] == [len(labels) for labels in y]
    assert sum(map(len, y)) == n_tokens
    assert len({label for labels in y for label in labels}) == n_labels
    assert {len(token) for sentence in X for token in sentence} == {
        2 if fetch is fetch_conll2000 else 1
    }


@pytest.mark.corpus
def test_noun_phrases_are_the_corpus_s_own():
    _, y = real(fetch_conll2000, subset="test", return_X_y=True)
    _, y_np = real(fetch_conll2000, subset="test", chunks="NP", return_X_y=True)
    assert [extract_spans(labels) for labels in y_np] == [
        [span for span in extract_spans(labels) if span[0] == "NP"] for labels in y
    ]
    assert sum(map(len, map(extract_spans, y_np))) == 12_422
    assert {label.partition("-")[2] for labels in y for label in labels} <= {
        "",
        *downloaded_corpora.CHUNKS,
    }
