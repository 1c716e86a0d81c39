"""The M step of EM for grammars with states: expected counts of rules, and their shares."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.trees import Grammar, Tensors

__all__ = ["NEVER", "divide", "weigh"]

# What is expected less often gets no probability: else EM would end far below, among the smallest
# floats, which are slow and lose their digits.
NEVER = 1e-30


@kernel
def weigh(
    tensors: Tensors,
    grammar: Grammar,
    rules: tuple[int, int],
    shrinkage: float,
    out: np.ndarray,
    total: np.ndarray,
) -> None:
    """Turn moments into expected counts, and add these to the totals of the parents' states.

    A count is a moment in `out` times its number in the tensors, moved by `shrinkage` towards the
    mean over the parent's states. `rules` is the range of rules to do.
    """
    for r in range(rules[0], rules[1]):
        a = grammar.parent[r]
        first = tensors.rule_start[r]
        stop = tensors.rule_start[r + 1]
        m = tensors.n_states[a]
        s = tensors.root_start[a]
        for t in range(first, stop, tensors.root_start[a + 1] - s):
            mean = 0.0
            for i in range(t, t + m):
                out[i] *= tensors.rule[i]
                mean += out[i] / m
            for i in range(m):
                # towards the mean over the parent's states, where they have seen little
                out[t + i] += shrinkage * (mean - out[t + i])
                total[s + i] += out[t + i]


@kernel
def divide(
    tensors: Tensors, grammar: Grammar, rules: tuple[int, int], total: np.ndarray, out: np.ndarray
) -> None:
    """Divide counts by the totals of their parents' states.

    Counts up to `NEVER` become 0, and so do all of a state that never occurs.
    """
    for r in range(rules[0], rules[1]):
        a = grammar.parent[r]
        m = tensors.n_states[a]
        s = tensors.root_start[a]
        for t in range(
            tensors.rule_start[r], tensors.rule_start[r + 1], tensors.root_start[a + 1] - s
        ):
            for i in range(m):
                known = total[s + i] > 0.0 and out[t + i] > NEVER
                out[t + i] = out[t + i] / total[s + i] if known else 0.0
