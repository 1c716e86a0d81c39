"""Classes of whole sequences, by hidden states and by rivals: vowels of nine speakers, and
generated motions.

All contestants read the same channel features. Numbers of states, penalties and the forms of
models are chosen by cross-validation on the sequences to learn from; test sequences are looked at
once.
"""

from __future__ import annotations

import gzip
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from lib.fitting import FIT
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

from papers.field_corpora import in_data_home
from papers.sequence_rivals import HiddenMarkovClasses, NearestByWarping, moments

SEED = 0
DRAWS = 10
N_MOTIONS = 40  # to learn from in a draw, and as many to test on
ACCURACY = "test accuracy"
CHOSEN = "chosen by cross-validation: "
OURS = "HiddenStateClassifier"
THEIRS = "hmmlearn, a model for each class"


class Task(NamedTuple):
    """Sequences to learn from and to test on, as rows of channel features."""

    X: list[Any]
    y: Any
    X_test: list[Any]
    y_test: Any


# ---- data


def read_vowels(name: str) -> tuple[list[Any], Any]:
    """Sequences (n_tokens, 12) and speakers of a file in the format of sktime."""
    import numpy as np

    packed = in_data_home("japanese_vowels", f"JapaneseVowels_{name}.ts.gz").read_bytes()
    rows = gzip.decompress(packed).decode().partition("@data")[2].split()
    cells = [row.split(":") for row in rows]
    X = [np.array([channel.split(",") for channel in channels], float).T for *channels, _ in cells]
    return X, np.array([speaker for *_, speaker in cells])


def vowel_features(rows: Any) -> Any:
    """Channels, their products with the place in the word and with its square, and their
    deviations, which are the same at all tokens.
    """
    import numpy as np

    place = np.linspace(-1.0, 1.0, len(rows))[:, None]
    deviations = np.broadcast_to(rows.std(axis=0), rows.shape)
    return np.hstack([rows, rows * place, rows * (place**2 - 1 / 3), deviations])


def standardised(train: list[Any], test: list[Any]) -> tuple[list[Any], list[Any]]:
    """By means and deviations of all tokens to learn from."""
    import numpy as np

    tokens = np.concatenate(train)
    mean = tokens.mean(axis=0)
    deviation = tokens.std(axis=0)
    return tuple([(rows - mean) / deviation for rows in part] for part in (train, test))


def vowels(quick: bool) -> Iterator[Task]:
    parts = [read_vowels(name) for name in ("TRAIN", "TEST")]
    if quick:
        parts = [(X[::5], y[::5]) for X, y in parts]
    (X, y), (X_test, y_test) = parts
    X, X_test = standardised(X, X_test)
    yield Task([vowel_features(rows) for rows in X], y, [*map(vowel_features, X_test)], y_test)


def motions(quick: bool) -> Iterator[Task]:
    from sklearn_struct.datasets import make_motions

    for draw in range(1 if quick else DRAWS):
        X, y = make_motions(2 * N_MOTIONS, random_state=draw)
        train, test = standardised(list(X[:N_MOTIONS]), list(X[N_MOTIONS:]))
        yield Task(train, y[:N_MOTIONS], test, y[N_MOTIONS:])


# ---- contestants


def by_length(X: list[Any]) -> list[Any]:
    """Rows divided by the length of their sequence, in units of 15 tokens: sums are means then."""
    return [rows * (15.0 / len(rows)) for rows in X]


def hidden_states(grid: list[dict[str, list[Any]]], form: Callable[[Any], Any]) -> Any:
    """A search over settings of ours."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from sklearn_struct import HiddenStateClassifier

    model = HiddenStateClassifier(init="random", random_state=SEED, tol=1e-3, max_iter=100)
    name = "hiddenstateclassifier"
    named = [{f"{name}__{key}": values for key, values in part.items()} for part in grid]
    return searched(make_pipeline(FunctionTransformer(form), model), named, "neg_log_loss")


def logistic(n_parts: int) -> Any:
    """Logistic regression on means and deviations, and on means of so many parts."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    columns = FunctionTransformer(partial(moments, n_parts=n_parts))
    model = make_pipeline(columns, StandardScaler(), LogisticRegression(max_iter=5000))
    grid = {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]}
    return searched(model, grid, "neg_log_loss")


