"""Memory that a fit takes above what the data and the interpreter hold, beside python-crfsuite's;
and the sizes of what models are stored in.

Each run is a process of its own. What it holds when the fit begins is not counted: the data as
lists, the library, and, for ours, its kernels.
"""

from __future__ import annotations

import gc
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lib.fitting import load_kernels
from lib.goals import Goal
from lib.large_tasks import entities, relations, tags_of_trees
from lib.side_by_side import Benchmark, Contestant, Medians, Stopwatch
from lib.tasks import corpus

from peers.crfsuite import loaded_trainer, train

TASK = "chunking"
MEMORY = "peak of the fit above the start, MB"
PICKLE = "pickle, MB"
FILE = "file, MB"
PEER = "python-crfsuite"
ITERATIONS = 10  # of CRFsuite: its memory does not grow after these
MB = 2**20

Data = Callable[[Stopwatch], tuple[Any, Any]]


def chunks(form: str, watch: Stopwatch) -> tuple[Any, Any]:
    return corpus(watch, form)[:2]


class Case(NamedTuple):
    """Data, the case whose fit by the peer ours stands beside, and at most so much of its memory:
    the goal and the least.
    """

    data: Data
    beside: str
    goal: float
    least: float


CASES = {
    "strings": Case(partial(chunks, "strings"), "strings", 1.0, 1.2),
    "columns": Case(partial(chunks, "columns"), "strings", 0.5, 0.6),
    "dicts, 9 labels": Case(entities, "dicts, 9 labels", 1.0, 1.3),
    "342 labels": Case(relations, "342 labels", 1.5, 2.5),
    "450 labels": Case(tags_of_trees, "450 labels", 1.5, 2.5),
}


def memory(name: str) -> float:
    """A figure of what this process has in memory, MB: VmRSS is now, VmHWM is the most so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 2**10
    raise ValueError(f"no {name} in /proc/self/status")


@contextmanager
def peak(figures: dict[str, float]) -> Iterator[None]:
    """Notes how much memory rises in between above what is held at the start."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = memory("VmRSS")
    yield
    figures[MEMORY] = memory("VmHWM") - before


def ours(data: Data, watch: Stopwatch) -> dict[str, float]:
    from sklearn.pipeline import make_pipeline

    from sklearn_struct import FeatureTemplates, LinearChainCRF
    from sklearn_struct.persistence import save

    warnings.simplefilter("ignore")
    X, y = data(watch)
    columns = isinstance(X[0][0], tuple)
    templates = [FeatureTemplates("chunking", add_bos_eos=True)] if columns else []
    crf = LinearChainCRF(fit_intercept=False, random_state=watch.run)
    load_kernels(make_pipeline(*templates, crf), X[:50], y[:50])
    # fits of more begin with sag, whose first passes are in float32
    options = {"linearchaincrf__solver": "sag", "linearchaincrf__max_iter": 2}
    load_kernels(make_pipeline(*templates, crf), X[:300], y[:300], **options)
    model = make_pipeline(*templates, crf)
    figures: dict[str, float] = {}
    with peak(figures):
        model.fit(X, y)
    path = watch.scratch / "ours.model"
    save(model, path)
    sizes = {PICKLE: len(pickle.dumps(model)) / MB, FILE: path.stat().st_size / MB}
    return figures | sizes | {"iterations": crf.n_iter_}


def peer(data: Data, watch: Stopwatch) -> dict[str, float]:
    import pycrfsuite  # noqa: F401 - loaded before

    path = watch.scratch / "peer.model"
    X, y = data(watch)
    figures: dict[str, float] = {}
    with peak(figures):
        noted = train(loaded_trainer(X, y), path, ITERATIONS)
    return figures | {FILE: os.path.getsize(path) / MB, "iterations": len(noted)}


def goals(medians: Medians) -> list[Goal]:
    promises = []
    for name, case in CASES.items():
        ratio = medians.ratio((name, MEMORY), (f"{case.beside}, {PEER}", MEMORY))
        promises.append(Goal(f"memory of fit, {name}", ratio, case.goal, case.least, True))
        for what in (PICKLE, FILE):
            ratio = medians.ratio((name, what), (f"{case.beside}, {PEER}", FILE))
            promises.append(Goal(f"{what.split(',')[0]}, {name}", ratio, 1.2, 1.2, True))
    return promises


CONTESTANTS: dict[str, Contestant] = {}
for _name, _case in CASES.items():
    CONTESTANTS[_name] = partial(ours, _case.data)
    if _case.beside == _name:
        CONTESTANTS[f"{_name}, {PEER}"] = partial(peer, _case.data)

BENCHMARKS = {
    "peak-of-fits": Benchmark(
        "Memory that a fit takes above the data, ours / python-crfsuite",
        CONTESTANTS,
        goals,
        TASK,
        beside="python-crfsuite",
    )
}
