"""Expected counts under a generative chain, without data: sums over all sequences and labellings,
by linear systems.

The chain visits states, each of which emits one value a column, independently, until it stops. What
a window of fixed offsets shows (cells of columns, the label of a token, that of the token before)
is expected as often as the visits of its first state, times the probabilities along the window,
times the probability to stop some time after it (Smith, Vail & Lafferty, "Computationally efficient
M-estimation of log-linear structure models", ACL 2007, eqs. 8 to 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import clique_sizes, n_columns
from sklearn_struct.exceptions import NonFiniteError

__all__ = [
    "StateChain",
    "Sums",
    "Windows",
    "beside",
    "between",
    "edge_counts",
    "node_counts",
    "path_sums",
    "up_to_window",
    "window_onwards",
]


class StateChain(NamedTuple):
    """A generative chain.

    ``start`` (S,), ``transition`` (S, S) and ``stop`` (S,) are probabilities: those that leave a
    state sum to 1. ``label`` (S,) is the label of each state, -1 for the positions beside a
    sequence, and ``before`` (S,) the label of the token before, -1 where there is none or the state
    does not tell. ``emission`` has a table (S, V_c) for each column c.
    """

    start: np.ndarray
    transition: np.ndarray
    stop: np.ndarray
    label: np.ndarray
    before: np.ndarray
    emission: Sequence[np.ndarray]


class Sums(NamedTuple):
    """Expected visits of each state in a sequence, and from each state the probability to stop some
    time.
    """

    visits: np.ndarray
    ends: np.ndarray


def path_sums(chain: StateChain) -> Sums:
    """Solve i = start + T' i and o = stop + T o.

    Raises
    ------
    NonFiniteError
        If sequences have no finite expected length.
    """
    system = np.eye(len(chain.start)) - chain.transition
    try:
        visits = np.linalg.solve(system.T, chain.start)
        ends = np.linalg.solve(system, chain.stop)
    except np.linalg.LinAlgError:
        visits = ends = np.full(len(chain.start), np.nan)
    # the system may have a solution where the sum over paths has no limit, but then with negative
    # visits; those next to 0 are rounding
    if not (np.all(np.isfinite(visits)) and np.all(visits >= -1e-9)):
        raise NonFiniteError(
            "the base distribution does not end its sequences: their expected length is not finite"
        )
    return Sums(np.maximum(visits, 0.0), np.clip(ends, 0.0, 1.0))


def beside(chain: StateChain, before: int, after: int) -> StateChain:
    """The chain with states for the positions beside a sequence, `before` on its left and `after`
    on its right.

    Their codes come first in each column, as in padded templates: the position next to the
    sequence, the one beside it, and so on, left before right.
    """
    n = before + after
    S = len(chain.start)
    T = np.zeros((S + n, S + n))
    T[n:, n:] = chain.transition
    for d in range(1, before):
        T[d, d - 1] = 1.0
    for d in range(before, n - 1):
        T[d, d + 1] = 1.0
    start = np.zeros(S + n)
    stop = np.zeros(S + n)
    if before:
        start[before - 1] = 1.0
        # position 0 is next to the sequence: the ones before it are passed from the farthest
        # inwards
        T[0, n:] = chain.start
    else:
        start[n:] = chain.start
    if after:
        stop[n - 1] = 1.0
        T[n:, before] = chain.stop
    else:
        stop[n:] = chain.stop
    emission = [
        # a position beside the sequence always shows its own code, whatever the column
        np.block([[np.eye(n), np.zeros((n, e.shape[1]))], [np.zeros((S, n)), e]])
        for e in chain.emission
    ]
    label, label_before = (
        np.concatenate([np.full(n, -1), labels]) for labels in (chain.label, chain.before)
    )
    return StateChain(start, T, stop, label, label_before, emission)


class Windows(NamedTuple):
    """What some windows of the same shape show: ``codes`` (n, n_cells), each of a cell of this
    offset and column.
    """

    offsets: Sequence[int]
    columns: Sequence[int]
    codes: np.ndarray


def node_counts(chain: StateChain, sums: Sums, windows: Windows, n_labels: int) -> np.ndarray:
    """Expected number of tokens of each label (n, n_labels) around which each window is found."""
    emitted = _emitted(chain, windows, 0)
    here = _from_left(chain, sums, emitted, 0) * _from_right(chain, sums, emitted)
    counts: np.ndarray = here @ _of_label(chain, n_labels)
    return counts


def edge_counts(
    chain: StateChain, sums: Sums, windows: Windows, n_labels: int, order: int
) -> list[np.ndarray]:
    """The same for label pairs (n, K**2), j of the token before and k of this one, and in order 2
    for three labels in a row (n, K**3).
    """
    emitted = _emitted(chain, windows, -1)
    of_label = _of_label(chain, n_labels)
    K = n_labels
    left = _from_left(chain, sums, emitted, -1)
    here = np.broadcast_to(emitted.get(0, 1.0) * _from_right(chain, sums, emitted), left.shape)
    sizes = clique_sizes(order)
    tables = [np.zeros((len(windows.codes), n_columns(K, size))) for size in sizes]
    # what a state knows of labels, from its own backwards
    known = np.stack([chain.label, chain.before], axis=1)
    contexts = [known[:, : size - 1] @ K ** np.arange(size - 1) for size in sizes]
    # positions beside the sequence have no label, so no pair begins there
    for s in np.flatnonzero(chain.label >= 0):
        # of contexts of two labels, only K of all can follow each one
        following = np.flatnonzero(chain.transition[s])
        counts = left[:, s, None] * (
            (here[:, following] * chain.transition[s, following]) @ of_label[following]
        )
        for table, context, size in zip(tables, contexts, sizes, strict=True):
            # a first token has no label two places before
            if np.all(known[s, : size - 1] >= 0):
                table[:, context[s] * K : (context[s] + 1) * K] += counts
    return tables


def between(chain: StateChain) -> np.ndarray:
    """Sums over all paths from one state to another (S, S), of one transition and more: T + T T +
    ..., which is T (I - T)^-1.
    """
    paths: np.ndarray = np.linalg.solve(
        np.eye(len(chain.start)) - chain.transition, chain.transition
    )
    # what is below 0 is rounding
    np.maximum(paths, 0.0, out=paths)
    return paths


def up_to_window(chain: StateChain, sums: Sums, windows: Windows, labels: np.ndarray) -> np.ndarray:
    """Visits of each state (n, S) by the last token of each window, whose own token has one of
    `labels` (n,).

    The own token, at offset 0, belongs to the window.
    """
    emitted = _emitted(chain, windows, 0)
    at: np.ndarray = _from_left(chain, sums, emitted, 0) * (chain.label == labels[:, None])
    for offset in range(1, max(emitted) + 1):
        at = (at @ chain.transition) * emitted.get(offset, 1.0)
    return at


def window_onwards(
    chain: StateChain, sums: Sums, windows: Windows, labels: np.ndarray
) -> np.ndarray:
    """Probability from each state (n, S), that of the first token of each window, to show the
    window with its own token's label, and to stop some time.
    """
    emitted = _emitted(chain, windows, 0)
    own = emitted[0] * (chain.label == labels[:, None])
    at: np.ndarray = own * _from_right(chain, sums, emitted)
    for offset in range(-1, min(emitted) - 1, -1):
        at = (at @ chain.transition.T) * emitted.get(offset, 1.0)
    return at


def _emitted(chain: StateChain, windows: Windows, first: int) -> dict[int, np.ndarray]:
    """Probability of cells at each offset, from `first` or before on, given each state (n, S)."""
    n = len(windows.codes)
    S = len(chain.start)
    tables = {offset: np.ones((n, S)) for offset in {first, *windows.offsets}}
    for p, (offset, column) in enumerate(zip(windows.offsets, windows.columns)):
        tables[offset] = tables[offset] * chain.emission[column].T[windows.codes[:, p]]
    return tables


def _from_left(
    chain: StateChain, sums: Sums, emitted: dict[int, np.ndarray], last: int
) -> np.ndarray:
    """Visits of each state at offset `last`, with the cells up to there."""
    first = min(emitted)
    a: np.ndarray = sums.visits * emitted[first]
    for offset in range(first + 1, last + 1):
        a = (a @ chain.transition) * emitted.get(offset, 1.0)
    return a


def _from_right(chain: StateChain, sums: Sums, emitted: dict[int, np.ndarray]) -> np.ndarray:
    """Probability from each state at offset 0 to show the cells after it, and to stop some time."""
    b = np.broadcast_to(sums.ends, next(iter(emitted.values())).shape)
    for offset in range(max(emitted), 0, -1):
        b = (b * emitted.get(offset, 1.0)) @ chain.transition.T
    return b


def _of_label(chain: StateChain, n_labels: int) -> np.ndarray:
    """Which states have which label (S, n_labels)."""
    of_label: np.ndarray = chain.label[:, None] == np.arange(n_labels)
    return of_label.astype(np.float64)
