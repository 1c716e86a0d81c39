"""What the first fit of a process costs, with an empty cache of compiled kernels and with a full
one; what an import costs, beside one of scikit-learn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch

FORMS = {
    "strings": ("strings", "auto", "float64"),
    "columns": ("columns", "auto", "float64"),
    "dense": ("dense", "auto", "float64"),
    "strings, float32": ("strings", "auto", "float32"),
    "strings, lbfgs": ("strings", "lbfgs", "float64"),
    "strings, sag": ("strings", "sag", "float64"),
}
COMPILING = "cold fit - warm fit, CPU s"
IMPORT = "warm: import"
RECOMPILED = "warm: kernels compiled in fit"
IMPORTS = {
    "sklearn_struct": "from sklearn_struct import FeatureTemplates, LinearChainCRF",
    "scikit-learn": "import sklearn.linear_model, sklearn.pipeline",
}
TIMED = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
ROUNDS = 5


def environment() -> dict[str, str]:
    """That of processes which may write bytecode: without it each would translate the package."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def first_fits(form: tuple[str, str, str], watch: Stopwatch) -> dict[str, float]:
    """Figures of two processes that share a fresh cache."""
    figures = {}
    with tempfile.TemporaryDirectory() as cache:
        for state in ("cold", "warm"):
            command = [sys.executable, str(Path(__file__).with_name("first_fit.py")), *form]
            paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
            variables = {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(paths)}
            env = environment() | variables
            answer = subprocess.run(
                command, env=env, stdout=subprocess.PIPE, text=True, check=True
            ).stdout
            figures |= {f"{state}: {name}": value for name, value in json.loads(answer).items()}
    return figures | {COMPILING: figures["cold: fit"] - figures["warm: fit"]}


def imports(watch: Stopwatch) -> dict[str, float]:
    """Median CPU seconds of imports, each in a fresh process, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    # the first of each may write bytecode
    for r in range(1 + ROUNDS):
        for name, line in IMPORTS.items():
            command = [sys.executable, "-c", TIMED.format(line)]
            answer = subprocess.run(
                command, env=environment(), stdout=subprocess.PIPE, text=True, check=True
            ).stdout
            if r > 0:
                seconds[name].append(float(answer))
    return {f"import of {name}": statistics.median(several) for name, several in seconds.items()}


def goals(medians: Medians) -> list[Goal]:
    return [
        *(
            Goal(
                f"4. compiling in a cold first fit, {form}, CPU s",
                medians.figure(form, COMPILING),
                6,
                6,
                True,
            )
            for form in ("strings", "columns")
        ),
        Goal(
            "warm import, against sklearn.linear_model and pipeline",
            medians.ratio(
                ("imports", "import of sklearn_struct"), ("imports", "import of scikit-learn")
            ),
            1.15,
            1.3,
            True,
        ),
        Goal("4. warm import, CPU s", medians.figure("strings", IMPORT), 1.2, 1.2, True),
        Goal(
            "4. kernels compiled in a warm first fit",
            medians.figure("strings", RECOMPILED),
            0,
            0,
            True,
        ),
    ]


CONTESTANTS = {name: partial(first_fits, form) for name, form in FORMS.items()}
CONTESTANTS["imports"] = imports
BENCHMARKS = {
    "compiling": Benchmark(
        "CPU seconds of import, compiling and first fit, cold and warm",
        CONTESTANTS,
        goals,
    )
}
