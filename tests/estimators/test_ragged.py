"""Every estimator of sequences passes the ragged twins of scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import pytest
from public_estimators import CHAINS, small
from ragged_checks import GRAPHS, check_kinds_of_labels, check_lengths, ragged_checks

from sklearn_struct import (
    GECRF,
    HMM,
    HSMM,
    MEMM,
    ConstraintDrivenHMM,
    FactorialCRF,
    GraphCRF,
    HiddenStateClassifier,
    LatentChainCRF,
    LinearChainCRF,
    LinearChainCRFCV,
    MEstimatedCRF,
    NonHomogeneousHMM,
    PiecewiseCRF,
    PrototypeMRF,
    PseudoLikelihoodCRF,
    SemiMarkovCRF,
    SkipChainCRF,
)
from sklearn_struct.containers.ragged import object_array

CONFIGURATIONS = [
    LinearChainCRF(l1_ratio=0.5, tol=1e-3),
    LinearChainCRF(solver="newton-cg", feature_pairs="all"),
    LinearChainCRF(loss="pointwise"),
    LinearChainCRF(dtype="float32", edge_features="all", transition_features="observed"),
    LinearChainCRF(solver="sag", random_state=0, max_iter=100),
    LinearChainCRF(solver="sgd", random_state=0, max_iter=20),
    LinearChainCRF(solver="ap", random_state=0, max_iter=20),
    LinearChainCRF(solver="pa", random_state=0, max_iter=20),
    LinearChainCRF(order=2, edge_features="all", transition_features="observed"),
    LinearChainCRF(order=2, solver="newton-cg"),
    LinearChainCRF(warm_start=True, n_jobs=2),
    LinearChainCRFCV(Cs=[0.1, 1.0], cv=[([0], [0])] * 2, n_jobs=2),
    MEMM(decoder="greedy", edge_features="all"),
    MEMM(order=2, decoder="beam", beam_width=2, solver="newton-cg"),
    PseudoLikelihoodCRF(order=2, block_size=2, edge_features="all"),
    PseudoLikelihoodCRF(dtype="float32", solver="owlqn", l1_ratio=0.5),
    PiecewiseCRF(order=2, solver="sgd", random_state=0, max_iter=20),
    LatentChainCRF(solver="em", random_state=0, max_iter=20, state_transitions="left-to-right"),
    LatentChainCRF(n_init=2, random_state=0, max_iter=20, decoder="viterbi", l1_ratio=0.5),
]


@ragged_checks([LinearChainCRF()])
def test_every_form(estimator, check, form):
    check(estimator, form)


OTHERS = [small(cls) for cls in CHAINS if cls not in (GECRF, LatentChainCRF, LinearChainCRF)]


@ragged_checks([*OTHERS, LatentChainCRF(random_state=0)], forms=["arrays"])
def test_every_estimator(estimator, check, form):
    """X is read by what all have in common."""
    check(estimator, form)


@ragged_checks(CONFIGURATIONS[::2], forms=["packed csr"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_configurations_with_numbers(estimator, check, form):
    check(estimator, form)


@ragged_checks(CONFIGURATIONS[1::2], forms=["dicts"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_configurations_with_attributes(estimator, check, form):
    check(estimator, form)


@ragged_checks(
    [GECRF(), GECRF(entropy_weight=0.01, order=2), GECRF(distance="posterior")],
    forms=["arrays", "dicts"],
)
def test_labelled_features(estimator, check, form):
    check(estimator, form)


@ragged_checks(
    [
        PrototypeMRF(),
        PrototypeMRF(order=2, given_features=[0], l1_ratio=0.5, tol=1e-3),
        PrototypeMRF(solver="newton-cg", dtype="float32", tol=1e-3, n_jobs=2),
    ],
    forms=["packed csr", "dicts"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_words_and_labels(estimator, check, form):
    check(estimator, form)


@ragged_checks(
    [
        HMM(),
        HMM(covariance_type="full"),
        HSMM(max_length=10, n_jobs=2),
        NonHomogeneousHMM(transition_inputs=[1]),
        ConstraintDrivenHMM(),
    ],
    forms=["arrays", "object array", "packed"],
)
def test_hidden_markov_models(estimator, check, form):
    check(estimator, form)


@ragged_checks([HMM(order=2, stop=False, transition_smoothing=0.5)], forms=["arrays"])
def test_hidden_markov_models_of_order_2(estimator, check, form):
    check(estimator, form)


def of_segment(tokens, start, end):
    """The same in each form of X."""
    return {"length": float(end - start), "first": float(start == 0)}


def of_few_segments(tokens, start, end):
    """Some sequences have no segment with such a feature, and others have many."""
    return {f"from {start}": 1.0} if end - start > 1 else None


@ragged_checks(
    [
        SemiMarkovCRF(),
        SemiMarkovCRF(segment_features=of_few_segments),
        SemiMarkovCRF(edge_features="all", end_features="all", dtype="float32", tol=1e-3),
        SemiMarkovCRF(
            segment_features=of_segment,
            feature_pairs="all",
            allowed_transitions={None: []},  # data with other labels are read, too
            tol=1e-3,
        ),
    ],
    forms=["arrays", "dicts"],
)
def test_segments(estimator, check, form):
    check(estimator, form)


@ragged_checks(
    [MEstimatedCRF(), MEstimatedCRF(base=HMM(order=2), edge_features="all", input_features=True)],
    forms=["arrays"],
)
def test_m_estimation(estimator, check, form):
    check(estimator, form)


OF_SEQUENCES = [
    FactorialCRF(),
    FactorialCRF(inference="bp", dtype="float32"),
    FactorialCRF(reach=2),
    # all tokens are as long
    SkipChainCRF(key=len, inference="trw", max_pairs=2),
    SkipChainCRF(key=len, skip_features="either"),
]


@ragged_checks([GraphCRF()], forms=list(GRAPHS))
def test_every_form_of_graphs(estimator, check, form):
    check(estimator, form)


@ragged_checks(
    [
        GraphCRF(symmetric=True, loss="piecewise", n_jobs=2),
        GraphCRF(inference="trw", loss="pseudo", l1_ratio=0.5, warm_start=True),
        GraphCRF(inference="bp", loss="composite", dtype="float32", solver="sag", random_state=0),
        GraphCRF(n_states=2, n_init=2, solver="em", symmetric=True, random_state=0, max_iter=10),
    ],
    forms=["features of edges"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_configurations_of_graphs(estimator, check, form):
    check(estimator, form)


@ragged_checks([SkipChainCRF(), FactorialCRF()], forms=["packed csr", "dicts"])
def test_graphs_that_are_made_of_sequences(estimator, check, form):
    check(estimator, form)


@ragged_checks(OF_SEQUENCES, forms=["arrays"])
def test_configurations_of_these(estimator, check, form):
    check(estimator, form)


# labels have no lengths, and numbers that are not whole are no classes
NOT_OF_CLASSES = (check_lengths, check_kinds_of_labels)


class TokenByToken(HiddenStateClassifier):
    """A sequence is of the class of its first label, and predictions have it at each token."""

    def _read_labels(self, y, sequences, reset, unseen=None):
        if y is not None:
            some = next(labels[0] for labels in y if len(labels))
            y = [labels[0] if len(labels) else some for labels in y]
        return super()._read_labels(y, sequences, reset, unseen)

    def _by_token(self, X, rows):
        lengths = self._read_X(X, reset=False).X.lengths
        return object_array([np.repeat(rows[i : i + 1], n, axis=0) for i, n in enumerate(lengths)])

    def predict(self, X):
        labels = self._by_token(X, super().predict(X))
        return object_array([of_sequence.tolist() for of_sequence in labels])

    def predict_proba(self, X):
        return self._by_token(X, super().predict_proba(X))

    def predict_log_proba(self, X):
        return self._by_token(X, super().predict_log_proba(X))


@ragged_checks(
    [TokenByToken(2, random_state=0, max_iter=30, tol=1e-2)],
    forms=["arrays", "packed csr"],
    but=NOT_OF_CLASSES,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classes_of_sequences(estimator, check, form):
    check(estimator, form)


@ragged_checks(
    [
        TokenByToken(
            2,
            random_state=0,
            tied=True,
            state_transitions="left-to-right",
            solver="em",
            dtype="float32",
            max_iter=5,
        ),
        TokenByToken(2, random_state=0, n_init=2, l1_ratio=0.5, warm_start=True, max_iter=5),
    ],
    forms=["dicts"],
    but=NOT_OF_CLASSES,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_configurations_of_classes(estimator, check, form):
    check(estimator, form)
