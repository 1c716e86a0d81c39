"""Markov chains of order 1 and 2 over K labels: probabilities, potentials, counts, draws.

A context is what the next label depends on: in order 1 the label before it, c = k. In order 2 the
two labels before it, c = j * K + k for j before k, where j = K stands for the beginning of the
sequence: (K + 1) * K contexts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure, ends
from sklearn_struct.hidden_markov.densities import log_prior, log_ratios
from sklearn_struct.hidden_markov.end_kernels import add_sums_of_ends, add_to_ends

__all__ = [
    "Markov",
    "Steps",
    "as_states",
    "at_least",
    "contexts",
    "ends_itself",
    "estimate",
    "following",
    "log_likelihood",
    "n_contexts",
    "named",
    "named_shapes",
    "of_named",
    "order_of",
    "potentials",
    "prior",
    "raised",
    "reachable",
    "read_counts",
    "room",
    "steps",
    "tally",
    "terminates",
    "tokens_of_block",
    "with_unseen",
]

# an expected count that is none: inference may have raised it (`inference.chains.floored_numbers`)
NO_COUNT = 1e-100


class Markov(NamedTuple):
    """Log-probabilities; counts have the same shape.

    ``start`` (K,) of the first label, ``transition`` (C, K) of the next label in each context,
    ``stop`` (C,) of the end there. A row of ``transition`` and its ``stop`` sum to 1, or the row
    alone where ``stop`` is 1 throughout.
    """

    start: np.ndarray
    transition: np.ndarray
    stop: np.ndarray


def n_contexts(K: int, order: int) -> int:
    return K if order == 1 else (K + 1) * K


class Room(NamedTuple):
    """Of a block of EM: at most so many tokens; no more than make up so many scores of labels, or,
    if that is more, so many of the longest sequences.
    """

    tokens: int
    scores: int
    sequences: int


# by the most contexts that they serve; with few most of the eight lanes of
# `inference.chains.few_labels` have a sequence
ROOMS = {8: Room(7000, 7000, 7), 12: Room(6000, 7000, 6)}
OF_MANY = Room(3000, 10_000, 3)


def tokens_of_block(K: int, order: int, longest: int) -> int:
    """How many tokens a block of EM has, where the longest sequence has `longest`: little memory is
    needed for many short sequences, too.
    """
    C = n_contexts(K, order)
    room = next((room for most, room in ROOMS.items() if most >= C), OF_MANY)
    return min(room.tokens, max(room.scores // K, room.sequences * longest))


def order_of(transition: np.ndarray) -> int:
    """The order of a chain whose transitions have a dimension for each label that counts."""
    return transition.ndim - 1


def at_least(order: int, transition: np.ndarray) -> int:
    """The order of a chain that can be raised from these transitions, and has at least `order`."""
    return max(order, order_of(transition))


def named_shapes(K: int, order: int) -> dict[str, tuple[int, ...]]:
    """The tables that users know a chain by, and their shapes: one dimension a label."""
    shapes = {"start": (K,), "transition": (K,) * (order + 1), "stop": (K,) * order}
    return shapes if order == 1 else shapes | {"pair_start": (K, K), "single_stop": (K,)}


def named(markov: Markov) -> dict[str, np.ndarray]:
    """The tables of `named_shapes`."""
    start, transition, stop = markov
    C, K = transition.shape
    if C == K:
        return {"start": start, "transition": transition, "stop": stop}
    return {
        "start": start,
        "transition": transition[:-K].reshape(K, K, K),
        "stop": stop[:-K].reshape(K, K),
        "pair_start": transition[-K:],
        "single_stop": stop[-K:],
    }


def of_named(tables: dict[str, np.ndarray]) -> Markov:
    """The chain that has these tables of `named_shapes`."""
    transition = tables["transition"]
    stop = tables["stop"]
    if order_of(transition) == 1:
        return Markov(tables["start"], transition, stop)
    K = len(tables["start"])
    return Markov(
        tables["start"],
        np.concatenate([transition.reshape(-1, K), tables["pair_start"]]),
        np.concatenate([stop.ravel(), tables["single_stop"]]),
    )


def following(C: int, K: int) -> np.ndarray:
    """The context (C, K) to which each label leads from each context."""
    labels = np.arange(K)
    return np.broadcast_to(labels, (C, K)) if C == K else (np.arange(C) % K)[:, None] * K + labels


class Steps(NamedTuple):
    """A chain as kernels walk along it.

    ``start`` (C,) and ``transition`` (C, K) are logarithms, ``weight`` are the probabilities of
    ``transition``. Into context c come steps from ``stride * m + c // K`` for all
    m, if c is one of the first ``n_later``: no step leads into others. From context c label k leads
    to ``first[c] + k``.
    """

    start: np.ndarray
    transition: np.ndarray
    weight: np.ndarray
    first: np.ndarray
    stride: int
    n_later: int


def steps(markov: Markov) -> Steps:
    """The chain as kernels walk along it."""
    C, K = markov.transition.shape
    start = np.full(C, -np.inf)
    start[C - K :] = markov.start
    transition = np.ascontiguousarray(markov.transition, dtype=np.float64)
    first = np.ascontiguousarray(following(C, K)[:, 0], dtype=np.int64)
    later = (1, C) if C == K else (K, C - K)
    return Steps(start, transition, np.exp(transition), first, *later)


def contexts(codes: np.ndarray, structure: Structure, K: int, order: int) -> np.ndarray:
    """The context (int32) that each token makes with what is before it, -1 where a label of it is
    not known (-1).
    """
    if order == 1:
        return codes.astype(np.int32)
    # K stands for the beginning, and is overwritten where a token comes before
    before = np.full(len(codes), K)
    left, right = structure.families[0].nodes.T
    before[right] = codes[left]
    return np.where((before < 0) | (codes < 0), -1, before * K + codes).astype(np.int32)


def potentials(markov: Markov, emission: np.ndarray, structure: Structure) -> Potentials:
    """Potentials for `inference.chains`: exp of a labelling's score is its joint probability with
    what was emitted. The memory of `emission` becomes that of scores of labels.
    """
    C, K = markov.transition.shape
    node = emission
    start = np.ascontiguousarray(markov.start, dtype=np.float64)
    if C == K:
        stop = np.ascontiguousarray(markov.stop, dtype=np.float64)
        add_to_ends(start, stop, structure.offsets, node)
        return Potentials(node, (markov.transition.reshape(1, -1),))
    add_to_ends(start, np.zeros(K), structure.offsets, node)
    begins, finals, single = _places(structure)
    # a sequence of one token has no pair to which its end could be added
    node[single] += markov.stop[C - K :]
    pairs = np.zeros((len(begins), C - K))
    pairs[begins] = markov.transition[C - K :].ravel()
    pairs[finals] += markov.stop[: C - K]
    return Potentials(node, (pairs, markov.transition[: C - K].reshape(1, -1)))


def room(potentials: Potentials, structure: Structure) -> tuple[np.ndarray, ...]:
    """Zeros for the sums over pairs and triples that `read_counts` reads."""
    cliques = potentials.cliques
    if len(cliques) == 1:
        return (np.zeros(cliques[0].shape),)
    return tuple(
        np.zeros((len(family.nodes), table.shape[1]))
        for family, table in zip(structure.families, cliques, strict=True)
    )


def _places(structure: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which edges are the first, and which the last, of a sequence; the tokens that are alone in
    theirs.
    """
    first, last = ends(structure)
    left, right = structure.families[0].nodes.T
    return np.isin(left, first), np.isin(right, last), first[first == last]


