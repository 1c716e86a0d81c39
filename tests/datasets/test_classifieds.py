"""Both orders of the columns, and errors with file and line."""

from __future__ import annotations

import gzip

import pytest

from sklearn_struct.datasets import make_rental_ads, read_classifieds
from sklearn_struct.exceptions import InputTypeError

ADS = [
    [("nice", "SIZE"), ("rent", "Other"), ("$", "rent")],
    [("size", "O"), ("pets", "restrictions")],
]
X = [["nice", "rent", "$"], ["size", "pets"]]
Y = [["SIZE", "O", "RENT"], ["O", "RESTRICTIONS"]]


def text(pattern):
    return "\n".join("".join(pattern.format(*row) + "\n" for row in ad) for ad in ADS)


@pytest.mark.parametrize(
    "pattern", ["{}\t{}", "{1}\t{0}", "{} {}", "  {1}   {0} ", "{1} \t{0}\t", "{}\t{}\r"]
)
def test_order_of_columns_is_found(pattern, tmp_path):
    assert read_classifieds(text(pattern).split("\n")) == (X, Y)
    plain = tmp_path / "ads.txt"
    packed = tmp_path / "ads.txt.gz"
    plain.write_bytes(text(pattern).encode())
    packed.write_bytes(gzip.compress(text(pattern).encode()))
    assert read_classifieds(plain) == read_classifieds(str(packed)) == (X, Y)
    with plain.open("rb") as file:
        assert read_classifieds(file) == (X, Y)


def test_tabs_keep_spaces_in_tokens():
    assert read_classifieds(["sq ft\tsize"]) == ([["sq ft"]], [["SIZE"]])


def test_blank_lines_make_no_advertisements():
    assert read_classifieds(["", " ", "a\tO", "", "\t", "b\tO", ""]) == (
        [["a"], ["b"]],
        [["O"], ["O"]],
    )
    assert read_classifieds([]) == read_classifieds([""]) == ([], [])


def test_fields_are_those_of_the_made_up_advertisements():
    ads, labels = make_rental_ads(50, random_state=0)
    fields = [[label.split("-")[-1] for label in of_ad] for of_ad in labels]
    lines = [line for ad in zip(ads, fields) for line in [*map("\t".join, zip(*ad)), ""]]
    assert read_classifieds(lines) == (ads, fields)


@pytest.mark.parametrize("line", ["size", "nice flat SIZE", "nice\tflat\tSIZE"])
def test_wrong_number_of_columns(line, tmp_path):
    path = tmp_path / "ads.txt"
    path.write_text(f"nice\tSIZE\n\n{line}\n")
    n = len(line.split())
    with pytest.raises(
        ValueError, match=rf"ads.txt, line 3: {n} columns, expected a token and its field"
    ):
        read_classifieds(path)


def test_no_column_of_fields_names_the_lines():
    message = (
        r"<lines>: neither column .* alone: line 1 has 'nice' in the first, "
        r"line 4 'SIZES' in the second"
    )
    with pytest.raises(ValueError, match=message):
        read_classifieds(["nice\tSIZE", "", "rent\tO", "flat\tSIZES"])


def test_two_columns_of_fields_are_ambiguous():
    with pytest.raises(
        ValueError, match=r"<lines>, from line 2 on: both columns .* so which are the tokens\?"
    ):
        read_classifieds(["", "size\tSIZE", "rent\tO"])


def test_lines_must_be_strings_in_utf8(tmp_path):
    with pytest.raises(InputTypeError, match="<lines>, line 2 is a int, expected a string"):
        read_classifieds(["a\tO", 3])
    path = tmp_path / "latin1.txt"
    path.write_bytes("Café\tO\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin1.txt, line 1: not UTF-8"):
        read_classifieds(path)
