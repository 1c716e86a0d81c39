"""Learning with few labels: labelled features beside their rivals, on four corpora of fields.

``few-labels-addresses`` and ``-precise`` are table 3 and 4 of Mann and McCallum (ACL 2008) on other data, with another
rule for the words in the second; the paper's own corpus cannot be had. Accuracies are per cent of test tokens, means of
five draws of labelled sequences; all rivals get the same. ``-cost`` is its figure 2, ``-evaluation`` what a step costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import mean
from typing import Any, NamedTuple

import few_labels
from few_labels import DRAWS, GRID, N_LABELLED, RESPLITS, experiment, resplit
from goals import Goal, no_goals
from side_by_side import Benchmark, Medians, Picture, Stopwatch

NONE, SOME = (0,), N_LABELLED
GE, CRF, BASELINE, SAMPLED, TEN = (
    "GE, majority",
    "CRF",
    "baseline",
    "GE, 100 tokens",
    "GE, 10 tokens",
)
WITH_ENTROPY, RESPLIT = "GE + entropy", "gain, mean of resplits"
EXACT = "evaluation, CPU s"


class Method(NamedTuple):
    """What gives an accuracy, and the numbers of labelled sequences for which it can."""

    accuracy: Callable[[Any, list[int], int], float]
    sizes: tuple[int, ...]
    draws_without_labels: int = 1  # more where it has draws of its own


METHODS = {
    "HMM": Method(few_labels.supervised_hmm, SOME),
    "CRF + entropy": Method(few_labels.with_entropy, SOME),
    "expected gradient": Method(few_labels.expected_gradient, NONE + SOME),
    "HK06": Method(few_labels.prototype_driven, NONE),
    "CRR07": Method(few_labels.constraint_driven, SOME),
    "CRR07, at test, too": Method(few_labels.constrained_at_test, SOME),
    GE: Method(few_labels.heuristic, NONE + SOME),
    WITH_ENTROPY: Method(few_labels.heuristic_with_entropy, NONE + SOME),
    "GE, 1 token": Method(few_labels.sampled(1), NONE + SOME, DRAWS),
    TEN: Method(few_labels.sampled(10), NONE + SOME, DRAWS),
    SAMPLED: Method(few_labels.sampled(100), NONE + SOME, DRAWS),
    "GE + prototypes": Method(few_labels.prototype_features, NONE + SOME),
}


def figures_of(corpus: str, rule: str, name: str, watch: Stopwatch) -> dict[str, float]:
    """Means over draws, and each draw's accuracy."""
    e, method = experiment(corpus, rule), METHODS[name]
    found: dict[int, list[float]] = {}
    for n in method.sizes[: 2 if watch.quick else None]:
        draws = 1 if watch.quick else DRAWS if n else method.draws_without_labels
        found[n] = [method.accuracy(e, e.drawn(n, draw), draw) for draw in range(draws)]
    return _figures(found)


def _figures(found: dict[int, list[float]]) -> dict[str, float]:
    figures = {f"{n} labelled": mean(values) for n, values in found.items()}
    return figures | {
        draw_of(n, d): value for n, values in found.items() for d, value in enumerate(values)
    }


def draw_of(n: int, draw: int) -> str:
    return f"{n} labelled, draw {draw + 1}"


def tuned_crf(corpus: str, rule: str, watch: Stopwatch) -> dict[str, float]:
    """The supervised CRF with the C that is best on the test set, which flatters it."""
    e, figures = experiment(corpus, rule), {}
    for n in N_LABELLED:
        tried = {
            C: [
                few_labels.supervised_crf(e, e.drawn(n, draw), C)
                for draw in range(1 if watch.quick else DRAWS)
            ]
            for C in (GRID[3:5] if watch.quick else GRID)
        }
        best = max(tried, key=lambda C: mean(tried[C]))
        figures |= _figures({n: tried[best]}) | {f"{n} labelled, C": best}
    return figures


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
    """Gains with their goal and least: alone, of resplits, and with labelled sequences over the CRF."""

    def gain(what: str, over: str, figure: str) -> float | None:
        a, b = medians.figure(what, figure), medians.figure(over, figure)
        return None if a is None or b is None else a - b

    found = []
    for name in (GE, WITH_ENTROPY):
        alone, others = (
            gain(name, BASELINE, "0 labelled"),
            medians.figure(f"{name}, resplits", RESPLIT),
        )
        found.append(Goal(f"{title}: {name}, words alone - baseline", alone, *gains["alone"]))
        found.append(Goal(f"{title}: {name}, words alone, resplits", others, *gains["resplits"]))
    for n in N_LABELLED:
        what = f"{title}: {n} labelled, GE - CRF"
        found.append(Goal(what, gain(GE, CRF, f"{n} labelled"), *gains[f"{n}"]))
    for n in N_LABELLED[:2]:
        each = [gain(GE, CRF, draw_of(n, d)) for d in range(DRAWS)]
        worst = None if None in each else min(value for value in each if value is not None)
        found.append(Goal(f"{title}: the worst of its draws, {n} labelled", worst, 0, 0))
    for n in (0, *N_LABELLED[:2]):
        for name, bound in ((SAMPLED, 1), (TEN, -1)) if "sampled" in gains else ():
            what = f"{title}: {n} labelled, {name} - majority"
            found.append(Goal(what, gain(name, GE, f"{n} labelled"), bound, bound))
    return found


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


