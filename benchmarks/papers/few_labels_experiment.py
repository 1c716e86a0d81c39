"""Learning with few labels: labelled features and their rivals on one corpus of fields.

Everything is chosen from training data, by rules that are fixed: which words are labelled, and with
what.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from papers.field_corpora import Split, Texts, load

# what a token shows: words and their neighbours, places, edge punctuation, digits
TEMPLATES = (
    *("w:%x[0,0]", "w-1:%x[-1,0]", "w+1:%x[1,0]", "first:%x[0,1]", "last:%x[0,2]"),
    *("end-2:%x[-2,3]", "end-1:%x[-1,3]", "end:%x[0,3]", "end+1:%x[1,3]"),
    *("digits-1:%x[-1,4]", "digits:%x[0,4]", "digits+1:%x[1,4]"),
)
WORD = "w:"
BETWEEN = "between fields"
N_LABELLED = (10, 25, 100)
DRAWS = 5
RESPLITS = 6
GRID = (
    0.1,
    0.3,
    1.0,
    3.0,
    10.0,
    30.0,
    100.0,
)  # of C of the supervised CRF; the best on the test set is taken
ENTROPY = 0.001  # as in the paper


class Rule(NamedTuple):
    """Which words are labelled: for each frequent label the most frequent words not more frequent
    with another.
    """

    min_label_tokens: float  # a share of the tokens if it is below 1
    n_per_label: int = 3
    min_precision: float = 0.0
    min_frequency: int = 1


RULES = {
    "frequent": Rule(250),
    "precise": Rule(180, min_precision=0.7, min_frequency=3),
    "share": Rule(0.023),
    "rare": Rule(0.005),  # where most tokens are of no field
    **{
        f"{11 * n} features": Rule(250, n_per_label=n) for n in (3, 6, 9)
    },  # of the 11 labels of addresses
}


def normalised(word: str) -> str:
    """Lower case, digits as 9, edge punctuation stripped."""
    bare = re.sub(r"\d", "9", word.lower()).strip(".,;:()[]\"'#&-")
    return bare or word


def described(X: Texts) -> list[list[tuple[str, ...]]]:
    """The columns of `TEMPLATES`."""
    rows = []
    for text in X:
        words = [normalised(word) for word in text]
        n = len(text)
        ends = ["," if word[-1] in ",;" else "." if word[-1] == "." else "" for word in text]
        digits = ["9" if "9" in word else "a" for word in words]
        places = [(str(min(t, 20)), str(min(n - 1 - t, 20))) for t in range(n)]
        rows.append(
            [(w, *p, end, d) for w, p, end, d in zip(words, places, ends, digits, strict=True)]
        )
    return rows


class Experiment:
    """A corpus, encoded, with its labelled words."""

    def __init__(self, split: Split, rule: str) -> None:
        from sklearn_struct import FeatureTemplates
        from sklearn_struct.labeled_features import suggest_labeled_features

        warnings.simplefilter("ignore")
        self.split = split
        self.rule = RULES[rule]
        templates = FeatureTemplates(list(TEMPLATES))
        self.X = templates.fit_transform(described(split.X_train))
        self.X_test = None
        self.X_test = templates.transform(described(split.X_test))
        least = self.rule.min_label_tokens
        self.labeled_features: dict[str, str] = suggest_labeled_features(
            self.X,
            split.y_train,
            n_per_label=self.rule.n_per_label,
            min_label_tokens=int(np.ceil(least * self.X.tokens.shape[0]))
            if least < 1
            else int(least),
            min_precision=self.rule.min_precision,
            min_frequency=self.rule.min_frequency,
            features=re.compile("w:.*"),
        )

    @property
    def words(self) -> dict[str, str]:
        """Labels of the labelled words, without the name of their column."""
        return {name.removeprefix(WORD): label for name, label in self.labeled_features.items()}

    @property
    def texts(self) -> tuple[Texts, Texts]:
        """The normalised words of the texts to learn from, and of those to test on."""
        first, second = (
            [[normalised(word) for word in text] for text in part]
            for part in (self.split.X_train, self.split.X_test)
        )
        return first, second

    def drawn(self, n: int, draw: int) -> list[int]:
        """The labelled sequences of a draw, sorted."""
        return sorted(np.random.RandomState(draw).permutation(len(self.X))[:n].tolist())

    def partly(self, chosen: list[int]) -> list[Any]:
        """y with the labels of the chosen sequences alone."""
        y: list[Any] = [None] * len(self.X)
        for i in chosen:
            y[i] = self.split.y_train[i]
        return y

    def accuracy(self, predicted: Any) -> float:
        """Per cent of the test tokens."""
        pairs = [
            pair
            for a, b in zip(predicted, self.split.y_test, strict=True)
            for pair in zip(a, b, strict=True)
        ]
        return 100 * sum(a == b for a, b in pairs) / len(pairs)

    def baseline(self) -> float:
        """The label of the token's labelled word, else the most frequent label."""
        words = self.words
        [(most, _)] = Counter(
            label for labels in self.split.y_train for label in labels
        ).most_common(1)
        return self.accuracy(
            [[words.get(normalised(word), most) for word in text] for text in self.split.X_test]
        )

    def ge(self, y: Any, targets: dict[str, Any] | None = None, **options: Any) -> float:
        """Labelled features, with whatever labels y has."""
        from sklearn_struct import GECRF

        given = self.labeled_features if targets is None else targets
        return self.accuracy(
            GECRF(given, max_iter=200, **options).fit(self.X, y).predict(self.X_test)
        )


