"""Damaged and hostile model files, and what becomes of them: refused, or loaded exactly as they
say.
"""

from __future__ import annotations

import copy
import inspect
import json
import struct
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pycrfsuite
import safetensors.numpy
import scipy.stats
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - sets the attribute that is imported next
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler

from fuzz.errors import is_clear
from sklearn_struct import (
    EMLPCFG,
    GECRF,
    HMM,
    HSMM,
    MEMM,
    PCFG,
    ConstraintDrivenHMM,
    FactorialCRF,
    FeatureTemplates,
    GraphCRF,
    GridCRF,
    HiddenStateClassifier,
    LatentChainCRF,
    Lexicon,
    LinearChainCRF,
    LinearChainCRFCV,
    LogLinearClassifier,
    MEstimatedCRF,
    MEstimatedPCFG,
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
    SpectralHMM,
    SpectralLPCFG,
    TokenTransformer,
    TokenWindows,
    TypedNodes,
)
from sklearn_struct.compat import CRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.metrics import sequence_accuracy_scorer, token_accuracy_scorer
from sklearn_struct.persistence import from_crfsuite, load
from sklearn_struct.persistence.file_format import KEY, N_DIGITS, _digest, _place
from sklearn_struct.persistence.files import _bytes
from sklearn_struct.persistence.former_names import renamed
from sklearn_struct.persistence.known_classes import class_named, known_names
from sklearn_struct.persistence.plain_values import plain

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."]]
GRAPHS = [
    (["the", "cat", "sleeps"], [[0, 1], [1, 2], [2, 0]]),
    (["a", "dog"], [[0, 1]]),
    (["the", "dog", "barks", "."], [[1, 0], [2, 1]]),
]
TYPED = [(TypedNodes(words, ["w", "t", "w", "h"][: len(words)]), edges) for words, edges in GRAPHS]
TYPED_TAGS = [["DET", 1, "VERB"], ["DET", 2], ["NOUN", 2, "VERB", None]]
ROWS = [[(word, word[0]) for word in sentence] for sentence in WORDS]
SIX_ROWS = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.5], [3.0, 1.5], [1.0, 0.0], [2.0, 2.0]])
LABEL_ROWS = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1]])
DICTS = [[{"word": word, "length": len(word)} for word in sentence] for sentence in WORDS]
EMBEDDINGS = [[{"word": w, "vector": [len(w) / 4, -0.5]} for w in sentence] for sentence in WORDS]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB", "."]]
TWO_TAGS = [[(tag, tag == "N") for tag in tags] for tags in TAGS]
TREES = [
    "(S (NP (DET the) (NOUN cat)) (VP (VERB sleeps)))",
    "(NP (DET a) (NOUN dog))",
    "(S (NP (DET the) (NOUN dog)) (VP (VERB barks)) (. .))",
]
CODES = [[(len(tag), True) for tag in tags] for tags in TAGS]
NUMBERS = [np.arange(3.0 * len(sentence)).reshape(-1, 3) % 4 for sentence in WORDS]
IMAGES = [np.arange(12.0).reshape(2, 3, 2) % 5, np.arange(8.0).reshape(4, 1, 2) % 3]
LABELS = [np.array([[0, 1, 1], [0, 0, 1]]), np.array([[0], [1], [1], [0]])]

KINDS = ["bytes", "sealed bytes", "sealed json", "sealed arrays", "crfsuite"]
STRANGE = [
    0,
    1,
    -1,
    7,
    2**31,
    2**53,
    2**63,
    -(2**63),
    10**30,
    0.5,
    1e308,
    True,
    None,
    "",
    "x",
    "lbfgs",
    [],
    {},
    [[]],
]
STRANGE += [
    {"function": "parts"},
    {"float": "nan"},
    {"float": "inf"},
    {"tuple": [1, 2]},
    {"characters": [-1]},
    {"array": [[], [1]]},
    ["a"] * 3,
]
EXTREMES = [0, 1, 2, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1]


def parts(*x: object) -> list[str]:
    """Of whatever it is called with."""
    return ["any", str(x)]


def lengths(X: list[list[str]]) -> list[np.ndarray]:
    """A number for each word."""
    return [
        np.array([[len(str(word))] for word in sentence], float).reshape(-1, 1) for sentence in X
    ]


