"""What second derivatives of chains of order 2 cost: in scaled numbers, and in logarithms, which
were the only way before and are still the way of sequences that scaled numbers would lose.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

KINDS = ("all edges share scores and rewards", "each edge has its own")
SHARES = dict(zip(KINDS, (True, False), strict=True))
N_LABELS = 9
LOGARITHMS = "in logarithms, CPU s"
SCALED = "in scaled numbers, CPU s"
APART = "largest difference of covariances"
GAIN = "in logarithms / in scaled numbers"


def covariances(shared: bool, watch: Stopwatch) -> dict[str, float]:
    """Covariances with a reward, of generated chains of 10 to 40 tokens."""
    import numpy as np

    from sklearn_struct.containers.structures import chain
    from sklearn_struct.inference.chains import second_order_log, second_order_tangent
    from sklearn_struct.inference.chains.flat_tuples import Triples, links

    rng = np.random.default_rng(watch.run)
    n = 16 if watch.quick else 200
    structure = links(chain(np.append(0, np.cumsum(rng.integers(10, 41, n))), 2))

    def numbers() -> Triples:
        n_pairs = 1 if shared else len(structure.edges)
        n_triples = 1 if shared else int(structure.triple_offsets[-1])
        shapes = (
            (int(structure.offsets[-1]), N_LABELS),
            (n_pairs, N_LABELS**2),
            (n_triples, N_LABELS**3),
        )
        return Triples(*(rng.normal(size=shape) for shape in shapes))

    potentials = numbers()
    reward = numbers()
    weight = np.ones(n)

    def made(write: Any) -> Triples:
        out = Triples(*map(np.zeros_like, potentials))
        write(out)
        return out

    def scaled(out: Triples) -> None:
        mean = np.zeros(n)
        second_order_tangent.tangent(potentials, reward, structure, weight, out, mean)

    def in_logarithms(out: Triples) -> None:
        for i in range(n):
            second_order_log.log_tangent(potentials, reward, structure, i, 1.0, out)

    differences = [
        float(np.max(np.abs(a - b))) for a, b in zip(made(scaled), made(in_logarithms), strict=True)
    ]
    seconds = least(lambda: made(scaled))
    slow = least(lambda: made(in_logarithms), 3)
    return {
        SCALED: seconds,
        LOGARITHMS: slow,
        GAIN: slow / seconds,
        APART: max(differences),
    }


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal(f"order 2, second derivatives, {kind}: gain", medians.figure(kind, GAIN), 3, 3)
        for kind in KINDS
    ]


BENCHMARKS = {
    "second-derivatives": Benchmark(
        f"Second derivatives of chains of order 2, {N_LABELS} labels: covariances with a reward",
        {kind: partial(covariances, shared) for kind, shared in SHARES.items()},
        goals,
    )
}
