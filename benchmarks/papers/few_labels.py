"""Learning with few labels: labelled features beside their rivals, on four corpora of fields.

``few-labels-addresses`` and ``-precise`` are tables 2 to 4 of Mann and McCallum (ACL 2008) on other
data, with another rule for the words in the second. The paper's own corpus, apartment
advertisements, cannot be had: addresses, citations and announcements are *substitutes*, so the
paper's figures, which are printed below ours, show what gains to expect and no more.
Accuracies are per cent of test tokens, means of five draws of labelled sequences; all rivals get
the same. ``-cost`` is its figure 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import mean
from typing import Any, NamedTuple

from lib.goals import Goal, no_goals
from lib.side_by_side import Benchmark, Medians, Picture, Stopwatch
from lib.sources import Source

from papers import few_labels_experiment as methods
from papers.few_labels_experiment import DRAWS, GRID, N_LABELLED, RESPLITS, experiment, resplit

PAPER = "mann-2008"
RIVALS = (
    Source("haghighi-2006", "columns HK06"),
    Source("chang-2007", "columns CRR07"),
    Source("ganchev-2010", "column posterior regularisation"),
)
NONE = (0,)
SOME = N_LABELLED
GE = "GE, majority"
CRF = "CRF"
BASELINE = "baseline"
SAMPLED = "GE, 100 tokens"
TEN = "GE, 10 tokens"
WITH_ENTROPY = "GE + entropy"
RESPLIT = "gain, mean of resplits"


class Method(NamedTuple):
    """What gives an accuracy, and the numbers of labelled sequences for which it can."""

    accuracy: Callable[[Any, list[int], int], float]
    sizes: tuple[int, ...]
    draws_without_labels: int = 1  # more where it has draws of its own


METHODS = {
    "HMM": Method(methods.supervised_hmm, SOME),
    "CRF + entropy": Method(methods.with_entropy, SOME),
    "expected gradient": Method(methods.expected_gradient, NONE + SOME),
    "HK06": Method(methods.prototype_driven, NONE),
    "HK06, boundaries, too": Method(methods.prototypes_and_boundaries, NONE),
    "CRR07": Method(methods.constraint_driven, SOME),
    "CRR07, at test, too": Method(methods.constrained_at_test, SOME),
    "posterior regularisation": Method(methods.posterior_regularised, NONE + SOME),
    "CRR07, lengths, too": Method(methods.constrained_lengths, SOME),
    GE: Method(methods.heuristic, NONE + SOME),
    WITH_ENTROPY: Method(methods.heuristic_with_entropy, NONE + SOME),
    "GE, 1 token": Method(methods.sampled(1), NONE + SOME, DRAWS),
    TEN: Method(methods.sampled(10), NONE + SOME, DRAWS),
    SAMPLED: Method(methods.sampled(100), NONE + SOME, DRAWS),
    "GE + prototypes": Method(methods.prototype_features, NONE + SOME),
}


# token accuracy on apartment advertisements (tables 2 to 4), by labelled sequences; of prototypes,
# and of features of words near to labelled ones, those with such features
PUBLISHED: dict[str, dict[int, float]] = {
    "HMM": {10: 61.6, 25: 70.0, 100: 76.3},
    CRF: {10: 64.6, 25: 72.9, 100: 79.4},
    "CRF + entropy": {10: 67.3, 25: 73.7, 100: 79.5},
    "HK06": {0: 71.5},
    "CRR07": {10: 70.9, 25: 74.8, 100: 78.6},
    "CRR07, at test, too": {10: 74.7, 25: 78.5, 100: 81.7},
    GE: {0: 66.9, 10: 72.6, 25: 76.3, 100: 80.1},
    SAMPLED: {0: 73.0, 10: 74.6, 25: 77.2, 100: 80.5},
    "GE + prototypes": {0: 68.3},
}


def published(name: str) -> dict[str, float]:
    """What the paper has of a method, of other data."""
    return {f"{n} labelled, paper": value for n, value in PUBLISHED.get(name, {}).items()}


def figures_of(corpus: str, rule: str, name: str, watch: Stopwatch) -> dict[str, float]:
    """Means over draws, and each draw's accuracy."""
    e = experiment(corpus, rule)
    method = METHODS[name]
    accuracies: dict[int, list[float]] = {}
    for n in method.sizes[: 2 if watch.quick else None]:
        draws = 1 if watch.quick else DRAWS if n else method.draws_without_labels
        accuracies[n] = [method.accuracy(e, e.drawn(n, draw), draw) for draw in range(draws)]
    return _figures(accuracies) | published(name)


