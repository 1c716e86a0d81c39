"""What a hidden Markov model knows while a sequence goes on: labels up to a token, and tokens to
come.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import STEPS
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Block
from sklearn_struct.hidden_markov.carried_numbers import Carried
from sklearn_struct.hidden_markov.em_steps import emission
from sklearn_struct.hidden_markov.filter_kernels import backward, forward, windows
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Steps, steps
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.possible_potentials import IMPOSSIBLE

__all__ = ["Progressed", "ahead", "filtered", "smoothed"]

SLOWEST = 20  # how much longer a step of logarithms takes than one of a plain sum


class Progressed(NamedTuple):
    """How far sequences have come: log-probabilities of contexts (n_sequences, C), and whether
    there has been a token.
    """

    alpha: np.ndarray
    started: np.ndarray

    @classmethod
    def nowhere(cls, n: int, n_contexts: int) -> Progressed:
        """Sequences before their first token."""
        return cls(np.full((n, n_contexts), -np.inf), np.zeros(n, dtype=bool))

    def of(self, examples: slice) -> Progressed:
        """A view of some sequences."""
        return Progressed(self.alpha[examples], self.started[examples])


def labels_of(alpha: np.ndarray, K: int) -> np.ndarray:
    """Probabilities of labels (n, K) of the log-probabilities of contexts that end with them."""
    proba: np.ndarray = np.exp(alpha).reshape(len(alpha), -1, K).sum(axis=1)
    return proba


def filtered(
    model: HiddenMarkov,
    observed: Observed,
    block: Block,
    at: Progressed,
    carried: Carried | None = None,
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
    """Some tokens at a time: which these are, their emissions (n, K), log-probabilities of contexts
    given the tokens up to each (n, C), and of each token given those before it (n,).

    ``at`` has the sequences of the block, and goes along. ``carried`` is what earlier tokens say.
    """
    chain = steps(model.markov)
    sequence = np.repeat(np.arange(len(at.started)), np.diff(block.structure.offsets))
    first = block.tokens.start
    for rows in _pieces(block.tokens, chain):
        log_p = np.ascontiguousarray(emission(model, observed, rows))
        if carried is not None:
            carried.add(log_p, rows)
        alpha = np.empty((len(log_p), len(chain.first)))
        score = np.empty(len(log_p))
        of_rows = sequence[rows.start - first : rows.stop - first]
        forward(chain, log_p, of_rows, IMPOSSIBLE, at.alpha, at.started, alpha, score)
        yield rows, log_p, alpha, score


def smoothed(model: HiddenMarkov, observed: Observed, block: Block, lag: int) -> np.ndarray:
    """Probabilities of labels (n, K) of the tokens of a block, by the tokens up to `lag` after
    each.
    """
    chain = steps(model.markov)
    at = Progressed.nowhere(block.structure.n_examples, len(chain.first))
    parts = list(filtered(model, observed, block, at))
    proba = np.empty((block.tokens.stop - block.tokens.start, model.n_labels))
    if not parts:
        return proba
    log_p = np.concatenate([part[1] for part in parts])
    alpha = np.concatenate([part[2] for part in parts])
    offsets = block.structure.offsets
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        # from here on, all tokens that are left are used
        turn = max(begin, end - 1 - lag)
        for rows in _pieces(slice(begin, turn), chain, lag + 1):
            seen = slice(rows.start, rows.stop + lag)
            call = partial(windows, chain, log_p[seen], alpha[rows], IMPOSSIBLE, lag, proba[rows])
            # a single token takes long if the lag is long
            patiently(call, SLOWEST * (rows.stop - rows.start) * lag * chain.transition.size)
        rest = slice(turn, end)
        if not _back(chain, log_p, alpha, rest, -np.inf, proba):
            _back(chain, log_p, alpha, rest, IMPOSSIBLE, proba)
    return proba


def _back(
    chain: Steps,
    log_p: np.ndarray,
    alpha: np.ndarray,
    rest: slice,
    floor: float,
    proba: np.ndarray,
) -> bool:
    beta = np.zeros(alpha.shape[1])
    return all(
        backward(chain, log_p[rows], alpha[rows], floor, beta, proba[rows])
        for rows in reversed(list(_pieces(rest, chain)))
    )


def ahead(model: HiddenMarkov, at: Progressed, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of labels (n_sequences, n_steps, K) of the tokens to come, given that there are
    so many, and the log-probability that there are (n_sequences, n_steps).
    """
    chain = steps(model.markov)
    n = len(at.started)
    K = model.n_labels
    proba = np.empty((n * n_steps, K))
    score = np.empty(n * n_steps)
    sequence = np.repeat(np.arange(n), n_steps)
    going = Progressed(at.alpha.copy(), at.started.copy())
    for rows in _pieces(slice(0, n * n_steps), chain):
        # tokens that say nothing
        log_p = np.zeros((rows.stop - rows.start, K))
        alpha = np.empty((len(log_p), len(chain.first)))
        forward(
            chain, log_p, sequence[rows], IMPOSSIBLE, going.alpha, going.started, alpha, score[rows]
        )
        proba[rows] = labels_of(alpha, K)
    return proba.reshape(n, n_steps, K), np.cumsum(score.reshape(n, n_steps), axis=1)


def _pieces(tokens: slice, chain: Steps, n_passes: int = 1) -> Iterator[slice]:
    """Tokens for which a kernel is called at a time: between two calls Ctrl-C is heard."""
    C, K = chain.transition.shape
    n = max(STEPS // (SLOWEST * C * K * n_passes), 1)
    for first in range(tokens.start, tokens.stop, n):
        yield slice(first, min(first + n, tokens.stop))
