"""Hidden semi-Markov models: a hidden Markov model without transitions of a state to itself, and
how long each state lasts.

A state and how long it lasts is a segment, so sums and maxima are those over segmentations. The
code k of a token says that state k begins there, ``K + k`` that it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Block, ranges
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.hidden_markov.durations import Durations, survivors
from sklearn_struct.hidden_markov.em_steps import emission
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.possible_potentials import IMPOSSIBLE, relaxed_model
from sklearn_struct.inference.segments import decoding
from sklearn_struct.inference.segments.segment_scores import Places, Scores
from sklearn_struct.inference.segments.segment_sums import add_marginals, lattice_of, n_steps

__all__ = [
    "Segments",
    "SemiMarkov",
    "best",
    "between_states",
    "drawn",
    "joint",
    "off_diagonal",
    "possible",
    "posteriors",
    "runs",
    "segments",
    "sums",
]


class SemiMarkov(NamedTuple):
    """Log-parameters: those of a hidden Markov model whose states do not follow themselves, how
    long states last, and whether the last one may go on after the end of its sequence.
    """

    hidden: HiddenMarkov
    durations: Durations
    censored: bool

    @property
    def lengths(self) -> np.ndarray:
        """Scores of lengths (1 or 2, L, K), the last table being that of last states."""
        log_p = self.durations.log_p
        tables = [log_p, survivors(log_p)] if self.censored else [log_p]
        return np.ascontiguousarray(np.stack(tables).transpose(0, 2, 1))


class Segments(NamedTuple):
    """What inference on a few sequences takes."""

    scores: Scores
    places: Places


def segments(model: SemiMarkov, emitted: np.ndarray, offsets: np.ndarray) -> Segments:
    """Scores of segments from log-probabilities (n, K) of what tokens emit; exp of a segmentation's
    score is its joint probability with what was emitted.
    """
    start, transition, _ = model.hidden.markov
    node = emitted.copy()
    node[offsets[:-1][np.diff(offsets) > 0]] += start
    none = np.empty((0, len(start)))
    scores = Scores(node, transition[None].copy(), model.lengths, none, none, none)
    # one table of pairs and no scores of whole segments: their places are not read
    return Segments(scores, Places(offsets, offsets, offsets))


def possible(
    model: SemiMarkov,
    observed: Observed,
    block: Block,
    call: Callable[[Segments], tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Rows of tokens that a call makes of a block, which also says how probable each sequence is.

    The rows of sequences that the model cannot emit are those under a model in which nothing is
    quite impossible.
    """
    offsets = block.structure.offsets
    rows, log_p = call(segments(model, emission(model.hidden, observed, block.tokens), offsets))
    impossible = np.flatnonzero(log_p == -np.inf)
    if len(impossible):
        hidden = relaxed_model(model.hidden)
        durations = np.maximum(model.durations.log_p, IMPOSSIBLE)
        mild = SemiMarkov(hidden, model.durations._replace(log_p=durations), model.censored)
        tokens, bounds = ranges(offsets, impossible)
        emitted = emission(hidden, observed, block.tokens)[tokens]
        rows[tokens] = call(segments(mild, emitted, bounds))[0]
    return rows


def sums(of: Segments, weight: np.ndarray) -> tuple[Scores, np.ndarray]:
    """Weighted marginals of the sequences, summed over them but for tokens, and log Z of each."""
    out = Scores(*(np.zeros_like(table) for table in of.scores))
    log_Z = np.empty(len(weight))
    add_marginals(*of, weight, out, log_Z)
    return out, log_Z


def posteriors(of: Segments) -> tuple[np.ndarray, np.ndarray]:
    """The probability (n, K) of each state at each token, and log Z of each sequence."""
    out, log_Z = sums(of, np.ones(len(of.places.offsets) - 1))
    return out.node, log_Z


def best(of: Segments) -> tuple[np.ndarray, np.ndarray]:
    """The state (n,) of each token in the most probable segmentation, and the score of this."""
    codes = np.empty(len(of.scores.node), np.int32)
    patiently(lambda: decoding.argmax(*of, codes), n_steps(of.scores))
    states = codes % of.scores.node.shape[1]
    return states, joint(of, states)


def drawn(of: Segments, uniform: np.ndarray) -> np.ndarray:
    """The state (n,) of each token in a segmentation drawn by a number in [0, 1) a token."""
    codes = np.empty(len(of.scores.node), np.int32)
    room = lattice_of(*of)
    patiently(lambda: decoding.sample(*of, uniform, room, codes), 10 * n_steps(of.scores))
    states: np.ndarray = codes % of.scores.node.shape[1]
    return states


def joint(of: Segments, states: np.ndarray) -> np.ndarray:
    """Log p(x, y) of each sequence and its states (n,), -inf where a state lasts too long."""
    offsets = of.places.offsets
    codes = np.where(_begins(states, offsets), states, states + of.scores.node.shape[1])
    score = np.empty(len(offsets) - 1)
    out = Scores(*(np.zeros_like(table) for table in of.scores))
    weight = np.ones(len(score))
    decoding.add_labelling(*of, codes.astype(np.int32), weight, out, score)
    return score


def _begins(states: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """At which tokens a state begins."""
    begins = np.ones(len(states), dtype=bool)
    begins[1:] = states[1:] != states[:-1]
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    return begins


def runs(states: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first token of each run of a state, and the number of tokens in it."""
    first = np.flatnonzero(_begins(states, offsets))
    return first, np.diff(np.append(first, len(states)))


def off_diagonal(table: np.ndarray) -> np.ndarray:
    """The entries (K, K - 1) of a table of transitions that lead to another state."""
    K = len(table)
    return table[~np.eye(K, dtype=bool)].reshape(K, K - 1)


def between_states(counts: np.ndarray, smoothing: float) -> np.ndarray:
    """Log-probabilities of transitions from counts; none leads to the state itself."""
    logs = np.full(counts.shape, -np.inf)
    if len(counts) > 1:
        logs[~np.eye(len(counts), dtype=bool)] = log_ratios(off_diagonal(counts), smoothing).ravel()
    return logs
