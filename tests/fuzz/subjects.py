"""Public estimators and transformers, each with data that it reads."""

from __future__ import annotations

import inspect
import warnings
from functools import cache
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from sklearn_struct import (
    EMLPCFG,
    GECRF,
    HMM,
    HSMM,
    Cliques,
    ConstraintDrivenHMM,
    FactorialCRF,
    FeatureTemplates,
    GraphArray,
    GraphCRF,
    GridCRF,
    HiddenStateClassifier,
    LatentChainCRF,
    Lexicon,
    LinearChainCRF,
    LinearChainCRFCV,
    LogLinearClassifier,
    MEstimatedCRF,
    MultiLabelCRF,
    NonHomogeneousHMM,
    ProductFeatures,
    PrototypeFeatures,
    PrototypeMRF,
    SemiMarkovCRF,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
    SkipChainCRF,
    TokenTransformer,
    TokenWindows,
)
from sklearn_struct.metrics import token_accuracy_scorer

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB", "."]]
TREES = [
    "(S (NP (DET the) (NOUN cat)) (VP (VERB sleeps)))",
    "(NP (DET a) (NOUN dog))",
    "(S (NP (DET the) (NOUN dog)) (VP (VERB barks)) (. .))",
]
NUMBERS = [np.arange(3.0 * len(sentence)).reshape(-1, 3) % 4 for sentence in WORDS]
ROWS = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.5], [3.0, 1.5]])
NUMBERS_OF_ROWS = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.5], [3.0, 1.5], [1.0, 0.0], [2.0, 2.0]])
LABELS_OF_ROWS = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1]])
# a triangle, an edge, a cycle of four
EDGES = [[[0, 1], [1, 2], [2, 0]], [[0, 1]], [[1, 0], [1, 2], [3, 2], [0, 3]]]
# of which some pixels are unknown
IMAGES = [np.arange(12.0).reshape(2, 3, 2) % 5, np.arange(8.0).reshape(4, 1, 2) % 3]
LABEL_IMAGES = [
    np.array([[0, 1, 1], [0, 0, 1]]),
    np.ma.array([[0], [1], [1], [0]], mask=[[1], *[[0]] * 3]),
]
KINDS = [[{"far": bool(a > b), "size": a} for a, b in edges] for edges in EDGES]


def network(words: list[str], edges: list[list[int]]) -> nx.DiGraph:
    graph = nx.DiGraph(edges)
    nx.set_node_attributes(graph, dict(enumerate(words)), "word")
    nx.set_edge_attributes(graph, {(a, b): bool(a > b) for a, b in edges}, "far")
    return graph


def with_cliques(words: list[str], edges: list[list[int]]) -> tuple[Any, ...]:
    """Two kinds, of which the second is not in each graph."""
    parts = [Cliques("near", np.array(edges), np.ones((len(edges), 1)))]
    if len(words) > 2:
        parts.append(Cliques("three", np.array([[0, 2, 1]]), symmetric=True))
    return words, parts


def of_graphs(make: Any) -> list[Any]:
    return [make(*parts) for parts in zip(WORDS, EDGES, strict=True)]


FORMS = {
    "strings": (WORDS, TAGS),
    "columns": ([[(word, word[0]) for word in sentence] for sentence in WORDS], TAGS),
    "dicts": (
        [[{"word": word, "size": len(word)} for word in sentence] for sentence in WORDS],
        TAGS,
    ),
    "embeddings": (
        [[{"word": w, "vector": [len(w) / 4, -0.5]} for w in sentence] for sentence in WORDS],
        TAGS,
    ),
    "lists": ([[[word, word[0]] for word in sentence] for sentence in WORDS], TAGS),
    "numbers": (NUMBERS, [[len(tag) for tag in tags] for tags in TAGS]),
    "sparse": ([sp.csr_array(rows) for rows in NUMBERS], TAGS),
    "packed": (SequenceArray.from_sequences(NUMBERS), TAGS),
    "graphs": (list(zip(WORDS, EDGES, strict=True)), TAGS),
    "kinds of edges": (list(zip(WORDS, EDGES, KINDS, strict=True)), TAGS),
    "cliques": (of_graphs(with_cliques), TAGS),
    "networks": (of_graphs(network), TAGS),
    "packed graphs": (GraphArray(NUMBERS, EDGES, [np.eye(len(e), 2) for e in EDGES]), TAGS),
    "pairs of labels": (WORDS, [[(tag, len(tag)) for tag in tags] for tags in TAGS]),
    "rows": (ROWS, np.array(["A", "B", "B", "A"])),
    "images": (IMAGES, LABEL_IMAGES),
    "images with pictures": (list(zip(IMAGES, IMAGES, strict=True)), LABEL_IMAGES),
    "packed images": (np.arange(48.0).reshape(2, 3, 4, 2) % 5, np.arange(24).reshape(2, 3, 4) % 2),
    "labels of rows": (NUMBERS_OF_ROWS, LABELS_OF_ROWS),
    "trees": (WORDS, TREES),
    "classes of words": (WORDS, ["short", "long", "long"]),
    "classes of numbers": (NUMBERS, ["B", "A", "B"]),
    "inputs": (["the", "cat", "dog"], ["DET", "NOUN", "NOUN"]),
}


