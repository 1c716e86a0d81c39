"""What a fitted chain has learned, and why it labels a sequence as it does: tables, explanations, pictures."""

from sklearn_struct.inspection.constraint_display import ConstraintDisplay
from sklearn_struct.inspection.constraints import constraint_report
from sklearn_struct.inspection.explain import explain
from sklearn_struct.inspection.explanation import Explanation
from sklearn_struct.inspection.feature_weights_display import FeatureWeightsDisplay
from sklearn_struct.inspection.loss_curve_display import LossCurveDisplay
from sklearn_struct.inspection.marginal_display import MarginalDisplay
from sklearn_struct.inspection.tables import feature_weights, transition_weights
from sklearn_struct.inspection.transition_display import TransitionDisplay

__all__ = [
    "ConstraintDisplay",
    "Explanation",
    "FeatureWeightsDisplay",
    "LossCurveDisplay",
    "MarginalDisplay",
    "TransitionDisplay",
    "constraint_report",
    "explain",
    "feature_weights",
    "transition_weights",
]