def searched(model: Any, grid: Any, scoring: str | None = None) -> Any:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=SEED)
    return GridSearchCV(model, grid, cv=folds, scoring=scoring)


def hmmlearn(states: list[int], forms: list[str]) -> Any:
    grid = {"n_states": states, "form": forms}
    return searched(HiddenMarkovClasses(random_state=SEED), grid)


def compete(
    tasks: Callable[[bool], Iterator[Task]], contestant: Callable[[], Any], watch: Stopwatch
) -> dict[str, float]:
    """Choose on the sequences to learn from, fit what was chosen once more, and test."""
    import numpy as np
    from sklearn.base import clone

    accuracy = []
    seconds = []
    figures = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw, task in enumerate(tasks(watch.quick)):
            search = contestant()
            search.fit(task.X, task.y)
            model = clone(search.best_estimator_)
            start = time.process_time()
            model.fit(task.X, task.y)
            seconds.append(time.process_time() - start)
            accuracy.append(float(np.mean(model.predict(task.X_test) == task.y_test)))
            chosen = {key.rpartition("__")[2]: value for key, value in search.best_params_.items()}
            print(f"draw {draw}: {accuracy[-1]:.4f}, {CHOSEN}{chosen}", flush=True)
            figures |= {
                f"{CHOSEN}{key}": float(value)
                for key, value in chosen.items()
                if isinstance(value, int | float) and draw == 0
            }
    return {ACCURACY: float(np.mean(accuracy)), FIT: float(np.mean(seconds)), **figures}


def goals_of_vowels(medians: Medians) -> list[Goal]:
    return [
        Goal("accuracy, vowels by hidden states", medians.figure(OURS, ACCURACY), 0.992, 0.984),
        Goal("fit, vowels, hmmlearn / ours", medians.ratio((THEIRS, FIT), (OURS, FIT)), 20, 10),
    ]


def goals_of_motions(medians: Medians) -> list[Goal]:
    return [
        Goal(
            "motions: points above hmmlearn a class",
            medians.points(OURS, THEIRS, ACCURACY),
            2.0,
            0.0,
        ),
        Goal(
            "motions: 1-NN by time warping",
            medians.figure("1-NN by time warping", ACCURACY),
            0.92,
            0.92,
            at_most=True,
        ),
        Goal(
            "motions: logistic regression on moments",
            medians.figure("logistic regression, means and deviations", ACCURACY),
            0.85,
            0.85,
            at_most=True,
        ),
    ]


OF_VOWELS = [
    {"n_states": [1, 2, 3], "C": [0.3, 1.0, 3.0]},
    {"n_states": [2, 3], "C": [1.0], "state_transitions": ["left-to-right"]},
]
OF_MOTIONS = [
    {"n_states": [4, 7], "C": [0.01, 0.1], "state_transitions": ["left-to-right"]},
]


def contestants(
    tasks: Callable[[bool], Iterator[Task]], ours: Callable[[], Any], theirs: Callable[[], Any]
) -> dict[str, Callable[[Stopwatch], dict[str, float]]]:
    rivals = {
        OURS: ours,
        THEIRS: theirs,
        "1-NN by time warping": partial(searched, NearestByWarping(), {"n_neighbors": [1]}),
        "logistic regression, means and deviations": partial(logistic, 1),
        "logistic regression, means of thirds, too": partial(logistic, 3),
    }
    return {name: partial(compete, tasks, make) for name, make in rivals.items()}


SOURCES = (Source("quattoni-2007", "hidden states"), Source("sutton-2012", "section 5.1.3"))
BENCHMARKS = {
    "classes-vowels": Benchmark(
        "Nine speakers, recognised by recordings of one vowel",
        contestants(
            vowels,
            partial(hidden_states, OF_VOWELS, by_length),
            partial(hmmlearn, [3, 5], ["ergodic"]),
        ),
        goals_of_vowels,
        beside="hmmlearn, time warping, logistic regression",
        papers=SOURCES,
    ),
    "classes-motions": Benchmark(
        "Four classes of generated motions, ten data sets",
        contestants(
            motions,
            partial(hidden_states, OF_MOTIONS, list),
            partial(hmmlearn, [3, 5, 7], ["ergodic", "left-to-right"]),
        ),
        goals_of_motions,
        beside="hmmlearn, time warping, logistic regression",
        papers=SOURCES,
    ),
}
