"""Links of built pages: which faults are seen."""

from __future__ import annotations

import pytest

GOOD = """\
<a href="other.html#here">x</a> <a href="#top">x</a> <a href="https://example.org/x">x</a>
<a href="mailto:a@example.org">x</a> <img src="picture.png"> <p id="top">x</p>
<a href="folder/">x</a> <link rel="canonical" href="https://example.org/index.html">
"""
FAULTS = {
    '<a href="gone.html">x</a>': "index.html: no file gone.html",
    '<a href="other.html#gone">x</a>': "index.html: no anchor other.html#gone",
    '<a href="#gone">x</a>': "index.html: no anchor #gone",
    '<img src="gone.png">': "index.html: no file gone.png",
    '<script src="https://example.org/x.js"></script>': "index.html: loads https://example.org/x.js",
    '<script src="//example.org/x.js"></script>': "index.html: loads //example.org/x.js",
    '<link rel="stylesheet" href="https://example.org/x.css">': (
        "index.html: loads https://example.org/x.css"
    ),
    '<img src="https://example.org/x.png">': "index.html: loads https://example.org/x.png",
}


@pytest.fixture
def pages(tmp_path):
    """A folder with good pages."""
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text('<p id="here">x</p>')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text('<a href="../index.html#top">x</a>')
    (tmp_path / "picture.png").write_bytes(b"")
    return tmp_path


def test_good_pages_have_no_fault(pages, capsys):
    from check_links import main

    assert main([str(pages)]) == 0
    assert "3 pages, 0 faults" in capsys.readouterr().err


@pytest.mark.parametrize("text", FAULTS)
def test_faults_are_named(pages, capsys, text):
    from check_links import main

    (pages / "index.html").write_text(GOOD + text)
    assert main([str(pages)]) == 1
    assert capsys.readouterr().out.splitlines() == [FAULTS[text]]


def test_styles_load_nothing_from_other_sites(pages, capsys):
    from check_links import main

    (pages / "style.css").write_text('a { background: url("https://example.org/x.png") }')
    assert main([str(pages)]) == 1
    assert "style.css: loads" in capsys.readouterr().out


def test_templates_of_the_theme_are_no_pages(pages):
    from check_links import faults

    (pages / "_static").mkdir()
    (pages / "_static" / "template.html").write_text('<a href="{{ nothing }}">x</a>')
    assert faults(pages) == []


def test_a_folder_without_pages_is_a_fault(tmp_path):
    from check_links import main

    assert main([str(tmp_path)]) == 1
    assert main([]) == 2
