"""Scores in, labels and probabilities out: the functions of `sklearn_struct.potentials` beside the
kernels that they call, and beside librosa's and hmmlearn's Viterbi.

"Over the kernels" is the time of a function over that of the same calls of `Chain` on arrays that
are ready, in the same blocks. Both take turns in one process, as the times are short. Scores are
standard normal numbers. "Many" are 2,000 sequences of 1 to 49 tokens, "long" is one of 50,000.
Segments have at most 8 tokens.

librosa and hmmlearn read probabilities, so ours also takes their logarithms here. A path that
changes its label once in twenty tokens is seen through noise: emissions are softmax of normal
numbers, with 2 more for the right label. Of many sequences the others decode one at a time.
hmmlearn's is its C++ function, without what `decode` does beside it. Who is not installed does not
race.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch

SIZES = {"many": 2000, "long": 1}
LABELS = (5, 22, 50)
FEW = 2  # labels, beside the others for chains
BY_STEP = "tables of steps"
OURS = "ours, CPU s"
LIBROSA = "librosa, CPU s"
HMMLEARN = "hmmlearn, CPU s"
SAME = "equal labels, %"
MAX_LENGTH = 8  # of segments
Pairs = dict[str, tuple[Callable[[], Any], Callable[[], Any]]]


def turns(functions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Fewest CPU seconds of each, called in turns."""
    least = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        function()
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.process_time()
            function()
            least[name] = min(least[name], time.process_time() - start)
    return least


def lengths_of(n_sequences: int, quick: bool) -> Any:
    """Numbers of tokens."""
    import numpy as np

    if n_sequences == 1:
        return np.array([1000 if quick else 50_000])
    return np.random.RandomState(0).randint(1, 50, 50 if quick else n_sequences)


def over_kernels(
    n_sequences: int, n_labels: int, watch: Stopwatch, by_step: bool = False
) -> dict[str, float]:
    """Each function's time over that of its kernels."""
    import numpy as np

    from sklearn_struct import potentials
    from sklearn_struct.containers.structures import Potentials
    from sklearn_struct.potentials.given_scores import CHAIN, read

    rng = np.random.RandomState(1)
    lengths = lengths_of(n_sequences, watch.quick)
    unary = rng.randn(int(lengths.sum()), n_labels)
    table = rng.randn(*([len(unary) - len(lengths)] if by_step else []), n_labels, n_labels)
    given = read(unary, table, lengths, None, None, None)
    blocks = given.blocks()
    ready = [given.potentials(block) for block in blocks]
    n = len(lengths)
    score = np.empty(n)

    def viterbi() -> None:
        labels = np.empty(len(unary), np.int32)
        for theta, block in zip(ready, blocks):
            CHAIN.argmax(theta, block.structure, labels[block.tokens], score[block.examples])

    def nbest() -> None:
        for theta, block in zip(ready, blocks):
            labels = np.empty((5, len(theta.node)), np.int32)
            CHAIN.nbest(theta, block.structure, labels, np.empty((5, block.structure.n_examples)))

    def sample() -> None:
        uniform = rng.random_sample(len(unary))
        labels = np.empty(len(unary), np.int32)
        for theta, block in zip(ready, blocks):
            tokens = block.tokens
            draw = uniform[tokens], labels[tokens], score[block.examples]
            CHAIN.sample(theta, block.structure, *draw)

    def marginals(by_step: bool = False) -> None:
        node = np.zeros(unary.shape)
        for theta, block in zip(ready, blocks):
            pairs = np.zeros(theta.cliques[0].shape if by_step else (1, n_labels * n_labels))
            out = Potentials(node[block.tokens], (pairs,))
            ones = np.ones(block.structure.n_examples)
            CHAIN.marginals(theta, block.structure, ones, out, score[block.examples])

    def log_partition() -> None:
        for theta, block in zip(ready, blocks):
            CHAIN.log_partition(theta, block.structure)

    scores = (unary, table, lengths)
    pairs: Pairs = {
        "viterbi": (viterbi, lambda: potentials.viterbi(*scores)),
        "nbest": (nbest, lambda: potentials.nbest(*scores)),
        "sample": (sample, lambda: potentials.sample(*scores)),
        "marginals": (marginals, lambda: potentials.marginals(*scores)),
        "log_partition": (log_partition, lambda: potentials.log_partition(*scores)),
        "gradient": (
            lambda: marginals(by_step),
            lambda: potentials.log_partition(*scores, return_gradient=True),
        ),
    }
    return ratios(pairs)


