"""Hidden states of part-of-speech tags by spectral estimation and by EM on the chain engine.

The corpus is UD English EWT. Both learn the same model, in which each tag has m states, from the
same observations: words seen twice or more, and signatures of all others. EM has a chain of
``n_tags * m`` states, of which each word allows those of its tag. The best of some starts is kept,
by its likelihood; the likelihoods of others are not looked at again.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from lib.goals import no_goals
from lib.side_by_side import Benchmark, Stopwatch
from lib.sources import Source

from sklearn_struct.containers.structures import Block
from sklearn_struct.hidden_markov.base_training import Options
from sklearn_struct.hidden_markov.em_steps import HiddenMarkov, Training, emission, potentials
from sklearn_struct.hidden_markov.observed import Observed

ACCURACY = "dev accuracy, %"
TRAINING = "training"
TAGGING = "tagging"
RESTARTS = 3
MAX_ITER = 50
TOL = 1e-4  # per word
SMOOTHING = 0.01
TRANSITION_SMOOTHING = 0.1


def tagging(subset: str, quick: bool) -> tuple[list[list[str]], list[list[str]]]:
    from sklearn_struct.datasets import fetch_ud_ewt

    X, y = fetch_ud_ewt(subset=subset, return_X_y=True)
    n = 500 if quick else len(X)
    return [[row[0] for row in rows] for rows in X[:n]], [list(labels) for labels in y[:n]]


def accuracy(found: Any, y: Any) -> float:
    return 100 * float(
        np.mean([a == b for pair in zip(found, y, strict=True) for a, b in zip(*pair, strict=True)])
    )


def spectral(n_states: int, watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct import SpectralHMM

    (X, y), (X_dev, y_dev) = (tagging(subset, watch.quick) for subset in ("train", "dev"))
    SpectralHMM(n_states=n_states).fit(X[:50], y[:50]).predict(X[:2])
    with watch.part(TRAINING):
        model = SpectralHMM(n_states=n_states).fit(X, y)
    with watch.part(TAGGING):
        found = model.predict(X_dev)
    return {"words": sum(map(len, X)), ACCURACY: accuracy(found, y_dev)}


class StatesOfLabels(Training):
    """EM where labels are known, but not which of their m states.

    Those of label k are ``k * m ... k * m + m - 1``.
    """

    def _clamped(self, model: HiddenMarkov, block: Block) -> np.ndarray:
        scores = emission(model, self.observed, block.tokens)
        label = np.arange(self.n_labels) * (self.codes.max() + 1) // self.n_labels
        scores[self.codes[block.tokens, None] != label] = -np.inf
        return scores


def observed(lexicon: Any, X: list[list[str]]) -> Observed:
    from sklearn_struct.encoding.trees.lexicon import observe

    codes = np.concatenate([observe(lexicon, words) for words in X])
    return Observed([codes], np.empty((len(codes), 0)), np.cumsum([0, *map(len, X)]))


def labels_of(model: HiddenMarkov, data: Observed, n_states: int) -> np.ndarray:
    """Of the largest posterior probability, summed over states."""
    from sklearn_struct.containers.structures import zeros

    found = []
    for block in model.blocks(data.offsets):
        theta = potentials(model, data, block)
        n = block.structure.n_examples
        out = zeros(theta)
        model.inference.marginals(theta, block.structure, np.ones(n), out, np.empty(n))
        found.append(out.node.reshape(len(out.node), -1, n_states).sum(axis=2).argmax(axis=1))
    return np.concatenate(found)


def em_of_states(n_states: int, watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct.compiled.threads import Pool
    from sklearn_struct.encoding.trees import lexicon
    from sklearn_struct.hidden_markov.em_starts import random_start
    from sklearn_struct.solvers.em import em

    (X, y), (X_dev, y_dev) = (tagging(subset, watch.quick) for subset in ("train", "dev"))
    classes, codes = np.unique(np.concatenate(y), return_inverse=True)

    def train(n: int, n_starts: int, max_iter: int) -> tuple[Any, Any]:
        """From the first n sentences: the best result, and what words are taken for."""
        n_words = sum(map(len, X[:n]))
        words, _, _ = lexicon.learn(X[:n], codes[:n_words], len(classes), 2, 1.0)
        n_values = len(words.indptr) - 1
        options = Options(1, [n_values], True, SMOOTHING, TRANSITION_SMOOTHING, np.empty(0))
        with Pool(1) as pool:
            steps = StatesOfLabels(
                observed(words, X[:n]),
                codes[:n_words],
                np.ones(n),
                len(classes) * n_states,
                options,
                pool,
            )
            starts = [
                random_start(steps, np.random.RandomState(watch.run * RESTARTS + s))
                for s in range(n_starts)
            ]
            results = [
                em(steps.expect, steps.maximise, start, max_iter=max_iter, tol=TOL * n_words)
                for start in starts
            ]
        return max(results, key=lambda result: result.value), (
            words,
            sum(result.n_iter for result in results),
        )

    train(50, 1, 1)
    with watch.part(TRAINING):
        result, (words, n_iter) = train(len(X), RESTARTS, MAX_ITER)
    with watch.part(TAGGING):
        found = classes[labels_of(result.w, observed(words, X_dev), n_states)]
    truth = np.concatenate(y_dev)
    return {
        "words": len(codes),
        "iterations of all starts": n_iter,
        ACCURACY: 100 * float(np.mean(found == truth)),
    }


BENCHMARKS = {
    "latent-hmm": Benchmark(
        "Accuracy and time of taggers whose tags have hidden states: EWT, development set",
        {f"SpectralHMM, m={m}": partial(spectral, m) for m in (1, 2, 4, 8, 16)},
        no_goals,
        once={f"EM, m={m}": partial(em_of_states, m) for m in (1, 2, 4, 8)},
        papers=(Source("cohen-2012", "right-branching trees"),),
    ),
}
