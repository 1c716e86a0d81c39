"""Structured prediction with scikit-learn's manners."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from sklearn_struct._uncollected import uncollected as _uncollected

# numba and scikit-learn make more than 100,000 objects when they are imported, and no garbage
with _uncollected(lasting=True):
    from sklearn_struct import exceptions, metrics
    from sklearn_struct.containers.cliques import Cliques
    from sklearn_struct.containers.graph_array import GraphArray
    from sklearn_struct.containers.sequence_array import SequenceArray
    from sklearn_struct.containers.typed_nodes import TypedNodes
    from sklearn_struct.encoding.features.input_label_products import ProductFeatures
    from sklearn_struct.encoding.features.lexicon import Lexicon
    from sklearn_struct.encoding.features.prototypes import PrototypeFeatures
    from sklearn_struct.encoding.features.templates import FeatureTemplates
    from sklearn_struct.encoding.features.token_transformer import TokenTransformer
    from sklearn_struct.encoding.features.token_windows import TokenWindows
    from sklearn_struct.encoding.features.union import SequenceUnion
    from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer

if _TYPE_CHECKING:
    from sklearn_struct.estimators.chains.ge_crf import GECRF
    from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
    from sklearn_struct.estimators.chains.linear_chain_crf_cv import LinearChainCRFCV
    from sklearn_struct.estimators.chains.memm import MEMM
    from sklearn_struct.estimators.chains.piecewise_crf import PiecewiseCRF
    from sklearn_struct.estimators.chains.prototype_mrf import PrototypeMRF
    from sklearn_struct.estimators.chains.pseudo_likelihood_crf import PseudoLikelihoodCRF
    from sklearn_struct.estimators.graphs.factorial_crf import FactorialCRF
    from sklearn_struct.estimators.graphs.graph_crf import GraphCRF
    from sklearn_struct.estimators.graphs.grid_crf import GridCRF
    from sklearn_struct.estimators.graphs.skip_chain_crf import SkipChainCRF
    from sklearn_struct.estimators.hidden_markov.constraint_driven_hmm import ConstraintDrivenHMM
    from sklearn_struct.estimators.hidden_markov.hmm import HMM
    from sklearn_struct.estimators.hidden_markov.hsmm import HSMM
    from sklearn_struct.estimators.hidden_markov.non_homogeneous_hmm import NonHomogeneousHMM
    from sklearn_struct.estimators.hidden_markov.spectral_hmm import SpectralHMM
    from sklearn_struct.estimators.hidden_states.hidden_state_classifier import (
        HiddenStateClassifier,
    )
    from sklearn_struct.estimators.hidden_states.latent_chain_crf import LatentChainCRF
    from sklearn_struct.estimators.log_linear.log_linear_classifier import LogLinearClassifier
    from sklearn_struct.estimators.m_estimation.m_estimated_crf import MEstimatedCRF
    from sklearn_struct.estimators.multilabel.multilabel_crf import MultiLabelCRF
    from sklearn_struct.estimators.segments.semi_markov_crf import SemiMarkovCRF
    from sklearn_struct.estimators.trees.em_lpcfg import EMLPCFG
    from sklearn_struct.estimators.trees.m_estimated_pcfg import MEstimatedPCFG
    from sklearn_struct.estimators.trees.pcfg import PCFG
    from sklearn_struct.estimators.trees.spectral_lpcfg import SpectralLPCFG

__all__ = [
    "EMLPCFG",
    "GECRF",
    "HMM",
    "HSMM",
    "MEMM",
    "PCFG",
    "Cliques",
    "ConstraintDrivenHMM",
    "FactorialCRF",
    "FeatureTemplates",
    "GraphArray",
    "GraphCRF",
    "GridCRF",
    "HiddenStateClassifier",
    "LatentChainCRF",
    "Lexicon",
    "LinearChainCRF",
    "LinearChainCRFCV",
    "LogLinearClassifier",
    "MEstimatedCRF",
    "MEstimatedPCFG",
    "MultiLabelCRF",
    "NonHomogeneousHMM",
    "PiecewiseCRF",
    "ProductFeatures",
    "PrototypeFeatures",
    "PrototypeMRF",
    "PseudoLikelihoodCRF",
    "SemiMarkovCRF",
    "SequenceArray",
    "SequenceUnion",
    "SequenceVectorizer",
    "SkipChainCRF",
    "SpectralHMM",
    "SpectralLPCFG",
    "TokenTransformer",
    "TokenWindows",
    "TypedNodes",
    "callbacks",
    "compat",
    "datasets",
    "distributed",
    "exceptions",
    "inspection",
    "labeled_features",
    "metrics",
    "model_selection",
    "persistence",
    "potentials",
]

__version__ = "0.1.0"

# Both are imported when they are asked for: a program needs few of them, and with all estimators an
# import takes a tenth longer.
_ESTIMATORS = {
    "ConstraintDrivenHMM": "hidden_markov.constraint_driven_hmm",
    "EMLPCFG": "trees.em_lpcfg",
    "FactorialCRF": "graphs.factorial_crf",
    "GECRF": "chains.ge_crf",
    "GraphCRF": "graphs.graph_crf",
    "GridCRF": "graphs.grid_crf",
    "HMM": "hidden_markov.hmm",
    "HSMM": "hidden_markov.hsmm",
    "HiddenStateClassifier": "hidden_states.hidden_state_classifier",
    "LatentChainCRF": "hidden_states.latent_chain_crf",
    "LinearChainCRF": "chains.linear_chain_crf",
    "LinearChainCRFCV": "chains.linear_chain_crf_cv",
    "LogLinearClassifier": "log_linear.log_linear_classifier",
    "MEMM": "chains.memm",
    "MEstimatedCRF": "m_estimation.m_estimated_crf",
    "MEstimatedPCFG": "trees.m_estimated_pcfg",
    "MultiLabelCRF": "multilabel.multilabel_crf",
    "NonHomogeneousHMM": "hidden_markov.non_homogeneous_hmm",
    "PCFG": "trees.pcfg",
    "PiecewiseCRF": "chains.piecewise_crf",
    "PrototypeMRF": "chains.prototype_mrf",
    "PseudoLikelihoodCRF": "chains.pseudo_likelihood_crf",
    "SemiMarkovCRF": "segments.semi_markov_crf",
    "SkipChainCRF": "graphs.skip_chain_crf",
    "SpectralHMM": "hidden_markov.spectral_hmm",
    "SpectralLPCFG": "trees.spectral_lpcfg",
}
_MODULES = {
    "callbacks",
    "compat",
    "datasets",
    "distributed",
    "inspection",
    "labeled_features",
    "model_selection",
    "persistence",
    "potentials",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        with _uncollected(lasting=True):
            return _import_module(f"sklearn_struct.{name}")
    if name in _ESTIMATORS:
        with _uncollected(lasting=True):
            module = _import_module(f"sklearn_struct.estimators.{_ESTIMATORS[name]}")
        # a name is asked for once: to keep the collector off takes its time in large processes
        estimator: object = getattr(module, name)
        globals()[name] = estimator
        return estimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