def _figures(accuracies: dict[int, list[float]]) -> dict[str, float]:
    figures = {f"{n} labelled": mean(values) for n, values in accuracies.items()}
    return figures | {
        draw_of(n, d): value for n, values in accuracies.items() for d, value in enumerate(values)
    }


def draw_of(n: int, draw: int) -> str:
    return f"{n} labelled, draw {draw + 1}"


def tuned_crf(corpus: str, rule: str, watch: Stopwatch) -> dict[str, float]:
    """The supervised CRF with the C that is best on the test set, which flatters it."""
    e = experiment(corpus, rule)
    figures = {}
    for n in N_LABELLED:
        tried = {
            C: [
                methods.supervised_crf(e, e.drawn(n, draw), C)
                for draw in range(1 if watch.quick else DRAWS)
            ]
            for C in (GRID[3:5] if watch.quick else GRID)
        }
        best = max(tried, key=lambda C: mean(tried[C]))
        figures |= _figures({n: tried[best]}) | {f"{n} labelled, C": best}
    return figures | published(CRF)


def baseline(corpus: str, rule: str, watch: Stopwatch) -> dict[str, float]:
    e = experiment(corpus, rule)
    return {"0 labelled": e.baseline(), "labelled features": len(e.labeled_features)} | {
        "labels": len(set(e.labeled_features.values()))
    }


def resplits(corpus: str, rule: str, name: str, watch: Stopwatch) -> dict[str, float]:
    """Gains of labelled features alone over the baseline, on other splits of the corpus."""
    parts = [resplit(corpus, rule, seed) for seed in range(1 if watch.quick else RESPLITS)]
    gains = [METHODS[name].accuracy(e, [], 0) - e.baseline() for e in parts]
    return {RESPLIT: mean(gains)} | {f"gain, resplit {r + 1}": gain for r, gain in enumerate(gains)}


def goals(title: str, gains: dict[str, Any], medians: Medians) -> list[Goal]:
    """Gains with their goal and least: alone, of resplits, and with labelled sequences over the
    CRF.
    """

    def gain(what: str, over: str, figure: str) -> float | None:
        a = medians.figure(what, figure)
        b = medians.figure(over, figure)
        return None if a is None or b is None else a - b

    promises = []
    for name in (GE, WITH_ENTROPY):
        alone = gain(name, BASELINE, "0 labelled")
        others = medians.figure(f"{name}, resplits", RESPLIT)
        promises.append(Goal(f"{title}: {name}, words alone - baseline", alone, *gains["alone"]))
        promises.append(Goal(f"{title}: {name}, words alone, resplits", others, *gains["resplits"]))
    for n in N_LABELLED:
        what = f"{title}: {n} labelled, GE - CRF"
        promises.append(Goal(what, gain(GE, CRF, f"{n} labelled"), *gains[f"{n}"]))
    for n in N_LABELLED[:2]:
        each = [gain(GE, CRF, draw_of(n, d)) for d in range(DRAWS)]
        worst = None if None in each else min(value for value in each if value is not None)
        promises.append(Goal(f"{title}: the worst of its draws, {n} labelled", worst, 0, 0))
    for n in (0, *N_LABELLED[:2]):
        for name, bound in ((SAMPLED, 1), (TEN, -1)) if "sampled" in gains else ():
            what = f"{title}: {n} labelled, {name} - majority"
            promises.append(Goal(what, gain(name, GE, f"{n} labelled"), bound, bound))
    return promises


PROMISES = {
    "frequent": {
        "alone": (18, 12),
        "resplits": (14, 10),
        "10": (5, 5),
        "25": (2.5, 2.5),
        "100": (0, 0),
        "sampled": (),
    },
    "precise": {"alone": (18, 15), "resplits": (14, 13), "10": (8, 8), "25": (5, 5), "100": (2, 2)},
}


