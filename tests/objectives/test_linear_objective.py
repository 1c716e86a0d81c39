"""The objective: value by enumeration, gradient by finite differences, bits by threads, and its
finite sum.
"""

from __future__ import annotations

import pickle

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.max_margin import MaxMargin
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.linear_terms import LinearTerms

LENGTHS = (3, 0, 1, 4, 2)
WEIGHTS = np.array([1.0, 5.0, 2.0, 0.5, 0.0])


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


def data_of(model, weight=None, total=None):
    weight = np.ones(len(model.X)) if weight is None else weight
    return TrainingData(model.structure, Evidence(model.y), weight, total)


def make(model, weight=None):
    data = data_of(model, weight)
    return LinearObjective(model.potentials, LogLikelihood(Chain()), Chain(), data)


def make_terms(model, weight=None, term_tokens=50):
    data = data_of(model, weight)
    return LinearTerms(model.potentials, LogLikelihood(Chain()), Chain(), data, term_tokens)


@pytest.fixture(params=naive.LINEAR_MODELS, ids=ids)
def model(request):
    return naive.linear_model(np.random.default_rng(0), LENGTHS, **request.param)


def by_enumeration(model, w, weight):
    """The weighted mean of -log p(y | x)."""
    potentials = model.twin(w)
    offsets = model.structure.offsets
    losses = []
    for i, twin in enumerate(naive.twins(potentials, model.structure)):
        y = tuple(model.y[offsets[i] : offsets[i + 1]].tolist())
        losses.append(float(twin.log_Z - twin.scores[twin.y.index(y)]))
    return weight @ losses / weight.sum()


def hessian_by_enumeration(model, w, weight):
    """The weighted mean of Cov(F, F), F a labelling's features: the derivatives of its score."""
    structure = model.structure
    hessian = np.zeros((len(w), len(w)))
    origin = model.twin(np.zeros_like(w))
    units = [model.twin(v) for v in np.eye(len(w))]
    assert not contracts.flat(origin).any()
    for i, twin in enumerate(naive.twins(model.twin(w), structure)):
        parts = [contracts.select(unit, structure, [i])[0] for unit in units]
        features = np.array(
            [[naive.score(*part, y) for part in parts] for y in twin.y], dtype=float
        )
        p = twin.p.astype(float)
        deviations = features - p @ features
        hessian += weight[i] * deviations.T @ (p[:, None] * deviations)
    return hessian / weight.sum()


def test_value_by_enumeration(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    objective = make(model, WEIGHTS)
    value, _ = objective.value_and_grad(w)
    assert isinstance(value, float)
    assert value == pytest.approx(by_enumeration(model, w, WEIGHTS), abs=1e-10)
    # without the gradient the same to the last bit
    assert objective.value(w) == value
    assert objective.value(0 * w) == objective.value_and_grad(0 * w)[0]


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


def bound(model, X, y):
    """The same pattern of weights on other data."""
    pattern = model.potentials.pattern
    structure = Chain(pattern.order).structure(X.offsets)
    return naive.LinearModel(bind(pattern, X, structure, np.dtype(float)), X, y)


def test_a_weight_of_two_is_a_sequence_twice():
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, LENGTHS)
    w = rng.normal(size=model.potentials.size)
    order = [0, 1, 2, 2, 3, 3, 3]
    X = model.X[order]
    tokens = np.concatenate([np.arange(*model.X.offsets[i : i + 2]) for i in order])
    twice = bound(model, X, model.y[tokens])
    expected, expected_grad = make(twice).value_and_grad(w)
    found, grad = make(model, np.array([1.0, 1.0, 2.0, 3.0, 0.0])).value_and_grad(w)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(grad, expected_grad, atol=1e-12)


class Counted(LogLikelihood):
    """The likelihood, and beside it the sum of the weights, as a loss that couples examples."""

    couples = True

    def statistics(self, batch):
        return np.array([batch.weight.sum()])

    def outer(self, statistics):
        return float(statistics[0]), LogLikelihood(Chain())


def test_what_couples_examples_is_divided_by_their_weight_too():
    model, weight, w = many_blocks()
    coupled = make(model, weight).with_loss(Counted(Chain()))
    value, grad = make(model, weight).value_and_grad(w)
    other, other_grad = coupled.value_and_grad(w)
    assert other == pytest.approx(value + 1.0, rel=1e-12)
    assert coupled.value(w) == other
    np.testing.assert_array_equal(other_grad, grad)


def test_another_loss(model):
    """The objective of another loss of the same data; the first one stays."""
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    objective = make(model, WEIGHTS)
    value, grad = objective.value_and_grad(w)
    other = objective.with_loss(MaxMargin(Chain(), margin=1.0))
    expected = LinearObjective(
        model.potentials, MaxMargin(Chain(), margin=1.0), Chain(), data_of(model, WEIGHTS)
    )
    found, found_grad = other.value_and_grad(w)
    assert (found, found_grad.tobytes()) == bits(expected.value_and_grad(w))
    assert found != value
    assert isinstance(objective.loss, LogLikelihood)
    assert bits(objective.value_and_grad(w)) == bits((value, grad))


