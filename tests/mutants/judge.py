"""One process judges many mutants: it has loaded what does not change, and forks for each."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mutants import reach
from mutants.sample import PACKAGE, Mutant, mutated, source, statement

PATIENCE = 30.0  # seconds beyond ten times those that the tests take without the fault
LOADED = [  # once, for all mutants: nothing of ours
    "hypothesis.extra.numpy",
    "matplotlib.pyplot",
    "nltk",
    "numba",
    "pandas",
    "safetensors.numpy",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.model_selection",
    "sklearn.utils.estimator_checks",
]
ARGUMENTS = ["-x", "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is loaded before
KILLED = "killed"
SURVIVED = "survived"
HUNG = "hung"
UNREACHED = "unreached"


class Fault(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Loads one module from changed source; files, so also cached kernels, stay as they are."""

    def __init__(self, file: str, source: str) -> None:
        parts = [PACKAGE.name, *Path(file).with_suffix("").parts]
        self.name = ".".join(part for part in parts if part != "__init__")
        self.file = str(PACKAGE / file)
        self.source = source

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name != self.name:
            return None
        package = [str(Path(self.file).parent)] if self.file.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            name, self.file, loader=self, submodule_search_locations=package
        )

    def get_source(self, name: str) -> str:
        return self.source

    def get_filename(self, name: str) -> str:
        return self.file

    def get_code(self, name: str) -> Any:
        return compile(self.source, self.file, "exec")

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), vars(module))


class Chosen:
    """Runs these tests alone, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.rank = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.rank),
            key=lambda item: self.rank[item.nodeid],
        )


def tests_of(mutant: Mutant, reached: dict[str, Any], budget: float) -> list[str]:
    """The tests that run its line, while they take no more seconds than `budget` together.

    Those of its own room go first, then the quickest.
    """
    names = list(reached["seconds"])
    seconds = list(reached["seconds"].values())
    by_line = reached["lines"].get(mutant.file, {})
    lines = statement(mutant.file, mutant.line)
    rows = by_line.values() if lines is None else [by_line.get(str(line), []) for line in lines]
    chosen = {test for tests in rows for test in tests}
    own = f"tests/{Path(mutant.file).parent}/"
    total = 0.0
    within = []
    for test in sorted(chosen, key=lambda test: (not names[test].startswith(own), seconds[test])):
        total += seconds[test]
        if within and total > budget:
            break
        within.append(names[test])
    return within


def judge(
    mutant: Mutant, text: str, reached: dict[str, Any], jit: bool, budget: float
) -> tuple[str, float]:
    """What became of a mutant, whose file has this text, and the seconds it took."""
    tests = tests_of(mutant, reached, budget)
    if not tests:
        return UNREACHED, 0.0
    patience = PATIENCE + 10 * sum(reached["seconds"][test] for test in tests)
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        _run(Fault(mutant.file, text), tests, jit)
    while time.monotonic() < begin + patience:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return (SURVIVED if code == pytest.ExitCode.OK else KILLED), time.monotonic() - begin
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG, time.monotonic() - begin


def _run(fault: Fault, tests: list[str], jit: bool) -> None:
    """In a process of its own, which ends here."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.meta_path.insert(0, fault)
        files = sorted({test.split("::")[0] for test in tests})
        code = int(pytest.main([*ARGUMENTS, *reach.settings(jit), *files], plugins=[Chosen(tests)]))
    finally:
        os._exit(code)


def main() -> None:
    """Judge the mutants of standard input, one a line; write a line for each."""
    folder = Path(sys.argv[1])
    jit = sys.argv[2] == "compiled"
    budget = float(sys.argv[3])
    os.chdir(reach.ROOT)
    for name in LOADED:
        import_module(name)
    reached = reach.ask(folder, jit)
    controlled = False
    for line in sys.stdin:
        mutant = Mutant(*json.loads(line))
        if not controlled:
            verdict, _ = judge(mutant, source(mutant.file), reached, jit, budget)
            if verdict not in (SURVIVED, UNREACHED):
                raise RuntimeError(f"the tests of {mutant} fail without it, too")
            controlled = verdict == SURVIVED
        verdict, seconds = judge(mutant, mutated(mutant), reached, jit, budget)
        print(json.dumps([verdict, seconds, *mutant]), flush=True)


if __name__ == "__main__":
    main()
