"""The benchmarks' own arithmetic, and that what they read of the package is still there; no times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_struct import MEMM, FeatureTemplates, LinearChainCRF, SequenceArray, SequenceVectorizer

FOLDER = Path(__file__).parents[1] / "benchmarks"
SENTENCES = [
    [("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")],
    [("Yes", "UH")],
    [("A", "DT"), ("cat", "NN")],
]
LABELS = [["B", "I", "O", "O"], ["O"], ["B", "I"]]


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.parametrize(
    ("value", "at_most", "verdict"),
    [
        (6.0, False, "met"),
        (5.5, False, "least met"),
        (4.9, False, "MISSED"),
        (None, False, "NO FIGURE"),
        (4.0, True, "met"),
        (float("inf"), True, "MISSED"),
    ],
)
def test_verdicts(value, at_most, verdict):
    from goals import Goal

    goal, least = (4.0, 5.0) if at_most else (6.0, 5.0)
    assert Goal("", value, goal, least, at_most).verdict() == verdict


def test_without_figures_each_goal_is_printed_as_such(capsys):
    from goals import print_goals
    from run import BENCHMARKS
    from side_by_side import Medians

    goals = [goal for benchmark in BENCHMARKS.values() for goal in benchmark.goals(Medians())]
    print_goals(goals)
    lines = capsys.readouterr().out.strip().splitlines()[1:]
    assert len(lines) == len(goals)
    assert all(line.endswith("NO FIGURE") for line in lines)


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from side_by_side import Benchmark, Options, Stopwatch, medians, race, work

def fails(watch):
    raise ValueError("on purpose")

def finish(runs):
    for run in runs["counts"]:
        run.figures["twice"] = 2 * run.figures["run"]

def sums(watch):
    with watch.part("sum"):
        sum(range(10))
    return dict(run=watch.run)

everyone = dict(counts=sums, fails=fails)
if "--worker" in sys.argv:
    _, contestant = sys.argv[2:4]
    work(everyone[contestant], Stopwatch(Path("."), int(sys.argv[5])))
else:
    runs = race("toy", Benchmark("Toy", everyone, lambda medians: [], finish=finish), Options(3, False, Path(".")))
    found = medians(runs)
    print(sorted(found), found.figure("counts", "twice"), found.figure("fails", "run"), sorted(found["counts"]))
"""


def test_who_fails_says_why_and_the_others_go_on(tmp_path):
    script = tmp_path / "toy.py"
    script.write_text(SCRIPT.format(folder=str(FOLDER)))
    out = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert out[0] == "FAILED: toy, fails: ValueError: on purpose"
    assert out[1] == "['counts'] 2 None ['peak memory, MB', 'run', 'sum, CPU s', 'twice']"


def test_iterations_have_the_objective_of_the_fit():
    from recording import evaluation_seconds, iterations

    X = SequenceVectorizer().fit_transform([[[w, p] for w, p in s] for s in SENTENCES])
    y = LABELS
    crf = LinearChainCRF(C=2, solver="lbfgs")
    with evaluation_seconds() as seconds, iterations(lambda w, value: -value, exact=True) as noted:
        crf.fit(X, y)
    assert len(seconds) >= crf.n_iter_ == len(noted)
    np.testing.assert_allclose([value for _, value, _ in noted], crf.loss_curve_)
    np.testing.assert_allclose([probe for _, _, probe in noted], np.negative(crf.loss_curve_))
    LinearChainCRF(solver="lbfgs").fit(X, y)
    assert len(noted) == crf.n_iter_  # nothing is noted afterwards


def test_peers_get_the_attributes_that_we_have():
    from tasks import dicts, window_attributes

    ours = FeatureTemplates("chunking", add_bos_eos=True).fit_transform(SENTENCES)
    for form in (window_attributes, lambda s: dicts(window_attributes(s))):
        theirs = SequenceVectorizer().fit_transform([form(sentence) for sentence in SENTENCES])
        assert theirs.tokens.shape == ours.tokens.shape
        np.testing.assert_array_equal(np.diff(theirs.tokens.indptr), np.diff(ours.tokens.indptr))
        np.testing.assert_array_equal(
            np.sort(theirs.tokens.sum(axis=0)), np.sort(ours.tokens.sum(axis=0))
        )


def test_prepared_data_are_read_as_they_were(tmp_path, monkeypatch):
    import tasks
    from side_by_side import Stopwatch

    toy = tasks.TASKS["chunking"]._replace(load=lambda split: (SENTENCES, LABELS))
    monkeypatch.setitem(tasks.TASKS, "chunking", toy)
    tasks.write("chunking", tmp_path, quick=False)
    assert tasks.read("chunking", "train", Stopwatch(tmp_path)) == (SENTENCES, LABELS)
    X, y, X_test, _ = tasks.packed("chunking", Stopwatch(tmp_path))
    assert isinstance(X, SequenceArray)
    assert X_test == X
    assert y == LABELS


