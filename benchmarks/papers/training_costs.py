"""Table 5.1 of Sutton and McCallum: what it costs to train chains for noun phrases, names and parts
of speech, by L-BFGS on one thread.

The paper has newswire, MALLET and a Xeon of 2.4 GHz. Noun phrases are the same corpus
(CoNLL-2000). Parts of speech are those of the same sentences, and the 50 tags of EWT, instead of
the whole Wall Street Journal. Names are *substituted*: no corpus at hand has any, so the fields of
seminar announcements stand for them, which are four kinds of entities, too, of nine labels in all.
As in the paper there are prefixes, suffixes and lists of words; the lists are our own, as theirs
are not printed. Seconds of the paper are of other machines and, but for noun phrases, of other
data: ours stand beside them to show the order, no more.

The variance of the prior, sigma^2, which is `C`, is 10, as the paper often has it, and ten times
and a tenth of that: section 5.1.1 says that it hardly matters. One run had scores of 93.6, 93.4 and
93.2 for noun phrases (sigma^2 of 1, 10 and 100), 85.7, 86.2 and 86.7 for fields, 97.9, 98.1 and
98.1 for the tags of CoNLL-2000, and 94.1, 94.4 and 94.2 for those of EWT.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from lib.claims import Claim
from lib.fitting import FIT, load_kernels
from lib.goals import no_goals
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.tasks import QUICK, TASKS, Corpus, Sentence, affix_attributes

from papers.field_corpora import announcements

VARIANCES = (1.0, 10.0, 100.0)
ITERATIONS = 1000
SCORE = "test score"
HARDLY = 1.0  # points between the best and the worst variance
LISTS = {
    "day": "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur "
    "thurs fri sat sun today tomorrow yesterday",
    "month": "january february march april may june july august september october november "
    "december jan feb mar apr jun jul aug sep sept oct nov dec",
    "time": "am pm a.m p.m noon midnight hour hours minute minutes o'clock",
    "title": "mr mrs ms dr prof professor sir president chairman director dean",
    "company": "inc corp co ltd plc llc group bank university institute department school",
    "place": "hall room building center auditorium street avenue road lounge floor wing lab",
    "number": "one two three four five six seven eight nine ten eleven twelve hundred thousand "
    "million billion dozen half",
    "name": "james john robert michael william david richard charles joseph thomas mary patricia "
    "linda barbara elizabeth jennifer susan margaret george paul mark peter alan steven andrew",
    "modal": "can could may might must shall should will would",
    "pronoun": "i you he she it we they me him her us them myself yourself himself itself",
}
LISTED: dict[str, list[str]] = {}
for _name, _words in LISTS.items():
    for _word in _words.split():
        LISTED.setdefault(_word, []).append(_name)


class Row(NamedTuple):
    """A row of the table.

    ``load(split)`` gives rows and labels; `scheme` is that of spans, or None where tokens are
    scored. The rest is the paper's: parameters, sequences, tokens, labels, seconds.
    """

    load: Callable[[str], Corpus]
    scheme: str | None
    parameters: int
    sequences: int
    tokens: int
    labels: int
    seconds: float


def attributes(sentence: Sentence) -> list[list[str]]:
    """Words, prefixes and suffixes, lists that have a word or its neighbours, and the tags around
    it where there are tags.
    """
    made = affix_attributes(sentence)
    listed = [LISTED.get(token[0].lower().strip(".,:;()"), []) for token in sentence]
    n = len(sentence)
    for t, token in enumerate(made):
        near = [(o, t + o) for o in (-2, -1, 0, 1, 2) if 0 <= t + o < n]
        token += [f"list[{o}]={name}" for o, s in near for name in listed[s]]
        if len(sentence[t]) > 1:
            token += [f"tag[{o}]={sentence[s][1]}" for o, s in near]
            token += [
                f"tags[{o}]={sentence[s][1]}|{sentence[s + 1][1]}" for o, s in near if s + 1 < n
            ]
    return made


def own_tags(split: str) -> Corpus:
    """Words and parts of speech of the chunking corpus."""
    X, _ = TASKS["chunking"].load(split)
    words = [[(word,) for word, _ in sentence] for sentence in X]
    return words, [[tag for _, tag in sentence] for sentence in X]


def fields(split: str) -> Corpus:
    """Words of announcements of the first split, their fields as B- and I-."""
    texts = announcements(0)[split == "test"]
    return [[(word,) for word in text.words] for text in texts], [
        list(begun(text.labels)) for text in texts
    ]


def begun(labels: list[str]) -> Iterator[str]:
    """Runs of a label as B- and I-."""
    before = "O"
    for label in labels:
        yield label if label == "O" else f"{'I' if label == before else 'B'}-{label}"
        before = label


NP = (248_471, 8_936, 211_727, 3, 958.0)
NER = (187_540, 946, 204_567, 9, 4_866.0)
POS = (509_951, 38_219, 912_344, 45, 325_500.0)
ROWS = {
    "NP": Row(TASKS["noun-phrases"].load, "IOB2", *NP),
    "NER (seminars' fields)": Row(fields, "IOB2", *NER),
    "POS (CoNLL-2000)": Row(own_tags, None, *POS),
    "POS (EWT)": Row(TASKS["xpos"].load, None, *POS),
}


def fit(name: str, variance: float, watch: Stopwatch) -> dict[str, float]:
    """A fit from zero until L-BFGS converges, with what the table says of it."""
    from sklearn_struct import LinearChainCRF, SequenceVectorizer

    warnings.simplefilter("ignore")
    row = ROWS[name]
    (X, y), (X_test, y_test) = (row.load(split) for split in ("train", "test"))
    n = QUICK["test"] if watch.quick else None
    vectorizer = SequenceVectorizer()
    tokens = vectorizer.fit_transform(map(attributes, X[:n]))
    crf = LinearChainCRF(C=variance, solver="lbfgs", max_iter=ITERATIONS)
    load_kernels(crf, tokens[:20], y[:20], max_iter=2)
    with watch.part(FIT.partition(",")[0]):
        crf.fit(tokens, y[:n])
    predicted = crf.predict(vectorizer.transform(map(attributes, X_test[:n])))
    return {
        "parameters": len(crf._w),
        "  the paper's": row.parameters,
        "sequences": len(tokens),
        "  its sequences": row.sequences,
        "tokens": int(tokens.offsets[-1]),
        "  its tokens": row.tokens,
        "labels": len(crf.classes_),
        "  its labels": row.labels,
        "its seconds": row.seconds,
        "iterations": crf.n_iter_,
        SCORE: score(row.scheme, y_test[:n], predicted),
    }


def score(scheme: str | None, y: list[list[str]], predicted: Any) -> float:
    """F1 of spans, or accuracy of tokens."""
    from sklearn_struct.metrics import span_f1_score, token_accuracy_score

    if scheme is None:
        return float(token_accuracy_score(y, predicted))
    return float(span_f1_score(y, predicted, scheme=scheme))


def column(name: str, variance: float) -> str:
    return f"{name}, {variance:g}"


def claims(medians: Medians) -> list[Claim]:
    """That the variance hardly matters: the loss of other variances against the best, in points."""
    told = []
    for name in ROWS:
        scores = [medians.figure(column(name, variance), SCORE) for variance in VARIANCES]
        known = [score for score in scores if score is not None]
        lost = 100 * (min(known) - max(known)) if len(known) == len(VARIANCES) else None
        told.append(
            Claim("5.1.1: sigma^2 hardly matters", name, "points, worst less best", lost, -HARDLY)
        )
    return told


BENCHMARKS = {
    "training-costs": Benchmark(
        "Parameters, iterations and seconds of chains trained by L-BFGS, with three variances",
        {
            column(name, variance): partial(fit, name, variance)
            for name in ROWS
            for variance in VARIANCES
        },
        no_goals,
        papers=(Source("sutton-2012", "table 5.1"),),
        claims=claims,
    ),
}