@cache
def experiment(corpus: str, rule: str) -> Experiment:
    return Experiment(load(corpus), rule)


def resplit(corpus: str, rule: str, seed: int) -> Experiment:
    """The same number of texts to learn from, drawn from all."""
    X_train, y_train, X_test, y_test = load(corpus)
    X = X_train + X_test
    y = y_train + y_test
    order = np.random.RandomState(seed).permutation(len(X)).tolist()
    train = order[: len(X_train)]
    test = order[len(X_train) :]
    parts = [[part[i] for i in chosen] for chosen in (train, test) for part in (X, y)]
    return Experiment(Split(*parts), rule)


# ---- accuracies of rivals in one draw


def supervised_crf(e: Experiment, chosen: list[int], C: float) -> float:
    from sklearn_struct import LinearChainCRF

    crf = LinearChainCRF(C=C, fit_intercept=False).fit(
        e.X[chosen], [e.split.y_train[i] for i in chosen]
    )
    return e.accuracy(crf.predict(e.X_test))


def with_entropy(e: Experiment, chosen: list[int], draw: int) -> float:
    return e.ge(e.partly(chosen), {}, entropy_weight=ENTROPY)


def expected_gradient(e: Experiment, chosen: list[int], draw: int) -> float:
    """Partial labels: labelled words have their label, of other tokens nothing is known."""
    from sklearn_struct import LinearChainCRF

    y = e.partly(chosen)
    words = e.words
    known = [
        [words.get(normalised(word)) for word in text] if labels is None else labels
        for text, labels in zip(e.split.X_train, y, strict=True)
    ]
    crf = LinearChainCRF(C=10, fit_intercept=False, max_iter=200).fit(e.X, known)
    return e.accuracy(crf.predict(e.X_test))


def heuristic(e: Experiment, chosen: list[int], draw: int) -> float:
    return e.ge(e.partly(chosen))


def heuristic_with_entropy(e: Experiment, chosen: list[int], draw: int) -> float:
    return e.ge(e.partly(chosen), entropy_weight=ENTROPY)


def sampled(n_tokens: int) -> Callable[[Experiment, list[int], int], float]:
    """Targets from the labels of a few tokens of each feature."""

    def accuracy(e: Experiment, chosen: list[int], draw: int) -> float:
        from sklearn_struct.labeled_features import sample_targets

        targets = sample_targets(
            e.X, e.split.y_train, list(e.labeled_features), n_tokens, random_state=draw
        )
        return e.ge(e.partly(chosen), targets)

    return accuracy


