"""What writes and reads what each class has learned.

All linear models of chains and graphs share one state.
"""

from __future__ import annotations

from sklearn_struct.encoding.features.prototypes import PrototypeFeatures
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.features.token_transformer import TokenTransformer
from sklearn_struct.encoding.features.token_windows import TokenWindows
from sklearn_struct.encoding.features.union import SequenceUnion
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.chains.ge_crf import GECRF
from sklearn_struct.estimators.chains.linear_chain_crf_cv import LinearChainCRFCV
from sklearn_struct.estimators.chains.prototype_mrf import PrototypeMRF
from sklearn_struct.estimators.fitting.base_structured import BaseStructured
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.estimators.graphs.factorial_crf import FactorialCRF
from sklearn_struct.estimators.hidden_markov.base_hidden_markov import BaseHiddenChain
from sklearn_struct.estimators.hidden_markov.driven_predictions import BaseDrivenPredictions
from sklearn_struct.estimators.hidden_markov.duration_predictions import BaseDurationPredictions
from sklearn_struct.estimators.hidden_markov.spectral_hmm import SpectralHMM
from sklearn_struct.estimators.hidden_states.base_latent_chain import BaseLatentChain
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.log_linear.log_linear_classifier import LogLinearClassifier
from sklearn_struct.estimators.m_estimation.chain_over_base import BaseBasedChain
from sklearn_struct.estimators.multilabel.multilabel_crf import MultiLabelCRF
from sklearn_struct.estimators.segments.semi_markov_crf import SemiMarkovCRF
from sklearn_struct.estimators.trees.em_lpcfg import EMLPCFG
from sklearn_struct.estimators.trees.m_estimated_pcfg import MEstimatedPCFG
from sklearn_struct.estimators.trees.pcfg import PCFG
from sklearn_struct.estimators.trees.spectral_lpcfg import SpectralLPCFG
from sklearn_struct.persistence.chains import (
    put_chain,
    put_ge,
    put_prototype_mrf,
    read_chain,
    read_ge,
    read_prototype_mrf,
)
from sklearn_struct.persistence.chains_over_base import based, put_based
from sklearn_struct.persistence.chosen_penalties import put_chosen, read_chosen
from sklearn_struct.persistence.driven_transitions import put_driven, read_driven
from sklearn_struct.persistence.durations import put_durations, read_durations
from sklearn_struct.persistence.encoders import put_templates, put_vectorizer, templates, vectorizer
from sklearn_struct.persistence.graphs import (
    put_factorial,
    put_graphs,
    read_factorial,
    read_graphs,
)
from sklearn_struct.persistence.hidden_markov import hidden, put_hidden
from sklearn_struct.persistence.hidden_states import put_latent, read_classes, read_latent
from sklearn_struct.persistence.known_classes import ELSEWHERE, STATES, State
from sklearn_struct.persistence.log_linear import joint, put_joint
from sklearn_struct.persistence.multilabel import multilabel, put_multilabel
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.pipelines_and_unions import (
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
from sklearn_struct.persistence.prototype_features import prototypes, put_prototypes
from sklearn_struct.persistence.row_transformers import LEARNED, put_rows, rows
from sklearn_struct.persistence.searches import (
    check_search,
    halving,
    put_halving,
    put_search,
    search,
)
from sklearn_struct.persistence.segments import put_segments, read_segments
from sklearn_struct.persistence.spectral_hmm import put_spectral_hmm, spectral_hmm
from sklearn_struct.persistence.token_windows import put_windows, windows
from sklearn_struct.persistence.trees import em, parser, put_em, put_parser, put_spectral, spectral
from sklearn_struct.persistence.weighted_trees import put_weighted, weighted

__all__ = ["estimator", "put_estimator"]

STATES.update(
    {
        BaseBasedChain: State(put_based, based),
        BaseStructured: State(put_chain, read_chain),
        BaseHiddenChain: State(put_hidden, hidden),
        BaseDrivenPredictions: State(put_driven, read_driven),
        BaseDurationPredictions: State(put_durations, read_durations),
        EMLPCFG: State(put_em, em),
        FeatureTemplates: State(put_templates, templates),
        GECRF: State(put_ge, read_ge),
        LinearChainCRFCV: State(put_chosen, read_chosen),
        BaseGraphCRF: State(put_graphs, read_graphs),
        FactorialCRF: State(put_factorial, read_factorial),
        BaseClassPredictions: State(put_latent, read_classes),
        BaseLatentChain: State(put_latent, read_latent),
        LogLinearClassifier: State(put_joint, joint),
        MEstimatedPCFG: State(put_weighted, weighted),
        MultiLabelCRF: State(put_multilabel, multilabel),
        PCFG: State(put_parser, parser),
        PrototypeFeatures: State(put_prototypes, prototypes),
        PrototypeMRF: State(put_prototype_mrf, read_prototype_mrf),
        SemiMarkovCRF: State(put_segments, read_segments),
        SequenceUnion: State(put_union, union, parts="transformer_list", check=check_union),
        SequenceVectorizer: State(put_vectorizer, vectorizer),
        SpectralHMM: State(put_spectral_hmm, spectral_hmm),
        SpectralLPCFG: State(put_spectral, spectral),
        TokenTransformer: State(put_token_transformer, token_transformer, check=check_inner),
        TokenWindows: State(put_windows, windows),
    }
)
SEARCH = State(put_search, search, check=check_search)
HALVING = State(put_halving, halving, check=check_search)
ROWS = State(put_rows, rows)
# their own module, so that loading one does not enable what scikit-learn calls experimental
OF_HALVING = "sklearn.model_selection._search_successive_halving"
ELSEWHERE.update(
    {
        "CRF": ("sklearn_struct.compat.crf", State(put_drop_in, drop_in)),
        "GridSearchCV": ("sklearn.model_selection", SEARCH),
        "HalvingGridSearchCV": (OF_HALVING, HALVING),
        "HalvingRandomSearchCV": (OF_HALVING, HALVING),
        "Pipeline": (
            "sklearn.pipeline",
            State(put_pipeline, pipeline, parts="steps", check=check_pipeline),
        ),
        "RandomizedSearchCV": ("sklearn.model_selection", SEARCH),
        **dict.fromkeys(LEARNED, ("sklearn.preprocessing", ROWS)),
        **dict.fromkeys(("PCA", "TruncatedSVD"), ("sklearn.decomposition", ROWS)),
    }
)
