"""Real corpora for tests: a data home that is named must have them, without one the test is
skipped.
"""

from __future__ import annotations

import os

import pytest

# of tests that read corpora by other ways than `real`
NEEDS_HOME = pytest.mark.skipif(
    "SKLEARN_STRUCT_DATA" not in os.environ, reason="no data home: SKLEARN_STRUCT_DATA is not set"
)


def real(fetch, **options):
    """What `fetch` gives from local files alone."""
    try:
        return fetch(**options, download_if_missing=False)
    except (ImportError, FileNotFoundError) as error:
        if "SKLEARN_STRUCT_DATA" in os.environ:
            raise
        pytest.skip(
            "no data home: SKLEARN_STRUCT_DATA is not set and nothing was downloaded before "
            f"({error})"
        )
