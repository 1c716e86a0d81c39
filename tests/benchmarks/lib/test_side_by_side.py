"""Contestants in processes of their own."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from lib.side_by_side import Benchmark, Options, Stopwatch, medians, race, work

def fails(watch):
    raise ValueError("on purpose")

def finish(runs):
    for run in runs["counts"]:
        run.figures["twice"] = 2 * run.figures["run"]

def sums(watch):
    with watch.part("sum"):
        sum(range(10))
    return dict(run=watch.run)

everyone = dict(counts=sums, fails=fails)
if "--worker" in sys.argv:
    _, contestant = sys.argv[2:4]
    work(everyone[contestant], Stopwatch(Path("."), int(sys.argv[5])))
else:
    toy = Benchmark("Toy", everyone, lambda medians: [], finish=finish)
    runs = race("toy", toy, Options(3, False, Path(".")))
    middle = medians(runs)
    print(sorted(middle), middle.figure("counts", "twice"), middle.figure("fails", "run"))
    print(sorted(middle["counts"]))
"""


def test_who_fails_says_why_and_the_others_go_on(tmp_path, folder):
    script = tmp_path / "toy.py"
    script.write_text(SCRIPT.format(folder=str(folder)))
    out = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert out[0] == "FAILED: toy, fails: ValueError: on purpose"
    assert out[1] == "['counts'] 2 None"
    assert out[2] == "['peak memory, MB', 'run', 'sum, CPU s', 'twice']"
