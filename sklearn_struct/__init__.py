"""Structured prediction with scikit-learn's manners."""

from sklearn_struct import datasets, exceptions, inspection, metrics, persistence
from sklearn_struct.encoding.features import SequenceVectorizer
from sklearn_struct.encoding.joint_features import ProductFeatures
from sklearn_struct.encoding.prototypes import PrototypeFeatures
from sklearn_struct.encoding.templates import FeatureTemplates
from sklearn_struct.encoding.token_transformer import TokenTransformer
from sklearn_struct.encoding.union import SequenceUnion
from sklearn_struct.estimators.em_lpcfg import EMLPCFG
from sklearn_struct.estimators.ge_crf import GECRF
from sklearn_struct.estimators.hmm import HMM
from sklearn_struct.estimators.linear_chain_crf import LinearChainCRF
from sklearn_struct.estimators.log_linear_classifier import LogLinearClassifier
from sklearn_struct.estimators.m_estimated_crf import MEstimatedCRF
from sklearn_struct.estimators.m_estimated_pcfg import MEstimatedPCFG
from sklearn_struct.estimators.memm import MEMM
from sklearn_struct.estimators.pcfg import PCFG
from sklearn_struct.estimators.piecewise_crf import PiecewiseCRF
from sklearn_struct.estimators.pseudo_likelihood_crf import PseudoLikelihoodCRF
from sklearn_struct.estimators.spectral_hmm import SpectralHMM
from sklearn_struct.estimators.spectral_lpcfg import SpectralLPCFG
from sklearn_struct.sequence_array import SequenceArray

__all__ = [
    "EMLPCFG",
    "GECRF",
    "HMM",
    "MEMM",
    "PCFG",
    "FeatureTemplates",
    "LinearChainCRF",
    "LogLinearClassifier",
    "MEstimatedCRF",
    "MEstimatedPCFG",
    "PiecewiseCRF",
    "ProductFeatures",
    "PrototypeFeatures",
    "PseudoLikelihoodCRF",
    "SequenceArray",
    "SequenceUnion",
    "SequenceVectorizer",
    "SpectralHMM",
    "SpectralLPCFG",
    "TokenTransformer",
    "datasets",
    "exceptions",
    "inspection",
    "metrics",
    "persistence",
]

__version__ = "0.1.0"
