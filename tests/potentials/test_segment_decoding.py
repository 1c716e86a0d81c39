"""Segmentations of given scores: by enumeration, and in all forms of scores."""

from __future__ import annotations

import numpy as np
import pytest
from scored_segments import CASES, case, in_form

from sklearn_struct import potentials
from sklearn_struct.exceptions import ForbiddenLabelError


def segments_of(labels, begins):
    """(start, stop, label) of one sequence."""
    starts = np.flatnonzero(begins).tolist()
    stops = [*starts[1:], len(labels)]
    assert all(
        np.all(labels[start:stop] == labels[start])
        for start, stop in zip(starts, stops, strict=False)
    )
    return [(a, b, int(labels[a])) for a, b in zip(starts, stops)]


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_best_ones_are_those_of_all(name):
    given = case(name)
    labels, begins, scores = potentials.segment_viterbi(*given)
    several, begin_several, ranked = potentials.segment_nbest(*given, n=4)
    assert labels.dtype == several.dtype == np.int32
    assert begins.dtype == begin_several.dtype == bool
    for i, twin in enumerate(given.twins()):
        here = given.tokens(i)
        order = np.argsort(-twin.scores, kind="stable")[:4]
        expected = np.full(4, -np.inf)
        expected[: len(order)] = twin.scores[order]
        np.testing.assert_allclose(scores[i], expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ranked[i], expected, rtol=1e-12, atol=1e-12)
        best = segments_of(labels[here], begins[here])
        assert twin.scores[twin.all.index(best)] == pytest.approx(scores[i])
        for r in range(4):
            if ranked[i, r] == -np.inf:
                assert np.all(several[here, r] == -1)
                assert not np.any(begin_several[here, r])
                continue
            found_one = segments_of(several[here, r], begin_several[here, r])
            assert twin.scores[twin.all.index(found_one)] == pytest.approx(ranked[i, r])


@pytest.mark.twins
def test_samples_have_their_probabilities():
    given = case("tables")
    labels, begins, scores = potentials.segment_sample(*given, n_samples=4000, random_state=0)
    log_Z = potentials.segment_log_partition(*given)
    for i, twin in enumerate(given.twins()):
        here = given.tokens(i)
        count = np.zeros(len(twin.all))
        for r in range(4000):
            count[twin.all.index(segments_of(labels[here, r], begins[here, r]))] += 1
        np.testing.assert_allclose(count / 4000, twin.p.astype(float), atol=0.04)
        one = segments_of(labels[here, 7], begins[here, 7])
        p = float(twin.p[twin.all.index(one)])
        assert np.exp(scores[i, 7] - log_Z[i]) == pytest.approx(p)
    again = potentials.segment_sample(*given, n_samples=4000, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again[0], labels)


@pytest.mark.parametrize("form", ["list", "padded"])
@pytest.mark.parametrize("name", ["shared", "tables"])
@pytest.mark.parametrize("function", ["segment_viterbi", "segment_nbest", "segment_sample"])
def test_results_have_the_form_of_the_scores(function, name, form):
    given = case(name)
    options = {"random_state": 0} if function == "segment_sample" else {}
    call = getattr(potentials, function)
    flat = call(*given, **options)
    labels, begins, scores = call(*in_form(given, form), **options)
    np.testing.assert_array_equal(scores, flat[2])
    for of_form, expected, fill in ((labels, flat[0], -1), (begins, flat[1], False)):
        for i, n in enumerate(given.lengths):
            np.testing.assert_array_equal(of_form[i][:n], expected[given.tokens(i)])
            assert np.all(of_form[i][n:] == fill)


def test_one_length_is_a_chain():
    given = case("one length", n_sequences=30)
    unary = given.segments[:, 0]
    labels, begins, scores = potentials.segment_viterbi(*given)
    expected, best = potentials.viterbi(unary, given.pairwise, given.lengths)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(scores, best)
    assert np.all(begins)
    ranked = potentials.segment_nbest(*given, n=3)[2]
    np.testing.assert_allclose(
        ranked, potentials.nbest(unary, given.pairwise, given.lengths, n=3)[1]
    )


def test_no_segmentation():
    scores = np.zeros((5, 2, 2))
    scores[3, 0] = -np.inf
    scores[2, 1] = -np.inf
    scores[3, 1] = -np.inf
    message = "sequence 1: scores of -inf allow no division into segments"
    for function in ("viterbi", "nbest", "sample", "marginals"):
        with pytest.raises(ForbiddenLabelError, match=message):
            getattr(potentials, f"segment_{function}")(scores, np.zeros((2, 2)), [2, 3])
    log_Z, gradient = potentials.segment_log_partition(
        scores, np.zeros((2, 2)), [2, 3], return_gradient=True
    )
    assert log_Z[0] == pytest.approx(np.log(6))
    assert log_Z[1] == -np.inf
    assert not np.any(gradient.segments[2:])
