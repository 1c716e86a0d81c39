"""Potentials for predictions: something is possible, and no digits of the chain are lost."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.hidden_markov.em_steps import emission, with_chain
from sklearn_struct.hidden_markov.far_ends import lower_far_ends
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["IMPOSSIBLE", "possible_potentials", "relaxed_model"]

# far below what possible steps cost, so that the labellings with the fewest impossible steps win,
# and finite, so that these can be counted at all
IMPOSSIBLE = -1e4  # what relaxed models take for the logarithm of 0


def possible_potentials(model: HiddenMarkov, observed: Observed, block: Block) -> Potentials:
    """Potentials of labels up to a constant of each sequence; for sequences that the model cannot
    emit those of a model in which nothing is quite impossible.
    """
    theta = _up_to_constants(model, observed, block)
    labels = np.empty(len(theta.node), np.int32)
    score = np.empty(block.structure.n_examples)
    model.inference.argmax(theta, block.structure, labels, score)
    impossible = score == -np.inf
    if not np.any(impossible):
        return theta
    # for these sequences alone: elsewhere what is impossible stays so
    relaxed = _up_to_constants(relaxed_model(model), observed, block)
    lengths = np.diff(block.structure.offsets)
    node = np.where(np.repeat(impossible, lengths)[:, None], relaxed.node, theta.node)
    cliques = [
        np.where(np.repeat(impossible, np.diff(family.offsets))[:, None], mild, strict)
        for family, mild, strict in zip(
            block.structure.families, relaxed.cliques, theta.cliques, strict=True
        )
    ]
    return Potentials(node, tuple(cliques))


def _up_to_constants(model: HiddenMarkov, observed: Observed, block: Block) -> Potentials:
    """Potentials that keep the digits of the chain where the first or last token is far away."""
    emitted = emission(model, observed, block.tokens)
    lower_far_ends(emitted, block.structure)
    return with_chain(model, observed, emitted, block)


def relaxed_model(model: HiddenMarkov) -> HiddenMarkov:
    """A model in which nothing is impossible, but what was is very improbable."""
    markov = Markov(*(np.maximum(table, IMPOSSIBLE) for table in model.markov))
    return model._replace(
        markov=markov,
        tables=[np.maximum(table, IMPOSSIBLE) for table in model.tables],
        outcomes=np.maximum(model.outcomes, IMPOSSIBLE),
    )
