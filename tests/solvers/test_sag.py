"""SAG by the contract of solvers, against a dense twin, and on chains against L-BFGS and OWL-QN."""

from __future__ import annotations

from functools import partial

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.objectives.remembered_terms import AllDerivatives
from sklearn_struct.solvers import sag as module
from sklearn_struct.solvers import sag_iterate
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.owlqn import owlqn
from sklearn_struct.solvers.sag import Remembered, sag
from sklearn_struct.solvers.sag_iterate import Iterate

LBFGS = contracts.Solver(lbfgs, dict, l1=False, precision=1e-6, tol=1e-8)
OWLQN = contracts.Solver(owlqn, dict, l1=True, precision=1e-6, tol=1e-7)
SAG = contracts.Solver(
    sag, lambda: {"rng": np.random.RandomState(0)}, l1=True, precision=1e-6, tol=1e-7
)

test_contract = contracts.solver(SAG._replace(tol=1e-8))


def chains(lengths=None, weight=None, **options):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, size=80) if lengths is None else lengths
    model = naive.linear_model(rng, lengths, **options)
    weight = rng.uniform(0, 2, size=len(lengths)) if weight is None else weight
    data = TrainingData(model.structure, Evidence(model.y), weight)
    return LinearTerms(model.potentials, LogLikelihood(Chain()), Chain(), data, term_tokens=8)


def names(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=names)
@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_chains(options, l2):
    objective = chains(**options)
    assert objective.n_terms > 20
    optimum = LBFGS(objective, l2=l2)
    found = SAG(objective, l2=l2)
    assert found.converged
    assert np.abs(contracts.subgradient(objective, found.w, l2=l2)).max() <= SAG.tol
    assert found.value == pytest.approx(optimum.value, rel=1e-10)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::5], ids=names)
@pytest.mark.parametrize(("l1", "l2"), [(0.05, 0.01), (0.02, 0.0)])
def test_l1_penalties(options, l1, l2):
    objective = chains(**options)
    optimum = OWLQN(objective, l1=l1, l2=l2)
    found = SAG(objective, l1=l1, l2=l2, max_iter=2000)
    assert found.converged
    assert found.value == pytest.approx(optimum.value, rel=1e-9)
    zero = found.w[: objective.size - objective.n_free] == 0
    assert 0 < zero.sum() < len(zero)
    if l2:  # else the optimum need not be unique
        np.testing.assert_allclose(found.w[: len(zero)], optimum.w[: len(zero)], atol=1e-4)
        assert np.all(np.abs(optimum.w[: len(zero)][zero]) < 1e-4)


def dense_twin(objective, l2, lipschitz, n_passes):
    """The formula on the whole parameter vector, term by term."""
    rng = np.random.RandomState(0)
    n = objective.n_terms
    penalised = objective.size - objective.n_free
    w = np.zeros(objective.size)
    memory = np.zeros((n, objective.size))
    seen = set()
    shrunk = np.where(np.arange(objective.size) < penalised, l2, 0.0)
    alpha = 1 / (lipschitz + shrunk)
    for passes in range(1, n_passes + 1):
        c = max(module.CORRECTION, 1 / n, passes**-1.5)
        for i in rng.permutation(n) if passes <= module.SHUFFLED else rng.randint(n, size=n):
            _, derivative = objective.term(objective.forward(objective.expand(w), i, 1.0), i)
            W = np.zeros_like(objective.expand(w))
            objective.add(derivative, i, W, 1.0)
            gradient = objective.compress(W)
            if i in seen:
                direction = memory.sum(axis=0) / len(seen) + c * (gradient - memory[i])
                memory[i] = gradient
            else:
                seen.add(i)
                memory[i] = gradient
                direction = (1 - c) * memory.sum(axis=0) / len(seen) + c * gradient
            w -= alpha * (direction + shrunk * w)
    return w


@pytest.mark.parametrize("options", naive.LINEAR_MODELS, ids=names)
def test_lazy_updates_are_the_dense_ones(options, monkeypatch):
    monkeypatch.setattr(module.Curvature, "value", 50.0)
    monkeypatch.setattr(module.Course, "follow", lambda self, w: None)
    objective = chains(**options)
    for n_passes in (1, 2, 4):
        found = SAG(objective, l2=0.05, max_iter=n_passes)
        np.testing.assert_allclose(found.w, dense_twin(objective, 0.05, 50.0, n_passes), atol=1e-13)


