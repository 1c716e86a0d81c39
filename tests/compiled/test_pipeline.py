"""How kernels are compiled: numba's steps, without those that they do not need."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.compiler import Compiler
from numba.core.inline_closurecall import InlineWorker

from sklearn_struct.compiled.kernel import TRIED, _steps_of, inlined, kernel
from sklearn_struct.compiled.pipeline import NEEDLESS, Pipeline

tried = pytest.mark.skipif(numba.version_info.short > TRIED, reason="numba is newer")


@inlined
def larger(x, y):
    if x > y:
        return x
    return y


@inlined
def largest(x):
    """It inlines another one, twice."""
    best = larger(x[0], x[1])
    for i in range(2, len(x)):
        best = larger(best, x[i])
    return best


def both_ends(x):
    return larger(largest(x), x[0]), -larger(-x[0], -x[1])


def test_inlined_kernels_of_inlined_kernels():
    x = np.array([3.0, 1.0, 7.0, 2.0])
    assert kernel(both_ends)(x) == numba.njit(both_ends)(x) == (7.0, 1.0)


@tried
def test_inlined_kernels_are_not_copied(monkeypatch):
    """Nor do the needless steps run: a test that fails if numba calls them by another name."""
    copied = []
    inline = InlineWorker.inline_ir

    def watched(self, caller, block, i, callee, *args, **kwargs):
        before = [id(each) for each in callee.blocks.values()]
        done = inline(self, caller, block, i, callee, *args, **kwargs)
        copied.append(not {id(each) for _, each in done[3]}.intersection(before))
        return done

    monkeypatch.setattr(InlineWorker, "inline_ir", watched)
    steps = []
    for step in NEEDLESS:
        monkeypatch.setattr(step, "run_pass", lambda self, state: steps.append(self))

    # no kernel, which may be at hand from another run
    @numba.njit(pipeline_class=Pipeline)
    def twice(x):
        return larger(x, x + 1)

    assert twice(1) == 2
    assert copied == [False]
    assert steps == []


def with_comprehension(x):
    steps = [2 * i for i in range(len(x))]
    return x[steps[1] - 2] + len(steps)


def test_comprehensions():
    assert kernel(with_comprehension)(np.array([3.0, 4.0])) == 5.0


def test_newer_versions_of_numba_compile_by_their_own_steps():
    assert _steps_of(TRIED) is _steps_of((0, 60)) is Pipeline
    assert _steps_of((TRIED[0], TRIED[1] + 1)) is _steps_of((1, 0)) is Compiler
