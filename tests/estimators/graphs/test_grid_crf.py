"""Models of pixels: graphs whose edges are those of neighbours, with few weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_struct import Cliques, GraphCRF, GridCRF, persistence
from sklearn_struct.containers.grid_edges import contrasts, directions, edges
from sklearn_struct.exceptions import InputTypeError

SHAPES = [(2, 3), (3, 2), (1, 4), (1, 1), (3, 3)]


def images(rng, d=2, K=3, shapes=SHAPES):
    y = [rng.integers(K, size=shape) for shape in shapes]
    X = [
        rng.normal(size=(*shape, d)) + labels[..., None]
        for shape, labels in zip(shapes, y, strict=True)
    ]
    return X, y


def neighbours_of(shape, steps):
    """The pairs of neighbours by their places, in the order of the first."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    pairs = []
    for place in np.ndindex(shape):
        for step in steps:
            other = tuple(np.add(place, step))
            if all(0 <= at < n for at, n in zip(other, shape, strict=True)):
                pairs.append((int(numbers[place]), int(numbers[other])))
    return pairs


FOUR = [(0, 1), (1, 0)]
EIGHT = [(0, 1), (1, -1), (1, 0), (1, 1)]


def as_graphs(X, steps=FOUR):
    return [
        (image.reshape(-1, image.shape[-1]), neighbours_of(image.shape[:-1], steps)) for image in X
    ]


def ravelled(y):
    return [labels.ravel().tolist() for labels in y]


# ---- edges


@pytest.mark.parametrize("n", [4, 8, 6, 26])
def test_directions(n):
    steps = directions(n)
    assert len(steps) == n // 2
    # with the way back each neighbour is there once
    every = {tuple(sign * np.array(step)) for step in steps.values() for sign in (1, -1)}
    assert len(every) == n
    assert all(max(map(abs, step)) == 1 for step in every)


@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (1, 1), (0, 3), (2, 3, 2)])
@pytest.mark.parametrize("all_around", [False, True])
def test_edges(shape, all_around):
    n = {(2, False): 4, (2, True): 8, (3, False): 6, (3, True): 26}[len(shape), all_around]
    for step in directions(n).values():
        assert edges(shape, step).tolist() == [list(p) for p in neighbours_of(shape, [step])]


def test_edges_of_some_pixels():
    kept = np.array([0, 1, 3, 5])  # of 2 x 3
    assert edges((2, 3), (0, 1), kept).tolist() == [[0, 1]]
    assert edges((2, 3), (1, 0), kept).tolist() == [[0, 2]]


def test_contrasts():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    first, second = contrasts(rows, [np.array([[0, 1]]), np.array([[0, 2]])])
    assert_allclose(first, np.exp(-25 / 25))  # the mean of 25 and 0 is 12.5
    assert_allclose(second, 1.0)
    assert_allclose(contrasts(np.ones((2, 1)), [np.array([[0, 1]])])[0], 1.0)


# ---- the same graphs written out


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("neighbours", "steps"), [(4, FOUR), (8, EIGHT)])
def test_a_table_is_that_of_a_graph(symmetric, neighbours, steps):
    X, y = images(np.random.default_rng(0))
    pairwise = "symmetric" if symmetric else "table"
    crf = GridCRF(pairwise=pairwise, neighbours=neighbours, tol=1e-8, inference="exact").fit(X, y)
    graphs = as_graphs(X, steps)
    same = GraphCRF(symmetric=symmetric, tol=1e-8, inference="exact").fit(graphs, ravelled(y))
    assert_allclose(crf._w, same._w, atol=1e-5)
    assert_allclose(crf.transition_, same.transition_, atol=1e-5)
    assert_allclose(crf.log_proba(X, y), same.log_proba(graphs, ravelled(y)), atol=1e-5)
    for a, b in zip(crf.predict_proba(X), same.predict_proba(graphs), strict=True):
        assert_allclose(a.reshape(b.shape), b, atol=1e-5)
    for a, b in zip(crf.predict(X), same.predict(graphs), strict=True):
        assert a.ravel().tolist() == b


