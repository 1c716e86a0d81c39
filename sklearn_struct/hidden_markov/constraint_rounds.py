"""Constraint-driven learning: rounds of labelling under soft constraints, and of counting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Block
from sklearn_struct.hidden_markov.base_training import Expectation
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.emissions import Emissions
from sklearn_struct.hidden_markov.gaussians import mixed_gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, potentials, tally
from sklearn_struct.hidden_markov.moments import known_posteriors
from sklearn_struct.hidden_markov.soft_constraints import SoftConstraints
from sklearn_struct.inference.chains.chain import Chain

__all__ = ["ConstraintRounds"]


class ConstraintRounds(NamedTuple):
    """The rounds of Chang, Ratinov and Roth (ACL 2007), algorithm 1.

    ``training`` has all sequences, with the labels that are known. A round finds the ``n_best``
    labellings of each sequence under known labels and constraints, counts them with equal weights,
    and mixes the model of these counts with the ``supervised`` one, that of the labels that are
    known, which has the share ``supervised_share``.
    """

    training: Training
    supervised: HiddenMarkov
    constraints: SoftConstraints
    wanted: np.ndarray
    n_best: int
    supervised_share: float

    def expect(self, model: HiddenMarkov) -> tuple[Expectation, float]:
        """Counts of the best labellings; the sum of the scores of the best one of each sequence."""
        training = self.training
        codes, score = self.best(model)
        exists = score > -np.inf
        weight = training.weight * exists / np.maximum(exists.sum(axis=0), 1)
        K = training.n_labels

        def count(b: int) -> Expectation:
            block = training.blocks[b]
            structure = training.inference.structure(block.structure.offsets)
            lengths = np.diff(structure.offsets)
            posterior = np.zeros((structure.offsets[-1], K))
            counts = []
            for labelling, share in zip(codes, weight, strict=True):
                labels = labelling[block.tokens]
                of_block = share[block.examples]
                posterior += known_posteriors(labels, np.repeat(of_block, lengths), K)
                counts.append(tally(labels, structure, of_block, K, 1))
            markov = Markov(*(np.sum(tables, axis=0) for tables in zip(*counts, strict=True)))
            return Expectation(markov, training.emitted(block, posterior, model.gaussians))

        expected = training.pool.fold(count, Expectation.merged, len(training.blocks))
        value = float(training.weight @ np.where(exists[0], score[0], 0.0))
        return expected, value

    def maximise(self, expectation: Expectation) -> HiddenMarkov:
        """The mixture of the model of these counts with the supervised one."""
        old = self.supervised
        new = self.training.maximise(expectation)
        share = self.supervised_share
        # all streams are symbols or measurements
        return new._replace(
            markov=Markov(
                *(_mixed(share, a, b) for a, b in zip(old.markov, new.markov, strict=True))
            ),
            tables=[_mixed(share, a, b) for a, b in zip(old.tables, new.tables, strict=True)],
            gaussians=mixed_gaussians(share, old.gaussians, new.gaussians),
        )

    def best(self, model: HiddenMarkov) -> tuple[np.ndarray, np.ndarray]:
        """The best labellings (n_best, n_tokens) and their scores (n_best, n_sequences), -inf where
        a sequence has not as many.
        """
        training = self.training
        codes = np.zeros((self.n_best, len(training.codes)), np.int32)
        score = np.full((self.n_best, len(training.weight)), -np.inf)

        emissions = Emissions(model, training.observed)

        def work(b: int) -> None:
            block: Block = training.blocks[b]
            theta = potentials(
                model.markov, training.clamped(emissions, block.tokens), block.structure
            )
            states = np.zeros((self.n_best, len(theta.node)), np.int32)
            of_block = np.empty((self.n_best, block.structure.n_examples))
            wanted = self.wanted[block.tokens]
            under = self.constraints.of(theta, block.structure, wanted)
            Chain().nbest(under, block.structure, states, of_block)
            codes[:, block.tokens] = self.constraints.labels(states)
            score[:, block.examples] = of_block

        training.pool.map(work, len(training.blocks))
        return codes, score


def _mixed(share: float, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Logarithms of a mixture of probabilities."""
    with np.errstate(divide="ignore"):
        mixed: np.ndarray = np.logaddexp(np.log(share) + a, np.log1p(-share) + b)
    return mixed
