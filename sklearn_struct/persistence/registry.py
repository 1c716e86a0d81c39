"""All classes that can be saved, and what writes and reads what each of them has learned."""

from __future__ import annotations

from sklearn_struct.persistence.chains import put_chain, put_ge, read_chain, read_ge
from sklearn_struct.persistence.chains_over_base import based, put_based
from sklearn_struct.persistence.composed import (
    check_inner,
    check_pipeline,
    check_union,
    drop_in,
    pipeline,
    put_drop_in,
    put_pipeline,
    put_token_transformer,
    put_union,
    token_transformer,
    union,
)
from sklearn_struct.persistence.encoders import put_templates, put_vectorizer, templates, vectorizer
from sklearn_struct.persistence.hidden_markov import hidden, put_hidden
from sklearn_struct.persistence.kinds import KINDS, Kind
from sklearn_struct.persistence.log_linear import joint, put_joint
from sklearn_struct.persistence.nested import estimator, put_estimator
from sklearn_struct.persistence.prototype_features import prototypes, put_prototypes
from sklearn_struct.persistence.row_transformers import LEARNED, put_rows, rows
from sklearn_struct.persistence.searches import (
    check_search,
    halving,
    put_halving,
    put_search,
    search,
)
from sklearn_struct.persistence.spectral_hmm import put_spectral_hmm, spectral_hmm
from sklearn_struct.persistence.trees import em, parser, put_em, put_parser, put_spectral, spectral
from sklearn_struct.persistence.weighted_trees import put_weighted, weighted

__all__ = ["estimator", "put_estimator"]

OURS = {
    "EMLPCFG": Kind("trees.em_lpcfg", put_em, em),
    "GECRF": Kind("chains.ge_crf", put_ge, read_ge),
    "HMM": Kind("hidden_markov.hmm", put_hidden, hidden),
    "LinearChainCRF": Kind("chains.linear_chain_crf", put_chain, read_chain),
    "LogLinearClassifier": Kind("log_linear.log_linear_classifier", put_joint, joint),
    "MEMM": Kind("chains.memm", put_chain, read_chain),
    "MEstimatedCRF": Kind("m_estimation.m_estimated_crf", put_based, based),
    "MEstimatedPCFG": Kind("trees.m_estimated_pcfg", put_weighted, weighted),
    "PCFG": Kind("trees.pcfg", put_parser, parser),
    "PiecewiseCRF": Kind("chains.piecewise_crf", put_chain, read_chain),
    "PseudoLikelihoodCRF": Kind("chains.pseudo_likelihood_crf", put_chain, read_chain),
    "SpectralHMM": Kind("hidden_markov.spectral_hmm", put_spectral_hmm, spectral_hmm),
    "SpectralLPCFG": Kind("trees.spectral_lpcfg", put_spectral, spectral),
}
ENCODERS = {
    "FeatureTemplates": Kind("features.templates", put_templates, templates),
    "PrototypeFeatures": Kind("features.prototypes", put_prototypes, prototypes),
    "SequenceUnion": Kind(
        "features.union", put_union, union, parts="transformer_list", check=check_union
    ),
    "SequenceVectorizer": Kind("features.vectorizer", put_vectorizer, vectorizer),
    "TokenTransformer": Kind(
        "features.token_transformer", put_token_transformer, token_transformer, check=check_inner
    ),
}
# their own module, so that loading one does not enable what scikit-learn calls experimental
HALVING = "sklearn.model_selection._search_successive_halving"
SCIKIT_LEARN = {
    "GridSearchCV": Kind("sklearn.model_selection", put_search, search, check=check_search),
    "HalvingGridSearchCV": Kind(HALVING, put_halving, halving, check=check_search),
    "HalvingRandomSearchCV": Kind(HALVING, put_halving, halving, check=check_search),
    "Pipeline": Kind(
        "sklearn.pipeline", put_pipeline, pipeline, parts="steps", check=check_pipeline
    ),
    "RandomizedSearchCV": Kind("sklearn.model_selection", put_search, search, check=check_search),
    **{name: Kind("sklearn.preprocessing", put_rows, rows) for name in LEARNED},
    **{name: Kind("sklearn.decomposition", put_rows, rows) for name in ("PCA", "TruncatedSVD")},
}
for room, kinds in (("estimators", OURS), ("encoding", ENCODERS)):
    KINDS.update(
        {
            name: kind._replace(module=f"sklearn_struct.{room}.{kind.module}")
            for name, kind in kinds.items()
        }
    )
KINDS.update(SCIKIT_LEARN)
KINDS["CRF"] = Kind("sklearn_struct.compat.crf", put_drop_in, drop_in)
