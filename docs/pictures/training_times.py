"""CPU seconds of a fit of each estimator, for the table of "Which estimator?".

    python docs/pictures/training_times.py

Each fit runs twice, and the second one counts: the first one compiles.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import (
    EMLPCFG,
    GECRF,
    HMM,
    MEMM,
    PCFG,
    ConstraintDrivenHMM,
    FactorialCRF,
    GraphCRF,
    HiddenStateClassifier,
    LatentChainCRF,
    LinearChainCRF,
    LinearChainCRFCV,
    LogLinearClassifier,
    MEstimatedCRF,
    MEstimatedPCFG,
    PiecewiseCRF,
    ProductFeatures,
    PrototypeMRF,
    PseudoLikelihoodCRF,
    SequenceVectorizer,
    SkipChainCRF,
    SpectralHMM,
    SpectralLPCFG,
)
from sklearn_struct.datasets import make_motions, make_rental_ads, make_treebank

Fit = Callable[[], Any]


def describe(tokens: list[str]) -> list[dict[str, str]]:
    """Words and their neighbours."""
    words = ["<start>", *(token.lower() for token in tokens), "<end>"]
    return [
        {"word": words[t], "before": words[t - 1], "after": words[t + 1]}
        for t in range(1, len(words) - 1)
    ]


def chain_fits() -> dict[str, Fit]:
    """The fields of 200 advertisements, without B- and I-."""
    ads, spans = make_rental_ads(200, random_state=0)
    y = [[label[2:] or label for label in labels] for labels in spans]
    words = [[token.lower() for token in tokens] for tokens in ads]
    dicts = [describe(tokens) for tokens in ads]
    X = SequenceVectorizer().fit_transform(dicts)
    graphs = [(dicts[i], [[t, t + 1] for t in range(len(ads[i]) - 1)]) for i in range(len(ads))]
    pairs = [
        [(label[0], label[2:]) for label in labels]  # O has the field ""
        for labels in spans
    ]
    tokens = [token for sequence in dicts for token in sequence]
    labels = [label for sequence in y for label in sequence]
    few = y[:20] + [None] * 180
    known = {"word:rent": "RENT", "word:bedroom": "SIZE", "word:call": "CONTACT"}
    known |= {"word:pets": "RESTRICTIONS", "word:street": "ADDRESS", "word:.": "O"}
    prototypes = {name.removeprefix("word:"): label for name, label in known.items()}
    templates = ["before:%x[-1,0]", "word:%x[0,0]", "after:%x[1,0]"]
    rows = [[(word,) for word in sequence] for sequence in words]
    classifier = LogLinearClassifier(
        ProductFeatures(lambda token: [f"{name}={value}" for name, value in token.items()])
    )
    own = SequenceVectorizer().fit_transform(
        [[{"word": word, "end": word[-3:]} for word in sequence] for sequence in words]
    )
    return {
        "LinearChainCRF()": lambda: LinearChainCRF().fit(X, y),
        "LinearChainCRFCV()": lambda: LinearChainCRFCV().fit(X, y),
        "LinearChainCRF(order=2)": lambda: LinearChainCRF(order=2).fit(X, y),
        'LinearChainCRF(solver="ap", max_iter=10)': lambda: LinearChainCRF(
            solver="ap", max_iter=10, random_state=0
        ).fit(X, y),
        "MEMM()": lambda: MEMM().fit(X, y),
        "PseudoLikelihoodCRF()": lambda: PseudoLikelihoodCRF().fit(X, y),
        "PiecewiseCRF()": lambda: PiecewiseCRF().fit(X, y),
        "MEstimatedCRF(templates)": lambda: MEstimatedCRF(templates).fit(rows, y),
        "HMM()": lambda: HMM().fit(words, y),
        "HMM(), 20 ads with labels": lambda: HMM().fit(words, few),
        "SpectralHMM(n_states=4)": lambda: SpectralHMM(n_states=4).fit(words, y),
        "LatentChainCRF(n_states=2)": lambda: LatentChainCRF(n_states=2, random_state=0).fit(X, y),
        "GECRF(6 words)": lambda: GECRF(known).fit(X, [None] * 200),
        "ConstraintDrivenHMM(6 words)": lambda: ConstraintDrivenHMM(prototypes).fit(words, few),
        "PrototypeMRF(6 words)": lambda: PrototypeMRF(known).fit(own),
        "GraphCRF()": lambda: GraphCRF().fit(graphs, y),
        'GraphCRF(inference="bp")': lambda: GraphCRF(inference="bp").fit(graphs, y),
        'SkipChainCRF(key="capitalized")': lambda: SkipChainCRF(key="capitalized").fit(ads, y),
        "FactorialCRF()": lambda: FactorialCRF().fit(dicts, pairs),
        "LogLinearClassifier()": lambda: classifier.fit(tokens, labels),
    }


def classifier_fits() -> dict[str, Fit]:
    """80 recordings of motions, of six channels."""
    X, y = make_motions(80, random_state=0)
    sequences = list(X)

    def fit(n_states: int) -> Fit:
        model = HiddenStateClassifier(n_states=n_states, random_state=0)
        return lambda: model.fit(sequences, y)

    return {f"HiddenStateClassifier(n_states={n})": fit(n) for n in (1, 3)}


def tree_fits() -> dict[str, Fit]:
    """300 made-up trees."""
    X, y = make_treebank(300, random_state=0)
    templates = ["rule-rule", "rule-word", "rule", "word"]
    return {
        "PCFG()": lambda: PCFG().fit(X, y),
        "SpectralLPCFG(n_states=8)": lambda: SpectralLPCFG(n_states=8).fit(X, y),
        "MEstimatedPCFG(templates)": lambda: MEstimatedPCFG(templates, base=PCFG()).fit(X, y),
        "EMLPCFG(n_states=8)": lambda: EMLPCFG(n_states=8, random_state=0).fit(X, y),
    }


def main() -> None:
    # ten passes are meant to be too few, and so are 1000 iterations with three states
    warnings.simplefilter("ignore", ConvergenceWarning)
    for fits in (chain_fits(), classifier_fits(), tree_fits()):
        first = None
        for name, fit in fits.items():
            fit()
            start = time.process_time()
            fit()
            seconds = time.process_time() - start
            first = first or seconds
            print(f"{name:<45} {seconds:8.3f} s {seconds / first:8.2f}", flush=True)
        print()


if __name__ == "__main__":
    main()
