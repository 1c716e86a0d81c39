"""The public estimators, by what they have in common. A new class enrols by itself."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

import sklearn_struct
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.chains.linear_chain_crf_cv import LinearChainCRFCV
from sklearn_struct.estimators.fitting.base_sequence import BaseSequenceEstimator
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.estimators.graphs.graph_crf import GraphCRF
from sklearn_struct.estimators.graphs.grid_crf import GridCRF
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.m_estimation.chain_over_base import BaseBasedChain
from sklearn_struct.estimators.multilabel.multilabel_crf import MultiLabelCRF
from sklearn_struct.estimators.trees.base_parser import BaseParser

__all__ = [
    "CHAINS",
    "CLASSIFIERS",
    "GRAPHS",
    "GRAPHS_OF_SEQUENCES",
    "IMAGES",
    "MULTILABEL",
    "PARSERS",
    "PREDICTORS",
    "READ_TABLES",
    "SEQUENCE_MODELS",
    "of_base",
    "public_classes",
    "small",
]


def public_classes() -> list[type]:
    """With `fit`, and not abstract, in any module of the package, but for those of a cluster: these
    fit others, which are here.
    """
    classes = set()
    for module in pkgutil.walk_packages(sklearn_struct.__path__, "sklearn_struct."):
        if module.name.startswith("sklearn_struct.dask"):
            continue
        members = vars(import_module(module.name))
        classes |= {
            members[name]
            for name in members.get("__all__", ())
            if inspect.isclass(members.get(name))
        }
    estimators = [cls for cls in classes if issubclass(cls, BaseEstimator) and hasattr(cls, "fit")]
    return sorted(
        (cls for cls in estimators if not inspect.isabstract(cls)), key=lambda cls: cls.__name__
    )


def of_base(*bases: type, but: tuple[type, ...] = ()) -> list[type]:
    """Those of `sklearn_struct` itself that have one of the bases, but for some."""
    exported = [getattr(sklearn_struct, name) for name in sklearn_struct.__all__]
    classes = [one for one in exported if inspect.isclass(one) and issubclass(one, bases)]
    return [cls for cls in classes if not issubclass(cls, but)]


# their default folds need more sequences than most tests have
FEW = {LinearChainCRFCV: {"Cs": [0.1, 1.0], "cv": [([0], [0])]}}


def small(cls: type, **options: Any) -> Any:
    """An estimator that can be fitted to a single sequence."""
    return cls(**FEW.get(cls, {}), **options)


PREDICTORS = [cls for cls in of_base(BaseEstimator) if hasattr(cls, "predict")]
GRAPHS = of_base(GraphCRF)
IMAGES = of_base(GridCRF)
# of rows of features, with a matrix of labels
MULTILABEL = of_base(MultiLabelCRF)
GRAPHS_OF_SEQUENCES = of_base(BaseGraphCRF, but=(GraphCRF, GridCRF, MultiLabelCRF))
CLASSIFIERS = of_base(BaseClassPredictions)  # of whole sequences: they read other y
# but those that read other X, or other y
SEQUENCE_MODELS = of_base(
    BaseSequenceEstimator, but=(GraphCRF, GridCRF, MultiLabelCRF, BaseClassPredictions)
)
READ_TABLES = [
    cls for cls in SEQUENCE_MODELS + CLASSIFIERS if get_tags(cls()).input_tags.two_d_array
]
CHAINS = of_base(BaseChain, but=(BaseBasedChain,))  # which read other X
PARSERS = of_base(BaseParser)