def ratios(pairs: Pairs) -> dict[str, float]:
    """Time of functions over that of their kernels, and by itself."""
    figures = {}
    for name, (kernels, function) in pairs.items():
        repeats = 4 if name in ("nbest", "sample") else 20
        seconds = turns({"kernels": kernels, "function": function}, repeats)
        figures[f"{name}, over the kernels"] = seconds["function"] / seconds["kernels"]
        figures[f"{name}, CPU ms"] = 1000 * seconds["function"]
    return figures


def segments_over_kernels(n_sequences: int, n_labels: int, watch: Stopwatch) -> dict[str, float]:
    """The same of segments of at most 8 tokens."""
    import numpy as np

    from sklearn_struct import potentials
    from sklearn_struct.containers.structures import Potentials
    from sklearn_struct.potentials.given_segments import read_segments

    rng = np.random.RandomState(1)
    lengths = lengths_of(n_sequences, watch.quick)
    segments = rng.randn(int(lengths.sum()), MAX_LENGTH, n_labels)
    table = rng.randn(n_labels, n_labels)
    given = read_segments(segments, table, lengths, None)
    inference = given.inference
    blocks = given.blocks()
    ready = [given.potentials(block) for block in blocks]
    score = np.empty(len(lengths))
    codes = np.empty(len(segments), np.int32)

    def viterbi() -> None:
        for theta, block in zip(ready, blocks):
            of_block = codes[block.tokens], score[block.examples]
            inference.argmax(theta, block.structure, *of_block)

    def nbest() -> None:
        for theta, block in zip(ready, blocks):
            best = np.empty((5, len(theta.node)), np.int32)
            inference.nbest(theta, block.structure, best, np.empty((5, block.structure.n_examples)))

    def sample() -> None:
        uniform = rng.random_sample(len(segments))
        for theta, block in zip(ready, blocks):
            draw = uniform[block.tokens], codes[block.tokens], score[block.examples]
            inference.sample(theta, block.structure, *draw)

    def marginals() -> None:
        whole = np.zeros((len(given.structure.families[-1].nodes), n_labels))
        for theta, block in zip(ready, blocks):
            node, (*tables, _) = given.zeros(block, given.tables(1))
            out = Potentials(node, (*tables, whole[block.cliques[-1]]))
            ones = np.ones(block.structure.n_examples)
            inference.marginals(theta, block.structure, ones, out, score[block.examples])

    def log_partition() -> None:
        for theta, block in zip(ready, blocks):
            inference.log_partition(theta, block.structure)

    scores = (segments, table, lengths)
    with_gradient = {"return_gradient": True}
    pairs: Pairs = {
        "viterbi": (viterbi, lambda: potentials.segment_viterbi(*scores)),
        "nbest": (nbest, lambda: potentials.segment_nbest(*scores)),
        "sample": (sample, lambda: potentials.segment_sample(*scores)),
        "marginals": (marginals, lambda: potentials.segment_marginals(*scores)),
        "log_partition": (log_partition, lambda: potentials.segment_log_partition(*scores)),
        "gradient": (
            marginals,
            lambda: potentials.segment_log_partition(*scores, **with_gradient),
        ),
    }
    return ratios(pairs)


