"""Arithmetic of training times."""

from __future__ import annotations


def test_plateaus_ratios_and_what_a_memory_has_stored(tmp_path):
    from joblib import Memory
    from lib.side_by_side import Run
    from papers.noun_phrase_times import FIT, PLATEAU, plateau, ratios, stored

    assert plateau([(1.0, 80.0), (2.0, 89.96), (3.0, 90.0), (4.0, 89.0)]) == (2.0, 89.96)
    runs = {
        "M-est.": [Run({FIT: 2.0, PLATEAU: 1.0}, [])],
        "CRF": [Run({FIT: 8.0, PLATEAU: 5.0}, [])],
    }
    ratios(runs)
    assert [
        runs["CRF"][0].figures[name] for name in sorted(runs["CRF"][0].figures) if "M-est." in name
    ] == [4.0, 5.0]
    remembered = Memory(tmp_path, verbose=0).cache(_square)
    assert [remembered(3), remembered(3), remembered(4)] == [9, 9, 16]
    assert stored(tmp_path) == {"_square": 2}


def _square(x):
    return x * x
