"""Settings of the whole suite."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

# assertions of these modules, which hold no tests, are rewritten, too
pytest.register_assert_rewrite(
    "contracts",
    "fitted",
    "fitted_graphs",
    "naive",
    "partitions",
    "ragged_checks",
    "real_data",
    "tree_checks",
)
pytest_plugins = ["asserting"]
# `asserting` would be imported, and count, once more for its doctests; `mutants` needs an extra,
# and has no tests
collect_ignore = ["asserting.py", "mutants"]

# The first example of a test may compile kernels, so no deadline; on a build machine a failure must
# repeat.
settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "twins: small enough for pure Python; run again with NUMBA_DISABLE_JIT=1"
    )
    config.addinivalue_line(
        "markers", "compiled: too large for pure Python, or about compiled code alone"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave what all tests are made of out of garbage collections: millions of objects that stay.

    Half of the time of collecting tests went there, and a second in each full collection later.
    """
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result