def _table(title: str, corpus: str, rule: str) -> Benchmark:
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
    return Benchmark(f"Few labels: {title}", {}, promised, "", contestants)


# ---------------------------------------------------------------------------------------- cost of annotation

TOKENS, N_TEXTS = (1, 2, 5, 10, 100), (1, 2, 5, 10, 25, 50, 100, 200)
SEQUENCES, MAJORITY = "whole sequences", "majority labels"


def cost(name: str, watch: Stopwatch) -> dict[str, float]:
    """Test accuracy against labelled tokens: of whole sequences, or of occurrences of a number of features."""
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
    return sum(len(e.split.X_train[i]) for i in chosen), few_labels.supervised_crf(e, chosen, 10.0)


def _by_features(e: Any, n: int, draw: int) -> tuple[int, float]:
    from sklearn_struct.labeled_features import sample_targets

    targets = sample_targets(e.X, e.split.y_train, list(e.labeled_features), n, random_state=draw)
    return sum(sum(counts.values()) for counts in targets.values()), e.ge(e.partly([]), targets)


def savings(runs: Any) -> None:
    """How many times as many tokens of whole sequences reach the same accuracy, where their curve gets there."""
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


# ------------------------------------------------------------------------------------------- cost of a step

N_CRITERIA = (10, 100, 1000)


def evaluation(n: int, on_pairs: bool, watch: Stopwatch) -> dict[str, float]:
    """Shortest evaluation of the objective on CoNLL-2000 (22 labels): the likelihood, or without labels n criteria.

    Labelled features are the most frequent words; all pairs of features and labels have weights. The criteria are on
    labels or on pairs of them.
    """
    import numpy as np
    from recording import evaluation_seconds

    from sklearn_struct import GECRF, FeatureTemplates, LinearChainCRF
    from sklearn_struct.datasets import fetch_conll2000

    warnings.simplefilter("ignore")
    rows, y = fetch_conll2000(return_X_y=True)
    rows, y = (rows[:500], y[:500]) if watch.quick else (rows, y)
    X = FeatureTemplates("chunking").fit_transform(rows)
    classes = sorted({label for labels in y for label in labels})
    options: dict[str, Any] = {"feature_pairs": "all", "solver": "lbfgs", "max_iter": 8, "tol": 0.0}
    if n == 0:
        model, target = LinearChainCRF(**options), y
    else:
        names = X.feature_names
        words = np.flatnonzero([name.startswith("w[0]:") for name in names.tolist()])
        frequent = words[
            np.argsort(-np.asarray(X.tokens.sum(axis=0)).ravel()[words], kind="stable")[:n]
        ]
        labels = [(label, label) for label in classes] if on_pairs else classes
        given = {names[f]: labels[m % len(labels)] for m, f in enumerate(frequent)}
        model, target = GECRF(given, classes=classes, **options), [None] * len(y)
    with evaluation_seconds() as found:
        model.fit(X, target)
    return {EXACT: min(found)}


def evaluation_goals(medians: Medians) -> list[Goal]:
    few, many, plain = f"{N_CRITERIA[0]} criteria", f"{N_CRITERIA[-1]} criteria", "likelihood"
    return [
        Goal(
            "evaluation, 10 criteria / likelihood",
            medians.ratio((few, EXACT), (plain, EXACT)),
            2.5,
            2.5,
            True,
        ),
        Goal(
            "evaluation, 1000 criteria / 10",
            medians.ratio((many, EXACT), (few, EXACT)),
            1.2,
            1.2,
            True,
        ),
    ]


BENCHMARKS = {
    "few-labels-addresses": _table("addresses, frequent words", "usaddress", "frequent"),
    "few-labels-precise": _table("addresses, precise words", "usaddress", "precise"),
    "few-labels-seminars": _table("seminars", "seminars", "rare"),
    "few-labels-citations": _table("citations", "umass_citations", "share"),
    "few-labels-ads": _table("rental ads", "rental ads", "share"),
    "few-labels-cost": Benchmark(
        "Few labels: labelled tokens and test accuracy",
        {},
        no_goals,
        "",
        {
            name: partial(cost, name)
            for name in (SEQUENCES, "33 features", "66 features", "99 features")
        },
        savings,
        Picture("labelled tokens", "test accuracy, %", excess=False),
    ),
    "few-labels-evaluation": Benchmark(
        "Few labels: an evaluation",
        {
            "likelihood": partial(evaluation, 0, False),
            **{f"{n} criteria": partial(evaluation, n, False) for n in N_CRITERIA},
            "10 criteria on pairs": partial(evaluation, 10, True),
        },
        evaluation_goals,
    ),
}