def read_counts(marginals: Potentials, structure: Structure, K: int, order: int) -> Markov:
    """Expected counts of marginals, of which those of pairs were added to `room`."""
    node, (pairs, *triples) = marginals
    start, last = np.zeros((2, K))
    add_sums_of_ends(node, structure.offsets, start, last)
    if order == 1:
        transition = pairs[0] if len(pairs) == 1 else pairs.sum(axis=0)
        return Markov(start, transition.reshape(K, K), last)
    begins, finals, single = _places(structure)
    after_pairs = triples[0].sum(axis=0).reshape(-1, K)
    after_first = pairs[begins].sum(axis=0).reshape(K, K)
    stop = np.concatenate([pairs[finals].sum(axis=0), node[single].sum(axis=0)])
    return Markov(start, np.concatenate([after_pairs, after_first]), stop)


def raised(markov: Markov, order: int) -> Markov:
    """A chain of first order as one of second order, if that is asked for."""
    C, K = markov.transition.shape
    if order == 1 or C > K:
        return markov
    return Markov(markov.start, np.tile(markov.transition, (K + 1, 1)), np.tile(markov.stop, K + 1))


def as_states(markov: Markov) -> tuple[np.ndarray, ...]:
    """Contexts as states: probabilities of start, transition and stop, labels, labels before (-1
    where unknown).
    """
    C, K = markov.transition.shape
    start = np.zeros(C)
    transition = np.zeros((C, C))
    start[C - K :] = np.exp(markov.start)
    transition[np.arange(C)[:, None], following(C, K)] = np.exp(markov.transition)
    before = np.full(C, -1)
    before[: C - K] = np.arange(C - K) // K
    return start, transition, np.exp(markov.stop), np.arange(C) % K, before