def bits(result):
    value, grad = result
    return value, grad.tobytes()


# ---- many blocks


def many_blocks(**options):
    """More than 20 blocks, of sequences of 0 to 30 tokens."""
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, rng.integers(0, 31, size=1600), **options)
    assert len(make(model).blocks) >= 20
    return model, rng.uniform(0, 2, size=1600), rng.normal(size=model.potentials.size)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=ids)
def test_same_bits_for_any_number_of_threads(options):
    model, weight, w = many_blocks(**options)
    found = []
    for n_jobs in (1, 2, 3, 3):
        with Pool(n_jobs) as pool:
            objective = make(model, weight).on(pool)
            found.append(
                [
                    objective.value_and_grad(w),
                    (objective.value(w), objective.hess_vec(w, w[::-1])),
                    objective.value_and_grad(-w),
                ]
            )
    for others in found[1:]:
        for (value, grad), (other, other_grad) in zip(found[0], others, strict=True):
            assert value == other
            np.testing.assert_array_equal(grad, other_grad)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=ids)
@pytest.mark.parametrize("build", [make, make_terms])
def test_objectives_pickle(options, build):
    """The copy gives the same bits, on one thread or two; threads and scratch stay behind."""
    model, weight, w = many_blocks(**options)
    objective = build(model, weight)
    alone = len(pickle.dumps(objective))
    expected = bits(objective.value_and_grad(w))
    product = objective.hess_vec(w, w[::-1]).tobytes()
    with Pool(2) as pool:
        lent = objective.on(pool)
        assert bits(lent.value_and_grad(w)) == expected
        pickled = pickle.dumps(lent)
    assert len(pickled) == alone
    copied = pickle.loads(pickled)
    assert copied.pool is None
    assert bits(copied.value_and_grad(w)) == expected
    assert copied.hess_vec(w, w[::-1]).tobytes() == product
    for n_jobs in (1, 2):
        with Pool(n_jobs) as pool:
            lent = pickle.loads(pickled).on(pool)
            assert bits(lent.value_and_grad(w)) == expected
            assert lent.hess_vec(w, w[::-1]).tobytes() == product


def test_terms_pickle():
    """With their scratch in use; the copy's terms are the same."""
    model, weight, w = many_blocks()
    objective = make_terms(model, weight)
    W = objective.expand(w)
    theta = objective.forward(W, 3, 1.0)
    value, gradient = objective.term(theta, 3)
    norm = objective.squared_norm(gradient, 3)
    copied = pickle.loads(pickle.dumps(objective))
    assert (copied.n_terms, copied.n_potentials) == (objective.n_terms, objective.n_potentials)
    assert copied.forward(copied.expand(w), 3, 1.0).tobytes() == theta.tobytes()
    assert bits(copied.term(theta, 3)) == bits((value, gradient))
    assert copied.squared_norm(gradient, 3) == norm


def test_threads_are_lent():
    """To the objective that `on` returns; that which it is asked of has none."""
    objective = make(naive.linear_model(np.random.default_rng(0), LENGTHS))
    with Pool(2) as pool:
        assert objective.on(pool).pool is pool
        assert objective.pool is None


def test_the_order_of_the_sequences_does_not_matter():
    model, weight, w = many_blocks(observed=True)
    order = np.random.default_rng(1).permutation(len(weight))
    X = model.X[order]
    labels = np.split(model.y, model.X.offsets[1:-1])
    y = np.concatenate([labels[i] for i in order])
    moved = bound(model, X, y)
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
    objective = make_terms(model, weight)
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
    objective = make_terms(model, WEIGHTS)
    W = objective.expand(w)
    for i in [*range(objective.n_terms), 0]:  # one call leaves nothing behind for the next
        _, gradient = objective.term(objective.forward(W, i, 1.0), i)
        alone = objective.expand(np.zeros_like(w))
        objective.add(gradient, i, alone, 1.0)
        expected = np.sum(objective.compress(alone) ** 2)
        # products of such slopes may be taken in either layout
        assert np.sum(alone**2) == pytest.approx(expected, rel=1e-12)
        assert objective.squared_norm(gradient, i) == pytest.approx(expected, rel=1e-12)
        assert expected > 0


def test_terms_of_one_sequence():
    """Each sequence with tokens and a positive weight is a term, no other."""
    rng = np.random.default_rng(0)
    lengths = (0, 3, 0, 0, 1, 4, 2, 0)
    model = naive.linear_model(rng, lengths)
    weight = np.array([1.0, 1, 1, 0, 2, 0.5, 0, 1])
    objective = make_terms(model, weight, term_tokens=1)
    data = objective.data
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
    data = data_of(model, WEIGHTS, 2.0)
    objective = LinearObjective(model.potentials, LogLikelihood(Chain()), Chain(), data)
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
    objective = make_terms(model, weight)
    value, grad = objective.value_and_grad(w)
    assert value == pytest.approx(by_enumeration(model, w, weight), abs=1e-10)
    step = np.zeros(1)
    slope = contracts.derivative(lambda: objective.value_and_grad(w + step * direction)[0], step, 0)
    assert slope == pytest.approx(grad @ direction, abs=1e-6)
