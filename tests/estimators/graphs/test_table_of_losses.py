"""The guide's two tables of losses: each cell is what it says, or is refused for its reason."""

from __future__ import annotations

import re
from pathlib import Path

import contracts
import numpy as np
import pytest
from graphs import grid

from sklearn_struct import GraphCRF
from sklearn_struct.containers.structures import zeros
from sklearn_struct.estimators.graphs.graph_inference import INFERENCES, inference_of
from sklearn_struct.estimators.graphs.graph_losses import LOSSES, LossSettings, loss_of
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.evidence import Evidence

PAGE = Path(__file__).parents[3] / "docs" / "user_guide" / "graphs_training.rst"
MISSING = "missing labels"
TREES = "piecewise, trees"
# what errors say, by the words of the tables
REASONS = {
    "drawn": r"draws labellings, so its derivatives are estimates",
    "not convex": r"not convex|need .* another solver than 'sag'",
    "known": "hidden or missing, and here all are known",
    "no second derivatives": "needs second derivatives",
    "kinks": "loss='hinge' has kinks",
}


def tables():
    """The rows of both tables: a dict of cells, by column, for each loss."""
    text = PAGE.read_text(encoding="utf-8")
    made = []
    for start in ("The first table says, for each ``loss``", "The second table says which solvers"):
        _, head, body = re.split(
            r"^(?:=+ +)+=+$", text[text.index(start) :], maxsplit=3, flags=re.M
        )[:3]
        columns = cells(head.strip())[1:]
        rows = [cells(line) for line in body.strip().splitlines()]
        made.append({row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows})
    return made


def cells(line):
    return [cell.replace("`", "") for cell in re.split(r" {2,}|(?<=``) +(?=``)", line.strip())]


# without the sources there is no page
TABLES = tables() if PAGE.exists() else [{}, {}]
KINDS = TABLES[0]
SOLVERS = TABLES[1]
CELLS = [(loss, name) for loss, row in KINDS.items() for name in row]


def test_the_tables_have_all_losses_and_inferences():
    for table in (KINDS, SOLVERS):
        assert set(table) == {*LOSSES, MISSING, TREES}
    assert {name for _, name in CELLS} == INFERENCES - {"auto"}
    names = {name for row in SOLVERS.values() for cell in row for name in cell.split(", ")}
    wanted = GraphCRF._parameter_constraints["solver"][0].options
    assert names == wanted - {"auto", "frank-wolfe"}


def parameters(loss):
    """Of a row of the tables."""
    name = {MISSING: "log_likelihood", TREES: "piecewise"}.get(loss, loss)
    return {"loss": name, "pieces": "trees" if loss == TREES else "factors"}


def value_and_slope(loss, inference):
    """Of a grid of 2 x 3 nodes, as one example; a node of the second case is unknown."""
    potentials, structure = grid(np.random.default_rng(0), 2, 3, 2)
    y = np.array([0, 1, 1, 0, 1, 0], np.int32)
    known = Evidence(y)
    if loss == MISSING:
        allowed = np.eye(2, dtype=bool)[y]
        allowed[[0, 1, 3, 4]] = True
        known = Evidence(allowed=allowed)
    settings = LossSettings(**parameters(loss), block_size=4, n_steps=1, solver="", random_state=0)
    made = loss_of(settings, inference_of(inference, 200, 1e-12, Report()), known)
    out = zeros(potentials)
    value = np.empty(1)
    made(Batch(potentials, known, structure, np.ones(1)), out, value)
    return value[0], contracts.flat(out)


@pytest.mark.parametrize(("loss", "inference"), CELLS)
def test_each_is_what_the_guide_says(loss, inference):
    """Compared with exact inference, which others compare with enumeration."""
    kind = KINDS[loss][inference]
    value, slope = value_and_slope(loss, inference)
    exact, right = value_and_slope(loss, "exact")
    if kind in ("exact", "estimate"):
        assert value == pytest.approx(exact, rel=1e-10)
        np.testing.assert_allclose(slope, right, atol=1e-8)
        return
    if kind == "searched":  # a rival that is found may be worse than the best one
        assert value <= exact + 1e-9
        return
    assert np.abs(slope - right).max() > 1e-6
    assert np.abs(slope - right).max() < 1.0
    if kind == "upper bound":
        assert value > exact + 1e-6
    elif kind == "lower bound":
        assert value < exact - 1e-6
    else:
        assert kind in ("approximate", "drawn")


@pytest.fixture(scope="module")
def data():
    """Triangles of which most labels follow from a feature."""
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(3, 2)), [[0, 1], [1, 2], [2, 0]]) for _ in range(6)]
    noise = rng.normal(size=(6, 3))
    y = [["ab"[int(v)] for v in nodes[:, 0] + e > 0] for (nodes, _), e in zip(X, noise)]
    return X, y, [[None, *y[0][1:]], *y[1:]]


@pytest.mark.parametrize(("loss", "inference"), CELLS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn_struct.exceptions.InferenceWarning")
def test_solvers_work_or_are_refused(loss, inference, data):
    X, known, partly = data
    y = partly if loss == MISSING else known
    for cell, answer in SOLVERS[loss].items():
        for solver in cell.split(", "):
            settings = parameters(loss) | {"inference": inference, "solver": solver}
            crf = GraphCRF(max_iter=1, max_sweeps=5, random_state=0, **settings)
            reason = REASONS.get(answer)
            if KINDS[loss][inference] == "drawn" and solver != "sgd":
                reason = "inference='gibbs' gives noisy losses"
            if reason is None:
                assert answer == "yes"
                crf.fit(X, y)
                assert np.isfinite(crf.loss_curve_[-1])
            else:
                with pytest.raises(ValueError, match=reason):
                    crf.fit(X, y)
                assert not hasattr(crf, "classes_")


@pytest.mark.parametrize("loss", sorted({*LOSSES, TREES} - {"hinge"}))
def test_frank_wolfe_is_for_the_hinge_alone(loss, data):
    X, known, _ = data
    crf = GraphCRF(solver="frank-wolfe", random_state=0, **parameters(loss))
    with pytest.raises(ValueError, match=r"frank-wolfe|derivatives are estimates"):
        crf.fit(X, known)