@pytest.mark.parametrize("factor", [1e-3, 0.2])
@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_steps_that_are_too_long_get_shorter(factor, l1, monkeypatch):
    objective = chains()
    expected = SAG(objective, l1=l1, l2=0.01).value
    value = module.Curvature.value.fget
    monkeypatch.setattr(module.Curvature, "value", property(lambda self: factor * value(self)))
    seen = []
    found = SAG(objective, l1=l1, l2=0.01, callback=lambda n_iter, w, value: seen.append(value))
    assert found.converged
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert seen == sorted(seen, reverse=True)
    assert seen[0] <= objective.value_and_grad(np.zeros(objective.size))[0]


def test_a_heavy_penalty():
    objective = chains()
    for l2 in (1e3, 1e9):
        found = SAG(objective, l2=l2)
        assert found.converged
        assert np.abs(contracts.subgradient(objective, found.w, l2=l2)).max() <= SAG.tol


@pytest.mark.parametrize(
    ("lengths", "weight", "options"),
    [
        ([1], [1.0], {"intercept": False}),
        ([5], [2.0], {"edge": False, "intercept": False}),
        ([0, 4, 0, 0, 3, 9], [1.0, 1.0, 1.0, 0.0, 2.0, 0.0], {}),
        ([9, 9, 9], [0.0, 1.0, 0.0], {"dense": True}),
        ([3, 0, 7], [1.0, 1.0, 1.0], {"K": 1, "edge": False}),
        ([8, 8, 8], [1.0, 1.0, 3.0], {"K": 1}),
    ],
)
def test_small_data(lengths, weight, options):
    objective = chains(lengths, np.array(weight), **options)
    for w0 in (None, np.ones(objective.size)):
        found = SAG(objective, w0, l2=0.5)
        assert found.converged
        assert found.value == pytest.approx(LBFGS(objective, l2=0.5).value, rel=1e-10, abs=1e-10)


def test_float32_tables():
    found, expected = (SAG(chains(dtype=t), l2=0.02, max_iter=60) for t in (np.float32, np.float64))
    assert found.w.dtype == np.float64
    # the intercepts may share any constant
    np.testing.assert_allclose(found.w[:-3], expected.w[:-3], atol=1e-3)


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_first_passes_in_float32(l1, monkeypatch):
    """They end where all passes in float64 do, with more digits than float32 has."""
    objective = chains()
    expected = SAG(objective, l1=l1, l2=0.02)
    monkeypatch.setattr(module, "SMALL", 0)
    types = []
    move = Iterate.move

    def spy(self, *args):
        types.append(self.W.dtype)
        move(self, *args)

    monkeypatch.setattr(Iterate, "move", spy)
    found = SAG(objective, l1=l1, l2=0.02)
    assert found.converged
    assert types[0] == np.float32
    assert types[-1] == np.float64
    assert types == sorted(types, key=lambda t: t.itemsize)
    assert found.value == pytest.approx(expected.value, rel=1e-10)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=names)
def test_finer_numbers_keep_point_and_memory(options):
    """The dense part of a step is the mean of what is remembered, also after the float type has
    changed.
    """
    objective = chains(**options)
    memory = AllDerivatives(objective.n_terms, np.float32)
    w = np.full(objective.size, 0.1)
    iterate = Iterate(objective, w, 0.0, 0.05, np.float32, memory)
    for i in (0, 3, 5, 3):
        iterate.move(i, objective.term(iterate.potentials(i), i)[1], 0.1, 0.5)
    w = iterate.fold()
    iterate.refine(np.float64)
    np.testing.assert_array_equal(iterate.fold(), w)
    iterate.unfold()
    assert iterate.W.dtype == np.float64
    assert iterate.m == 3
    total = np.zeros_like(objective.expand(w))
    for i in (0, 3, 5):
        objective.add(memory.get(i).astype(float), i, total, 1.0)
    total = objective.compress(total)
    D = objective.separate(iterate.W, 1)
    D[len(D) - objective.n_free :] = iterate.free_sum
    np.testing.assert_allclose(D, total, atol=1e-12)
    assert not iterate.free[1].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=names)