def test_directions_are_kinds_of_edges():
    X, y = images(np.random.default_rng(1))
    options = {"tol": 1e-8, "inference": "exact"}
    crf = GridCRF(pairwise="table", directions=True, **options).fit(X, y)
    graphs = []
    for image in X:
        kinds = [
            Cliques(name, neighbours_of(image.shape[:2], [step]))
            for name, step in zip(["right", "down"], FOUR, strict=True)
        ]
        graphs.append((image.reshape(-1, 2), kinds))
    same = GraphCRF(**options).fit(graphs, ravelled(y))
    for name in ("right", "down"):
        assert_allclose(crf.clique_transition_[name], same.clique_transition_[name], atol=1e-5)
    assert crf.loss_curve_[-1] == pytest.approx(same.loss_curve_[-1])
    with pytest.raises(AttributeError, match="no cliques 'edges'"):
        crf.transition_  # noqa: B018


@pytest.mark.parametrize("neighbours", [6, 26])
def test_volumes(neighbours):
    rng = np.random.default_rng(2)
    X, y = images(rng, shapes=[(2, 2, 2), (1, 2, 3), (2, 1, 2)])
    crf = GridCRF(neighbours=neighbours, pairwise="table", tol=1e-8, inference="exact").fit(X, y)
    graphs = as_graphs(X, directions(neighbours).values())
    same = GraphCRF(tol=1e-8, inference="exact").fit(graphs, ravelled(y))
    assert_allclose(crf._w, same._w, atol=1e-5)
    assert [labels.shape for labels in crf.predict(X)] == [labels.shape for labels in y]


# ---- probabilities by enumeration, from the weights that users see


def log_probability(score, shape, K, labels):
    every = [np.reshape(one, shape) for one in product(range(K), repeat=int(np.prod(shape)))]
    scores = np.array([score(one) for one in every])
    return score(labels) - np.logaddexp.reduce(scores)


def score_of_direction(crf, table, values, labels, name):
    """The sum of the scores of one direction, which has these edges and contrasts."""
    first, second = labels.ravel()[table].T
    equal = first == second
    smoothness = crf.smoothness_
    smoothness = smoothness[name] if isinstance(smoothness, dict) else smoothness
    total = smoothness * np.sum(equal)
    if crf.pairwise == "contrast":
        contrast = crf.contrast_
        contrast = contrast[name] if isinstance(contrast, dict) else contrast
        total += contrast * np.sum(values * equal)
    return total


