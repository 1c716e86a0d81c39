"""Inventories of other projects: a file is kept where its inventory cannot be read."""

from __future__ import annotations

import pytest

pytest.importorskip("sphinx")

KEPT = """\
# Sphinx inventory version 1
# Project: sklearn
# Version: stable
sklearn.base.clone function modules/generated/sklearn.base.clone.html
"""


@pytest.fixture
def refreshed(tmp_path, monkeypatch):
    """What becomes of a file of a project without an inventory, by the project's name."""
    import refresh

    monkeypatch.setattr(refresh, "FOLDER", tmp_path)

    def after(project):
        file = tmp_path / f"{project}.txt"
        file.write_text(KEPT)
        refresh.refresh(project, (tmp_path / "gone.inv").as_uri(), {"sklearn.base.clone"})
        return file.read_text()

    return after


def test_a_file_is_kept_without_an_inventory(refreshed):
    assert refreshed("scipy") == KEPT


def test_names_by_hand_are_added_to_it(refreshed):
    lines = refreshed("sklearn").splitlines()
    assert lines[3] == KEPT.splitlines()[3]
    assert "sklearn.metrics mod api/sklearn.metrics.html" in lines


def test_a_file_may_be_missing(tmp_path, monkeypatch, capsys):
    import refresh

    monkeypatch.setattr(refresh, "FOLDER", tmp_path)
    refresh.refresh("nltk", (tmp_path / "gone.inv").as_uri(), set())
    assert "nltk.tree.tree.Tree class" in (tmp_path / "nltk.txt").read_text()
    refresh.refresh("scipy", (tmp_path / "gone.inv").as_uri(), set())
    assert not (tmp_path / "scipy.txt").exists()