def test_folded_in_between(options, l1, dtype):
    """A point that was folded goes on as one that was only written out."""
    objective = chains(**options)
    ends = []
    for folds in (False, True):
        memory = AllDerivatives(objective.n_terms, dtype)
        w = np.full(objective.size, 0.1)
        iterate = Iterate(objective, w, l1, 0.05, dtype, memory)
        for i in (0, 3, 5, 3, 1, 0):
            iterate.move(i, objective.term(iterate.potentials(i), i)[1], 0.1, 0.5)
            if folds:
                point = iterate.fold()
                assert point is iterate.fold()
                assert len(iterate.W) == 0
                iterate.unfold()
                assert iterate.W.dtype == dtype
            else:
                iterate.write_out()
        ends.append((iterate.fold(), iterate.folded[1]))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.any(ends[0][1])


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_points_are_written_piece_by_piece(l1, monkeypatch):
    """No row is left out, however many there are."""
    objective = chains()
    ends = []
    for n_rows in (sag_iterate.PIECE, 3):
        monkeypatch.setattr(sag_iterate, "PIECE", n_rows)
        memory = AllDerivatives(objective.n_terms, np.float64)
        iterate = Iterate(objective, np.full(objective.size, 0.1), l1, 0.05, np.float64, memory)
        for i in (0, 3, 5):
            iterate.move(i, objective.term(iterate.potentials(i), i)[1], 0.1, 0.5)
        assert max(len(V) for V, _ in iterate.parts) > 6
        ends.append(iterate.fold())
    np.testing.assert_array_equal(*ends)


def test_finer_numbers_begin_without_pulls():
    """D is then the sum of what is remembered, of which no pull may be taken away later."""
    objective = chains()
    memory = AllDerivatives(objective.n_terms, np.float32)
    w = np.full(objective.size, 0.1)
    iterate = Iterate(objective, w, 0.01, 0.05, np.float32, memory)
    iterate.move(3, objective.term(iterate.potentials(3), 3)[1], 0.1, 0.5)
    iterate.fold()
    assert any(np.any(pull) for pull in iterate.pulls)
    iterate.refine(np.float64)
    assert [pull.shape for pull in iterate.pulls] == [V.shape for V, _ in iterate.parts]
    assert not any(np.any(pull) for pull in iterate.pulls)
    assert {pull.dtype for pull in iterate.pulls} == {np.dtype(np.float64)}


def test_go_to():
    """D stays where it is."""
    objective = chains()
    rng = np.random.default_rng(0)
    w, other = rng.normal(size=(2, objective.size))
    memory = AllDerivatives(objective.n_terms, np.float64)
    iterate = Iterate(objective, w, 0.0, 0.05, np.float64, memory)
    iterate.move(2, objective.term(iterate.potentials(2), 2)[1], 0.1, 0.5)
    iterate.fold()
    D = iterate.folded[1]
    iterate.go_to(other)
    iterate.unfold()
    np.testing.assert_array_equal(iterate.fold(), other)
    np.testing.assert_array_equal(iterate.folded[1], D)


