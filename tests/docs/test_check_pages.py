"""The pages in a browser: how what a page says of itself is judged; without a browser it ends
well.
"""

from __future__ import annotations

import pytest

GOOD = {
    "overflow": 0,
    "beyond": 0,
    "long": 0,
    "sticking": [],
    "links": 12,
    "lines": 1,
    "cut": 0,
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
    assert judged(width=390, links=0, cut=3) == []
    assert judged(kind="guide", results=0) == []


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"overflow": 12, "sticking": ["pre.x"]}, "12 px stick out: pre.x"),
        ({"beyond": 5, "sticking": ["code.x"]}, "5 px stick out of the article: code.x"),
        ({"long": 1}, "1 formulas are cut"),
        ({"links": 0}, "the sidebar has no link"),
        ({"lines": 2}, "the header has 2 lines"),
        ({"lines": 0}, "the header has 0 lines"),
        ({"cut": 3}, "3 code blocks are cut"),
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


BAD = """\
<html data-theme="light"><body>
<div class="bd-header"><a class="nav-link">a</a><br><br><a class="nav-link">b</a></div>
<div style="width: 2000px; height: 5px" class="too-wide"></div>
<span class="math">x</span> <img src="gone.png" alt=""> <script>nothing.at.all</script>
<script src="https://example.org/x.js"></script>
<div class="bd-article-container" style="width: 300px; overflow: auto">
<div class="too-wide-for-it" style="width: 400px; height: 5px"></div>
<div style="width: 200px; overflow: auto"><div style="width: 350px; height: 5px"></div></div></div>
<div class="bd-article"><div style="width: 100px; overflow: auto"></div>
<pre style="width: 100px; overflow: auto">%s</pre>
<table style="width: 20px; table-layout: fixed"><tr><td>one and another</td></tr></table></div>
</body></html>
""" % ("x" * 80)


def test_a_bad_page_in_a_browser(tmp_path, monkeypatch, capsys):
    """All faults at once; skipped where there is no browser."""
    import check_pages

    pytest.importorskip("playwright")
    if check_pages.browser_path() is None:
        pytest.skip("no browser")
    (tmp_path / "index.html").write_text(BAD)
    monkeypatch.setattr(check_pages, "PAGES", {"guide": "index.html"})
    monkeypatch.setattr(check_pages, "WIDTHS", (1400,))
    monkeypatch.setattr(check_pages, "MODES", ("light",))
    monkeypatch.setattr(check_pages, "PATIENCE", 1000)
    assert check_pages.main([str(tmp_path), "--screenshots", str(tmp_path / "shots")]) == 1
    said = capsys.readouterr().out
    for part in (
        "asks for https://example.org/x.js",
        "console: ",
        "script: nothing is not defined",
        "px stick out: div.too-wide, div.too-wide-for-it",
        "100 px stick out of the article: div.too-wide, div.too-wide-for-it",
        "the sidebar has no link",
        "the header has 2 lines",
        "1 code blocks are cut",
        "1 formulas are not drawn",
        "cells of fewer than 50 px: one and another",
        "picture not loaded: http://127.0.0.1:",
    ):
        assert part in said, part
    assert [path.name for path in (tmp_path / "shots").iterdir()] == ["guide-1400-light.png"]


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


def test_all_other_pages_are_opened_but_for_single_examples(tmp_path):
    from check_pages import other_pages

    names = ["index.html", "genindex.html", "guide/a.html", "api/generated/b.html"]
    names += ["gallery/plot_a.html", "gallery/plot_b.html", "gallery/index.html", "_static/x.html"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert other_pages(tmp_path) == [
        "api/generated/b.html",
        "gallery/index.html",
        "genindex.html",
        "guide/a.html",
    ]
