"""BLAS has one thread in a fit on partitions: products of several have other bits."""

from __future__ import annotations

import pytest
from partitions import as_lists, in_memory, sentences
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_struct import LinearChainCRF
from sklearn_struct.distributed.fitting import fit_partitions
from sklearn_struct.distributed.shards import at_partition
from sklearn_struct.estimators.fitting import solving


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_in_what_is_asked_of_a_partition():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert at_partition(0, blas_threads) == {1}
        assert blas_threads() == before


def test_in_the_solver(monkeypatch):
    X, y = sentences(20)
    lbfgs = solving.SOLVERS["lbfgs"]
    seen = []

    def watched(*args, **options):
        seen.append(blas_threads())
        return lbfgs(*args, **options)

    monkeypatch.setitem(solving.SOLVERS, "lbfgs", watched)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        fit_partitions(LinearChainCRF(solver="lbfgs"), in_memory(2, as_lists(X), y))
        assert blas_threads() == before
    assert seen == [{1}]


def test_after_an_error_it_has_as_many_as_before():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyError) as error:
            at_partition(3, {}.__getitem__, "no such thing")
        assert blas_threads() == before
    assert error.value.__notes__ == ["in partition 3"]
