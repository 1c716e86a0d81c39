"""Work without garbage collections leaves the collector as it was."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from sklearn_struct._uncollected import uncollected


@pytest.fixture(autouse=True)
def collector():
    """As it was before the test."""
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_collector_rests_and_is_as_before(lasting, enabled):
    if not enabled:
        gc.disable()
    with uncollected(lasting):
        assert not gc.isenabled()
    assert gc.isenabled() == enabled
    with pytest.raises(ZeroDivisionError), uncollected(lasting):
        _ = 1 / 0
    assert gc.isenabled() == enabled


def test_what_lasts_is_old_and_is_collected_when_it_is_garbage():
    class Circle:
        def __init__(self):
            self.itself = self

    with uncollected(lasting=True):
        circle = Circle()
    assert gc.get_freeze_count() == 0
    assert any(thing is circle for thing in gc.get_objects(2))
    del circle
    gc.collect()
    # proxies of others' objects answer for what they stand for, and that may be gone
    assert not any(type(thing) is Circle for thing in gc.get_objects())


def test_frozen_objects_stay_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    with uncollected(lasting=True):
        pass
    assert gc.get_freeze_count() == frozen


def test_an_import_leaves_hardly_anything_to_look_at():
    """A process that imports an estimator has no collection before it does its own work."""
    code = (
        "import gc; gc.collect(); before = gc.get_stats()[2]['collections'];"
        "from sklearn_struct import LinearChainCRF;"
        "assert gc.isenabled();"
        "print(gc.get_stats()[2]['collections'] - before, len(gc.get_objects(0)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    n_full, n_young = map(int, answer.stdout.split())
    assert n_full == 0
    assert n_young < 2000
