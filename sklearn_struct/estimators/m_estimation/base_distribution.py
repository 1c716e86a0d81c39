"""The distribution q0 that an M-estimated model multiplies: a hidden Markov model, or any object
with its protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, clique_sizes, n_columns
from sklearn_struct.encoding.features.template_windows import beside as positions_beside
from sklearn_struct.encoding.features.template_windows import values, windows
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.sequences import as_list, check_numbers
from sklearn_struct.estimators.hidden_markov.base_hidden_markov import BaseHiddenChain
from sklearn_struct.estimators.m_estimation.locally_uniform import locally_uniform
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.hidden_markov.em_steps import joint, potentials
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import as_states, at_least, raised
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.path_sums import StateChain, beside
from sklearn_struct.hidden_markov.possible_potentials import possible_potentials
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.objectives.expected_features import Emitted

# sums of millions of such scores still are floats
LARGEST = 1e300  # of scores that others give

__all__ = ["GivenBase", "HiddenBase", "fit_base", "read_base"]


def fit_base(base: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """A fitted copy of `base`: an estimator, one that is frozen, or "locally-uniform"."""
    if isinstance(base, str):
        return locally_uniform(X, y, sample_weight)
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    # a FrozenEstimator's `fit` does nothing, which is how a fitted base is kept
    fitted = clone(base, safe=False).fit(X, y, **options)
    return fitted.estimator if isinstance(fitted, FrozenEstimator) else fitted


def read_base(fitted: Any, order: int) -> HiddenBase | GivenBase:
    """What an M-estimated model of this order needs to know of its base."""
    if isinstance(fitted, BaseHiddenChain) and fitted._has_durations:
        raise InputTypeError(
            f"base must be a hidden Markov model without durations, not {type(fitted).__name__}; "
            "use HMM"
        )
    if isinstance(fitted, BaseHiddenChain) and fitted._has_inputs:
        raise InputTypeError(
            f"base must be a hidden Markov model without inputs, not {type(fitted).__name__}; use "
            "HMM"
        )
    if isinstance(fitted, BaseHiddenChain):
        return HiddenBase(fitted, order)
    missing = [name for name in ("classes_", "chain_scores", "sample") if not hasattr(fitted, name)]
    if missing:
        raise InputTypeError(
            "base must be a hidden Markov model or have classes_, chain_scores and sample; "
            f"{type(fitted).__name__} "
            f"has no {missing[0]}"
        )
    return GivenBase(fitted, order)


class HiddenBase:
    """A hidden Markov model; features see its values, with those out of vocabulary as such."""

    def __init__(self, model: BaseHiddenChain, order: int) -> None:
        self.model = model
        self.order = at_least(order, model.transition_logprob_)
        counted = {"poisson", "multinomial"} & set(model._kinds)
        if counted:
            raise ValueError(
                f"the base has streams with emissions={min(counted)!r}; a base may have symbols "
                "and measurements, not counts: use emissions='categorical' or 'gaussian'"
            )
        if model._lags:
            raise ValueError(
                "the base has `autoregression`, of which features have no expectation; use a base "
                "with autoregression=0"
            )
        self.columns = [c for c, known in enumerate(model.vocabulary_) if known is not None]

    def observe(self, X: Any) -> tuple[Observed, bool]:
        """X as the model reads it, and whether it is a batch of sequences of length 1."""
        sequences: Any = self.model._read_X(X, reset=False)
        # a hidden Markov model sums over numbers that are missing; features cannot
        check_numbers(SequenceArray(sequences.X.numbers, sequences.X.offsets))
        return sequences.X, sequences.flat

    def shown(
        self,
        X: Any,
        observed: Observed,
        used: np.ndarray | None,
        firsts: list[np.ndarray] | None = None,
    ) -> np.ndarray:
        """What features see of X: in training, from the tokens `used`, first occurrences as out of
        vocabulary, too. Of a part of the data `firsts` says which values of each stream, by their
        codes, come first there.
        """
        oov = getattr(self.model, "oov", None)
        if not (isinstance(oov, str) and oov == "first"):
            used = None
        return self.model._seen(observed, used, firsts)

    def values_of(self, observed: Observed, used: np.ndarray) -> list[np.ndarray]:
        """The codes of each stream of values that the tokens `used` have."""
        return [np.unique(codes[used]) for codes in observed.codes]

    def default_features(self) -> FeatureTemplates | None:
        """The values themselves; None stands for numbers.

        Raises
        ------
        ValueError
            If there are both.
        """
        if not self.columns:
            return None
        if len(self.columns) < len(self.model.vocabulary_):
            raise ValueError(
                "X has columns of values and of numbers; say by `features` what the model sees"
            )
        return FeatureTemplates([f"%x[0,{c}]" for c in self.columns])

    def potentials(self, observed: Observed, exact: bool = False) -> Callable[[Block], Potentials]:
        """What gives log q0(x, y) in a block; unless `exact`, it does so up to a constant of each
        sequence, and sequences without any way get improbable ones.
        """
        model = self._raised()
        of_block = potentials if exact else possible_potentials
        return lambda block: of_block(model, observed, block)

    def log_joint(self, observed: Observed, codes: np.ndarray) -> np.ndarray:
        """log q0(x, y) of each sequence."""
        return joint(self._raised(), observed, codes)

    def _raised(self) -> HiddenMarkov:
        model = self.model._model()
        return model._replace(markov=raised(model.markov, self.order))

    def chain(self, templates: FeatureTemplates | None) -> tuple[StateChain, Emitted]:
        """The chain for path sums, and what the features show of it: windows, or numbers too where
        `templates` is None.

        Raises
        ------
        NonFiniteError
            If sequences do not end.
        ValueError
            If a template names a column of numbers.
        """
        model = self._raised()
        start, transition, stop, label, before = as_states(model.markov)
        # 1 besides the transitions: with stop=False the end is not an event
        if np.any(transition.sum(axis=1) + stop > 1 + 1e-6):
            raise NonFiniteError(
                "expectations need a base whose sequences end by themselves: HMM(stop=True)"
            )
        if templates is None:
            distributions: Any = self.model._gaussians()
            return StateChain(start, transition, stop, label, before, []), Emitted(
                [], distributions.mean.T
            )
        emission = [self._emission(c, known)[label] for c, known in enumerate(values(templates))]
        plain = StateChain(start, transition, stop, label, before, emission)
        shapes = list(windows(templates))
        for c in {c for shape in shapes for c in shape.columns} - set(self.columns):
            raise ValueError(
                f"the base emits numbers in column {c}, of which templates have no exact "
                "expectation"
            )
        return beside(plain, *positions_beside(templates)), Emitted(
            shapes, np.empty((0, len(self.model.classes_)))
        )

    def _emission(self, c: int, known: list[Any]) -> np.ndarray:
        """Probabilities (n_labels, n) of some values of a column."""
        table = self.model.emission_logprob_[c]
        vocabulary = self.model.vocabulary_[c]
        if table is None or vocabulary is None:
            return np.zeros((len(self.model.classes_), len(known)))
        # what is not in the vocabulary has the last column
        columns = [vocabulary.get(value, table.shape[1] - 1) for value in known]
        probability: np.ndarray = np.exp(table[:, columns])
        return probability


class Scores(NamedTuple):
    """Potentials of all tokens and edges, and the bounds of the sequences."""

    node: np.ndarray
    edge: np.ndarray
    offsets: np.ndarray


class GivenBase:
    """Any other base: it gives scores of labels and of pairs, and draws sequences; features see X
    itself.
    """

    def __init__(self, model: Any, order: int) -> None:
        self.model = model
        self.order = order

    def observe(self, X: Any) -> tuple[Scores, bool]:
        """The scores of X.

        Raises
        ------
        LengthMismatchError, NonFiniteError
            If they have a wrong shape or are NaN or +inf.
        """
        K = len(self.model.classes_)
        parts = list(self.model.chain_scores(as_list(X)))
        lengths = [len(node) for node, _ in parts]
        nodes = [np.empty((0, K))]
        edges = [np.empty((0, K, K))]
        for i, (node, edge) in enumerate(parts):
            node = np.asarray(node, np.float64)
            edge = np.asarray(edge, np.float64)
            n = len(node)
            if node.shape != (n, K) or edge.shape != (max(n - 1, 0), K, K):
                raise LengthMismatchError(
                    f"X[{i}]: the base gives scores of shapes {node.shape} and {edge.shape} for "
                    f"{K} labels"
                )
            # -inf forbids and is fine; nan fails the comparison
            if not (np.all(node < LARGEST) and np.all(edge < LARGEST)):
                raise NonFiniteError(
                    f"X[{i}]: the base gives scores that are NaN, inf or beyond {LARGEST}"
                )
            nodes.append(node)
            edges.append(edge)
        pairs = np.concatenate(edges).reshape(-1, n_columns(K, 2))
        return Scores(np.concatenate(nodes), pairs, np.cumsum([0, *lengths])), False

    def shown(
        self,
        X: Any,
        observed: Scores,
        used: np.ndarray | None,
        firsts: list[np.ndarray] | None = None,
    ) -> Any:
        """X itself."""
        return X

    def values_of(self, observed: Scores, used: np.ndarray) -> list[np.ndarray]:
        """None: features see all values."""
        return []

    def default_features(self) -> FeatureTemplates:
        """There are none."""
        raise ValueError(
            "say by `features` what the model sees; only a hidden Markov model as base tells what "
            "X has"
        )

    def potentials(self, observed: Scores, exact: bool = False) -> Callable[[Block], Potentials]:
        """What gives log q0(x, y) in a block."""
        K = observed.node.shape[1]
        # it says nothing of wider cliques than pairs
        wider = [np.zeros((1, n_columns(K, size))) for size in clique_sizes(self.order)[1:]]
        return lambda block: Potentials(
            observed.node[block.tokens], (observed.edge[block.cliques[0]], *wider)
        )

    def log_joint(self, observed: Scores, codes: np.ndarray) -> np.ndarray:
        """log q0(x, y) of each sequence."""
        inference = Chain()
        theta = Potentials(observed.node, (observed.edge,))
        return inference.scores(theta, inference.structure(observed.offsets), codes)
