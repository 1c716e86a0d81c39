"""Processes of one version each: its own package, its own compiled kernels, one thread for BLAS."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["TESTS", "Side", "check_package"]

TESTS = Path(__file__).resolve().parents[1]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Side(NamedTuple):
    """A version: the checkout with its package, and a folder for what it compiles."""

    name: str
    folder: Path
    cache: Path

    @classmethod
    def of(cls, name: str, folder: Path, caches: Path | None = None) -> Side:
        """A side whose kernels are kept for the next time, in a folder of this checkout's own."""
        folder = folder.resolve()
        if not (folder / "sklearn_struct" / "__init__.py").is_file():
            raise FileNotFoundError(
                f"{folder} is not a checkout: it has no sklearn_struct/__init__.py"
            )
        caches = caches or Path(tempfile.gettempdir()) / "sklearn_struct-versions"
        mark = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        return cls(name, folder, caches.resolve() / mark)

    def environment(self, *paths: Path) -> dict[str, str]:
        """Variables of a process in which this version is imported, and modules of `paths`."""
        known = {
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder, *paths))),
            "NUMBA_CACHE_DIR": str(self.cache / "kernels"),
            "PYTHONPYCACHEPREFIX": str(self.cache / "bytecode"),
        }
        # without bytecode that is kept each process would translate all that it imports
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return inherited | ONE_THREAD | known

    def start(self, script: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """A process that runs a script of the tests; what it prints is seen."""
        command = _command(script, arguments)
        return subprocess.Popen(command, env=self.environment(TESTS), cwd=self.cache_folder())

    def conversation(
        self, script: Path, *arguments: str, paths: Sequence[Path] = ()
    ) -> subprocess.Popen[str]:
        """A process that runs a script, to which lines are written and from which they are read."""
        return subprocess.Popen(
            _command(script, arguments),
            env=self.environment(*paths),
            cwd=self.cache_folder(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(
        self,
        script: Path,
        *arguments: str,
        paths: Sequence[Path] = (),
        kernels: Path | None = None,
    ) -> str:
        """What a script prints, in whose process modules of `paths` can be imported, too.

        With `kernels`, compiled kernels are read from and kept in another folder than the side's.
        """
        environment = self.environment(*paths)
        if kernels is not None:
            environment["NUMBA_CACHE_DIR"] = str(kernels)
        finished = subprocess.run(
            _command(script, arguments),
            env=environment,
            cwd=self.cache_folder(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return finished.stdout

    def cache_folder(self) -> Path:
        self.cache.mkdir(parents=True, exist_ok=True)
        return self.cache


def _command(script: Path, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", str(script), *arguments]


def check_package(folder: Path) -> None:
    """End the process if another package than that of this checkout is imported."""
    import sklearn_struct

    here = Path(sklearn_struct.__file__).resolve().parents[1]
    if here != folder.resolve():
        sys.exit(f"imported the package of {here} in the place of that of {folder}")