def letters(x: Any) -> list[str]:
    return ["any", *str(x)]


def pairs(x: Any, label: Any) -> list[str]:
    return [f"{letter}/{label}" for letter in letters(x)]


QUICK = {"max_iter": 3, "tol": 1e-6}
# Settings beside those with which all are as quick as they can be; what cannot be made without
# arguments needs some.
SETTINGS: dict[type, list[dict[str, Any]]] = {
    EMLPCFG: [
        {"n_states": 2, "random_state": 0},
        {"n_states": 2, "n_grammars": 2, "random_state": 0},
    ],
    FeatureTemplates: [{"templates": ["%x[0,0]", "b:%x[-1,0]/%x[0,0]"]}],
    FactorialCRF: [
        {},
        {"loss": "piecewise", "inference": "trw", "reach": 2},
        {"loss": "hinge", "random_state": 0},
    ],
    GraphCRF: [
        {},
        {"inference": "bp", "symmetric": True, "loss": "composite", "block_size": 2},
        {"inference": "trw", "loss": "pointwise", "feature_pairs": "all"},
        {"inference": "mean_field", "loss": "contrastive", "dtype": "float32"},
        {"inference": "gibbs", "solver": "sgd", "random_state": 0, "max_sweeps": 5},
        {"n_states": 2, "solver": "em", "init": "random", "random_state": 0},
        {"n_states": 3, "n_init": 2, "inference": "bp", "symmetric": True, "decoder": "states"},
        {"loss": "hinge", "random_state": 0},
        {"loss": "hinge", "n_states": 2, "decoder": "states", "random_state": 0},
    ],
    GridCRF: [
        {},
        {"pairwise": "contrast", "neighbours": 8, "directions": True, "dtype": "float32"},
        {"pairwise": "table", "loss": "hinge", "unknown": "drop", "random_state": 0},
        {"unary": "scores", "pairwise": "contrast", "inference": "bp"},
        {"unary": "scores", "scale": "label", "pairwise": "symmetric", "decoder": "marginal"},
    ],
    GECRF: [{}, {"labeled_features": {"the": "DET"}}, {"labeled_features": {0: 4}}],
    HiddenStateClassifier: [
        {"random_state": 0},
        {"random_state": 0, "n_init": 2, "solver": "em", "state_transitions": "left-to-right"},
        {"random_state": 0, "tied": True, "tied_transitions": True, "dtype": "float32"},
    ],
    ConstraintDrivenHMM: [{}, {"labeled_features": {"the": "DET"}, "min_length": 2}],
    HMM: [
        {},
        {"order": 2},
        {"covariance_type": "full"},
        {"mean_smoothing": 1.0, "covariance_smoothing": 2.0, "n_init": 2, "random_state": 0},
    ],
    HSMM: [
        {"max_length": 5},
        {"max_length": 5, "durations": "poisson", "right_censored": False},
        {"max_length": 5, "durations": "negative-binomial", "covariance_type": "full"},
    ],
    LogLinearClassifier: [
        {},
        {"features": ProductFeatures(letters)},
        {"features": pairs, "n_features": 16},
    ],
    LatentChainCRF: [
        {"random_state": 0},
        {"random_state": 0, "n_init": 2, "solver": "em", "state_transitions": "left-to-right"},
        {"random_state": 0, "n_states": 1, "decoder": "viterbi", "dtype": "float32"},
        {"random_state": 0, "loss": "hinge", "decoder": "viterbi"},
    ],
    LinearChainCRF: [
        {},
        {"solver": "pa", "feature_pairs": "all", "random_state": 0},
        {"loss": "pointwise", "edge_features": "all", "dtype": "float32"},
        {"order": 2},
        {"loss": "hinge", "random_state": 0},
    ],
    # folds that a single sequence has, too
    LinearChainCRFCV: [
        {"Cs": [0.1, 1.0], "cv": [([0], [0])]},
        {
            "Cs": 2,
            "l1_ratios": [0.0, 0.5],
            "cv": [([0], [0])] * 2,
            "scoring": token_accuracy_scorer,
        },
    ],
    MultiLabelCRF: [
        {},
        {"edges": "tree", "estimator": LinearChainCRF(**QUICK), "cv": 2, "decoder": "marginal"},
        {"edges": [[0, 1]], "loss": "pseudo", "dtype": "float32"},
        {"loss": "hinge", "random_state": 0},
    ],
    NonHomogeneousHMM: [
        {"transition_inputs": [1]},
        {"transition_inputs": [0, 2], "covariance_type": "full", "random_state": 0},
        {},
    ],
    MEstimatedCRF: [{}, {"base": "locally-uniform"}, {"distant_pairs": [("%x[0,0]", "%x[0,0]")]}],
    PrototypeFeatures: [{"prototypes": ["dog", "the"]}],
    PrototypeMRF: [
        {},
        {"prototypes": {"the": "DET"}, "boundary": "DET", "given_features": [0]},
        {"prototypes": {0: 4}, "order": 2, "solver": "em", "dtype": "float32"},
    ],
    SemiMarkovCRF: [
        {},
        {"max_length": 3, "edge_features": "all", "dtype": "float32", "scheme": "IO"},
        {"l1_ratio": 0.5, "outside": "DET", "feature_pairs": "all", "end_features": "all"},
        {"segment_features": Lexicon({"the cat"}), "max_length": 2},
        {"allowed_transitions": {None: ["VERB"]}, "constrain_training": True},
    ],
    SequenceUnion: [
        {
            "transformer_list": [
                ("a", SequenceVectorizer()),
                ("b", SequenceVectorizer(separator="|")),
            ]
        }
    ],
    SequenceVectorizer: [{}, {"n_features": 16}],
    SkipChainCRF: [
        {},
        {"key": "capitalized", "max_pairs": 1, "loss": "pseudo"},
        {"key": "capitalized", "skip_features": "either"},
    ],
    TokenTransformer: [{"transformer": StandardScaler()}],
    TokenWindows: [{}, {"offsets": [-1, 3], "padding": "edge", "indicator": True}],
}


