"""Larger data of benchmarks: their sizes, and that each drawing is the same."""

from __future__ import annotations

import gzip

LINES = [
    "# text = Yes .",
    "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_",
    "2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_",
    "",
    "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_",
    "1\tdo\tdo\tAUX\tVB\t_\t2\taux\t_\t_",
    "",
]
TREES = ["(S (no Yes) (p .))", "(S (no No))", ""]


def test_labels_of_words_with_their_relations(tmp_path, monkeypatch):
    from lib import large_tasks
    from lib.side_by_side import Stopwatch

    path = tmp_path / "words.gz"
    path.write_bytes(gzip.compress("\n".join([*LINES, ""]).encode()))
    monkeypatch.setattr(large_tasks, "in_data_home", lambda *names: path)
    X, y = large_tasks.relations(Stopwatch(tmp_path))
    assert y == [["INTJ:root", "PUNCT:punct"], ["AUX:aux"]]
    assert [len(sentence) for sentence in X] == [2, 1]
    assert "word=do" in X[1][0]


def test_rare_tags_are_one(tmp_path, monkeypatch):
    from lib import large_tasks
    from lib.side_by_side import Stopwatch

    path = tmp_path / "trees.gz"
    path.write_bytes(gzip.compress("\n".join(TREES).encode()))
    monkeypatch.setattr(large_tasks, "in_data_home", lambda *names: path)
    monkeypatch.setattr(large_tasks, "N_TAGS", 1)
    X, y = large_tasks.tags_of_trees(Stopwatch(tmp_path))
    assert y == [["no", "other"], ["no"]]
    assert "word=No" in X[1][0]


def test_drawn_sentences(tmp_path, monkeypatch):
    from lib import large_tasks
    from lib.side_by_side import Stopwatch

    read = [[("a", "T"), ("b", "U")], [("c", "T")]], [["B-X", "O"], ["B-Y"]]
    monkeypatch.setattr(large_tasks, "read", lambda *names: read)
    monkeypatch.setattr(large_tasks, "ENTITY_TOKENS", 50)
    monkeypatch.setattr(large_tasks, "ENTITY_LABELS", 2)
    X, y = large_tasks.entities(Stopwatch(tmp_path))
    assert 50 <= sum(map(len, X)) <= 51
    assert {label for labels in y for label in labels} == {"B-X", "O", "other"}
    assert large_tasks.entities(Stopwatch(tmp_path)) == (X, y)
    # rare words get several names
    assert len({token["word"] for sentence in X for token in sentence}) > 3
