"""A plugin of pytest: which tests run which lines, and how long each takes. `ask` runs it in a
process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = [
    "tests/inference",
    "tests/losses",
    "tests/linear",
    "tests/objectives/test_joint_objective.py",
    "tests/objectives/test_rows_objective.py",
]
UNITS = [
    *KERNELS,
    "tests/solvers",
    "tests/objectives/test_linear_objective.py",
    "tests/hidden_markov/test_em_steps.py",
    "tests/hidden_markov/test_emissions.py",
    "tests/hidden_markov/test_path_sums.py",
    "tests/grammars/test_spectral_states.py",
    "tests/grammars/test_parsing.py",
]
WHOLE = [
    "tests/estimators",
    "tests/objectives/test_expected_features.py",
    "tests/grammars/test_latent_em.py",
    "tests/grammars/test_tree_sums.py",
]
SETTINGS = [
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-m",
    "not slow and not corpus and not foreign",
]


def settings(jit: bool) -> list[str]:
    """Arguments of pytest. Kernels without compilation warn of the infinities that are part of the
    game.
    """
    if jit:
        return SETTINGS
    return [*SETTINGS[:-1], f"{SETTINGS[-1]} and not compiled", "-W", "ignore::RuntimeWarning"]


def environment(jit: bool) -> dict[str, str]:
    return {
        **os.environ,
        "NUMBA_DISABLE_JIT": str(int(not jit)),
        "CI": "true",
        "OMP_NUM_THREADS": "1",
    }


def ask(folder: Path, jit: bool) -> dict[str, Any]:
    """`seconds` of each test, and the tests (`lines`) by file and line; kept in the folder for the
    next time.
    """
    kept = folder / f"reach-{'compiled' if jit else 'python'}.json"
    if not kept.exists():
        tests = [*UNITS, *WHOLE] if jit else KERNELS
        command = [sys.executable, "-m", "pytest", "-p", "mutants.reach", *settings(jit), *tests]
        variables = {**environment(jit), "REACH": str(kept), "PYTHONPATH": str(ROOT / "tests")}
        subprocess.run(command, cwd=ROOT, env=variables, check=True)
    return json.loads(kept.read_text("utf-8"))


class Recorder:
    """Coverage, with the test as its context."""

    def __init__(self, kept: Path) -> None:
        from coverage import Coverage

        self.kept = kept
        self.seconds: dict[str, float] = {}
        self.coverage = Coverage(
            data_file=None, config_file=False, source=[str(ROOT / "sklearn_struct")]
        )
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        begin = time.perf_counter()
        result = yield
        self.seconds[item.nodeid] = time.perf_counter() - begin
        self.coverage.switch_context("")
        return result

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        numbers = {test: number for number, test in enumerate(self.seconds)}
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            name = Path(file).relative_to(ROOT / "sklearn_struct").as_posix()
            by_line = data.contexts_by_lineno(file)
            lines[name] = {
                line: [numbers[test] for test in tests if test] for line, tests in by_line.items()
            }
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        self.kept.write_text(json.dumps({"seconds": self.seconds, "lines": lines}), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(Path(os.environ["REACH"])))