def _table(title: str, corpus: str, rule: str, of_paper: str = "tables 2 and 3") -> Benchmark:
    contestants: dict[str, Any] = {
        BASELINE: partial(baseline, corpus, rule),
        CRF: partial(tuned_crf, corpus, rule),
    }
    contestants |= {name: partial(figures_of, corpus, rule, name) for name in METHODS}
    promised: Any = no_goals
    if rule in PROMISES:
        contestants |= {
            f"{name}, resplits": partial(resplits, corpus, rule, name)
            for name in (GE, WITH_ENTROPY)
        }
        promised = partial(goals, title, PROMISES[rule])
    return Benchmark(
        f"Accuracy with few labels: {title} (a substitute)",
        {},
        promised,
        "",
        contestants,
        papers=(Source(PAPER, of_paper), *RIVALS),
    )


# ---- cost of annotation

TOKENS = (1, 2, 5, 10, 100)
N_TEXTS = (1, 2, 5, 10, 25, 50, 100, 200)
SEQUENCES = "whole sequences"
MAJORITY = "majority labels"


def cost(name: str, watch: Stopwatch) -> dict[str, float]:
    """Test accuracy against labelled tokens: of whole sequences, or of occurrences of a number of
    features.
    """
    e = experiment("usaddress", "frequent" if name == SEQUENCES else name)
    for n in (N_TEXTS if name == SEQUENCES else TOKENS)[: 2 if watch.quick else None]:
        points = [
            (_by_sequences if name == SEQUENCES else _by_features)(e, n, draw)
            for draw in range(DRAWS)
        ]
        watch.curve.append(
            (mean(tokens for tokens, _ in points), mean(accuracy for _, accuracy in points))
        )
    figures = {f"{tokens:,.0f} tokens": accuracy for tokens, accuracy in watch.curve}
    return figures if name == SEQUENCES else figures | {MAJORITY: e.ge(e.partly([]))}


def _by_sequences(e: Any, n: int, draw: int) -> tuple[int, float]:
    chosen = e.drawn(n, draw)
    return sum(len(e.split.X_train[i]) for i in chosen), methods.supervised_crf(e, chosen, 10.0)


def _by_features(e: Any, n: int, draw: int) -> tuple[int, float]:
    from sklearn_struct.labeled_features import sample_targets

    targets = sample_targets(e.X, e.split.y_train, list(e.labeled_features), n, random_state=draw)
    return sum(sum(counts.values()) for counts in targets.values()), e.ge(e.partly([]), targets)


def savings(runs: Any) -> None:
    """How many times as many tokens of whole sequences reach the same accuracy, where their curve
    gets there.
    """
    if SEQUENCES not in runs:
        return
    whole = runs[SEQUENCES][0].curve
    for name, [(figures, curve)] in runs.items():
        if name == SEQUENCES:
            continue
        points = {f"{n} tokens a feature": point for n, point in zip(TOKENS, curve)}
        points[MAJORITY] = (
            curve[0][0],
            figures[MAJORITY],
        )  # a label for each feature, as many as with one token
        for what, (tokens, accuracy) in points.items():
            reached = _tokens_for(accuracy, whole)
            if reached is not None:
                figures[f"saving factor, {what}"] = reached / tokens


def _tokens_for(accuracy: float, curve: list[tuple[float, float]]) -> float | None:
    """Where a rising curve reaches an accuracy, between its points linear in it."""
    for (x0, y0), (x1, y1) in pairwise(curve):
        if y0 <= accuracy <= y1:
            return x0 + (x1 - x0) * (accuracy - y0) / max(y1 - y0, 1e-9)
    return None


BENCHMARKS = {
    "few-labels-addresses": _table("addresses, frequent words", "usaddress", "frequent"),
    "few-labels-precise": _table("addresses, precise words", "usaddress", "precise", "table 4"),
    "few-labels-seminars": _table("seminars", "seminars", "rare"),
    "few-labels-citations": _table("citations", "umass_citations", "share"),
    "few-labels-ads": _table("rental ads", "rental ads", "share"),
    "few-labels-cost": Benchmark(
        "Accuracy by number of labelled tokens, in whole sequences or of features: addresses",
        {},
        no_goals,
        "",
        {
            name: partial(cost, name)
            for name in (SEQUENCES, "33 features", "66 features", "99 features")
        },
        savings,
        Picture("labelled tokens", "test accuracy, %", excess=False),
        papers=(Source(PAPER, "figure 2"),),
    ),
}
