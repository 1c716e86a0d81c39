"""Downloads from a server on this machine, checksums before parsing, and the counts of the real
corpus.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pytest
from real_data import real

from sklearn_struct.datasets import fetch_usaddress, read_conll, us_addresses

XML = """<AddressCollection>
  <AddressString><AddressNumber>1</AddressNumber> <StreetName>Ash &amp;
</StreetName></AddressString>
  <AddressString>{}</AddressString>
</AddressCollection>
"""
TEXTS = {
    "usaddress/train/labeled.xml": XML.format("<ZipCode>60615</ZipCode>").encode(),
    "usaddress/test/labeled.xml": XML.format("<StateName>IL</StateName>").encode(),
}


@pytest.fixture
def server(httpd, monkeypatch):
    """The server of `httpd`, with two small corpora in the place of the real ones."""
    for name, path in us_addresses.FILES.items():
        (httpd.folder / path).parent.mkdir(parents=True)
        (httpd.folder / path).write_bytes(TEXTS[name])
    monkeypatch.setattr(us_addresses, "URL", httpd.url)
    monkeypatch.setattr(
        us_addresses,
        "SHA256",
        {name: hashlib.sha256(text).hexdigest() for name, text in TEXTS.items()},
    )
    return httpd


def test_download(server, tmp_path):
    corpus = fetch_usaddress(data_home=tmp_path)
    assert corpus.data == [[("1",), ("Ash &",)], [("60615",)]]
    assert corpus.target == [["AddressNumber", "StreetName"], ["ZipCode"]]
    assert corpus.column_names == ["word"]
    assert "MIT" in corpus.DESCR
    X, y = fetch_usaddress(subset="test", data_home=tmp_path, return_X_y=True)
    assert (X[1], y[1]) == ([("IL",)], ["StateName"])
    fetch_usaddress(subset="test", data_home=tmp_path, download_if_missing=False)
    assert server.requested == [
        "/training/labeled.xml",
        "/measure_performance/test_data/labeled.xml",
    ]
    assert sorted(path.parent.name for path in tmp_path.rglob("labeled.xml.gz")) == [
        "test",
        "train",
    ]


def test_other_text_is_never_parsed(server, tmp_path, monkeypatch):
    bomb = b'<!DOCTYPE a [<!ENTITY b "bb">]><a><c><d>&b;</d></c></a>'
    monkeypatch.setattr(us_addresses.ElementTree, "fromstring", lambda text: pytest.fail("parsed"))
    (server.folder / "training" / "labeled.xml").write_bytes(bomb)
    with pytest.raises(OSError, match=r"training/labeled.xml could not be downloaded .*hash"):
        fetch_usaddress(data_home=tmp_path)
    path = tmp_path / "usaddress" / "test" / "labeled.xml.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(bomb))
    with pytest.raises(
        OSError, match=r"wrong checksum: sha256 .*labeled.xml.gz, uncompressed; delete it"
    ):
        fetch_usaddress(subset="test", data_home=tmp_path)


def test_missing_without_download(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"labeled.xml.gz does not exist, and download_if_missing is False"
    ):
        fetch_usaddress(data_home=tmp_path, download_if_missing=False)


def test_unknown_subset():
    with pytest.raises(ValueError, match="subset must be one of 'train', 'test', got 'dev'"):
        fetch_usaddress(subset="dev")


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("subset", "n", "n_tokens", "n_labels"),
    [("train", 1_513, 10_722, 29), ("test", 146, 1_094, 21)],
)
def test_real_corpus(subset, n, n_tokens, n_labels):
    X, y = real(fetch_usaddress, subset=subset, return_X_y=True)
    assert len(X) == len(y) == n
    assert [len(words) for words in X] == [len(labels) for labels in y]
    assert sum(map(len, y)) == n_tokens
    assert len({label for labels in y for label in labels}) == n_labels
    assert all(word and word.split() == [word] for words in X for (word,) in words)


@pytest.mark.corpus
def test_labels_of_the_test_set_are_known():
    train, test = (real(fetch_usaddress, subset=subset).target for subset in ("train", "test"))
    assert {label for labels in test for label in labels} <= {
        label for labels in train for label in labels
    }


@pytest.mark.corpus
@pytest.mark.parametrize("subset", ["train", "test"])
def test_same_tokens_as_the_table_beside_it(subset):
    table = Path(os.environ.get("SKLEARN_STRUCT_DATA", "")) / "usaddress" / f"{subset}.tsv.gz"
    if not table.exists():
        pytest.skip("the data home has no table of the same addresses")
    X, y = real(fetch_usaddress, subset=subset, return_X_y=True)
    rows = [[(word, label) for (word,), label in zip(*address)] for address in zip(X, y)]
    assert rows == read_conll(table, separator="\t")