class Subject(NamedTuple):
    """An estimator that is not fitted, the name of a form of data that it reads, and the data."""

    estimator: Any
    form: str
    X: Any
    y: Any

    @property
    def name(self) -> str:
        return f"{type(self.estimator).__name__} on {self.form}"

    def fitted(self) -> Any:
        """A new one, fitted to the data."""
        return quietly(lambda: clone(self.estimator).fit(self.X, self.y))


def made(cls: type, settings: dict[str, Any]) -> Any:
    names = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in QUICK.items() if name in names} | settings)


def quietly(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def answer(model: Any, X: Any, y: Any) -> Any:
    """What a fitted model says of data."""
    if getattr(model, "distant_pairs", None):
        return model.log_joint(X, y)  # it refuses predictions
    return (model.predict if hasattr(model, "predict") else model.transform)(X)


@cache
def subject(cls: type, which: int, form: str) -> Subject | None:
    """The class with the settings of this number, if it then reads this form."""
    found = Subject(made(cls, SETTINGS.get(cls, [{}])[which]), form, *FORMS[form])
    try:
        model = found.fitted()
        quietly(lambda: answer(model, found.X, found.y))
    except (ValueError, TypeError):
        return None
    return found


def subjects(cls: type) -> list[Subject]:
    """The class with all its settings, and all forms that it reads."""
    found = []
    for which, settings in enumerate(SETTINGS.get(cls, [{}])):
        read = [one for form in FORMS if (one := subject(cls, which, form))]
        assert read, f"{cls.__name__} with {settings} reads no form of data: add one to FORMS"
        found += read
    return found


def first(cls: type) -> Subject:
    """The class with its first settings, and the first form that it then reads."""
    return next(one for form in FORMS if (one := subject(cls, 0, form)))


def drawn(cls: type, rng: np.random.RandomState) -> Subject:
    """Any of `subjects`, of which no others are made."""
    which = rng.randint(len(SETTINGS.get(cls, [{}])))
    forms = rng.permutation(list(FORMS)).tolist()
    return next(one for form in forms if (one := subject(cls, which, form)))
