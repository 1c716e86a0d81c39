"""One table of what graphs can be trained by, on four corpora, and what Sutton and McCallum's
tutorial says of it.

Corpora are parts of those of `graph-snakes-ends`, `graph-glyphs`, `graph-skip-chain` and
`graph-joint-chunking`, so that a run of all contestants takes minutes; the table says how large
they are. Glyphs have the pixels of 3 x 3 windows without products, so that edges have something to
add. Of chunks there are noun phrases, verb phrases and prepositions alone, and of parts of speech
the first two letters.
Predictions are made alike for all: labellings that `predict` finds with ``inference="auto"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from lib.claims import Claim
from lib.fitting import fit_seconds
from lib.goals import no_goals
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.word_features import word_features

from papers import glyphs, skip_chains, snakes
from papers.field_corpora import announcements

# losses and inferences, with their solvers
WAYS: dict[str, dict[str, Any]] = {
    "pseudo": {"loss": "pseudo"},
    "blocks of 4": {"loss": "composite"},
    "blocks of 9": {"loss": "composite", "block_size": 9},
    "factors": {"loss": "piecewise"},
    "trees": {"loss": "piecewise", "pieces": "trees"},
    "BP": {"inference": "bp"},
    "TRW": {"inference": "trw"},
    "Gibbs": {"inference": "gibbs", "max_sweeps": 10, "solver": "sgd"},
    "CD-1": {"loss": "contrastive", "solver": "sgd"},
    "CD-10": {"loss": "contrastive", "n_steps": 10, "solver": "sgd"},
    "SampleRank": {"loss": "samplerank", "n_steps": 10, "solver": "sgd"},
}
MAX_ITER = 40


class Corpus(NamedTuple):
    """An unfitted model, what it learns from, what it is tested on, and what scores predictions."""

    model: Any
    train: tuple[Any, Any]
    test: tuple[Any, Any]
    score: Callable[[Any, Any], float]


def _accuracy(y: Any, predicted: Any) -> float:
    import numpy as np

    pairs = zip(y, predicted, strict=True)
    right = [np.asarray(a) == np.asarray(b) for a, b in pairs]
    return float(
        np.mean(np.concatenate([each.reshape(len(each), -1).all(axis=1) for each in right]))
    )


def _snakes() -> Corpus:
    from sklearn_struct import GraphCRF

    X, y = snakes.snakes("train", True)
    return Corpus(GraphCRF(), (X[:80], y[:80]), snakes.snakes("test", True), _accuracy)


def _glyphs() -> Corpus:
    from sklearn_struct import GraphCRF

    train, test = glyphs.glyphs()
    parts = (glyphs.Glyphs(*(part[:200] for part in each)) for each in (train, test))
    learned, tested = (glyphs.graphs(part, 1, False) for part in parts)
    return Corpus(GraphCRF(), learned, tested, _accuracy)


def _seminars() -> Corpus:
    from sklearn_struct import SkipChainCRF
    from sklearn_struct.metrics import span_f1_score

    train, test = announcements(0)
    X, y = skip_chains.tokens_and_labels(train[:60])
    crf = SkipChainCRF(**skip_chains.alike(train[:60]))
    score = partial(span_f1_score, scheme="IO")
    return Corpus(crf, (X, y), skip_chains.tokens_and_labels(test[:100]), score)


def _speech() -> Corpus:
    from sklearn_struct import FactorialCRF
    from sklearn_struct.datasets import fetch_conll2000

    parts = []
    for subset, n in (("train", 250), ("test", 250)):
        rows, chunks = fetch_conll2000(subset=subset, return_X_y=True)
        words = [[token[0] for token in tokens] for tokens in rows[:n]]
        X = [[word_features(each, t) for t in range(len(each))] for each in words]
        y = [
            [(token[1][:2], _kind(chunk)) for token, chunk in zip(*pair, strict=True)]
            for pair in zip(rows[:n], chunks[:n], strict=True)
        ]
        parts.append((X, y))
    return Corpus(FactorialCRF(), *parts, _accuracy)


def _kind(chunk: str) -> str:
    return chunk if chunk[2:] in ("NP", "VP", "PP") else "O"


CORPORA = {
    "snakes": _snakes,
    "glyphs": _glyphs,
    "seminars": _seminars,
    "POS + chunks": _speech,
}
SCORE = {name: "field F1" if name == "seminars" else "accuracy" for name in CORPORA}


def every_corpus(settings: dict[str, Any], watch: Stopwatch) -> dict[str, float]:
    """Accuracy, the size of the weights of edges, and CPU seconds."""
    import numpy as np

    figures: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for name, load in CORPORA.items():
        model, (X, y), (X_test, y_test), score = load()
        n = 20 if watch.quick else len(X)
        model.set_params(max_iter=MAX_ITER, tol=1e-3, random_state=0, inference_tol=1e-4)
        model.set_params(**settings)
        seconds = fit_seconds(model, X[:n], y[:n])
        model.set_params(inference="auto", max_sweeps=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = model.predict(X_test)
        figures[f"{name}, {SCORE[name]}"] = score(y_test, predicted)
        figures[_edges(name)] = float(np.sqrt(_squares(model)))
        figures[f"{name}, fit, CPU s"] = seconds
        sizes[f"{name}, examples to learn from"] = n
    return figures | sizes


def _edges(corpus: str) -> str:
    return f"{corpus}, size of edges' weights"


def _squares(model: Any) -> float:
    """The sum of the squares of all weights of cliques."""
    tables = [*model.clique_transition_.values(), *model.clique_coef_.values()]
    return float(sum((table**2).sum() for table in tables if table.size))


def claims(medians: Medians) -> list[Claim]:
    """Those of the tutorial, corpus by corpus."""
    made = []
    for name in CORPORA:
        accuracy = f"{name}, {SCORE[name]}"
        points = partial(medians.points, name=accuracy)
        ratio = medians.ratio(("pseudo", _edges(name)), ("BP", _edges(name)))
        made += [
            Claim("pseudolikelihood overweights edges", name, "size over BP's", ratio, 1.0),
            Claim("larger blocks are better", name, "4 over 1", points("blocks of 4", "pseudo")),
            Claim(
                "larger blocks are better", name, "9 over 4", points("blocks of 9", "blocks of 4")
            ),
            Claim("SampleRank is above CD", name, "over CD-1", points("SampleRank", "CD-1")),
            Claim("SampleRank is above CD", name, "over CD-10", points("SampleRank", "CD-10")),
            Claim(
                "pieces are above pseudolikelihood", name, "factors", points("factors", "pseudo")
            ),
            Claim("pieces are above pseudolikelihood", name, "trees", points("trees", "pseudo")),
        ]
    return sorted(made, key=lambda claim: claim.claim)


BENCHMARKS = {
    "graph-losses": Benchmark(
        "Losses and inference methods on graphs of four corpora",
        {name: partial(every_corpus, settings) for name, settings in WAYS.items()},
        no_goals,
        claims=claims,
        papers=(Source("sutton-2012", "approximate training"),),
    )
}
