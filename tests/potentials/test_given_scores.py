"""Checks of given scores: values, ends, numbers of threads, and what is very large."""

from __future__ import annotations

import numpy as np
import pytest
from scored_chains import case

from sklearn_struct import potentials
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError

FUNCTIONS = ["viterbi", "nbest", "sample", "marginals", "log_partition"]


def with_value(value, place, argument):
    """Scores of sequences of 1, 0 and 4 tokens, one of which is another."""
    scores = {"unary": np.zeros((5, 2)), "pairwise": np.zeros((3, 2, 2))}
    if argument == "shared":
        scores["pairwise"] = np.zeros((2, 2))
    scores[argument if argument == "unary" else "pairwise"][place] = value
    return scores


PLACES = {
    "unary": ((3, 1), "sequence 2, token 2, label 1: the score in unary is"),
    "pairwise": ((1, 1, 0), "sequence 2, tokens 1 and 2, labels 1 and 0: the score in pairwise is"),
    "shared": ((1, 0), r"pairwise\[1, 0\] is"),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1e308])
@pytest.mark.parametrize("argument", PLACES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_score_that_is_no_score_is_named(function, argument, value):
    place, message = PLACES[argument]
    scores = with_value(value, place, argument)
    with pytest.raises(NonFiniteError, match=f"{message} .*must be -inf, which forbids, or num"):
        getattr(potentials, function)(**scores, lengths=[1, 0, 4])


def test_places_are_those_of_the_whole_data():
    given = case("tables", n_sequences=2000)
    unary = given.unary.copy()
    unary[given.tokens(1998).start + 1, 2] = np.nan
    with pytest.raises(NonFiniteError, match="sequence 1998, token 1, label 2"):
        potentials.viterbi(unary, *given.arrays[1:])
    given.pairwise[given.steps(1995).start + 2, 0, 2] = np.nan
    with pytest.raises(NonFiniteError, match="sequence 1995, tokens 2 and 3, labels 0 and 2"):
        potentials.viterbi(*given.arrays, n_jobs=2)


@pytest.mark.parametrize("end", ["start", "stop"])
def test_scores_of_ends_are_looked_at(end):
    with pytest.raises(LengthMismatchError, match=f"{end} must have a score for each of the 2"):
        potentials.viterbi(np.zeros((3, 2)), np.eye(2), **{end: [0.0]})
    with pytest.raises(NonFiniteError, match=rf"{end}\[1\] is nan"):
        potentials.viterbi(np.zeros((3, 2)), np.eye(2), **{end: [0.0, np.nan]})


def test_scores_in_the_order_of_another_machine():
    """They are computed in the same type, and so to the same bits."""
    unary = np.random.RandomState(0).normal(size=(7, 3)).astype(np.float32)
    table = np.eye(3, dtype=np.float32)
    wanted = potentials.log_partition(unary, table)
    turned = potentials.log_partition(unary.astype(">f4"), table.astype(">f4"))
    np.testing.assert_array_equal(turned, wanted)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_scores_add_up(dtype, function):
    """As large as is allowed, with both ends, and in a type whose sums are larger."""
    high = np.finfo(dtype).max / 65
    unary = np.full((40, 2), [high, -high], dtype)
    table = np.array([[high, -high], [-high, -high]], dtype)
    lengths = [9] * 4 + [4] if dtype is np.float64 else [40]
    arguments = {"start": [high, 0.0], "stop": [high, 0.0]}
    with np.errstate(over="raise", invalid="raise"):
        result = getattr(potentials, function)(unary, table, lengths, **arguments)
    if function == "marginals":
        np.testing.assert_array_equal(result, [[1.0, 0.0]] * 40)
    else:
        score = np.asarray(result if function == "log_partition" else result[1])
        n = lengths[0]
        best = score[0] if score.ndim == 1 else score[0, 0]
        assert best == pytest.approx((2 * n + 1) * float(high), rel=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_beyond_float64_are_refused(sign, function):
    high = sign * np.finfo(float).max / 65
    with pytest.raises(NonFiniteError, match="sequence 1: its scores, summed over all tokens"):
        getattr(potentials, function)(np.full((81, 2), high), np.zeros((2, 2)), [1, 80])


def test_flags_and_counts_are_looked_at():
    scores = np.zeros((3, 2)), np.eye(2)
    for n_jobs in ("2", 1.5, True):
        with pytest.raises(InputTypeError, match="n_jobs must be None or a whole number"):
            potentials.viterbi(*scores, n_jobs=n_jobs)
    with pytest.raises(ValueError, match="n_jobs cannot be 0"):
        potentials.viterbi(*scores, n_jobs=0)
    with pytest.raises(ValueError, match="n must be at least 1"):
        potentials.nbest(*scores, n=0)
    with pytest.raises(InputTypeError, match="n_samples must be a whole number"):
        potentials.sample(*scores, n_samples=2.0)
    with pytest.raises(InputTypeError, match="return_pairs must be True or False"):
        potentials.marginals(*scores, return_pairs=1)
    with pytest.raises(InputTypeError, match="return_gradient must be True or False"):
        potentials.log_partition(*scores, return_gradient="yes")
    with pytest.raises(ValueError, match="'random_state' parameter"):
        potentials.sample(*scores, random_state="seed")


def test_tables_of_pairs_are_asked_for_before_they_are_made():
    unary = np.broadcast_to(0.0, (4000, 4000))
    with pytest.raises(MemoryError, match="a table for each pair of neighbouring tokens needs"):
        potentials.marginals(unary, np.zeros((4000, 4000)), return_pairs=True)
