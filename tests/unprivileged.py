"""Commands that no file is open to but by its permissions, as for users who are not root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

SETPRIV = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def run_unprivileged(*arguments, **options):
    """Run Python with these arguments; skip the test where permissions could not be felt."""
    if os.name != "posix":
        pytest.skip("there are no such permissions")
    command = [sys.executable, *arguments]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("run by root, and there is no setpriv to give up what root may do")
        command = [*SETPRIV, *command]
    return subprocess.run(command, capture_output=True, text=True, **options)
