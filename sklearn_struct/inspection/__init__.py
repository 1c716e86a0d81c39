"""What a fitted model has learned, and why it predicts what it does.

There are tables, explanations and pictures.
"""

from sklearn_struct.inspection.duration_display import DurationDisplay
from sklearn_struct.inspection.emission_display import EmissionDisplay
from sklearn_struct.inspection.explain import explain
from sklearn_struct.inspection.explanation import Explanation
from sklearn_struct.inspection.feature_weights_display import FeatureWeightsDisplay
from sklearn_struct.inspection.graph_display import GraphDisplay
from sklearn_struct.inspection.graph_explanation import GraphExplanation
from sklearn_struct.inspection.grid_display import GridDisplay
from sklearn_struct.inspection.latent_state_display import LatentStateDisplay
from sklearn_struct.inspection.latent_state_table import latent_states
from sklearn_struct.inspection.loss_curve_display import LossCurveDisplay
from sklearn_struct.inspection.marginal_display import MarginalDisplay
from sklearn_struct.inspection.posterior_display import PosteriorDisplay
from sklearn_struct.inspection.target_display import TargetDisplay
from sklearn_struct.inspection.target_report import target_report
from sklearn_struct.inspection.transition_display import TransitionDisplay
from sklearn_struct.inspection.tree_display import TreeDisplay
from sklearn_struct.inspection.weight_tables import feature_weights, transition_weights

__all__ = [
    "DurationDisplay",
    "EmissionDisplay",
    "Explanation",
    "FeatureWeightsDisplay",
    "GraphDisplay",
    "GraphExplanation",
    "GridDisplay",
    "LatentStateDisplay",
    "LossCurveDisplay",
    "MarginalDisplay",
    "PosteriorDisplay",
    "TargetDisplay",
    "TransitionDisplay",
    "TreeDisplay",
    "explain",
    "feature_weights",
    "latent_states",
    "target_report",
    "transition_weights",
]
