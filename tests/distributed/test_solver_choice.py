"""Solvers that evaluate all data serve partitions, and no others do."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import as_lists, in_memory, sentences
from sklearn.base import clone

from sklearn_struct import LinearChainCRF
from sklearn_struct.distributed import fit_partitions
from sklearn_struct.distributed.shards import InMemory


@pytest.mark.parametrize("solver", ["sag", "sgd", "ap", "pa", "pa-ii", "arow", "frank-wolfe"])
def test_solvers_that_go_from_example_to_example(solver):
    """An error names those that serve the loss, before anything is read."""
    refused = f"solver='{solver}' goes from one example to the next, which lie in partitions: use "
    unread = InMemory([None])
    with pytest.raises(ValueError, match=refused + "'cg', 'gradient', 'lbfgs', 'newton-cg', 'owl"):
        fit_partitions(LinearChainCRF(solver=solver), unread)
    with pytest.raises(ValueError, match=refused + "'cutting-planes' or 'auto'"):
        fit_partitions(LinearChainCRF(solver=solver, loss="hinge"), unread)


@pytest.mark.parametrize(("l1_ratio", "solver"), [(0.0, "lbfgs"), (0.5, "owlqn")])
def test_auto(l1_ratio, solver):
    X, y = sentences(20)
    crf = fit_partitions(LinearChainCRF(l1_ratio=l1_ratio), in_memory(2, as_lists(X), y))
    assert crf.solver_ == solver


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_margins(n_parts):
    """The lowest objective lies between the bounds of both solvers."""
    X, y = sentences(40)
    crf = LinearChainCRF(loss="hinge", tol=0.02, random_state=0)
    here = crf.fit(as_lists(X), y)
    there = fit_partitions(clone(crf), in_memory(n_parts, as_lists(X), y))
    assert (here.solver_, there.solver_) == ("frank-wolfe", "cutting-planes")
    assert there.gap_ <= 0.02 * there.loss_curve_[-1]
    for one, other in ((here, there), (there, here)):
        assert one.loss_curve_[-1] - one.gap_ <= other.loss_curve_[-1]


def test_margins_that_no_solver_serves():
    X, y = sentences(20)
    with pytest.raises(ValueError, match=r"on partitions it needs solver='cutting-planes'"):
        fit_partitions(LinearChainCRF(loss="hinge", solver="lbfgs"), in_memory(2, as_lists(X), y))
    with pytest.raises(ValueError, match=r"or 'auto', and l1_ratio=0, got .* l1_ratio=0.5"):
        fit_partitions(LinearChainCRF(loss="hinge", l1_ratio=0.5), in_memory(2, as_lists(X), y))
    with pytest.raises(ValueError, match="a finite C, and l1_ratio=0"):
        fit_partitions(LinearChainCRF(loss="hinge", C=np.inf), in_memory(2, as_lists(X), y))
    with pytest.raises(ValueError, match="solver='cutting-planes' is for loss='hinge'"):
        fit_partitions(LinearChainCRF(solver="cutting-planes"), in_memory(2, as_lists(X), y))
    y[0] = None
    with pytest.raises(ValueError, match="loss='hinge' with missing labels"):
        fit_partitions(LinearChainCRF(loss="hinge"), in_memory(2, as_lists(X), y))