def test_steps_and_evaluations_take_turns_to_have_memory():
    """Nothing that only evaluations need is there while terms are visited, nor the reverse."""
    objective = chains()
    evaluations = {"value_and_grad": objective.value_and_grad, "value": objective.value}
    asked = []
    iterates = []

    def spy(name, w):
        asked.append(name)
        for iterate in iterates:
            assert len(iterate.W) == 0
        return evaluations[name](w)

    class Spied(Iterate):
        def __init__(self, *args):
            super().__init__(*args)
            iterates.append(self)

        def move(self, *args):
            assert "_W" not in vars(objective)
            assert "_transpose" not in vars(objective) or "R" not in vars(objective._transpose)
            super().move(*args)

    for name in evaluations:
        setattr(objective, name, partial(spy, name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Iterate", Spied)
        found = SAG(objective, l2=0.02)
    assert found.converged
    assert set(asked) == set(evaluations)
    assert iterates
    assert objective.is_rare


@pytest.mark.parametrize(
    ("steep", "expected"),
    [
        (0.0, [("value", 8), ("value", 16), ("value_and_grad", 18)]),
        (np.inf, [("value_and_grad", n) for n in (4, 8, 12, 16, 18)]),
    ],
)
def test_a_point_whose_value_still_falls_can_wait(steep, expected, monkeypatch):
    """It is evaluated later, and without the gradient, but for the last one. Whether to give up is
    asked of gradients alone.
    """
    objective = chains()
    passes = []
    judged = []

    def hopeless(n_iter, flattest):
        assert np.isfinite(flattest)
        judged.append(n_iter)

    asked = []

    def spy(name, evaluate, w):
        asked.append((name, len(passes) and len(passes) + 1))
        return evaluate(w)

    for name in ("value", "value_and_grad"):
        setattr(objective, name, partial(spy, name, getattr(objective, name)))
    monkeypatch.setattr(module, "STEEP", steep)
    # steps that are short enough for each pass to lower the value
    monkeypatch.setattr(module.Curvature, "value", 300.0)
    monkeypatch.setattr(module.Course, "follow", lambda self, w: None)
    solver = SAG._replace(function=partial(sag, hopeless=hopeless))
    found = solver(objective, l2=0.05, max_iter=18, callback=lambda *at: passes.append(at))
    assert asked == [("value", 0), *expected]
    assert found.n_iter == 18
    assert judged == [n_iter for name, n_iter in expected if name == "value_and_grad"]


def test_the_gradient_where_nothing_is_better_than_zero(monkeypatch):
    """At first only the value there is known."""
    objective = chains()
    monkeypatch.setattr(module.Curvature, "value", 1e-4)
    found = SAG(objective, l2=0.05, max_iter=1)
    assert not np.any(found.w)
    assert found.value == objective.value(found.w)
    assert found.steepest == np.abs(objective.value_and_grad(found.w)[1]).max() > 0
    assert (found.n_iter, found.converged) == (1, False)


def test_it_depends_on_its_generator_alone():
    contracts.assert_its_generator_decides(sag, chains(), max_iter=9)


def test_the_first_pass_from_a_warm_start_keeps_still():
    objective = chains()
    near = SAG(objective, l2=1.0, max_iter=4)
    seen = []
    found = SAG(
        objective, near.w, l2=1.0, max_iter=6, callback=lambda n_iter, w, value: seen.append(value)
    )
    assert seen[0] == near.value < objective.value_and_grad(np.zeros(objective.size))[0]
    assert seen[-1] == found.value < near.value


@pytest.mark.parametrize(
    "weight", [0.5 ** (np.arange(80) * 8.0), np.where(np.arange(80) == 7, 1e300, 1.0)]
)
def test_weights_of_any_size(weight):
    """Terms whose squared gradients are no floats are passed over where curvatures are measured."""
    found = SAG(chains(weight=weight), l2=0.1, max_iter=5)
    assert np.all(np.isfinite(found.w))


@pytest.mark.parametrize("l2", [1e17, 1e100, 1e300])
def test_penalties_of_any_size(l2):
    found = SAG(chains(), l2=l2, max_iter=5)
    assert np.abs(found.w[:-3]).max() < 1e-10


def test_a_start_that_is_worse_than_none():
    objective = chains()
    found = SAG(objective, np.full(objective.size, 1e6) * (np.arange(objective.size) % 2), l2=0.1)
    assert found.converged
    assert found.value == pytest.approx(LBFGS(objective, l2=0.1).value, rel=1e-8)


@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_a_memory_serves_other_penalties(l1):
    """The optimum is the same with what an earlier call has left, and is reached in fewer
    passes.
    """
    objective = chains()
    memory = Remembered()
    options = {"max_iter": 2000, "tol": 1e-7, "memory": memory}
    before = sag(
        objective,
        np.zeros(objective.size),
        l1=l1,
        l2=0.11,
        rng=np.random.RandomState(0),
        **options,
    )
    after = sag(objective, before.w, l1=l1, l2=0.1, rng=np.random.RandomState(0), **options)
    alone = SAG(objective, l1=l1, l2=0.1, max_iter=2000)
    assert after.converged
    assert after.value == pytest.approx(alone.value, rel=1e-9)
    assert after.n_iter < alone.n_iter
