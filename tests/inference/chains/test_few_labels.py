"""Sums in eight pieces, beside those of `first_order`."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains import cuts, few_labels, first_order
from sklearn_struct.inference.chains.first_order_log import log_marginals
from sklearn_struct.inference.chains.first_order_log_lists import log_expectations
from sklearn_struct.inference.chains.flat_tuples import Pairs, links

LENGTHS = {
    "one": [3001],
    "even": [130] * 8,
    "short": [1, 2, 3] * 400,
    "empty": [0, 700, 0, 0, 1300, 5, 1, 0],
    "ragged": [int(n) for n in np.random.RandomState(3).randint(0, 60, size=90)],
}


def potentials(rng, n, K, scale):
    return Pairs(scale * rng.normal(size=(n, K)), scale * rng.normal(size=(1, K * K)))


def summed(expectations, theta, structure, weight):
    """What takes the place of scores, and what is written where something was before."""
    out = Pairs(theta.node.copy(), np.full(theta.edge.shape, 3.0))
    log_Z = np.full(len(weight), 7.0)
    done = expectations(Pairs(out.node, theta.edge), structure, weight, out.edge, log_Z)
    return done, out, log_Z


def check_alike(theta, structure, weight):
    done, out, log_Z = summed(few_labels.expectations, theta, structure, weight)
    assert done
    wanted = Pairs(np.zeros(theta.node.shape), np.full(theta.edge.shape, 3.0))
    of_wanted = np.empty(len(weight))
    first_order.marginals(theta, structure, weight, wanted, of_wanted)
    np.testing.assert_allclose(out.node, wanted.node, atol=1e-10)
    np.testing.assert_allclose(out.edge, wanted.edge, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(log_Z, of_wanted, rtol=1e-12, atol=1e-10)


def check_refused(theta, structure, weight):
    """And nothing is changed."""
    done, out, _ = summed(few_labels.expectations, theta, structure, weight)
    assert not done
    np.testing.assert_array_equal(out.node, theta.node)
    assert np.all(out.edge == 3.0)


@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("K", [1, 2, 3, 5, 6, 11])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
def test_pieces_have_the_sums_of_sequences(lengths, K, scale):
    rng = np.random.RandomState(len(lengths) + K)
    structure = links(chain(np.cumsum([0, *lengths]), 1))
    theta = potentials(rng, sum(lengths), K, scale)
    check_alike(theta, structure, rng.uniform(0.5, 2.0, size=len(lengths)))


@pytest.mark.parametrize("n", range(1024, 1034))
def test_any_number_of_tokens_behind_the_last_whole_step(n):
    rng = np.random.RandomState(n)
    structure = links(chain(np.array([0, 500, n]), 1))
    check_alike(potentials(rng, n, 2, 1.0), structure, np.array([1.0, 0.25]))


def test_labels_that_are_known_or_forbidden():
    rng = np.random.RandomState(0)
    structure = links(chain(np.array([0, 400, 2000]), 1))
    theta = potentials(rng, 2000, 3, 1.0)
    theta.node[rng.uniform(size=2000) < 0.3, 1] = -np.inf
    theta.node[rng.uniform(size=2000) < 0.3, 2] = -np.inf
    check_alike(theta, structure, np.ones(2))


def test_scores_of_tokens_may_be_far_apart():
    """Whole stretches in which one label is all but impossible, and then the other."""
    structure = links(chain(np.array([0, 2000]), 1))
    theta = potentials(np.random.RandomState(0), 2000, 2, 1.0)
    theta.node[:1000, 0] -= 900.0
    theta.node[1000:, 1] -= 900.0
    check_alike(theta, structure, np.ones(1))


@pytest.mark.parametrize("K", [2, 3, 8])
@pytest.mark.parametrize("score", [60.0, 120.0])
def test_pairs_that_are_far_apart_beside_labels_that_are_known(score, K):
    """All that pairs can make small meets: alphas, rows of products, and steps between scalings."""
    rng = np.random.RandomState(K)
    structure = links(chain(np.array([0, 2000]), 1))
    for share in (0.03, 0.3):
        y = rng.randint(K, size=2000)
        known = (rng.uniform(size=2000) < share)[:, None]
        node = np.where(known & (y[:, None] != np.arange(K)), -np.inf, 0.0)
        theta = Pairs(node, score * np.eye(K).reshape(1, -1))
        done, out, log_Z = summed(few_labels.expectations, theta, structure, np.ones(1))
        if done:
            exact = Pairs(np.zeros((2000, K)), np.zeros((1, theta.edge.shape[1])))
            log_z = log_marginals(theta, structure, 0, 1.0, exact)
            np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
            np.testing.assert_allclose(out.edge, exact.edge + 3.0, atol=1e-9)
            np.testing.assert_allclose(log_Z, log_z, rtol=1e-12)
    # where so many are known, they say enough for any number of labels
    assert done


def chains_of(kind, rng, n, K):
    """Scores of tokens and of pairs, of which some are forbidden or far apart."""
    theta = potentials(rng, n, K, 1.0)
    pairs = theta.edge.reshape(K, K)
    if kind == "left to right":
        pairs[np.tril_indices(K, -1)] = -np.inf
    elif kind == "round":
        is_next = (np.arange(K)[:, None] + [0, 1]) % K
        pairs[~np.any(is_next[:, :, None] == np.arange(K), axis=1)] = -np.inf
    else:
        pairs[rng.uniform(size=(K, K)) < 0.4] -= 200.0
    return theta


def log_sums(theta, structure, weight):
    """The sums in logarithms."""
    out = Pairs(np.zeros(theta.node.shape), np.full(theta.edge.shape, 3.0))
    log_Z = np.empty(len(weight))
    for i, share in enumerate(weight):
        log_Z[i] = log_marginals(theta, structure, i, share, out)
    return out, log_Z


@pytest.mark.parametrize("kind", ["left to right", "round", "far apart"])
@pytest.mark.parametrize("K", [2, 3, 6, 12])
@pytest.mark.parametrize("lengths", [[3000], [300] * 8, [1, 2, 997, 40, 0, 360]], ids=str)
def test_pairs_that_are_forbidden_or_far_apart(kind, K, lengths, monkeypatch):
    monkeypatch.setattr(cuts, "STEPS", 50)
    monkeypatch.setattr(few_labels, "DEAR_STEPS", 50)
    rng = np.random.RandomState(K)
    structure = links(chain(np.cumsum([0, *lengths]), 1))
    theta = chains_of(kind, rng, sum(lengths), K)
    weight = rng.uniform(0.5, 2.0, size=len(lengths))
    done, out, log_Z = summed(few_labels.expectations, theta, structure, weight)
    assert done
    exact, of_exact = log_sums(theta, structure, weight)
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12, atol=1e-10)
    # what cannot be is exactly that
    assert np.all(out.edge[theta.edge == -np.inf] == 3.0)


def test_labels_that_nothing_leads_to():
    """They have no probability at all, whatever numbers are raised to."""
    theta = chains_of("left to right", np.random.RandomState(0), 2000, 3)
    theta.node[0, :2] = -np.inf
    theta.edge[0, -1] = 5.0
    done, out, _ = summed(
        few_labels.expectations, theta, links(chain(np.array([0, 2000]), 1)), np.ones(1)
    )
    assert done
    assert np.all(out.node[:, :2] == 0.0)
    np.testing.assert_allclose(out.node[:, 2], 1.0)


def test_a_label_that_all_but_vanishes_and_wins():
    """Nothing leads from one label to the other. Each has a stretch in which it is all but
    impossible; together these decide.
    """
    structure = links(chain(np.array([0, 3000]), 1))
    node = np.zeros((3000, 2))
    node[1000:2000, 0] = -0.24
    node[2000:, 1] = -0.23
    edge = np.array([[0.0, -np.inf, -np.inf, 0.0]])
    theta = Pairs(node, edge)
    done, out, log_Z = summed(few_labels.expectations, theta, structure, np.ones(1))
    assert done
    exact, of_exact = log_sums(theta, structure, np.ones(1))
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12)


@pytest.mark.parametrize("makes_again", [False, True])
@pytest.mark.parametrize("far", [1.0, 30.0])
@pytest.mark.parametrize("lengths", [[3000], [500] * 7], ids=["one", "pieces of their own"])
def test_tokens_that_contradict_each_other(lengths, far, makes_again, monkeypatch):
    """What comes before a token all but rules out what comes after it. The label that would have
    underflown by then wins.
    """
    node = np.zeros((sum(lengths), 2))
    for first, n in zip(np.cumsum([0, *lengths]), lengths, strict=False):
        node[first : first + n // 2, 0] = -far * 1500 / n
        node[first + n // 2 : first + n, 1] = -far * 1600 / n
    structure = links(chain(np.cumsum([0, *lengths]), 1))
    theta = Pairs(node, np.array([[0.0, -np.inf, -np.inf, 0.0]]))
    weight = np.linspace(0.5, 2.0, len(lengths))
    calls = []

    def again(i, rows):
        calls.append("scores")
        rows[:] = node[structure.offsets[i] : structure.offsets[i + 1]]

    def logged(*arguments):
        calls.append("sums")
        log_expectations(*arguments)

    monkeypatch.setattr(few_labels, "log_expectations", logged)
    out = Pairs(node.copy(), np.full(theta.edge.shape, 3.0))
    log_Z = np.empty(len(lengths))
    assert few_labels.expectations(
        Pairs(out.node, theta.edge),
        structure,
        weight,
        out.edge,
        log_Z,
        again if makes_again else None,
    )
    assert calls == ["scores"] * (len(lengths) if makes_again else 0) + ["sums"]
    exact, of_exact = log_sums(theta, structure, weight)
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12)


def pairs_far_apart(n):
    """No pair is forbidden, but to change costs 390 nats, and to stay 370 or 380."""
    node = np.zeros((n, 2))
    node[: n // 2, 0] = -740.0 / n
    node[n // 2 :, 1] = -760.0 / n
    return Pairs(node, np.array([[0.0, -390.0, -390.0, 0.0]]))


@pytest.mark.parametrize("lengths", [[3000], [500] * 7], ids=["one", "pieces of their own"])
def test_pairs_so_far_apart_that_sums_fail(lengths):
    """Scores of pairs say that they may."""
    offsets = np.cumsum([0, *lengths])
    parts = [pairs_far_apart(n) for n in lengths]
    theta = Pairs(np.vstack([part.node for part in parts]), parts[0].edge)
    structure = links(chain(offsets, 1))
    done, out, log_Z = summed(few_labels.expectations, theta, structure, np.ones(len(lengths)))
    assert done
    exact, of_exact = log_sums(theta, structure, np.ones(len(lengths)))
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12)


@pytest.mark.parametrize("which", [[0], [3], [6], [2, 5]], ids=str)
def test_only_sequences_that_contradict_themselves_are_done_again(which, monkeypatch):
    """Others are as they would be without them, and so are sums over pairs."""
    rng = np.random.RandomState(0)
    offsets = np.arange(0, 3501, 500)
    theta = Pairs(rng.normal(size=(3500, 2)), np.array([[0.0, -np.inf, -np.inf, 0.1]]))
    for i in which:
        theta.node[offsets[i] : offsets[i] + 200, 0] -= 30.0
        theta.node[offsets[i] + 200 : offsets[i + 1], 1] -= 20.0
    weight = np.linspace(0.5, 2.0, 7)
    structure = links(chain(offsets, 1))
    done_again = []

    def logged(*arguments):
        done_again.extend(arguments[4].tolist())
        log_expectations(*arguments)

    monkeypatch.setattr(few_labels, "log_expectations", logged)
    done, out, log_Z = summed(few_labels.expectations, theta, structure, weight)
    assert done
    assert done_again == which
    exact, of_exact = log_sums(theta, structure, weight)
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12)


@pytest.mark.parametrize("token", [0, 100, 2999, 5900, 5999])
def test_labels_that_are_ruled_out_by_one_token(token):
    """Nothing leads to the other label, so that it has no probability at any token: exactly."""
    node = np.zeros((6000, 2))
    node[:, 1] = -1.0
    node[token, 1] = -np.inf
    theta = Pairs(node, np.array([[0.0, -np.inf, -np.inf, 0.0]]))
    structure = links(chain(np.array([0, 6000]), 1))
    done, out, _ = summed(few_labels.expectations, theta, structure, np.ones(1))
    assert done
    assert np.all(out.node[:, 1] == 0.0)
    np.testing.assert_array_equal(out.edge, [[6002.0, 3.0, 3.0, 3.0]])


def test_sequences_without_pairs():
    """So many that pieces would be made of them, and a table of pairs without rows."""
    rng = np.random.RandomState(0)
    structure = links(chain(np.arange(1101), 1))
    theta = Pairs(rng.normal(size=(1100, 3)), np.zeros((0, 9)))
    assert not few_labels.expectations(
        theta, structure, np.ones(1100), np.zeros((0, 9)), np.zeros(1)
    )


def impossible(theta):
    theta.node[77] = -np.inf


def not_a_number(theta):
    theta.node[1999, 1] = np.nan


def infinite(theta):
    theta.node[3, 0] = np.inf


@pytest.mark.parametrize("harm", [impossible, not_a_number, infinite])
def test_what_could_lose_something_is_left_to_others(harm):
    structure = links(chain(np.array([0, 1000, 2000]), 1))
    theta = potentials(np.random.RandomState(0), 2000, 2, 1.0)
    harm(theta)
    check_refused(theta, structure, np.ones(2))


def test_sequences_that_do_not_count_are_left_to_others():
    structure = links(chain(np.array([0, 1000, 2000]), 1))
    theta = potentials(np.random.RandomState(0), 2000, 2, 1.0)
    check_refused(theta, structure, np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("lengths", "K"),
    [
        ([few_labels.FEWEST_TOKENS - 1], 2),
        ([2000], few_labels.MOST_LABELS + 1),
        ([500] * 4, few_labels.MOST_LABELS + 1),
    ],
    ids=["few tokens", "many labels", "many labels of many sequences"],
)
def test_few_tokens_and_many_labels_are_left_to_others(lengths, K):
    structure = links(chain(np.cumsum([0, *lengths]), 1))
    theta = potentials(np.random.RandomState(0), sum(lengths), K, 1.0)
    check_refused(theta, structure, np.ones(len(lengths)))


def sticky(rng, n, K):
    """Labels that hardly ever change, and tokens that say little: nothing is forgotten soon."""
    theta = potentials(rng, n, K, 0.01)
    return Pairs(theta.node, theta.edge + 9.0 * np.eye(K).reshape(1, -1))


@pytest.mark.parametrize("lengths", [[9000], [3000, 4, 2000, 1000]], ids=["one", "four"])
def test_chains_that_forget_little(lengths, monkeypatch):
    """Products of all steps of pieces, which are short here, so that there are many of them."""
    monkeypatch.setattr(cuts, "STEPS", 100)
    rng = np.random.RandomState(0)
    structure = links(chain(np.cumsum([0, *lengths]), 1))
    check_alike(sticky(rng, sum(lengths), 3), structure, rng.uniform(1, 2, size=len(lengths)))


def test_stretches_that_forget_and_others_that_do_not(monkeypatch):
    monkeypatch.setattr(cuts, "STEPS", 100)
    rng = np.random.RandomState(0)
    theta = sticky(rng, 9000, 2)
    theta.node[2500:6000] += 12 * rng.normal(size=(3500, 2))
    check_alike(theta, links(chain(np.array([0, 9000]), 1)), np.ones(1))


def test_more_labels_that_forget_little_are_left_to_others():
    K = few_labels.PATIENT_LABELS + 1
    structure = links(chain(np.array([0, 9000]), 1))
    check_refused(sticky(np.random.RandomState(0), 9000, K), structure, np.ones(1))
