"""What ``dir`` of an imported package shows, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["internal_modules", "shown"]

ASK = """
import importlib, json, sys, types
package = importlib.import_module(sys.argv[1])
names = [name for name in dir(package) if not name.startswith("_")]
modules = [name for name in names if isinstance(vars(package).get(name), types.ModuleType)]
print(json.dumps([package.__file__, names, modules, sorted(getattr(package, "__all__", []))]))
"""


def shown(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """What `dir` shows without an underscore, those of it that are modules, and ``__all__``."""
    parent = folder.resolve().parent
    command = [sys.executable, "-B", "-P", "-c", ASK, folder.name]
    environment = os.environ | {"PYTHONPATH": str(parent)}
    answer = subprocess.run(
        command, env=environment, cwd=parent, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise RuntimeError(f"{folder} cannot be imported: {answer.stderr.strip().splitlines()[-1]}")
    file, names, modules, public = json.loads(answer.stdout.splitlines()[-1])
    if Path(file).resolve().parent != folder.resolve():
        raise RuntimeError(f"imported {file} in the place of {folder}")
    return names, modules, public


def internal_modules(folder: Path) -> list[str]:
    """Modules that `dir` shows although ``__all__`` does not have them."""
    _, modules, public = shown(folder)
    return [name for name in modules if name not in public]