def tally(
    codes: np.ndarray, structure: Structure, weight: np.ndarray, K: int, order: int
) -> Markov:
    """Counts of known labels (unknown ones are -1), those of sequence i times ``weight[i]``."""
    C = n_contexts(K, order)
    first, last = ends(structure)
    left, right = structure.families[0].nodes.T
    context = contexts(codes, structure, K, order)
    weight = np.repeat(weight, np.diff(structure.offsets))

    def count(events: np.ndarray, tokens: np.ndarray, size: int) -> np.ndarray:
        known = events >= 0
        return np.bincount(events[known], weights=weight[tokens[known]], minlength=size).astype(
            np.float64
        )

    steps = np.where(
        (context[left] < 0) | (codes[right] < 0),
        -1,
        context[left].astype(np.int64) * K + codes[right],
    )
    return Markov(
        count(codes[first], first, K),
        count(steps, right, C * K).reshape(C, K),
        count(context[last], last, C),
    )


def estimate(counts: Markov, smoothing: float, stop: bool) -> Markov:
    """The most probable chain given (expected) counts; without `stop`, ends have no probability of
    their own.
    """
    if not stop:
        transition = log_ratios(counts.transition, smoothing)
        return Markov(log_ratios(counts.start, smoothing), transition, np.zeros(len(transition)))
    # to stop is one more choice of the same row: what may follow a context and the end sum to 1
    # together
    rows = log_ratios(np.column_stack([counts.transition, counts.stop]), smoothing)
    return Markov(
        log_ratios(counts.start, smoothing), np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy()
    )


def log_likelihood(weight: np.ndarray, log_Z: np.ndarray) -> float:
    """The weighted sum of the log Z of sequences; one of weight 0 may have -inf."""
    if not weight.all():
        # 0 times -inf would be NaN
        log_Z = np.where(weight > 0, log_Z, 0.0)
    return float((weight * log_Z).sum())


def with_unseen(counts: Markov, markov: Markov, stop: bool) -> Markov:
    """Expected counts of which `estimate` makes the same as before of what follows contexts that
    are all but not expected: what is forbidden after them stays so.
    """
    expected = counts.transition.sum(axis=1) + (counts.stop if stop else 0.0)
    is_unseen = expected[:, None] < NO_COUNT
    if not np.any(is_unseen):
        return counts
    # so small a mass that smoothing is all that counts beside it
    transition = np.where(is_unseen, NO_COUNT * np.exp(markov.transition), counts.transition)
    ends = np.where(is_unseen[:, 0], NO_COUNT * np.exp(markov.stop), counts.stop)
    return Markov(counts.start, transition, ends if stop else counts.stop)


def prior(markov: Markov, smoothing: float) -> float:
    """Log-density of the prior under which `estimate` is the most probable, up to a constant."""
    return sum(log_prior(log_p, smoothing) for log_p in markov)


def reachable(possible: Markov) -> np.ndarray:
    """Which contexts (C,) a sequence can come to, given what is possible: tables of booleans."""
    C, K = possible.transition.shape
    leads = _leads(possible)
    reached = np.zeros(C, dtype=bool)
    reached[C - K :] = possible.start
    # no way without a circle is longer than there are contexts
    for _ in range(C):
        further = reached | leads[reached].any(axis=0)
        if np.array_equal(further, reached):
            break
        reached = further
    return reached


def _leads(possible: Markov) -> np.ndarray:
    """Which contexts lead to which in one step (C, C)."""
    C, K = possible.transition.shape
    leads = np.zeros((C, C), dtype=bool)
    leads[np.arange(C)[:, None], following(C, K)] = possible.transition
    return leads


def ends_itself(markov: Markov) -> bool:
    """Whether the end has a probability, so that sequences end by themselves."""
    return bool(np.any(markov.stop < 0)) or bool(np.all(markov.transition == -np.inf))


def terminates(markov: Markov) -> bool:
    """Whether from every context that can be reached there is a way to the end."""
    possible = Markov(*(table > -np.inf for table in markov))
    leads = _leads(possible)
    ends = possible.stop
    # no way without a circle is longer than there are contexts
    for _ in range(len(ends)):
        ends = ends | leads[:, ends].any(axis=1)
    return bool(np.all(ends[reachable(possible)]))
