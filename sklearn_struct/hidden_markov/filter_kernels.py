"""Passes over the tokens of a hidden Markov chain: what is known of a context by the tokens up to
it, and what later tokens add.

Numbers are logarithms, of which each row is normalised. A sum is computed of probabilities, and
again of logarithms where it is so small that terms may have underflowed. So no path is lost, and no
sequence is too long.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.hidden_markov.markov_chain import Steps

__all__ = ["backward", "forward", "windows"]

# what has underflowed is far below a sum as large as this
SAFE = 1e-200
# Below this, the highest log-density of a token is taken away before anything is added: beside a
# number as low as that of an outlier, what tells labels with equal densities apart would be lost.
FAR = -1e5


@kernel
def forward(
    chain: Steps,
    emission: np.ndarray,
    sequence: np.ndarray,
    floor: float,
    alpha: np.ndarray,
    started: np.ndarray,
    out: np.ndarray,
    score: np.ndarray,
) -> None:
    """Write the log-probability of each context given the tokens up to it (n, C), and the
    log-probability of each token given those before it (n,).

    Sequence ``sequence[t]`` of token t has come to ``alpha`` (n_sequences, C), if it has `started`;
    both are kept up to date. After a token that is impossible there, whose score is -inf, `floor`
    stands for the logarithm of 0.
    """
    C = alpha.shape[1]
    before = np.empty(C)
    total = np.empty(C)
    for t in range(len(score)):
        i = sequence[t]
        for c in range(C):
            before[c] = np.exp(alpha[i, c])
        into(chain, emission[t], 0.0, alpha[i], before, total, started[i], -np.inf, out[t])
        score[t] = normalised(out[t])
        if score[t] < FAR:
            row = emission[t]
            score[t] = far_away(chain, row, alpha[i], before, total, started[i], floor, out[t])
        started[i] = True
        for c in range(C):
            alpha[i, c] = out[t, c]


@kernel
def highest(emission: np.ndarray) -> float:
    """The highest log-density of a token, 0 if all labels are impossible."""
    top = -np.inf
    for k in range(len(emission)):
        top = max(top, emission[k])
    return top if top > -np.inf else 0.0


@kernel
def far_away(
    chain: Steps,
    emission: np.ndarray,
    alpha: np.ndarray,
    before: np.ndarray,
    total: np.ndarray,
    started: bool,
    floor: float,
    out: np.ndarray,
) -> float:
    """One token further, where its log-densities are low, or it is impossible; its score."""
    top = highest(emission)
    into(chain, emission, top, alpha, before, total, started, -np.inf, out)
    score: float = normalised(out) + top
    if score == -np.inf:
        into(chain, emission, top, alpha, before, total, started, floor, out)
        normalised(out)
    return score


@kernel
def into(
    chain: Steps,
    emission: np.ndarray,
    top: float,
    alpha: np.ndarray,
    before: np.ndarray,
    total: np.ndarray,
    started: bool,
    floor: float,
    out: np.ndarray,
) -> None:
    """One token further, without normalisation; `top` is taken away from `emission`, `before` is
    exp of `alpha`, `total` is overwritten.
    """
    start = chain.start
    transition = chain.transition
    weight = chain.weight
    first = chain.first
    stride = chain.stride
    C = len(alpha)
    K = len(emission)
    total[:] = 0.0
    if started:
        for b in range(C):
            p = before[b]
            # sums side by side, of which no one waits for another
            for k in range(K):
                total[first[b] + k] += p * weight[b, k]
    for c in range(C):
        k = c % K
        here = max(emission[k], floor) - top
        out[c] = -np.inf
        if not started:
            if c >= C - K:
                out[c] = max(start[c], floor) + here
            continue
        if total[c] > SAFE:
            out[c] = np.log(total[c]) + here
            continue
        if c >= chain.n_later:
            continue
        largest = -np.inf
        for b in range(c // K, C, stride):
            largest = max(largest, alpha[b] + max(transition[b, k], floor))
        if largest > -np.inf:
            mass = 0.0
            for b in range(c // K, C, stride):
                mass += np.exp(alpha[b] + max(transition[b, k], floor) - largest)
            out[c] = np.log(mass) + largest + here


@kernel
def normalised(row: np.ndarray) -> float:
    """Divide exp of a row by its sum, whose logarithm is returned; -inf if every entry is."""
    top = -np.inf
    for c in range(len(row)):
        top = max(top, row[c])
    if top == -np.inf:
        return top
    mass = 0.0
    for c in range(len(row)):
        # the largest first: beside it, if it is low, the logarithm of the sum would be lost
        row[c] -= top
        mass += np.exp(row[c])
    share: float = np.log(mass)
    for c in range(len(row)):
        row[c] -= share
    return top + share


@kernel
def out_of(
    chain: Steps, emission: np.ndarray, floor: float, room: np.ndarray, beta: np.ndarray
) -> None:
    """One token back: `beta` (C,) of the contexts before a token, of that of its own contexts.

    `room` (2, C) is overwritten.
    """
    first = chain.first
    transition = chain.transition
    weight = chain.weight
    C = len(beta)
    K = len(emission)
    top = -np.inf
    for c in range(C):
        room[0, c] = beta[c] + max(emission[c % K], floor)
        top = max(top, room[0, c])
    if top < FAR:
        peak = highest(emission)
        top = -np.inf
        for c in range(C):
            room[0, c] = beta[c] + (max(emission[c % K], floor) - peak)
            top = max(top, room[0, c])
    for c in range(C):
        # -inf less -inf would be NaN
        room[0, c] -= top if top > -np.inf else 0.0
        room[1, c] = np.exp(room[0, c])
    most = -np.inf
    for c in range(C):
        f = first[c]
        # four sums side by side, of which no one waits for another
        one = 0.0
        two = 0.0
        three = 0.0
        four = 0.0
        for k in range(0, K - 3, 4):
            one += weight[c, k] * room[1, f + k]
            two += weight[c, k + 1] * room[1, f + k + 1]
            three += weight[c, k + 2] * room[1, f + k + 2]
            four += weight[c, k + 3] * room[1, f + k + 3]
        for k in range(K - K % 4, K):
            one += weight[c, k] * room[1, f + k]
        total = (one + two) + (three + four)
        beta[c] = -np.inf
        if total > SAFE:
            beta[c] = np.log(total)
        else:
            largest = -np.inf
            for k in range(K):
                largest = max(largest, max(transition[c, k], floor) + room[0, first[c] + k])
            if largest > -np.inf:
                total = 0.0
                for k in range(K):
                    term = max(transition[c, k], floor) + room[0, first[c] + k]
                    total += np.exp(term - largest)
                beta[c] = np.log(total) + largest
        most = max(most, beta[c])
    for c in range(C):
        beta[c] -= most if most > -np.inf else 0.0


@kernel
def posterior(alpha: np.ndarray, beta: np.ndarray, proba: np.ndarray) -> bool:
    """Write the probabilities of labels (K,) by all tokens; False if nothing is possible."""
    K = len(proba)
    top = -np.inf
    for c in range(len(alpha)):
        top = max(top, alpha[c] + beta[c])
    if top == -np.inf:
        return False
    mass = 0.0
    for k in range(K):
        proba[k] = 0.0
    for c in range(len(alpha)):
        p = np.exp(alpha[c] + beta[c] - top)
        proba[c % K] += p
        mass += p
    for k in range(K):
        proba[k] /= mass
    return True


@kernel
def backward(
    chain: Steps,
    emission: np.ndarray,
    alpha: np.ndarray,
    floor: float,
    beta: np.ndarray,
    proba: np.ndarray,
) -> bool:
    """Write the probabilities of labels (n, K) of consecutive tokens, the last one first.

    ``beta`` (C,) is what tokens after them say; it becomes what they and these say. False if
    nothing is possible.
    """
    room = np.empty((2, len(beta)))
    for t in range(len(proba) - 1, -1, -1):
        if not posterior(alpha[t], beta, proba[t]):
            return False
        out_of(chain, emission[t], floor, room, beta)
    return True


@kernel
def windows(
    chain: Steps,
    emission: np.ndarray,
    alpha: np.ndarray,
    floor: float,
    lag: int,
    proba: np.ndarray,
) -> None:
    """Write the probabilities of labels (n, K) of tokens, each by `lag` tokens after it.

    ``emission`` has so many rows more. Where nothing is possible, `floor` stands for the logarithm
    of 0.
    """
    C = alpha.shape[1]
    room = np.empty((2, C))
    beta = np.empty(C)
    for t in range(len(proba)):
        beta[:] = 0.0
        for s in range(t + lag, t, -1):
            out_of(chain, emission[s], -np.inf, room, beta)
        if not posterior(alpha[t], beta, proba[t]):
            beta[:] = 0.0
            for s in range(t + lag, t, -1):
                out_of(chain, emission[s], floor, room, beta)
            posterior(alpha[t], beta, proba[t])