FUNCTIONS = {"context": lambda x: ["any", str(x)[-1]], "parts": parts, "lengths": lengths}
QUICK = {"max_iter": 5, "tol": 9.0}


def models() -> list[tuple[object, object]]:
    """Fitted estimators of all forms, each with data for it."""
    return [*simple(), *composed()]


def simple() -> list[tuple[object, object]]:
    """Those that do not consist of others."""
    crf = LinearChainCRF(max_iter=5, tol=1.0)
    online = LinearChainCRF(solver="pa", random_state=0, feature_pairs="all")
    vectorizer = SequenceVectorizer(n_features=16).fit(WORDS)
    templates = FeatureTemplates(
        ["w:%x[0,0]", "b:%x[-1,0]/%x[0,1]|%x[1,0]"], boundary="pad", add_bos_eos=True
    )
    over_base = MEstimatedCRF(
        FeatureTemplates(["%x[0,0]", "%x[-1,1]"]), base=HMM(order=2), input_features=True
    )
    edges = LinearChainCRF(
        edge_features=["word:the"], dtype="float32", transition_features="observed"
    )
    of_states = GraphCRF(
        n_states={"NOUN": 2}, shared_states={("DET", "VERB"): 1}, symmetric=True, **QUICK
    )
    chain_of_rows = LinearChainCRF(tol=0.1)
    # with names: a file must have an array, which can be damaged
    named = SequenceArray.from_sequences(NUMBERS, ["a", "b", "c"])
    return [
        (edges.fit(DICTS, TAGS), DICTS),
        (crf.fit(NUMBERS, CODES), NUMBERS),
        (
            LinearChainCRFCV(Cs=[0.1, 1.0], l1_ratios=[0.0, 0.5], cv=2, tol=0.1).fit(WORDS, TAGS),
            WORDS,
        ),
        (
            online.partial_fit(vectorizer.transform(WORDS), TAGS, TAGS[2]),
            vectorizer.transform(WORDS),
        ),
        (make_pipeline(templates, LinearChainCRF()).fit(ROWS, TAGS), ROWS),
        (GraphCRF(tol=0.1, inference="bp").fit(GRAPHS, TAGS), GRAPHS),
        (GraphCRF(tol=0.1, hidden={"h": 2}).fit(TYPED, TYPED_TAGS), TYPED),
        (of_states.fit(GRAPHS, TAGS), GRAPHS),
        (GraphCRF(loss="hinge", random_state=0, tol=0.1).fit(GRAPHS, TAGS), GRAPHS),
        (
            SemiMarkovCRF(
                edge_features="all",
                allowed_transitions={"DET": ["DET", None]},
                constrain_training=True,
                **QUICK,
            ).fit(WORDS, TAGS),
            WORDS,
        ),
        (SemiMarkovCRF(end_features="all", **QUICK).fit(WORDS, [[(0, 2, "NP")]] * 3), WORDS),
        (
            SemiMarkovCRF(
                segment_features=[parts, Lexicon({"animal": {"cat", ("dog",)}})], **QUICK
            ).fit(WORDS, [[(0, 2, "NP")]] * 3),
            WORDS,
        ),
        (SkipChainCRF(tol=0.1).fit(WORDS, TAGS), WORDS),
        (GridCRF(pairwise="contrast", directions=True, **QUICK).fit(IMAGES, LABELS), IMAGES),
        (GridCRF(unary="scores", pairwise="symmetric", **QUICK).fit(IMAGES, LABELS), IMAGES),
        (FactorialCRF(tol=0.1).fit(WORDS, TWO_TAGS), WORDS),
        (
            LatentChainCRF(
                n_states={"NOUN": 2},
                shared_states={("DET", "VERB"): 1},
                state_transitions="left-to-right",
                random_state=0,
                tol=0.1,
            ).fit(DICTS, TAGS),
            DICTS,
        ),
        (
            HiddenStateClassifier(
                2,
                tied=True,
                state_transitions="left-to-right",
                random_state=0,
                tol=0.1,
            ).fit(DICTS, ["A", "B", "A"][: len(DICTS)]),
            DICTS,
        ),
        (FactorialCRF(reach=1, tol=0.1).fit(WORDS, TWO_TAGS), WORDS),
        (MultiLabelCRF(tol=0.1).fit(SIX_ROWS, LABEL_ROWS), SIX_ROWS),
        (
            MultiLabelCRF(edges=[[0, 2]], estimator=chain_of_rows, cv=2, tol=0.1).fit(
                SIX_ROWS, LABEL_ROWS
            ),
            SIX_ROWS,
        ),
        (HMM(order=2).fit(ROWS, TAGS), ROWS),
        (HMM(covariance_type="full").fit(NUMBERS, TAGS), NUMBERS),
        (HSMM(max_length=4).fit(ROWS, TAGS), ROWS),
        (HSMM(durations="negative-binomial", max_length=4).fit(NUMBERS, TAGS), NUMBERS),
        (
            HMM(
                allowed_transitions={None: ["."]},
                transition_smoothing=np.ones((4, 4)),
                covariance_smoothing=1.0,
            ).fit(NUMBERS, TAGS),
            NUMBERS,
        ),
        (HMM(autoregression=1).fit(NUMBERS, TAGS), NUMBERS),
        (HMM(n_mixtures=2, random_state=0).fit(NUMBERS, TAGS), NUMBERS),
        (HMM(emissions="poisson").fit(NUMBERS, TAGS), NUMBERS),
        (HMM(emissions="multinomial").fit(NUMBERS, TAGS), NUMBERS),
        (HSMM(max_length=4, autoregression=1).fit(NUMBERS, TAGS), NUMBERS),
        (HSMM(max_length=4, n_mixtures=2, random_state=0).fit(NUMBERS, TAGS), NUMBERS),
        (HSMM(max_length=4, emissions="poisson").fit(NUMBERS, TAGS), NUMBERS),
        (NonHomogeneousHMM(transition_inputs=[1]).fit(NUMBERS, TAGS), NUMBERS),
        (
            NonHomogeneousHMM(transition_inputs=[0, 2], emissions="poisson").fit(NUMBERS, TAGS),
            NUMBERS,
        ),
        (
            ConstraintDrivenHMM({"the": "DET"}, min_length=2, max_iter=1).fit(
                WORDS, [None, *TAGS[1:]]
            ),
            WORDS,
        ),
        (over_base.fit(ROWS, TAGS), ROWS),
        (MEstimatedCRF(distant_pairs=[("%x[0,0]", "%x[0,1]")]).fit(ROWS, TAGS), ROWS),
        (MEstimatedCRF(edge_features="all", base="locally-uniform").fit(NUMBERS, TAGS), NUMBERS),
        (
            GECRF({"word:the": "DET", 1: ("DET", "NOUN")}, tol=0.1).fit(DICTS, [None, *TAGS[1:]]),
            DICTS,
        ),
        (
            PrototypeMRF({"word:the": "DET", 1: {"DET", "NOUN"}}, boundary="DET", tol=0.1).fit(
                DICTS, [None, *TAGS[1:]]
            ),
            DICTS,
        ),
        (
            LogLinearClassifier(ProductFeatures(FUNCTIONS["context"], parts)).fit(
                WORDS[2], TAGS[2]
            ),
            WORDS[0],
        ),
        (LogLinearClassifier(parts, n_features=16).fit(WORDS[2], TAGS[2]), WORDS[0]),
        (LogLinearClassifier().fit(NUMBERS[0], TAGS[0]), NUMBERS[1]),
        (PCFG(smoothing=0.5).fit(WORDS, TREES), WORDS),
        (SpectralLPCFG(n_states=3).fit(WORDS, TREES), WORDS),
        (
            EMLPCFG(n_states=3, n_grammars=2, max_iter=3, tol=9.0, random_state=0).fit(
                WORDS, TREES
            ),
            WORDS,
        ),
        (FeatureTemplates("w:%x[0,0]").fit([[(1,), (2.5,), ("x",)]]), [[(1,), ("x",)]]),
        (SpectralHMM(n_states=2, min_frequency=1).fit(WORDS, TAGS), WORDS),
        (PrototypeFeatures(["the", "cat"]).fit(WORDS), WORDS),
        (TokenWindows([-1, 2], indicator=True).fit(named), named),
    ]


