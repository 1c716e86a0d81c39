"""CoNLL-2000 chunking: LinearChainCRF beside python-crfsuite and sklearn-crfsuite, at the same objective (c2 = 1).

    python benchmarks/bench_chunking.py --runs 3

Needs the corpus (see `fetch_conll2000`) and the "benchmarks" extra. Every run is a fresh process; contestants
take turns, medians are printed. A small fit before the clock starts loads the compiled kernels (the very first
time it compiles them). "fit, CPU s" starts at the columns of the file (ours) or at ready-made dicts or string
lists (the peers, whose feature extraction in Python is listed apart and not counted).
"""

from __future__ import annotations

from typing import Any

from side_by_side import Stopwatch, main

from sklearn_struct import FeatureTemplates, LinearChainCRF
from sklearn_struct.datasets import fetch_conll2000
from sklearn_struct.metrics import span_f1_score, token_accuracy_score
from sklearn_struct.objective import LinearObjective

WINDOWS = (
    (0, "w", [(-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1)]),
    (
        1,
        "pos",
        [(-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2)],
    ),
)


def attributes(sentence: list[tuple[str, str]]) -> list[list[str]]:
    """The CRFsuite tutorial's attributes of each token, as strings."""
    n = len(sentence)
    found = []
    for t in range(n):
        token = []
        for column, name, windows in WINDOWS:
            for window in windows:
                if all(0 <= t + o < n for o in window):
                    names = "|".join(f"{name}[{o}]" for o in window)
                    token.append(names + "=" + "|".join(sentence[t + o][column] for o in window))
        token += ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == n - 1)
        found.append(token)
    return found


def scores(watch: Stopwatch, y: Any, predicted: Any) -> dict[str, float]:
    n_tokens = sum(map(len, y))
    return {
        "tagging, tokens / CPU s": n_tokens / watch.figures["predict, CPU s"],
        "test span F1, %": 100 * span_f1_score(y, predicted),
        "test token accuracy, %": 100 * token_accuracy_score(y, predicted),
    }


def ours(n_jobs: int) -> Any:
    def run(watch: Stopwatch) -> dict[str, float]:
        (X, y), (X_test, y_test) = (fetch_conll2000(subset=s, return_X_y=True) for s in ("train", "test"))
        templates = FeatureTemplates("chunking", add_bos_eos=True)
        crf = LinearChainCRF(C=0.5, solver="lbfgs", fit_intercept=False, n_jobs=n_jobs)
        crf.fit(templates.fit_transform(X[:20]), y[:20]).predict(templates.transform(X[:20]))
        evaluations = Stopwatch()
        counted = LinearObjective.value_and_grad
        seconds = {"CPU": 0.0, "wall": 0.0, "n": 0}

        def value_and_grad(self: Any, w: Any) -> Any:
            with evaluations.part("one"):
                result = counted(self, w)
            seconds["CPU"] += evaluations.figures["one, CPU s"]
            seconds["wall"] += evaluations.figures["one, wall s"]
            seconds["n"] += 1
            return result

        LinearObjective.value_and_grad = value_and_grad
        with watch.part("fit"):
            with watch.part("of it encoding"):
                encoded = templates.fit_transform(X)
            crf.fit(encoded, y)
        with watch.part("predict"):
            predicted = crf.predict(templates.transform(X_test))
        return {
            "objective evaluations": seconds["n"],
            "one evaluation, CPU s": seconds["CPU"] / seconds["n"],
            "one evaluation, wall s": seconds["wall"] / seconds["n"],
            "objective at the end": crf.loss_curve_[-1],
            **scores(watch, y_test, predicted),
        }

    return run


def python_crfsuite(watch: Stopwatch) -> dict[str, float]:
    import os
    import tempfile

    import pycrfsuite

    (X, y), (X_test, y_test) = (fetch_conll2000(subset=s, return_X_y=True) for s in ("train", "test"))
    with watch.part("attributes in Python (not counted)"):
        X = [attributes(sentence) for sentence in X]
    X_test = [attributes(sentence) for sentence in X_test]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.select("lbfgs")
        trainer.set_params({"c1": 0.0, "c2": 1.0, "feature.possible_transitions": True})
        with watch.part("fit"):
            with watch.part("of it encoding"):
                for sentence, labels in zip(X, y, strict=True):
                    trainer.append(sentence, labels)
            with watch.part("training"):
                trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        with watch.part("predict"):
            predicted = [tagger.tag(sentence) for sentence in X_test]
    log = trainer.logparser.iterations
    n = sum(iteration["linesearch_trials"] for iteration in log)
    return {
        "objective evaluations": n,
        "one evaluation, CPU s": watch.figures.pop("training, CPU s") / n,
        "one evaluation, wall s": watch.figures.pop("training, wall s") / n,
        "objective at the end": log[-1]["loss"],
        **scores(watch, y_test, predicted),
    }


def sklearn_crfsuite(watch: Stopwatch) -> dict[str, float]:
    from sklearn_crfsuite import CRF

    (X, y), (X_test, y_test) = (fetch_conll2000(subset=s, return_X_y=True) for s in ("train", "test"))

    def dicts(sentence: Any) -> list[dict[str, Any]]:
        return [dict(a.split("=", 1) if "=" in a else (a, True) for a in token) for token in attributes(sentence)]

    with watch.part("attributes in Python (not counted)"):
        X = [dicts(sentence) for sentence in X]
    X_test = [dicts(sentence) for sentence in X_test]
    crf = CRF(algorithm="lbfgs", c1=0.0, c2=1.0, all_possible_transitions=True)
    with watch.part("fit"):
        crf.fit(X, y)
    with watch.part("predict"):
        predicted = crf.predict(X_test)
    n = sum(iteration["linesearch_trials"] for iteration in crf.training_log_.iterations)
    last = crf.training_log_.iterations[-1]["loss"]
    return {"objective evaluations": n, "objective at the end": last, **scores(watch, y_test, list(predicted))}


def ratios(medians: dict[str, dict[str, float]]) -> None:
    """The figures that the project promises, as ratios."""
    ours1, ours2 = medians.get("ours"), medians.get("ours, 2 threads")
    peer, wrapper = medians.get("python-crfsuite"), medians.get("sklearn-crfsuite")
    print()
    if ours1 and peer:
        ratio = peer["one evaluation, CPU s"] / ours1["one evaluation, CPU s"]
        print(f"one evaluation, python-crfsuite / ours (CPU, one thread): {ratio:.2f}")
    if ours1 and wrapper:
        ratio = wrapper["fit, CPU s"] / ours1["fit, CPU s"]
        print(f"whole fit, sklearn-crfsuite from dicts / ours from columns (CPU): {ratio:.2f}")
        print(f"peak memory, sklearn-crfsuite / ours: {wrapper['peak memory, MB'] / ours1['peak memory, MB']:.2f}")
        ratio = ours1["tagging, tokens / CPU s"] / wrapper["tagging, tokens / CPU s"]
        print(f"tagging, ours from columns / sklearn-crfsuite from dicts (tokens / CPU s): {ratio:.2f}")
    if ours1 and ours2:
        for part in ("one evaluation, wall s", "fit, wall s"):
            print(f"gain of two threads, {part.split(',')[0]} (wall): {ours1[part] / ours2[part]:.2f}")


if __name__ == "__main__":
    ratios(
        main(
            {
                "ours": ours(1),
                "ours, 2 threads": ours(2),
                "python-crfsuite": python_crfsuite,
                "sklearn-crfsuite": sklearn_crfsuite,
            },
            __doc__.splitlines()[0],
        )
    )