def test_time_to_a_value_and_slope_of_a_power():
    from bench_growth import slope
    from bench_training import first_within

    assert first_within([(0.1, 5.0), (0.2, 2.0), (0.3, 3.0)], 3.0) == 0.2
    assert first_within([(0.1, 5.0)], 3.0) == float("inf")
    assert slope([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2)


def test_counts_of_the_roofline():
    from bench_roofline import FAR, FLOPS, NEAR, shape, work

    X = SequenceVectorizer().fit_transform([[["a", "b"], ["a"], ["c"]]]).tokens
    counts = shape(X, np.array([0, 1, 1]), 8)  # a occurs with both labels, b and c with one
    assert (counts.tokens, counts.labels, counts.weights) == (3, 2, 4 + 4)
    assert (counts.frequent, counts.rare, counts.single, counts.rows, counts.singles) == (
        2,
        0,
        2,
        1,
        2,
    )
    must = work(counts, 8)
    assert must[NEAR] == 3 * 2 * 64
    assert must[FLOPS] == 4 * 2 * 2 + 4 * 2 + 6 * 3 * 4
    assert must[FAR] == 4 * (2 * 2 + 3 * 2) + 2 * 2 * 8 + 2 * 3 * 64 + 2 * 8 * 8 + 2 * (64 + 2 * 8)


def test_interpolated_trigrams_are_distributions():
    from language_models import END, START, UNKNOWN, InterpolatedTrigram, histories, vocabulary

    text = [["a", "b", "a"], ["b", "a"], ["a", "rare"]]
    words = vocabulary(text, 2)
    assert words == {"a", "b"}
    X, y = histories(text, words)
    assert y == ["a", "b", "a", END, "b", "a", END, "a", UNKNOWN, END]
    assert [x.raw[x.position - 2 : x.position] for x in X[:2]] == [[START, START], [START, "a"]]
    for buckets in (False, True):
        model = InterpolatedTrigram(4, buckets).fit(X[:7], y[:7], X[7:], y[7:])
        for x in X:
            assert (
                np.exp(model.log_proba([x] * 4, ["a", "b", UNKNOWN, END])).sum() == pytest.approx(1)
                or x in X[7:]
            )


def test_a_wide_beam_finds_the_most_probable_tagging():
    from itertools import product

    from history_tagger import START, Context, HistoryTagger, word_features

    words = [[w for w, _ in s] for s in SENTENCES]
    tagger = HistoryTagger(C=10.0).fit(words, LABELS)
    sentence = ["A", "cat", "sat", "cat"]
    fixed = word_features(sentence, tagger.common)
    classes = tagger.model.classes_.tolist()

    def log_p(tags):
        padded = (START, START, *tags)
        places = [Context(names, *padded[i : i + 2]) for i, names in enumerate(fixed)]
        return tagger.model.log_proba(places, tags).sum()

    best = max(product(classes, repeat=4), key=log_p)
    assert tagger.predict([sentence, ["Yes"]], beam=100)[0] == list(best)
    assert tagger.predict([sentence])[0][0] == tagger.predict([sentence[:1]])[0][0]


def test_a_tagger_of_order_1_is_a_memm():
    from history_tagger import WORD_AND_TAG, HistoryTagger, memm_features

    words = [[w for w, _ in s] for s in SENTENCES]
    tagger = HistoryTagger(order=1, tol=1e-7).fit(words, LABELS)
    rows = [memm_features(s, tagger.common) for s in words]
    memm = MEMM(edge_features=WORD_AND_TAG, transition_features="observed", tol=1e-7).fit(
        rows, LABELS
    )
    assert len(memm._w) == len(tagger.model._w)
    assert memm.loss_curve_[-1] == pytest.approx(tagger.model.loss_curve_[-1], rel=1e-9)
    assert tagger.predict(words, beam=3) == memm.predict(rows).tolist()


def test_first_occurrences_are_out_of_vocabulary():
    from np_chunking import UNKNOWN, with_unknown

    train, other = with_unknown(
        [[("a", "X"), ("b", "X")], [("a", "Y"), ("a", "Y")]], [[("b", "Y"), ("a", "Z"), ("Y", "X")]]
    )
    assert train == [[(UNKNOWN, UNKNOWN), (UNKNOWN, "X")], [("a", UNKNOWN), ("a", "Y")]]
    assert other == [[(UNKNOWN, "Y"), ("a", UNKNOWN), (UNKNOWN, "X")]]


def test_models_of_the_noun_phrase_experiment_have_valid_parameters():
    from bench_np_chunking import BASES
    from np_chunking import EXTENDED, HMM_FEATURES, MODELS, m_estimated

    for model in [*MODELS.values(), *(m_estimated(**options) for options in BASES.values())]:
        for features in (HMM_FEATURES, EXTENDED):
            estimator = model.make(features, model.grid[-1], 3)
            estimator._validate_params()
            assert not model.path or "warm_start" in estimator.get_params()


@pytest.mark.parametrize("name", ["HMM, order 2", "CRF"])
def test_a_cell_of_the_noun_phrase_table(name, tmp_path, monkeypatch):
    import tasks
    from bench_np_chunking import table
    from np_chunking import HMM_FEATURES, MODELS
    from side_by_side import Stopwatch

    spans = [[label if label == "O" else f"{label}-NP" for label in labels] for labels in LABELS]
    toy = tasks.TASKS["noun-phrases"]._replace(load=lambda split: (4 * SENTENCES, 4 * spans))
    monkeypatch.setitem(tasks.TASKS, "noun-phrases", toy)
    monkeypatch.setitem(MODELS, "CRF", MODELS["CRF"]._replace(grid=(0.1, 10.0)))
    tasks.write("noun-phrases", tmp_path, quick=False)
    figures = table(HMM_FEATURES, name, Stopwatch(tmp_path))
    assert figures["F1"] == figures["precision"] == 100
    assert figures["C"] in MODELS[name].grid
    assert {"recall, paper", "F1, held out"} <= set(figures)
    assert figures == table(HMM_FEATURES, name, Stopwatch(tmp_path))  # the same fit, from its file


def test_plateaus_ratios_and_what_a_memory_has_stored(tmp_path):
    from bench_np_times import FIT, PLATEAU, plateau, ratios, stored
    from joblib import Memory
    from side_by_side import Run

    assert plateau([(1.0, 80.0), (2.0, 89.96), (3.0, 90.0), (4.0, 89.0)]) == (2.0, 89.96)
    runs = {
        "M-est.": [Run({FIT: 2.0, PLATEAU: 1.0}, [])],
        "CRF": [Run({FIT: 8.0, PLATEAU: 5.0}, [])],
    }
    ratios(runs)
    assert [
        runs["CRF"][0].figures[name] for name in sorted(runs["CRF"][0].figures) if "M-est." in name
    ] == [4.0, 5.0]
    remembered = Memory(tmp_path, verbose=0).cache(_square)
    assert [remembered(3), remembered(3), remembered(4)] == [9, 9, 16]
    assert stored(tmp_path) == {"_square": 2}


def _square(x):
    return x * x


def test_curves_are_plotted_as_their_benchmark_says(tmp_path):
    from curves import plot_curves
    from goals import no_goals
    from side_by_side import Benchmark, Picture, Run

    runs = {"a": [Run({}, [(1.0, 3.0), (2.0, 2.0)])], "optimum": [Run({}, [(float("nan"), 1.0)])]}
    broken = {"b": [Run({}, [(1.0, 80.0), (1.0, float("nan")), (2.0, 90.0)])]}
    scores = Benchmark("Scores", {}, no_goals, picture=Picture("sentences", "F1", excess=False))
    plot_curves(
        [(Benchmark("Objective", {}, no_goals), runs), (scores, broken)], tmp_path / "curves.png"
    )
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_nltk_finds_the_best_parses_of_a_pcfg():
    from math import log

    from nltk.parse import ViterbiParser
    from treebank_grammar import nltk_grammar, observations, with_one_root

    from sklearn_struct import PCFG
    from sklearn_struct.datasets import make_treebank

    X, y = make_treebank(60, random_state=0)
    parser = with_one_root(PCFG(vertical_order=1).fit(X, y))
    sentences = [
        ["the", "child", "sees", "Zyx"],
        ["some", "dogs", "met", "Ann", "with", "a", "red", "spoon"],
    ]
    grammar = nltk_grammar(parser, sentences)
    found = [next(ViterbiParser(grammar).parse(words)) for words in observations(parser, sentences)]
    expected = parser.log_joint(sentences, parser.predict(sentences))
    assert [log(tree.prob()) for tree in found] == pytest.approx(expected.tolist(), abs=1e-12)
    mass = {}
    for production in grammar.productions():
        mass[production.lhs()] = mass.get(production.lhs(), 0.0) + production.prob()
    assert len(mass) == len(parser.symbols_)
    assert list(mass.values()) == pytest.approx([1.0] * len(mass))