def composed() -> list[tuple[object, object]]:
    """Those that do."""
    words = SequenceVectorizer()
    chain = LinearChainCRF(**QUICK)
    number = make_pipeline(FunctionTransformer(lengths), TokenTransformer(RobustScaler()))
    pieces = ["symbol", "parent-symbol", "rule-word"]
    union = SequenceUnion(
        [("words", words), ("like", PrototypeFeatures({"dog": "NOUN"})), ("number", number)]
    )
    scaled = make_pipeline(
        TokenTransformer(StandardScaler()), TokenTransformer(PCA(2)), "passthrough", chain
    )
    grid = {"sequencevectorizer__min_frequency": [1, 2], "linearchaincrf": [chain, MEMM(**QUICK)]}
    search = GridSearchCV(
        make_pipeline(words, chain), grid, cv=2, scoring=token_accuracy_scorer, error_score=0.5
    )
    scoring = {"tokens": token_accuracy_scorer, "all": sequence_accuracy_scorer}
    drawn = {"c1": scipy.stats.expon(scale=0.1)}
    options = {
        "scoring": scoring,
        "refit": "tokens",
        "cv": KFold(2),
        "n_iter": 2,
        "random_state": 0,
    }
    steps = {
        "resource": "max_iter",
        "min_resources": 2,
        "max_resources": 4,
        "factor": 2,
        "cv": KFold(3),
    }
    halving = HalvingGridSearchCV(LinearChainCRF(**QUICK), {"C": [0.1, 1.0, 10.0]}, **steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            (MEstimatedPCFG(base=PCFG(smoothing=0.1), **QUICK).fit(WORDS, TREES), WORDS),
            (MEstimatedPCFG(pieces, pieces="trees", **QUICK).fit(WORDS, TREES), WORDS),
            (make_pipeline(union, chain).fit(WORDS, TAGS), WORDS),
            (union.fit(WORDS), WORDS),
            (LinearChainCRF(**QUICK).fit(EMBEDDINGS, TAGS), EMBEDDINGS),
            (SequenceVectorizer(separator="|").fit(EMBEDDINGS), EMBEDDINGS),
            (make_pipeline(scaled).fit(NUMBERS, TAGS), NUMBERS),
            (CRF(c1=0.1, max_iterations=3).fit(DICTS, TAGS), DICTS),
            (search.fit(DICTS, TAGS), DICTS),
            (halving.fit(DICTS, TAGS), DICTS),
            (RandomizedSearchCV(CRF(max_iterations=3), drawn, **options).fit(DICTS, TAGS), DICTS),
        ]


