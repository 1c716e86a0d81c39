"""The cases: an estimator with settings, on data. Names of parameters are the newest; see
`renamed`.

All are quick: what is compared is arithmetic, not accuracy, and a fit that stops after some
iterations shows more of it than one that has converged. Every choice of a solver, loss, decoder and
the like occurs at least once; a test looks after that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import sklearn_struct
from sklearn_struct import LinearChainCRF
from versions import data, renamed

__all__ = ["CASES", "Case", "Spec", "built", "named"]


WITH_CASES = {"log_likelihood", "pointwise"}  # with cases of their own


class Spec(NamedTuple):
    """An estimator that is made later: the versions have classes of their own."""

    name: str
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({_text(self.settings)})"


class Case(NamedTuple):
    """An estimator and what it learns from.

    Attributes
    ----------
    spec : Spec
        The estimator.
    data : str
        A name of `data.DATA`.
    how : str
        The way to fit: "" for ``fit(X, y)``; "sequences" and "tokens" with weights of these;
        "again" fits a second time, from the first; "init" from a fit of two iterations; "batches"
        by `partial_fit`.
    """

    spec: Spec
    data: str
    how: str = ""

    @property
    def name(self) -> str:
        way = f", {self.how}" if self.how else ""
        return f"{self.spec!r} on {self.data}{way}"


def _text(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in settings.items())


def _value(value: Any) -> str:
    return getattr(value, "__name__", None) or (
        f"{len(value)} labels" if isinstance(value, np.ndarray) else repr(value)
    )


def built(spec: Any) -> Any:
    """Estimators in the place of all specs, also nested ones."""
    if isinstance(spec, Spec):
        settings = {name: built(value) for name, value in spec.settings.items()}
        if spec.name == "GridSearchCV":
            grid = {
                _path(settings["estimator"], name): values
                for name, values in settings["param_grid"].items()
            }
            settings["param_grid"] = grid
        return renamed.make(spec.name, settings)
    if isinstance(spec, list | tuple):
        return type(spec)(map(built, spec))
    return spec


def _path(estimator: Any, name: str) -> str:
    """A nested name under which this version has a parameter."""
    *outer, last = name.split("__")
    names = [
        "__".join([*outer, candidate]) for candidate in (last, *renamed.PARAMETERS.get(last, ()))
    ]
    return next((candidate for candidate in names if candidate in estimator.get_params()), name)


def named(pattern: str) -> list[Case]:
    """Cases in whose names this regular expression occurs."""
    return [case for case in CASES if re.search(pattern, case.name)]


def case(estimator: str, where: str, how: str = "", /, **settings: Any) -> Case:
    return Case(Spec(estimator, settings), where, how)


def spec(estimator: str, /, **settings: Any) -> Spec:
    return Spec(estimator, settings)


# ---- chains

# of the version that is imported: those of all loss functions in the potentials of known labels
CHAINS = [
    name for name in sklearn_struct.__all__ if hasattr(getattr(sklearn_struct, name), "partial_fit")
]
SMOOTH = ("lbfgs", "newton-cg", "trust-ncg", "cg")
STOCHASTIC = ("sag", "sgd")
ONLINE = ("ap", "pa", "pa-ii", "arow")
BIO: dict[Any, Any] = {"B-NP": ["B-VP"], None: ["I-NP", "I-VP"], "I-VP": [None]}


def _chains() -> Iterator[Case]:
    for name in CHAINS:
        yield from _solvers(name)
        yield from _forms(name)
        yield from _options(name)
    yield from _of_linear_chains()
    for n in (2, 3):
        yield case("PseudoLikelihoodCRF", "dicts", block_size=n, max_iter=6)
        yield case("PseudoLikelihoodCRF", "numbers", block_size=n, order=2, max_iter=6)
        yield case("PiecewiseCRF", "dicts", piece_size=n, max_iter=6)
    yield case("PiecewiseCRF", "numbers", piece_size=3, order=2, max_iter=6)
    for decoder in ("viterbi", "beam", "greedy"):
        yield case("MEMM", "dicts", decoder=decoder, beam_width=3, max_iter=6)
        yield case("MEMM", "numbers", decoder=decoder, order=2, beam_width=4, max_iter=6)


def _solvers(name: str) -> Iterator[Case]:
    for solver in SMOOTH:
        yield case(name, "dicts", solver=solver, max_iter=6)
    for solver in STOCHASTIC:
        yield case(name, "dicts", solver=solver, max_iter=4, random_state=0)
        yield case(name, "numbers", solver=solver, order=2, max_iter=4, random_state=0)
    yield case(name, "dicts", solver="owlqn", l1_ratio=0.5, max_iter=8)
    yield case(name, "numbers", l1_ratio=1.0, order=2, max_iter=8)
    yield case(name, "hashed", solver="sag", l1_ratio=0.5, max_iter=4, random_state=1)


def _forms(name: str) -> Iterator[Case]:
    for where in (
        "strings",
        "packed",
        "hashed",
        "letters, sparse",
        "two labels",
        "rows",
        "sparse rows",
        "citations",
    ):
        yield case(name, where, max_iter=6)
    yield case(name, "numbers, float32", dtype="float32", max_iter=6)
    yield case(name, "letters", dtype="float32", max_iter=4)
    yield case(name, "vowels", max_iter=6)
    yield case(name, "two labels", order=2, edge_features="all", max_iter=6)


def _options(name: str) -> Iterator[Case]:
    yield case(name, "dicts", order=2, max_iter=4)
    yield case(name, "dicts", order=2, dtype="float32", n_jobs=2, max_iter=4)
    yield case(name, "dicts", dtype="float32", n_jobs=2, max_iter=6)
    yield case(name, "dicts", edge_features=["length", "title"], fit_intercept=False, max_iter=6)
    yield case(
        name,
        "dicts",
        edge_features=re.compile("tag:.*"),
        transition_features="observed",
        max_iter=6,
    )
    yield case(name, "dicts", feature_pairs="all", min_frequency=2, max_iter=6)
    yield case(name, "numbers", edge_features="all", order=2, max_iter=6)
    yield case(name, "dicts", allowed_transitions="BIO", max_iter=6)
    yield case(name, "dicts", allowed_transitions="BIO", constrain_training=True, max_iter=6)
    yield case(
        name, "dicts", allowed_transitions="BIO", constrain_training=True, order=2, max_iter=4
    )
    yield case(name, "dicts", "sequences", max_iter=6)
    yield case(name, "dicts", "again", warm_start=True, max_iter=4)
    yield case(name, "dicts", "init", max_iter=4)
    yield case(name, "hashed", "batches", solver="sgd", feature_pairs="all", random_state=0)
    yield case(name, "numbers", C=np.inf, max_iter=6)


def _of_linear_chains() -> Iterator[Case]:
    name = "LinearChainCRF"
    yield case(name, "dicts", tol=1e-8, max_iter=400)
    yield case(name, "numbers", order=2, tol=1e-8, max_iter=400)
    yield case(name, "dicts", tol=1e-3)
    for solver in ONLINE:
        yield case(name, "dicts", solver=solver, max_iter=4, random_state=0)
        yield case(name, "numbers", solver=solver, order=2, max_iter=4, random_state=0)
    yield case(
        name,
        "dicts",
        solver="pa",
        allowed_transitions="BIO",
        constrain_training=True,
        max_iter=3,
        random_state=0,
    )
    for solver in ("ap", "pa", "pa-ii"):
        yield case(name, "hashed", "batches", solver=solver, feature_pairs="all", random_state=0)
    for loss in sorted(LinearChainCRF._parameter_constraints["loss"][0].options - WITH_CASES):
        yield case(name, "dicts", loss=loss, max_iter=6)  # a new one enrols by itself
    yield case(name, "dicts", "tokens", loss="pointwise", max_iter=6)
    yield case(name, "dicts", loss="pointwise", class_weight="balanced", solver="cg", max_iter=6)
    yield case(
        name,
        "dicts",
        loss="pointwise",
        allowed_transitions="BIO",
        constrain_training=True,
        max_iter=4,
    )
    yield case(name, "numbers", loss="pointwise", order=2, max_iter=3)
    yield case(name, "numbers", loss="pointwise", solver="sgd", max_iter=3, random_state=0)
    yield case(name, "numbers", loss="pointwise", solver="sag", max_iter=3, random_state=0)
    yield case(name, "rows", "sequences", class_weight={"A": 2.0}, max_iter=6)
    for solver in ("newton-cg", "trust-ncg"):
        yield case(name, "numbers", solver=solver, order=2, max_iter=2)
    yield case(name, "dicts", allowed_transitions=BIO, max_iter=6)
    yield case(
        name, "two labels", allowed_transitions=np.array([[True, False], [True, True]]), max_iter=6
    )
    for scheme in ("IOB1", "IOB2", "BIOES", "IOBES"):
        yield case(name, "dicts", allowed_transitions=scheme, max_iter=2)
    for solver in ("auto", "lbfgs", "sgd"):
        yield case(name, "partial", solver=solver, max_iter=5, random_state=0)
    yield case(name, "partial", order=2, max_iter=3)
    yield case(name, "partial", solver="owlqn", l1_ratio=0.3, allowed_transitions="BIO", max_iter=5)
    yield case(name, "partial", allowed_transitions="BIO", constrain_training=True, max_iter=5)


# ---- labelled features, and labels as far as there are any

FIELDS = ["ADDRESS", "AVAILABLE", "CONTACT", "FEATURES", "NEIGHBORHOOD", "O", "PHOTOS", "RENT"]
FIELDS += ["RESTRICTIONS", "ROOMMATES", "SIZE", "UTILITIES"]
WORDS = {
    "$": "RENT",
    "month": "RENT",
    "bedroom": "SIZE",
    "call": "CONTACT",
    "pets": "RESTRICTIONS",
    ".": "O",
}
TARGETS = {
    "$": {"RENT": 0.8, "O": 0.2},
    "bedroom": {"SIZE": 9, "FEATURES": 3},
    "call": ("O", "CONTACT"),
}


def _labelled_features() -> Iterator[Case]:
    name = "GECRF"
    options = {"labeled_features": WORDS, "classes": FIELDS, "max_iter": 6}
    for solver in ("lbfgs", "cg", "gradient", "auto"):
        yield case(name, "ads", **options, solver=solver)
    for init in ("zero", "labelled", "random"):
        yield case(name, "ads", **options, init=init, random_state=0)
    yield case(name, "ads without labels", **options | {"labeled_features": TARGETS})
    yield case(name, "ads without labels", **options, distance="squared", target_weight=3.0)
    yield case(name, "ads", **options, distance="kl", target_weight={"$": 2.0}, entropy_weight=0.01)
    yield case(name, "ads", **options, n_restarts=1, annealing=(0.1, 0.5), random_state=0)
    yield case(name, "ads", **options, solver="owlqn", l1_ratio=0.5, fit_intercept=True)
    yield case(name, "ads", **options | {"max_iter": 2}, order=2)
    yield case(name, "ads", "sequences", **options, dtype="float32", n_jobs=2)
    yield case(
        name, "ads", **options, allowed_transitions={"RENT": ["SIZE"]}, constrain_training=True
    )
    yield case(
        name, "ads", **options, edge_features=["$"], transition_features="observed", min_frequency=2
    )
    yield case(name, "partial", feature_pairs="all", max_iter=5)
    yield case(name, "ads", "init", **options)


# ---- hidden Markov models


def _hidden() -> Iterator[Case]:
    name = "HMM"
    for order in (1, 2):
        yield case(name, "columns", order=order)
        yield case(name, "words", order=order, smoothing=0.3, transition_smoothing=0.5)
        yield case(name, "numbers", order=order)
        yield case(name, "words partly labelled", order=order, max_iter=4)
        yield case(name, "rain without labels", order=order, n_states=3, max_iter=6, random_state=0)
    yield case(name, "words without labels", n_states=4, max_iter=5, random_state=1, n_jobs=2)
    for init in ("auto", "random", "kmeans"):
        yield case(
            name, "numbers without labels", n_states=3, init=init, max_iter=5, random_state=0
        )
    yield case(name, "words without labels", n_states=3, init="random", max_iter=5, random_state=0)
    yield case(name, "numbers", emissions="gaussian", stop=False)
    yield case(name, "rain", emissions="categorical")
    yield case(name, "columns", emissions=["categorical", "categorical"], oov="smoothing")
    yield case(name, "rain", oov=None)
    yield case(name, "words", "sequences")
    yield case(name, "rows")
    yield case(name, "addresses", n_jobs=2)


def _spectral() -> Iterator[Case]:
    name = "SpectralHMM"
    yield case(name, "rain", n_states=3, random_state=0)
    yield case(name, "words", n_states=2, random_state=0, min_frequency=1)
    for decoder in ("marginal", "viterbi"):
        yield case(name, "words", n_states=3, decoder=decoder, random_state=0, n_jobs=2)
    yield case(
        name,
        "words",
        n_states=3,
        nodes="one",
        smoothing=1.0,
        shrinkage=0.0,
        feature_count=None,
        random_state=0,
    )


# ---- M-estimation

WINDOW = ["w:%x[0,0]", "t:%x[0,1]", "b:%x[-1,1]/%x[0,1]"]


def _m_estimated() -> Iterator[Case]:
    name = "MEstimatedCRF"
    options = {"features": WINDOW, "max_iter": 8}
    for solver in ("lbfgs", "cg", "newton-cg", "trust-ncg", "auto"):
        yield case(name, "columns", **options, solver=solver)
    yield case(name, "columns", **options, solver="owlqn", l1_ratio=0.5)
    yield case(name, "columns", **options, solver="sdca", random_state=0)
    yield case(name, "columns", **options, order=2)
    yield case(name, "columns", **options, base=spec("HMM", order=2, transition_smoothing=0.5))
    yield case(name, "columns", **options, base="locally-uniform")
    yield case(name, "columns", **options, inputs="empirical")
    yield case(name, "columns", **options, expectations="sampled", n_samples=200, random_state=0)
    yield case(name, "columns", **options, constant=False, input_features=True, fit_intercept=False)
    yield case(
        name,
        "columns",
        **options,
        edge_features="all",
        transition_features="all",
        feature_pairs="all",
    )
    yield case(name, "columns", **options, allowed_transitions="BIO", min_frequency=2, n_jobs=2)
    yield case(name, "columns", "sequences", **options)
    yield case(name, "columns", "again", **options, warm_start=True)
    yield case(name, "words", max_iter=8)
    yield case(name, "numbers", max_iter=8, n_samples=200, random_state=0)
    yield case(name, "rows", max_iter=8, n_samples=200, random_state=0)


# ---- trees


def _trees() -> Iterator[Case]:
    for decoder in ("viterbi", "max-recall", "max-rule"):
        yield case("PCFG", "trees", decoder=decoder)
        yield case("EMLPCFG", "made trees", decoder=decoder, n_states=3, max_iter=4, random_state=0)
        yield case("MEstimatedPCFG", "made trees", decoder=decoder, max_iter=6)
    yield case(
        "PCFG",
        "trees",
        horizontal_order=0,
        vertical_order=1,
        smoothing=0.5,
        min_frequency=1,
        n_jobs=2,
    )
    yield case("PCFG", "made trees", pruning=0.0)
    yield case("EMLPCFG", "trees", n_states=2, max_iter=2, random_state=0)
    yield case(
        "EMLPCFG", "made trees", n_states=2, n_grammars=2, init="random", max_iter=3, random_state=0
    )
    yield case(
        "EMLPCFG", "made trees", init="clusters", n_states=2, max_iter=3, random_state=0, n_jobs=2
    )
    for decoder in ("max-recall", "max-rule"):
        yield case("SpectralLPCFG", "made trees", decoder=decoder, n_states=4, random_state=0)
    yield case("SpectralLPCFG", "trees", n_states=3, nodes="one", random_state=0, n_jobs=2)
    for pieces in ("nodes", "trees"):
        yield case("MEstimatedPCFG", "made trees", pieces=pieces, max_iter=6)
    for solver in ("lbfgs", "cg", "newton-cg", "trust-ncg", "auto"):
        yield case("MEstimatedPCFG", "made trees", solver=solver, max_iter=5)
    yield case("MEstimatedPCFG", "made trees", solver="owlqn", l1_ratio=0.5, max_iter=5)
    yield case("MEstimatedPCFG", "made trees", solver="sdca", max_iter=4, random_state=0)
    yield case("MEstimatedPCFG", "trees", max_iter=4, n_jobs=2)
    base = spec("PCFG", horizontal_order=0, smoothing=0.1)
    yield case(
        "MEstimatedPCFG", "made trees", base=base, constant=False, min_frequency=2, max_iter=5
    )


# ---- inputs that are no sequences, transformers, and what is made of several


def _others() -> Iterator[Case]:
    name = "LogLinearClassifier"
    for solver in ("lbfgs", "newton-cg", "gradient"):
        yield case(name, "rows", solver=solver, max_iter=8)
        yield case(name, "tagged words", features=data.pairs_of, solver=solver, max_iter=4)
    product = spec("ProductFeatures", context=data.letters_of)
    yield case(name, "tagged words", features=product, max_iter=8, n_jobs=2)
    yield case(
        name, "tagged words", features=data.pairs_of, candidates=data.candidates_of, max_iter=4
    )
    yield case(name, "tagged words", features=data.pairs_of, n_features=256, max_iter=4)
    yield case(
        name, "tagged words", features=product, min_frequency=2, fit_intercept=False, max_iter=8
    )
    yield case(name, "sparse rows", "sequences", max_iter=8)
    for algorithm in ("lbfgs", "l2sgd", "ap", "pa", "arow"):
        yield case("CRF", "dicts", algorithm=algorithm, max_iterations=6)
    yield case(
        "CRF",
        "dicts",
        c1=0.1,
        c2=0.2,
        max_iterations=8,
        all_possible_transitions=True,
        min_freq=2.0,
    )
    yield from _transformers()
    yield from _compositions()


def _transformers() -> Iterator[Case]:
    for boundary in ("pad", "skip"):
        yield case("FeatureTemplates", "columns", boundary=boundary)
    yield case(
        "FeatureTemplates",
        "columns",
        templates=WINDOW,
        add_bos_eos=True,
        min_frequency=2,
        dtype=np.float32,
    )
    yield case("SequenceVectorizer", "dicts")
    yield case(
        "SequenceVectorizer",
        "dicts",
        min_frequency=2,
        separator="|",
        keep_zeros=True,
        dtype=np.float32,
    )
    yield case("SequenceVectorizer", "strings", n_features=256)
    prototypes = ["the", "of", "is", "he", "good"]
    yield case("PrototypeFeatures", "words", prototypes=prototypes, n_components=10, threshold=0.2)
    yield case(
        "PrototypeFeatures",
        "words",
        prototypes=prototypes,
        window=1,
        directions=False,
        n_components=10,
    )
    parts = [
        ("templates", spec("FeatureTemplates", templates=WINDOW)),
        ("vectors", spec("SequenceVectorizer")),
    ]
    yield case("SequenceUnion", "columns", transformer_list=parts)
    yield case("TokenTransformer", "letters", transformer=spec("StandardScaler"))


def _compositions() -> Iterator[Case]:
    crf = spec("LinearChainCRF", max_iter=6)
    columns = [("templates", spec("FeatureTemplates")), ("model", crf)]
    yield case("Pipeline", "columns", steps=columns)
    union = [("a", spec("FeatureTemplates", templates=WINDOW)), ("b", spec("SequenceVectorizer"))]
    both = [("features", spec("SequenceUnion", transformer_list=union)), ("model", crf)]
    yield case("Pipeline", "columns", steps=both)
    scaled = [
        ("scale", spec("TokenTransformer", transformer=spec("StandardScaler"))),
        ("model", crf),
    ]
    yield case("Pipeline", "vowels", steps=scaled)
    prototypes = spec("PrototypeFeatures", prototypes=["the", "of", "is"], n_components=10)
    yield case("Pipeline", "words", steps=[("prototypes", prototypes), ("model", crf)])
    search = spec("Pipeline", steps=columns)
    yield case(
        "GridSearchCV", "columns", estimator=search, param_grid={"model__C": [0.1, 1.0]}, cv=2
    )
    beam = spec("MEMM", max_iter=4)
    yield case(
        "GridSearchCV", "dicts", estimator=beam, param_grid={"decoder": ["greedy", "beam"]}, cv=2
    )
    yield case(
        "GridSearchCV", "words", estimator=spec("HMM"), param_grid={"smoothing": [0.1, 1.0]}, cv=2
    )


def _unique(cases: Iterator[Case]) -> list[Case]:
    return list({one.name: one for one in cases}.values())


def _all() -> Iterator[Case]:
    for part in (_chains, _labelled_features, _hidden, _spectral, _m_estimated, _trees, _others):
        yield from part()


CASES = _unique(_all())