def prototype_features(e: Experiment, chosen: list[int], draw: int) -> float:
    """Labelled features, with features of words that stand in the contexts of labelled words
    besides.
    """
    import scipy.sparse as sp

    from sklearn_struct import GECRF, PrototypeFeatures, SequenceArray

    texts = [
        [[normalised(word) for word in text] for text in part]
        for part in (e.split.X_train, e.split.X_test)
    ]
    near = PrototypeFeatures(e.words).fit(texts[0])
    packed = []
    for part, X in zip(texts, (e.X, e.X_test), strict=True):
        more = near.transform(part)
        tokens = sp.csr_array(sp.hstack([X.tokens, more.tokens]))
        names = np.concatenate([X.feature_names, more.feature_names])
        packed.append(SequenceArray(tokens, X.offsets, names))
    crf = GECRF(e.labeled_features, max_iter=200).fit(packed[0], e.partly(chosen))
    return e.accuracy(crf.predict(packed[1]))


def supervised_hmm(e: Experiment, chosen: list[int], draw: int) -> float:
    """As the model with which constraint-driven learning begins."""
    from sklearn_struct import HMM

    X_train, X_test = e.texts
    classes = sorted({label for labels in e.split.y_train for label in labels})
    hmm = HMM(n_states=classes, smoothing=0.1, transition_smoothing=0.1)
    hmm.fit([X_train[i] for i in chosen], [e.split.y_train[i] for i in chosen])
    return e.accuracy(hmm.predict(X_test))


def constraint_driven(e: Experiment, chosen: list[int], draw: int) -> float:
    return _constraint_driven(e, chosen, constrained=False)


def constrained_at_test(e: Experiment, chosen: list[int], draw: int) -> float:
    return _constraint_driven(e, chosen)


def constrained_lengths(e: Experiment, chosen: list[int], draw: int) -> float:
    """At test time, too, and with fields of two tokens or more."""
    return _constraint_driven(e, chosen, min_length=2)


def _constraint_driven(e: Experiment, chosen: list[int], **options: Any) -> float:
    from sklearn_struct import ConstraintDrivenHMM

    X_train, X_test = e.texts
    hmm = ConstraintDrivenHMM(e.words, **options).fit(X_train, e.partly(chosen))
    return e.accuracy(hmm.predict(X_test))


def posterior_regularised(e: Experiment, chosen: list[int], draw: int) -> float:
    return e.ge(e.partly(chosen), distance="posterior")


def prototype_driven(e: Experiment, chosen: list[int], draw: int) -> float:
    """Without labels alone: the word, its digits and last letters, and the prototypes that it
    stands near.
    """
    return _prototype_driven(e, boundary=False)


def prototypes_and_boundaries(e: Experiment, chosen: list[int], draw: int) -> float:
    """The same, with punctuation between fields."""
    return _prototype_driven(e, boundary=True)


def _prototype_driven(e: Experiment, boundary: bool) -> float:
    from sklearn_struct import PrototypeFeatures, PrototypeMRF, SequenceUnion, SequenceVectorizer

    train, test = (
        [
            [
                {
                    "word": word,
                    "end": word[-3:],
                    "digits": str(word.count("9")),
                    "first": t == 0,
                    "last": t == len(text) - 1,
                }
                for t, word in enumerate(text)
            ]
            for text in part
        ]
        for part in e.texts
    )
    own = SequenceVectorizer()
    union = SequenceUnion([("own", own), ("near", PrototypeFeatures(e.words, column="word"))])
    X = union.fit_transform(train)
    marks = {
        word for text in e.texts[0] for word in text if boundary and not re.search(r"\w", word)
    }
    # a word that is labelled is none that stands between fields
    labels = dict.fromkeys(sorted(marks), BETWEEN) | e.words
    model = PrototypeMRF(
        {f"own__word:{word}": label for word, label in labels.items()},
        boundary=BETWEEN if marks else None,
        given_features=["own__first", "own__last"],
        max_iter=200,
    )
    return e.accuracy(model.fit(X).predict(union.transform(test)))
