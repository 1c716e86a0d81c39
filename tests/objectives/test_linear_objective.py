"""The objective: value by enumeration, gradient by finite differences, bits by threads, and its
finite sum.
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn_struct.objectives.parameters import bind

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.structures import blocks, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData

LENGTHS = (3, 0, 1, 4, 2)
WEIGHTS = np.array([1.0, 5.0, 2.0, 0.5, 0.0])


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


def make(model, weight=None, pool=None):
    weight = np.ones(len(model.X)) if weight is None else weight
    data = TrainingData(model.X.offsets, model.y, weight)
    return LinearObjective(model.potentials, LogLikelihood(Chain()), data, pool or Pool(1))


@pytest.fixture(params=naive.LINEAR_MODELS, ids=ids)
def model(request):
    return naive.linear_model(np.random.default_rng(0), LENGTHS, **request.param)


def by_enumeration(model, w, weight):
    """The weighted mean of -log p(y | x)."""
    potentials = model.twin(w)
    structure = chain(model.X.offsets)
    losses = []
    for i, twin in enumerate(naive.twins(potentials, structure)):
        y = tuple(model.y[structure.offsets[i] : structure.offsets[i + 1]].tolist())
        losses.append(float(twin.log_Z - twin.scores[twin.y.index(y)]))
    return weight @ losses / weight.sum()


def hessian_by_enumeration(model, w, weight):
    """The weighted mean of Cov(F, F), F the features of a labelling: the derivatives of its score."""
    offsets = chain(model.X.offsets).offsets
    hessian = np.zeros((len(w), len(w)))
    origin = model.twin(np.zeros_like(w))
    units = [model.twin(v) for v in np.eye(len(w))]
    assert not origin.node.any()
    assert not origin.edge.any()
    for i, twin in enumerate(naive.twins(model.twin(w), chain(model.X.offsets))):
        tokens = slice(*offsets[i : i + 2])
        edges = slice(*chain(model.X.offsets).edge_offsets[i : i + 2])
        tables = [
            (unit.node[tokens], unit.edge if len(unit.edge) == 1 else unit.edge[edges])
            for unit in units
        ]
        features = np.array(
            [[naive.score(*table, y) for table in tables] for y in twin.y], dtype=float
        )
        p = twin.p.astype(float)
        deviations = features - p @ features
        hessian += weight[i] * deviations.T @ (p[:, None] * deviations)
    return hessian / weight.sum()


def test_value_by_enumeration(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    value, _ = make(model, WEIGHTS).value_and_grad(w)
    assert isinstance(value, float)
    assert value == pytest.approx(by_enumeration(model, w, WEIGHTS), abs=1e-10)


def test_gradient_by_finite_differences(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    objective = make(model, WEIGHTS)
    _, grad = objective.value_and_grad(w)
    assert grad.shape == (objective.size,)
    for index in range(objective.size):
        slope = contracts.derivative(lambda: objective.value_and_grad(w)[0], w, index)
        assert slope == pytest.approx(grad[index], abs=1e-6)


def test_hess_vec_by_finite_differences(model):
    rng = np.random.default_rng(1)
    w = rng.normal(size=model.potentials.size)
    v = rng.normal(size=model.potentials.size)
    step = np.zeros(1)
    objective = make(model, WEIGHTS)
    slope = contracts.derivative(lambda: objective.value_and_grad(w + step * v)[1], step, 0)
    np.testing.assert_allclose(objective.hess_vec(w, v), slope, atol=1e-8)


def test_explicit_hessian(model):
    """Entry by entry by enumeration; symmetric and positive semidefinite."""
    rng = np.random.default_rng(1)
    size = model.potentials.size
    w = rng.normal(size=size)
    objective = make(model, WEIGHTS)
    products = np.array([objective.hess_vec(w, v) for v in np.eye(size)])
    np.testing.assert_allclose(products, products.T, atol=1e-14)
    assert np.linalg.eigvalsh(products).min() >= -1e-14
    np.testing.assert_allclose(products, hessian_by_enumeration(model, w, WEIGHTS), atol=1e-10)


def test_arguments_stay_and_gradients_are_new(model):
    """Solvers add to the gradient they get."""
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    w.flags.writeable = False
    objective = make(model, WEIGHTS)
    value, grad = objective.value_and_grad(w)
    kept = grad.copy()
    grad += 100.0
    again, second = objective.value_and_grad(w)
    assert again == value
    np.testing.assert_array_equal(second, kept)


def test_a_weight_of_two_is_a_sequence_twice():
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, LENGTHS)
    w = rng.normal(size=model.potentials.size)
    order = [0, 1, 2, 2, 3, 3, 3]
    X = model.X[order]
    tokens = np.concatenate([np.arange(*model.X.offsets[i : i + 2]) for i in order])
    twice = naive.LinearModel(
        bind(model.potentials.pattern, X, np.dtype(float)), X, model.y[tokens]
    )
    expected, expected_grad = make(twice).value_and_grad(w)
    found, grad = make(model, np.array([1.0, 1.0, 2.0, 3.0, 0.0])).value_and_grad(w)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(grad, expected_grad, atol=1e-12)


class Counted(LogLikelihood):
    """The likelihood, and beside it the sum of the weights, as a loss that couples examples."""

    couples = True

    def statistics(self, potentials, y, structure, weight):
        return np.array([weight.sum()])

    def outer(self, statistics):
        return float(statistics[0]), LogLikelihood(Chain())


def test_what_couples_examples_is_divided_by_their_weight_too():
    model, weight, w = many_blocks()
    data = TrainingData(model.X.offsets, model.y, weight)
    coupled = LinearObjective(model.potentials, Counted(Chain()), data, Pool(1))
    value, grad = make(model, weight).value_and_grad(w)
    other, other_grad = coupled.value_and_grad(w)
    assert other == pytest.approx(value + 1.0, rel=1e-12)
    np.testing.assert_array_equal(other_grad, grad)


# ---- many blocks


def many_blocks(**options):
    """More than 20 blocks, of sequences of 0 to 30 tokens."""
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, rng.integers(0, 31, size=1600), **options)
    assert len(blocks(model.X.offsets, 3)) >= 20
    return model, rng.uniform(0, 2, size=1600), rng.normal(size=model.potentials.size)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=ids)
def test_same_bits_for_any_number_of_threads(options):
    model, weight, w = many_blocks(**options)
    found = []
    for n_jobs in (1, 2, 3, 3):
        with Pool(n_jobs) as pool:
            objective = make(model, weight, pool)
            found.append(
                [
                    objective.value_and_grad(w),
                    (0.0, objective.hess_vec(w, w[::-1])),
                    objective.value_and_grad(-w),
                ]
            )
    for others in found[1:]:
        for (value, grad), (other, other_grad) in zip(found[0], others, strict=True):
            assert value == other
            np.testing.assert_array_equal(grad, other_grad)


def test_the_order_of_the_sequences_does_not_matter():
    model, weight, w = many_blocks(observed=True)
    order = np.random.default_rng(1).permutation(len(weight))
    X = model.X[order]
    labels = np.split(model.y, model.X.offsets[1:-1])
    y = np.concatenate([labels[i] for i in order])
    moved = naive.LinearModel(bind(model.potentials.pattern, X, np.dtype(float)), X, y)
    value, grad = make(model, weight).value_and_grad(w)
    other, other_grad = make(moved, weight[order]).value_and_grad(w)
    assert other == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other_grad, grad, atol=1e-12)
    found = make(moved, weight[order]).hess_vec(w, w[::-1])
    expected = make(model, weight).hess_vec(w, w[::-1])
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
def test_float32_comes_near_float64(dense):
    model, weight, w = many_blocks(dense=dense)
    single, _, _ = many_blocks(dense=dense, dtype=np.float32)
    value, grad = make(model, weight).value_and_grad(w)
    found, found_grad = make(single, weight).value_and_grad(w)
    assert found_grad.dtype == np.float64
    assert found == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(found_grad, grad, atol=1e-5)
    found = make(single, weight).hess_vec(w, w[::-1])
    expected = make(model, weight).hess_vec(w, w[::-1])
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-5)


# ---- the finite sum


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=ids)
def test_terms_average_to_the_objective(options):
    model, weight, w = many_blocks(**options)
    objective = make(model, weight)
    value, grad = objective.value_and_grad(w)
    W = objective.expand(w)
    total = objective.expand(np.zeros_like(w))
    terms = []
    sizes = 0
    for i in range(objective.n_terms):
        term, gradient = objective.term(objective.forward(W, i, 1.0), i)
        objective.add(gradient, i, total, 1 / objective.n_terms)
        terms.append(term)
        sizes += len(gradient)
    assert objective.n_terms > 50
    assert objective.n_potentials == sizes
    assert np.mean(terms) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(objective.compress(total), grad, atol=1e-12)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS, ids=ids)
def test_squared_norm_of_a_term_in_the_parameters(options):
    model = naive.linear_model(np.random.default_rng(0), LENGTHS, **options)
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    objective = make(model, WEIGHTS)
    W = objective.expand(w)
    for i in [*range(objective.n_terms), 0]:  # one call leaves nothing behind for the next
        _, gradient = objective.term(objective.forward(W, i, 1.0), i)
        alone = objective.expand(np.zeros_like(w))
        objective.add(gradient, i, alone, 1.0)
        expected = np.sum(objective.compress(alone) ** 2)
        assert objective.squared_norm(gradient, i) == pytest.approx(expected, rel=1e-12)
        assert expected > 0


def test_terms_of_one_sequence():
    """Each sequence with tokens and a positive weight is a term, no other."""
    rng = np.random.default_rng(0)
    lengths = (0, 3, 0, 0, 1, 4, 2, 0)
    model = naive.linear_model(rng, lengths)
    weight = np.array([1.0, 1, 1, 0, 2, 0.5, 0, 1])
    data = TrainingData(model.X.offsets, model.y, weight)
    objective = LinearObjective(
        model.potentials, LogLikelihood(Chain()), data, Pool(1), term_tokens=1
    )
    assert data.learnable.tolist() == [False, True, False, False, True, True, False, False]
    assert data.n_examples == objective.n_terms == 3
    w = rng.normal(size=objective.size)
    values = [
        objective.term(objective.forward(objective.expand(w), i, 1.0), i)[0]
        for i in range(objective.n_terms)
    ]
    assert np.mean(values) == pytest.approx(objective.value_and_grad(w)[0], rel=1e-12)
    singles = [
        3 / weight.sum() * weight[i] * make(model, np.eye(8)[i]).value_and_grad(w)[0]
        for i in (1, 4, 5)
    ]
    np.testing.assert_allclose(values, singles)


def test_a_total_of_ones_own():
    """Sums may be divided by another number than that of the weights."""
    model = naive.linear_model(np.random.default_rng(0), LENGTHS)
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    data = TrainingData(model.X.offsets, model.y, WEIGHTS, 2.0)
    objective = LinearObjective(model.potentials, LogLikelihood(Chain()), data, Pool(1))
    value, grad = make(model, WEIGHTS).value_and_grad(w)
    found, found_grad = objective.value_and_grad(w)
    assert found == pytest.approx(value * WEIGHTS.sum() / 2, rel=1e-12)
    np.testing.assert_allclose(found_grad, grad * WEIGHTS.sum() / 2, atol=1e-12)
    assert objective.total_weight == 2.0


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.sampled_from(naive.LINEAR_MODELS),
)
@settings(max_examples=40)
def test_any_data(seed, lengths, options):
    """Shapes: the value by enumeration, the gradient along a random direction by finite
    differences.
    """
    rng = np.random.default_rng(seed)
    model = naive.linear_model(rng, [*lengths, 2, 3], **options)
    weight = rng.uniform(0.1, 2, size=len(lengths) + 2)
    w = rng.normal(size=model.potentials.size)
    direction = rng.normal(size=len(w))
    objective = make(model, weight)
    value, grad = objective.value_and_grad(w)
    assert value == pytest.approx(by_enumeration(model, w, weight), abs=1e-10)
    step = np.zeros(1)
    slope = contracts.derivative(lambda: objective.value_and_grad(w + step * direction)[0], step, 0)
    assert slope == pytest.approx(grad @ direction, abs=1e-6)
