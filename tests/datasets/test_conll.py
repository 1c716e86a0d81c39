"""The reader on every kind of source, and its errors with file and line."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.datasets import read_conll
from sklearn_struct.exceptions import InputTypeError

TEXT = "He PRP B-NP\nsleeps VBZ B-VP\n\nYes UH O\n\n"
SENTENCES = [[("He", "PRP", "B-NP"), ("sleeps", "VBZ", "B-VP")], [("Yes", "UH", "O")]]
CONLLU = """\
# text = don't # go
1-2\tdon't\t_
1\tdo\tAUX
2\tn't\tPART
2.1\tmust\tAUX
3\t#\tSYM

# text = New York
1\tNew York\tPROPN
"""


def test_paths(tmp_path):
    plain = tmp_path / "a.txt"
    packed = tmp_path / "a.txt.gz"
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert read_conll(plain) == read_conll(str(plain)) == read_conll(packed) == SENTENCES


def test_open_files_and_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    with path.open() as text, path.open("rb") as binary:
        assert read_conll(text) == read_conll(binary) == SENTENCES
    lines = TEXT.split("\n")
    assert (
        read_conll(io.StringIO(TEXT)) == read_conll(lines) == read_conll(iter(lines)) == SENTENCES
    )


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.rstrip("\n"),
        "\n\n" + TEXT.replace("\n\n", "\n \t\n\n"),
        "\ufeff" + TEXT,
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", "   ").replace("\n", " \n"),
    ],
    ids=["crlf", "no final newline", "many blank lines", "byte order mark", "tabs", "many spaces"],
)
def test_lenient_about_white_space(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    assert read_conll(path) == SENTENCES


@pytest.mark.parametrize("source", [[], [""], ["", " "]])
def test_no_sentences(source):
    assert read_conll(source) == []


def test_columns_are_chosen_in_order():
    assert read_conll(TEXT.splitlines(), columns=[-1, 0]) == [
        [("B-NP", "He"), ("B-VP", "sleeps")],
        [("O", "Yes")],
    ]


def test_separator_keeps_spaces_and_empty_columns():
    assert read_conll(["New York,,B"], separator=",") == [[("New York", "", "B")]]


def test_no_break_spaces_are_part_of_words():
    assert read_conll(["10\u00a0000 CD"]) == [[("10\u00a0000", "CD")]]


def test_comments_and_docstart_are_tokens_unless_asked():
    lines = ["-DOCSTART- O", "", "# O", "1 O"]
    assert read_conll(lines) == [[("-DOCSTART-", "O")], [("#", "O"), ("1", "O")]]
    assert read_conll(lines, comment="#") == [[("-DOCSTART-", "O")], [("1", "O")]]
    assert read_conll(lines, comment="-DOCSTART-") == [[("#", "O"), ("1", "O")]]


def test_conllu():
    expected = [[("do", "AUX"), ("n't", "PART"), ("#", "SYM")], [("New York", "PROPN")]]
    assert read_conll(CONLLU.splitlines(), columns=[1, 2], conllu=True) == expected


word = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n\ufeff"), min_size=1)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(word, word), min_size=1, max_size=4), max_size=4))
def test_round_trip(sentences):
    text = "".join("".join(f"{a} {b}\n" for a, b in sentence) + "\n" for sentence in sentences)
    assert read_conll(io.BytesIO(text.encode())) == sentences
    assert read_conll(text.split("\n")) == sentences


@pytest.mark.parametrize("line", ["sleeps", "sleeps VBZ B-VP 4"])
def test_wrong_number_of_columns_names_file_and_line(tmp_path, line):
    path = tmp_path / "bad.txt"
    path.write_text(f"\nHe PRP B-NP\n{line}\n")
    n = len(line.split())
    with pytest.raises(
        ValueError, match=rf"bad.txt, line 3: {n} columns, but there are 3 in line 2"
    ):
        read_conll(path)
    with pytest.raises(
        ValueError, match=rf"<lines>, line 2: {n} columns, but there are 3 in line 1"
    ):
        read_conll(["He PRP B-NP", line])


@pytest.mark.parametrize("column", [3, -4])
def test_column_that_is_not_there(column):
    with pytest.raises(
        ValueError, match=f"<lines>, line 2: 3 columns, so there is no column {column}"
    ):
        read_conll(["", *TEXT.splitlines()], columns=[0, column])


@pytest.mark.parametrize("columns", [1, ["word"], "01"])
def test_columns_must_be_integers(columns):
    with pytest.raises(InputTypeError, match="columns must be a list of column numbers, got"):
        read_conll(TEXT.splitlines(), columns=columns)


def test_other_encodings_are_an_error(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes("He PRP\nLöwe NN\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin1.txt, line 2: not UTF-8 \(invalid"):
        read_conll(path)
    with (
        path.open(encoding="utf-8") as file,
        pytest.raises(ValueError, match=r"latin1.txt, somewhere after line 0: not"),
    ):
        read_conll(file)


def test_damaged_gzip_is_an_error(tmp_path):
    path = tmp_path / "a.txt.gz"
    packed = gzip.compress(TEXT.encode() * 100)
    for content in (TEXT.encode(), packed[:-10], packed[:20] + b"\xff" * 20 + packed[40:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a.txt.gz, after line \d+: damaged gzip file"):
            read_conll(path)


def test_lines_must_be_strings():
    with pytest.raises(InputTypeError, match="<lines>, line 2 is a int, expected a string"):
        read_conll(["a", 3])


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.txt"):
        read_conll(tmp_path / "none.txt")