@cache
def originals() -> list[tuple[bytes, object]]:
    """The files of `models`, some of them also in an earlier format, and the data."""
    hmm = HMM(n_states=["DET", "NOUN", "VERB", "."], init="random").fit(WORDS, TAGS)
    chain = make_pipeline(SequenceVectorizer(), MEMM(**QUICK))
    search = GridSearchCV(chain, {"memm__decoder": ["beam", "greedy"]}, cv=KFold(2))
    names = ("decoder", "memm__decoder", "param_memm__decoder")
    changed = [(name, name.replace("decoder", "decoding")) for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        former = [
            in_format_1(_bytes(hmm), ("n_states", "states"), ("init", "start")),
            in_format_1(_bytes(search.fit(WORDS, TAGS)), *changed),
        ]
    return [
        *((_bytes(model, FUNCTIONS), X) for model, X in models()),
        *((f, WORDS) for f in former),
    ]


def in_format_1(data: bytes, *names: tuple[str, str]) -> bytes:
    """A file of the first format, in which parameters of these names had others."""
    header, model, arrays = taken_apart(data)
    text = json.dumps({**model, "format": 1})
    for name, former in names:
        if f'"{name}"' not in text:
            raise ValueError(f"the file has no {name!r}")
        text = text.replace(f'"{name}"', f'"{former}"')
    return sealed(put_together(header, json.loads(text), arrays))


@cache
def crfsuite_original() -> bytes:
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, tags in zip(WORDS, TAGS, strict=True):
        trainer.append([[word, "bias"] for word in sentence], tags)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
        return (Path(folder) / "model").read_bytes()


# ---------------------------------------------------------------- doing harm


def damaged(number: int, kind: str) -> tuple[bytes, object]:
    """File `number` of a kind, and data for the model that it once was."""
    rng = np.random.RandomState(number)
    if kind == "crfsuite":
        return damaged_bytes(crfsuite_original(), rng), None
    data, X = originals()[number % len(originals())]
    if kind.endswith("bytes"):
        changed = damaged_bytes(data, rng)
        return (sealed(changed) if kind.startswith("sealed") else changed), X
    return sealed((damaged_json if kind.endswith("json") else damaged_arrays)(data, rng)), X


def sealed(data: bytes) -> bytes:
    """With the right checksum, if there is still a place for one."""
    changed = bytearray(data)
    try:
        place = _place(changed)
    except ModelFileError:
        return data
    changed[place : place + N_DIGITS] = _digest(changed, place)
    return bytes(changed)


def damaged_bytes(data: bytes, rng: np.random.RandomState) -> bytes:
    """Flipped bits, cut, with zeros, with something twice or left out, with other numbers."""
    changed = bytearray(data)
    place = rng.randint(len(data))
    n = rng.randint(1, 40)
    way = rng.randint(6)
    if way == 0:
        for at in rng.randint(len(data), size=rng.randint(1, 9)):
            changed[at] ^= 1 << rng.randint(8)
    elif way == 1:
        del changed[place:]
    elif way == 2:
        changed[place : place + n] = bytes(len(changed[place : place + n]))
    elif way == 3:
        changed[place:place] = data[place : place + n]
    elif way == 4:
        del changed[place : place + n]
    else:
        place = 4 * rng.randint(len(data) // 4)
        changed[place : place + 4] = struct.pack("<I", EXTREMES[rng.randint(len(EXTREMES))])
    return bytes(changed)


def taken_apart(data: bytes) -> tuple[dict, dict, bytes]:
    """The header, the JSON in it, and the arrays."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    return header, json.loads(header["__metadata__"][KEY]), data[end:]


def put_together(header: dict, model: object, arrays: bytes) -> bytes:
    header["__metadata__"][KEY] = json.dumps(model, separators=(",", ":"))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + arrays


def damaged_json(data: bytes, rng: np.random.RandomState) -> bytes:
    """One or two strange values, or fields that lack, anywhere in the JSON."""
    header, model, arrays = taken_apart(data)
    for _ in range(1 + (rng.rand() < 0.2)):
        inside = model
        while True:
            keys = [
                key
                for key in (inside if isinstance(inside, dict) else range(len(inside)))
                if key != "sha256"
            ]
            if not keys:
                break
            key = keys[rng.randint(len(keys))]
            if isinstance(inside[key], dict | list) and inside[key] and rng.rand() < 0.9:
                inside = inside[key]
                continue
            if rng.rand() < 0.2:
                del inside[key]
            else:
                inside[key] = copy.deepcopy(STRANGE[rng.randint(len(STRANGE))])
            break
    return put_together(header, model, arrays)


def damaged_arrays(data: bytes, rng: np.random.RandomState) -> bytes:
    """An array with other numbers, of another type or shape, or missing, in a file that is
    otherwise right.
    """
    arrays = {name: array.copy() for name, array in safetensors.numpy.load(data).items()}
    name = sorted(arrays)[rng.randint(len(arrays))]
    array = arrays[name]
    way = rng.randint(6)
    if way < 3 and array.size:
        strange = [0, 1, -1, 2, 100, np.iinfo(np.int32).max] + [np.nan, np.inf, 1e308] * (
            array.dtype.kind == "f"
        )
        array.ravel()[rng.randint(array.size)] = np.array(
            strange[rng.randint(len(strange))]
        ).astype(array.dtype)
    elif way == 3:
        arrays[name] = np.resize(array, max(array.size + rng.randint(-3, 4), 0))
    elif way == 4:
        with np.errstate(invalid="ignore"):  # -inf becomes some integer
            arrays[name] = array.astype(
                [np.float32, np.int64, np.int32, np.uint8, np.bool_][rng.randint(5)]
            )
    elif array.ndim == 2:
        arrays[name] = array.T.copy()
    else:
        arrays[name] = array[::-1].copy()
    return safetensors.numpy.save(arrays, {KEY: taken_apart(data)[0]["__metadata__"][KEY]})


# ---------------------------------------------------------------- what becomes of it


def verdict(data: bytes, X: object, path: Path) -> str:
    """ "refused", "loaded", or what must not happen."""
    path.write_bytes(data)
    try:
        model = load(path, functions=FUNCTIONS) if X is not None else from_crfsuite(path)
    except ModelFileError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if X is None and weights(model) != naive_crfsuite(data):
        return "loaded otherwise"
    again = _bytes(model, FUNCTIONS)
    if X is not None and content(again) != content(data):
        return "loaded otherwise"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use(model, WORDS if X is None else X)
    return "loaded"


def use(model: object, X: object) -> None:
    """Run the kernels; weights that are extreme, and parameters that only fit others' data, may be
    refused now.
    """
    methods = [lambda X: repr(model)]
    methods += [getattr(model, name) for name in ("predict", "transform") if hasattr(model, name)][
        :1
    ]
    if hasattr(model, "best_estimator_"):  # one that is told not to be refitted has neither
        methods.append(lambda X: model.score(X, TAGS))
    if getattr(model, "distant_pairs", None):  # it refuses predictions
        methods.append(lambda X: model.log_joint(X, TAGS))
    if isinstance(model, PCFG | EMLPCFG | SpectralLPCFG | MEstimatedPCFG):
        methods += model.marginals, model.score_samples, lambda X: model.log_joint(WORDS, TREES)
    for method in methods:
        try:
            method(X)
        except Exception as error:
            if not is_clear(error):
                raise


# of hidden Markov models, which had no others once
OLDER = ("covariance_type", "diag")


def content(data: bytes) -> object:
    """What a file says, without what is free: its format, names of versions, parameters that
    stand for defaults, what older files need not say, and the order of sets.
    """
    _, model, _ = taken_apart(data)
    if model["format"] == 1:
        model["estimator"] = renamed(model["estimator"])
    del model["sha256"], model["version"], model["format"]
    arrays = {
        name: (a.dtype, a.shape, a.tobytes()) for name, a in safetensors.numpy.load(data).items()
    }
    return _without_defaults(model), arrays


def _without_defaults(value: object) -> object:
    if isinstance(value, dict):
        params = value.get("params")
        if isinstance(params, dict) and value.get("class") in known_names():
            value["params"] = {**_default_params(value["class"]), **params}
        if value.keys() in ({"set"}, {"frozenset"}):
            [(kind, items)] = value.items()
            return {kind: sorted(map(_without_defaults, items), key=json.dumps)}
        said = [item for item in value.items() if item != OLDER]
        return {key: _without_defaults(item) for key, item in said}
    if isinstance(value, list):
        return [_without_defaults(item) for item in value]
    return value


@cache
def _default_params(name: str) -> dict:
    given = inspect.signature(class_named(name)).parameters.values()
    return {
        one.name: plain(one.default, one.name)
        for one in given
        if one.default is not inspect.Parameter.empty
    }


def weights(model: LinearChainCRF) -> dict:
    """Weights other than 0 by attribute, or label, and label."""
    labels = model.classes_.tolist()
    coef = model.coef_.tocoo()
    names = model.feature_names_in_.tolist()
    found = {
        ("attribute", names[f], labels[k]): w
        for k, f, w in zip(coef.row, coef.col, coef.data, strict=True)
    }
    for j, k in zip(*np.nonzero(model.transition_), strict=True):
        found["label", labels[j], labels[k]] = model.transition_[j, k]
    return {key: float(w) for key, w in found.items() if w}


def naive_crfsuite(data: bytes) -> dict:
    """The same from the bytes of the file, one after the other."""
    n_labels, n_attributes, features, *dictionaries = struct.unpack_from("<5I", data, 20)
    strings = []
    for at, n in zip(dictionaries, (n_labels, n_attributes), strict=True):
        [where] = struct.unpack_from("<I", data, at + 20)
        places = struct.unpack_from(f"<{n}I", data, at + where)
        strings.append([data[at + p + 8 :].split(b"\0")[0].decode() for p in places])
    found = {}
    for i in range(struct.unpack_from("<I", data, features + 8)[0]):
        kind, source, target, w = struct.unpack_from("<IIId", data, features + 12 + 20 * i)
        if w:
            found[
                "label" if kind else "attribute", strings[1 - kind][source], strings[0][target]
            ] = w
    return found


# ---------------------------------------------------------------- as cases (see `workers.Kind`)

GOOD = {"refused", "loaded"}
PATIENCE = 10.0


def prepare() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for data, X in [*originals(), (crfsuite_original(), None)]:
            assert verdict(data, X, path) == "loaded"


def family(number: int) -> str:
    return KINDS[number % len(KINDS)]


def case(number: int) -> str:
    data, X = damaged(number // len(KINDS), family(number))
    with tempfile.TemporaryDirectory() as folder:
        return verdict(data, X, Path(folder) / "model")