@pytest.mark.parametrize("pairwise", ["potts", "contrast"])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("neighbours", [4, 8])
@pytest.mark.parametrize("scale", [None, "shared", "label"])
def test_probabilities(pairwise, apart, neighbours, scale):
    rng = np.random.default_rng(3)
    K = 3
    X, y = images(rng, d=K, K=K)
    pictures = [rng.normal(size=(*labels.shape, 2)) for labels in y]
    crf = GridCRF(
        pairwise=pairwise,
        directions=apart,
        neighbours=neighbours,
        unary="features" if scale is None else "scores",
        scale=scale or "shared",
        inference="exact",
        tol=1e-2,
        C=100,
    )
    given = list(zip(X, pictures, strict=True))
    crf.fit(given, y)
    n_edges = (2 if pairwise == "contrast" else 1) * (neighbours // 2 if apart else 1)
    n_nodes = {None: K * K + K, "shared": 1, "label": K}[scale]
    assert len(crf._w) == n_nodes + n_edges
    assert np.all(crf._w != 0.0)
    if scale is not None:
        assert np.shape(crf.scale_) == (() if scale == "shared" else (K,))
        assert_allclose(crf.coef_, np.diag(np.broadcast_to(crf.scale_, K)))
    for i in (0, 1, 3):
        shape = y[i].shape
        node = X[i] @ crf.coef_.T + crf.intercept_
        tables = {name: edges(shape, way) for name, way in directions(neighbours).items()}
        values = contrasts(pictures[i].reshape(-1, 2), list(tables.values()))
        ways = list(zip(tables, tables.values(), values, strict=True))

        def score(labels, node=node, ways=ways):
            of_nodes = np.take_along_axis(node, labels[..., None], axis=-1).sum()
            return of_nodes + sum(
                score_of_direction(crf, table, values, labels, name) for name, table, values in ways
            )

        expected = log_probability(score, shape, K, y[i])
        assert_allclose(crf.log_proba([given[i]], [y[i]]), expected, atol=1e-9)


def test_a_direction_without_edges_in_fit():
    """Images of one row have nothing below each other, but others that are predicted may."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6, 1, 8, 1))
    y = (X[..., 0] > 0).astype(int)
    crf = GridCRF(pairwise="contrast", directions=True, tol=1e-8).fit(X, y)
    shared = GridCRF(pairwise="contrast", tol=1e-8).fit(X, y)
    assert crf.contrast_["down"] == crf.smoothness_["down"] == 0.0
    assert crf.contrast_["right"] == pytest.approx(shared.contrast_, abs=1e-4)
    assert crf.contrast_["right"] != 0.0
    taller = rng.normal(size=(2, 3, 8, 1))
    assert crf.predict(taller).shape == (2, 3, 8)
    assert_array_equal(crf.predict(taller[:, :1]), shared.predict(taller[:, :1]))


def test_contrast_of_the_channels_themselves():
    X, y = images(np.random.default_rng(4))
    crf = GridCRF(pairwise="contrast", tol=1e-6, inference="exact")
    own = crf.fit(X, y)._w
    pictures = GridCRF(pairwise="contrast", tol=1e-6, inference="exact")
    assert_array_equal(own, pictures.fit(list(zip(X, X, strict=True)), y)._w)
    # grey pictures need no axis of channels
    grey = [image[..., 0] for image in X]
    with_axis = [image[..., :1] for image in X]
    fits = [
        GridCRF(pairwise="contrast", tol=1e-6).fit(list(zip(X, part, strict=True)), y)._w
        for part in (grey, with_axis)
    ]
    assert_array_equal(*fits)


# ---- scores


def log_scores(rng, n=10, K=3, shape=(4, 4)):
    """Pictures of blocks, and log-probabilities of a noisy classifier."""
    y = np.repeat(np.repeat(rng.integers(K, size=(n, 2, 2)), 2, axis=1), 2, axis=2)
    scores = 1.5 * np.eye(K)[y] + rng.normal(size=(n, *shape, K))
    return scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True), y


@pytest.mark.parametrize("scale", ["shared", "label"])
@pytest.mark.parametrize("loss", ["log_likelihood", "hinge", "pointwise"])
def test_scores_of_a_classifier(scale, loss):
    X, y = log_scores(np.random.default_rng(5), n=30)
    crf = GridCRF(unary="scores", scale=scale, C=10, loss=loss, random_state=0, tol=1e-3)
    crf.fit(X[:20], y[:20])
    alone = np.mean(X[20:].argmax(axis=-1) == y[20:])
    assert crf.score(X[20:], y[20:]) > alone
    assert np.all(np.asarray(crf.scale_) > 0)


@pytest.mark.parametrize("scale", ["shared", "label"])
@pytest.mark.parametrize("solver", ["sag", "newton-cg", "sgd", "owlqn"])
def test_solvers_of_scales(scale, solver):
    X, y = log_scores(np.random.default_rng(5), n=30)
    expected = GridCRF(unary="scores", scale=scale, tol=1e-7).fit(X, y)
    options = {"tol": 1e-4, "max_iter": 1000} if solver == "sgd" else {"tol": 1e-6}
    crf = GridCRF(unary="scores", scale=scale, solver=solver, random_state=0, **options).fit(X, y)
    assert_allclose(crf._w, expected._w, atol=0.05 if solver == "sgd" else 1e-4)
    assert_array_equal(crf._w, GridCRF(**crf.get_params()).set_params(n_jobs=2).fit(X, y)._w)


def test_a_label_that_is_never_seen_can_be_predicted():
    X, y = log_scores(np.random.default_rng(6))
    y[y == 1] = 2
    crf = GridCRF(unary="scores").fit(X, y)
    assert crf.classes_.tolist() == [0, 1, 2]
    sure = np.log(np.full((1, 4, 4, 3), 0.01))
    sure[..., 1] = np.log(0.98)
    assert_array_equal(crf.predict(sure), 1)


def test_labels_of_channels():
    X, y = log_scores(np.random.default_rng(7))
    expected = GridCRF(unary="scores").fit(X, y)
    names = np.array(["a", "b", "c"])
    named = GridCRF(unary="scores").fit(X, names[y])
    assert_array_equal(named.predict(X), names[expected.predict(X)])
    others = GridCRF(unary="scores").fit(X, 5 * y + 1)
    assert others.classes_.tolist() == [1, 6, 11]
    # with labels given, those of y may be few
    few = GridCRF(unary="scores", labels=names).fit(X, names[np.minimum(y, 1)])
    assert few.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="2 channels of scores, one for each label, but y has the"):
        GridCRF(unary="scores").fit(X[..., :2], y)
    with pytest.raises(ValueError, match="labels must be sorted and distinct"):
        GridCRF(unary="scores", labels=["b", "a", "c"]).fit(X, names[y])
    with pytest.raises(ValueError, match="y has the label 2, which is not in labels"):
        GridCRF(unary="scores", labels=[0, 1, 3]).fit(X, y)
    with pytest.raises(ValueError, match="labels has the shape"):
        GridCRF(unary="scores", labels=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="need unary='scores'"):
        GridCRF(labels=[0, 1, 2]).fit(X, y)


def test_labels_that_may_count_from_1():
    rng = np.random.default_rng(4)
    y = rng.integers(1, 3, size=(6, 4, 4))
    X = rng.normal(size=(6, 4, 4, 3)) + 3.0 * np.eye(3)[y - 1]
    with pytest.warns(UserWarning, match=r"label 1 but not 0.*labels=range\(1, 4\)"):
        GridCRF(unary="scores").fit(X, y)
    crf = GridCRF(unary="scores", labels=range(1, 4)).fit(X, y)
    assert crf.classes_.tolist() == [1, 2, 3]
    assert crf.scale_ > 0
    assert crf.score(X, y) > 0.9


def test_a_string_is_no_integer_to_ignore():
    X, _ = images(np.random.default_rng(5))
    with pytest.raises(InputTypeError, match="ignore_label='255' is a string, but y has integers"):
        GridCRF(ignore_label="255").fit(X, [np.ones(part.shape[:2], int) for part in X])


def test_scores_of_rows():
    """A two-dimensional X is a batch of single pixels."""
    X, y = log_scores(np.random.default_rng(8))
    rows = X.reshape(-1, 3)
    crf = GridCRF(unary="scores", tol=1e-8).fit(rows, y.ravel())
    pixels = GridCRF(unary="scores", tol=1e-8).fit(rows[:, None, None], y.reshape(-1, 1, 1))
    assert_allclose(crf._w, pixels._w, atol=1e-6)
    assert crf.smoothness_ == 0.0


# ---- pixels that are unknown, or no part of an image


def test_unknown_pixels_in_every_form():
    X, y = images(np.random.default_rng(9), K=2)
    unknown = [np.zeros(labels.shape, bool) for labels in y]
    unknown[0][0, 1] = unknown[4][1] = True
    crf = GridCRF(tol=1e-6, inference="exact")
    masked = [np.ma.array(labels, mask=mask) for labels, mask in zip(y, unknown, strict=True)]
    expected = crf.fit(X, masked)._w
    ignored = [np.where(mask, 255, labels) for labels, mask in zip(y, unknown, strict=True)]
    with_255 = GridCRF(tol=1e-6, inference="exact", ignore_label=255).fit(X, ignored)
    assert_array_equal(with_255._w, expected)
    assert with_255.classes_.tolist() == [0, 1]
    nones = [np.where(mask, None, labels) for labels, mask in zip(y, unknown, strict=True)]
    assert_array_equal(GridCRF(tol=1e-6, inference="exact").fit(X, nones)._w, expected)
    # the same as missing labels of a graph
    graphs = GraphCRF(tol=1e-8, inference="exact").fit(as_graphs(X), ravelled(nones))
    table = GridCRF(pairwise="table", tol=1e-8, inference="exact").fit(X, masked)
    assert table.loss_curve_[-1] == pytest.approx(graphs.loss_curve_[-1], rel=1e-6)
    # only what is known is scored
    right = [(a == b)[~mask] for a, b, mask in zip(crf.predict(X), y, unknown, strict=True)]
    assert crf.score(X, masked) == pytest.approx(np.mean(np.concatenate(right)))


def test_an_image_without_labels_teaches_nothing():
    X, y = images(np.random.default_rng(10))
    crf = GridCRF(tol=1e-8, inference="exact").fit(X, [*y[:-1], None])
    some = GridCRF(tol=1e-8, inference="exact").fit(X[:-1], y[:-1])
    assert_allclose(crf._w, some._w, atol=1e-5)


@pytest.mark.parametrize("loss", ["log_likelihood", "hinge", "pseudo", "pointwise"])
def test_unknown_pixels_that_are_dropped(loss):
    """They are as masked pixels of X."""
    X, y = images(np.random.default_rng(11), K=2)
    ignored = [np.where(image[..., 0] > 1.5, -1, labels) for image, labels in zip(X, y)]
    options = {"loss": loss, "tol": 1e-3, "random_state": 0}
    crf = GridCRF(ignore_label=-1, unknown="drop", **options).fit(X, ignored)
    holes = [
        np.ma.array(X_i, mask=(y_i == -1)[..., None] & np.ones(2, bool))
        for X_i, y_i in zip(X, ignored, strict=True)
    ]
    assert_array_equal(crf._w, GridCRF(**options).fit(holes, y)._w)
    # predictions have labels for all pixels
    assert not any(isinstance(labels, np.ma.MaskedArray) for labels in crf.predict(X))


def test_unknown_pixels_are_dropped_beside_masked_ones():
    """A row of masked pixels comes first; what is unknown is then as if it were masked, too."""
    X, y = images(np.random.default_rng(27), K=2, shapes=[(3, 3), (4, 3), (2, 4)])
    unknown = [image[..., 0] > 1.0 for image in X]
    masked = []
    both = []
    for image, of_image in zip(X, unknown, strict=True):
        of_image[-1, -1] = False
        first = np.zeros(of_image.shape, bool)
        first[0] = True
        masked.append(np.ma.array(image, mask=first[..., None] & np.ones(2, bool)))
        both.append(np.ma.array(image, mask=(first | of_image)[..., None] & np.ones(2, bool)))
    ignored = [np.where(of_image, -1, labels) for of_image, labels in zip(unknown, y, strict=True)]
    options = {"tol": 1e-8, "inference": "exact", "pairwise": "table"}
    crf = GridCRF(ignore_label=-1, unknown="drop", **options).fit(masked, ignored)
    same = GridCRF(**options).fit(both, y)
    assert np.all(same._w != 0.0)
    assert_allclose(crf._w, same._w, atol=1e-5)


def test_unknown_pixels_need_the_likelihood():
    X, y = images(np.random.default_rng(12))
    for options in ({"loss": "hinge"}, {"loss": "pseudo"}, {"solver": "sag"}):
        with pytest.raises(ValueError, match="unknown='drop' leaves such pixels out"):
            GridCRF(ignore_label=0, **options).fit(X, y)


def test_masked_pixels_are_no_part_of_an_image():
    """Two images in one array, between which there is nothing."""
    rng = np.random.default_rng(13)
    X, y = images(rng, shapes=[(3, 5)] * 4)
    parts = [part for image in X for part in (image[:, :2], image[:, 3:])]
    labels = [part for of_image in y for part in (of_image[:, :2], of_image[:, 3:])]
    mask = np.zeros((3, 5, 2), bool)
    mask[:, 2] = True
    masked = [np.ma.array(image, mask=mask) for image in X]
    options = {"tol": 1e-8, "inference": "exact", "pairwise": "table"}
    crf = GridCRF(**options).fit(masked, y)
    same = GridCRF(**options).fit(parts, labels)
    assert_allclose(crf._w, same._w, atol=1e-5)
    for given in (masked, np.ma.stack(masked)):
        predicted = crf.predict(given)
        assert all(np.array_equal(np.ma.getmaskarray(one), mask[..., 0]) for one in predicted)
        assert_array_equal(predicted[1][:, :2], same.predict(parts)[2])
        proba = crf.predict_proba(given)[1]
        assert_allclose(proba[:, 3:], same.predict_proba(parts)[3], atol=1e-5)
        assert np.ma.getmaskarray(proba)[:, 2].all()
    assert isinstance(crf.predict(np.ma.stack(masked)), np.ma.MaskedArray)
    assert crf.score(masked, y) == pytest.approx(same.score(parts, labels))


def test_pictures_of_masked_pixels_are_left_out():
    """Images without their first row; what is in the picture there does not count."""
    rng = np.random.default_rng(28)
    X, y = images(rng, shapes=[(3, 3)] * 4)
    pictures = [rng.normal(size=(3, 3, 2)) for _ in X]
    mask = np.zeros((3, 3, 2), bool)
    mask[0] = True
    masked = [(np.ma.array(image, mask=mask), p) for image, p in zip(X, pictures, strict=True)]
    below = [(image[1:], p[1:]) for image, p in zip(X, pictures, strict=True)]
    options = {"pairwise": "contrast", "tol": 1e-8, "inference": "exact"}
    crf = GridCRF(**options).fit(masked, y)
    same = GridCRF(**options).fit(below, [labels[1:] for labels in y])
    assert crf.contrast_ != 0.0
    assert_allclose(crf._w, same._w, atol=1e-5)
    for a, b in zip(crf.predict_proba(masked), same.predict_proba(below), strict=True):
        assert_allclose(a[1:], b, atol=1e-5)


def test_pixels_that_are_masked_in_part():
    X, y = images(np.random.default_rng(14))
    mask = np.zeros(X[1].shape, bool)
    mask[2, 0, 1] = True
    X[1] = np.ma.array(X[1], mask=mask)
    with pytest.raises(TypeError, match=r"X\[1\], pixel \(2, 0\): some channels are masked"):
        GridCRF().fit(X, y)


# ---- forms


def test_forms_of_predictions():
    rng = np.random.default_rng(15)
    X, y = images(rng, shapes=[(2, 3)] * 4)
    together = np.stack(X)
    crf = GridCRF().fit(together, np.stack(y))
    assert_array_equal(crf._w, GridCRF().fit(X, y)._w)
    assert crf.predict(together).shape == (4, 2, 3)
    assert crf.predict(together).dtype.kind == "i"
    assert crf.predict_proba(together).shape == (4, 2, 3, 3)
    assert_allclose(np.exp(crf.predict_log_proba(together)), crf.predict_proba(together))
    assert crf.predict(X).dtype == object
    assert crf.predict(X).shape == (4,)
    for a, b in zip(crf.predict(X), crf.predict(together), strict=True):
        assert_array_equal(a, b)
    # nested lists, arrays of objects, other numbers
    objects = np.empty(4, object)
    objects[:] = X
    for given in ([image.tolist() for image in X], objects, [im.astype(np.float32) for im in X]):
        assert [labels.shape for labels in crf.predict(given)] == [(2, 3)] * 4
    drawn = crf.sample(X[:2], 3, random_state=0)
    assert [one.shape for one in drawn[0]] == [(2, 3)] * 3
    marginals = crf.predict_clique_proba(X, "edges")
    assert marginals[0].shape == (7, 3, 3)


def test_strings():
    X, y = images(np.random.default_rng(16))
    names = np.array(["ape", "bee", "cat"])
    crf = GridCRF().fit(X, y)
    named = GridCRF().fit(X, [names[labels] for labels in y])
    for a, b in zip(crf.predict(X), named.predict(X), strict=True):
        assert_array_equal(names[a], b)
    ignored = GridCRF(ignore_label="ape").fit(X, [names[labels] for labels in y])
    assert ignored.classes_.tolist() == ["bee", "cat"]


def test_weights_of_pixels():
    X, y = images(np.random.default_rng(17))
    options = {"loss": "pointwise", "tol": 1e-6, "inference": "exact"}
    plain = GridCRF(**options).fit(X, y)
    ones = [np.ones(labels.shape) for labels in y]
    assert_allclose(GridCRF(**options).fit(X, y, ones)._w, plain._w, atol=1e-4)
    some = [labels != 1 for labels in y]
    other = GridCRF(**options).fit(X, y, [part.astype(float) for part in some])
    assert other.score(X, y, some) >= plain.score(X, y, some)
    with pytest.raises(ValueError, match=r"X\[0\] has 6"):
        GridCRF(**options).fit(X, y, [part[:1] for part in ones])


def test_blocks_are_arrays_of_the_shapes_of_images():
    X, y = images(np.random.default_rng(18))

    def pixel(image):
        return np.arange(image[..., 0].size).reshape(image.shape[:2])

    each = GridCRF(loss="composite", blocks=pixel, tol=1e-6).fit(X, y)
    pseudo = GridCRF(loss="pseudo", tol=1e-6).fit(X, y)
    assert_allclose(each._w, pseudo._w, atol=1e-4)


# ---- files and starts


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairwise": "contrast", "directions": True},
        {"pairwise": "symmetric", "neighbours": 8},
        {"unary": "scores"},
        {"unary": "scores", "scale": "label", "pairwise": "table"},
    ],
)
def test_files(tmp_path, options):
    X, y = images(np.random.default_rng(20), d=3)
    crf = GridCRF(tol=1e-2, **options).fit(X, y)
    assert np.any(crf._w != 0.0)
    persistence.save(crf, tmp_path / "model")
    copy = persistence.load(tmp_path / "model")
    assert copy.get_params() == crf.get_params()
    for a, b in zip(crf.predict_proba(X), copy.predict_proba(X), strict=True):
        assert_array_equal(a, b)
    persistence.save(copy, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_starts():
    X, y = images(np.random.default_rng(21), d=3)
    for options in (
        {"pairwise": "potts"},
        {"pairwise": "contrast", "directions": True},
        {"unary": "scores", "scale": "label"},
        {"unary": "scores"},
    ):
        crf = GridCRF(tol=1e-2, **options).fit(X, y)
        assert np.all(crf._w != 0.0)
        again = GridCRF(tol=1e9, **options).fit(X, y, init=crf)
        assert_allclose(again._w, crf._w)
    # a table of its own starts at that of Potts
    potts = GridCRF(tol=1e-2).fit(X, y)
    assert potts.smoothness_ != 0.0
    table = GridCRF(pairwise="table", tol=1e9).fit(X, y, init=potts)
    assert_allclose(table.transition_, potts.smoothness_ * np.eye(3))
    # and Potts where all are equal, of a graph
    graph = GraphCRF(symmetric=True, tol=1e-2).fit(as_graphs(X), ravelled(y))
    start = GridCRF(pairwise="symmetric", tol=1e9).fit(X, y, init=graph)
    assert_allclose(start._w, graph._w)


def test_predictions_see_what_fit_has_seen():
    X, y = images(np.random.default_rng(22))
    crf = GridCRF(pairwise="contrast").fit(X, y)
    expected = crf.predict_proba(X)
    crf.set_params(pairwise="table", unary="scores", directions=True, labels=[0])
    for a, b in zip(expected, crf.predict_proba(X), strict=True):
        assert_array_equal(a, b)
    # neighbours are for predictions, too
    others = crf.set_params(neighbours=8).predict_proba(X)
    assert any(not np.allclose(a, b) for a, b in zip(expected, others, strict=True))


def test_attributes_of_other_models():
    X, y = images(np.random.default_rng(23))
    table = GridCRF(pairwise="table").fit(X, y)
    for name in ("scale_", "smoothness_", "contrast_"):
        with pytest.raises(AttributeError, match=r"was (not )?fitted with"):
            getattr(table, name)
    potts = GridCRF(directions=True).fit(X, y)
    assert list(potts.smoothness_) == ["right", "down"]
    with pytest.raises(AttributeError, match="pairwise='contrast'"):
        potts.contrast_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted yet"):
        GridCRF().smoothness_  # noqa: B018


# ---- errors


def test_bad_images():
    X, y = images(np.random.default_rng(24), shapes=[(2, 3)] * 3)
    crf = GridCRF().fit(X, y)
    volume = np.zeros((1, 2, 2, 2, 2))
    for wrong, match in [
        (X[0], r"X is a single image, or images without channels, of the shape \(2, 3, 2\)"),
        ([image[..., 0] for image in X], r"X\[0\] has the shape \(2, 3\).* as x\[..., None\]"),
        (volume, r"\(n_images, h, w, n_channels\); neighbours=6 or 26 is for volumes"),
        ([volume[0]], "neighbours=6 or 26 is for volumes"),
        ([X[0], X[1][..., :1]], r"X\[1\] has 1 channels but X\[0\] has 2"),
        ([], "X has no images"),
        ("abc", "X must be a list of images or one array, got str"),
        ([None], r"X\[0\] is a NoneType"),
        ([X[0].astype(complex)], "must hold real numbers, got dtype complex128"),
        ([np.full((2, 2, 2), np.nan)], r"X\[0\], pixel \(0, 0\), channel 0: not finite"),
        ([(X[0], X[0], X[0])], r"X\[0\] is a tuple of 3 items"),
        ([(X[0], np.zeros((3, 2)))], r"but its picture has \(3, 2\)"),
        (X[0][0], "a pixel in each row, but GridCRF was fitted on images"),
        ([image[..., :1] for image in X], "1 features, but GridCRF is expecting 2"),
        ([np.zeros((2, 2, 0))], r"X\[0\] has no channels"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            crf.predict(wrong)
    volumes = GridCRF(neighbours=6)
    with pytest.raises(TypeError, match=r"X\[0\] has the shape .* of a volume is \(z, h, w"):
        volumes.fit(X, y)
    zeros = np.log(np.maximum(X[0], 0), where=X[0] > 0, out=np.full(X[0].shape, -np.inf))
    with pytest.raises(ValueError, match=r"take numpy.log\(numpy.maximum\(p, 1e-6\)\)"):
        GridCRF(unary="scores").fit([zeros], [y[0] % 2])
    spoilt = np.where(np.arange(6).reshape(2, 3) == 4, np.inf, 0.0)
    with pytest.raises(ValueError, match=r"X\[1\], pixel \(1, 1\): its picture is not finite"):
        GridCRF(pairwise="contrast").fit([X[0], (X[1], spoilt), X[2]], y)
    with pytest.raises(TypeError, match=r"X\[0\] has scores and no picture"):
        GridCRF(unary="scores", pairwise="contrast").fit(X, [labels % 2 for labels in y])


def test_bad_labels():
    X, y = images(np.random.default_rng(25), shapes=[(2, 3)] * 3)
    for wrong, match in [
        (y[:2], "X has 3 images but y has 2"),
        ([y[0], y[1].T, y[2]], r"X\[1\] has pixels \(2, 3\) but y\[1\] has \(3, 2\)"),
        ([labels.astype(float) for labels in y], r"y\[0\] has dtype float64"),
        ([None] * 3, "all pixels are unknown"),
        (None, "requires y"),
        ("abc", "y must be a list of arrays of labels"),
        ([y[0].astype(str), *y[1:]], "cannot be sorted together"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            GridCRF().fit(X, wrong)
    crf = GridCRF().fit(X, y)
    wrong = [y[0], y[1], y[2].copy()]
    wrong[2][1, 2] = 7
    with pytest.raises(ValueError, match=r"y\[2\], pixel \(1, 2\): label 7 was not seen in fit"):
        crf.log_proba(X, wrong)
    assert crf.score(X, wrong) <= crf.score(X, y)
    with pytest.raises(ValueError, match=r"label '.' was not seen"):
        crf.score(X, [labels.astype(str) for labels in y])


def test_tables_that_do_not_fit(monkeypatch):
    X, y = images(np.random.default_rng(26))

    def none_left(n_bytes, what):
        if n_bytes > 1000:
            raise MemoryError(what)

    monkeypatch.setattr("sklearn_struct.encoding.grid_cliques.reserve", none_left)
    GridCRF(pairwise="table").fit(X, y)
    with pytest.raises(MemoryError, match=r"X\[0\] has 7 edges, .* 3 x 3 labels \(with 'potts'"):
        GridCRF(pairwise="contrast").fit(X, y)
