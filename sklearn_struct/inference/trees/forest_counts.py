"""From sums over edges to the numbers of rules: expected counts of states, and what remains of them
for each parent.
"""

from __future__ import annotations

from sklearn_struct.compiled.kernel import kernel

__all__ = ["NEVER", "divide", "weigh"]

# what is expected less often has no probability: else EM ends among the smallest floats, far below
# these
NEVER = 1e-30


@kernel
def weigh(tensors, grammar, rules, shrinkage, out, total):
    """Multiply moments in `out` by the tensors: expected counts; and add these to totals of the
    parents' states.

    Counts are moved towards their mean over the parent's states. `rules` is the range for which it
    is done.
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
                out[t + i] += shrinkage * (mean - out[t + i])
                total[s + i] += out[t + i]


@kernel
def divide(tensors, grammar, rules, total, out):
    """Divide counts by the totals of their parents' states; of a state that never occurs they are
    0, and `NEVER` is.
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
