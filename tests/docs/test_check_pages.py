"""The pages in a browser: how what a page says of itself is judged; without a browser it ends
well.
"""

from __future__ import annotations

import pytest

GOOD = {
    "overflow": 0,
    "sticking": [],
    "links": 12,
    "header": 48,
    "unrendered": 0,
    "unloaded": [],
    "squeezed": [],
    "results": 3,
    "mode": "dark",
}


def judged(width=1400, kind="search", **seen):
    from check_pages import judge

    return judge(GOOD | seen, kind, width, "dark")


def test_a_good_page_has_no_fault():
    assert judged() == []
    assert judged(width=390, links=0) == []
    assert judged(kind="guide", results=0) == []


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"overflow": 12, "sticking": ["pre.x"]}, "12 px stick out: pre.x"),
        ({"links": 0}, "the sidebar has no link"),
        ({"header": 140}, "the header is 140 px high"),
        ({"header": 0}, "the header is 0 px high"),
        ({"unrendered": 2}, "2 formulas are not drawn"),
        ({"unloaded": ["a.png"]}, "picture not loaded: a.png"),
        ({"squeezed": ["Section or"]}, "cells of fewer than 50 px: Section or"),
        ({"results": 0}, "the search has no result"),
        ({"mode": "light"}, "drawn in mode light"),
    ],
)
def test_faults_are_named(seen, said):
    (fault,) = judged(**seen)
    assert said in fault


def test_without_a_browser_it_says_so_and_ends_well(tmp_path, monkeypatch, capsys):
    from check_pages import main

    (tmp_path / "index.html").write_text("<p>x</p>")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("SKIPPED: no browser")


def test_pages_must_have_been_built(tmp_path):
    from check_pages import main

    with pytest.raises(SystemExit):
        main([str(tmp_path)])


def test_the_first_page_of_the_gallery_is_opened(tmp_path):
    from check_pages import PAGES, chosen_pages

    assert chosen_pages(tmp_path) == PAGES
    (tmp_path / "gallery").mkdir()
    (tmp_path / "gallery" / "plot_b.html").write_text("")
    (tmp_path / "gallery" / "plot_a.html").write_text("")
    assert chosen_pages(tmp_path)["gallery"] == "gallery/plot_a.html"
