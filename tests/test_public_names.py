"""What `import sklearn_struct` has, and what it waits with."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import sklearn_struct


@pytest.mark.parametrize("name", sklearn_struct.__all__)
def test_each_name_is_there(name):
    assert getattr(sklearn_struct, name) is getattr(sklearn_struct, name)
    assert getattr(sklearn_struct, name).__name__.endswith(name)
    # nothing is looked up a second time
    assert vars(sklearn_struct)[name] is getattr(sklearn_struct, name)


def test_nothing_else_shows():
    assert set(dir(sklearn_struct)) == {*sklearn_struct.__all__, "__version__"}
    with pytest.raises(AttributeError, match="'sklearn_struct' has no attribute 'CRF'"):
        getattr(sklearn_struct, "CRF")  # noqa: B009


def test_a_program_imports_what_it_uses():
    """A chain needs no graphs; all names are imported with a star."""
    program = """
import sys
from sklearn_struct import LinearChainCRF
print("sklearn_struct.estimators.graphs" in sys.modules)
from sklearn_struct import *
print(GraphCRF.__module__ in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_pickles_load_before_their_class_was_asked_for():
    data = pickle.dumps(sklearn_struct.GraphCRF(C=3.0))
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer).C)"
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True)
    assert done.stdout.decode().strip() == "3.0"
