"""Settings of the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("contracts")

# The first example of a test may compile kernels, so no deadline; on a build machine a failure must repeat.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config):
    config.addinivalue_line("markers", "twins: small enough for pure Python; run again with NUMBA_DISABLE_JIT=1")
    config.addinivalue_line("markers", "compiled: too large for pure Python, or about compiled code alone")