def noisy_path(n_tokens: int, n_labels: int) -> tuple[Any, Any, Any]:
    """Probabilities of labels at each token, of transitions, and at the start."""
    import numpy as np

    rng = np.random.RandomState(0)
    path = rng.randint(n_labels, size=n_tokens // 20 + 1).repeat(20)[:n_tokens]
    scores = rng.randn(n_tokens, n_labels) + 2.0 * np.eye(n_labels)[path]
    proba = np.exp(scores)
    proba /= proba.sum(axis=1, keepdims=True)
    moves = np.full((n_labels, n_labels), 0.05 / (n_labels - 1))
    np.fill_diagonal(moves, 0.95)
    return proba, moves, np.full(n_labels, 1.0 / n_labels)


def against_others(n_sequences: int, n_labels: int, watch: Stopwatch) -> dict[str, float]:
    """Viterbi of all, from probabilities to labels."""
    import numpy as np

    from sklearn_struct import potentials

    lengths = lengths_of(n_sequences, watch.quick)
    proba, moves, first = noisy_path(int(lengths.sum()), n_labels)
    cuts = np.cumsum(lengths)[:-1]
    parts = np.split(proba, cuts)
    labels: dict[str, Any] = {}

    def ours() -> None:
        scores = (np.log(proba), np.log(moves), lengths)
        labels["ours"], _ = potentials.viterbi(*scores, start=np.log(first))

    functions: dict[str, Callable[[], Any]] = {OURS: ours}
    if find_spec("librosa"):
        from librosa.sequence import viterbi

        def by_librosa() -> None:
            paths = [viterbi(part.T, moves, p_init=first) for part in parts]
            labels["librosa"] = np.concatenate(paths)

        functions[LIBROSA] = by_librosa
    if find_spec("hmmlearn"):
        from hmmlearn import _hmmc

        def by_hmmlearn() -> None:
            paths = [_hmmc.viterbi(first, moves, np.log(part))[1] for part in parts]
            labels["hmmlearn"] = np.concatenate(paths)

        functions[HMMLEARN] = by_hmmlearn
    figures = turns(functions, 3)
    for name in ("librosa", "hmmlearn"):
        if name in labels:
            equal = np.mean(labels["ours"] == labels[name])
            figures[f"{name}: {SAME}"] = 100 * float(equal)
    return figures


def goals(medians: Medians) -> list[Goal]:
    functions = ("viterbi", "nbest", "sample", "marginals", "log_partition", "gradient")
    return [
        Goal(
            f"{name} over its kernels, {contestant}",
            medians.figure(contestant, f"{name}, over the kernels"),
            1.2,
            1.2,
            at_most=True,
        )
        for contestant in KERNELS
        for name in functions
    ]


def race_goals(medians: Medians) -> list[Goal]:
    return [
        Goal(
            f"Viterbi, ours / {other}, {size}, {K} labels",
            medians.ratio((f"{size}, {K} labels", OURS), (f"{size}, {K} labels", figure)),
            0.5,
            1.0,
            at_most=True,
        )
        for other, figure in (("librosa", LIBROSA), ("hmmlearn", HMMLEARN))
        for size in SIZES
        for K in LABELS
    ]


def contestants(
    function: Callable[..., dict[str, float]], labels: tuple[int, ...] = LABELS, before: str = ""
) -> dict[str, Any]:
    """One for each size and number of labels."""
    return {
        f"{before}{size}, {K} labels": partial(function, n_sequences, K)
        for size, n_sequences in SIZES.items()
        for K in labels
    }


KERNELS = {
    **contestants(over_kernels, (FEW, *LABELS)),
    **contestants(partial(over_kernels, by_step=True), LABELS[:1], f"{BY_STEP}, "),
    **contestants(segments_over_kernels, LABELS[:2], "segments, "),
}
BENCHMARKS = {
    "given-scores": Benchmark(
        "Functions that take given scores, over the time of their kernels",
        KERNELS,
        goals,
        beside="the kernels that they call",
    ),
    "viterbi-peers": Benchmark(
        "Viterbi from probabilities to labels",
        contestants(against_others),
        race_goals,
        beside="librosa, hmmlearn",
    ),
}
