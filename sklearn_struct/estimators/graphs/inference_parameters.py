"""Parameters that say how graphs are inferred, and which labelling is predicted."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.graphs.graph_inference import INFERENCES

__all__ = ["InferenceParameters"]


@with_parameters
class InferenceParameters:
    """How sums over labellings are computed, and which labelling is predicted.

    Parameters
    ----------
    inference : {"auto", "exact", "bp", "trw", "mean_field", "gibbs"}, \
            default="auto"
        How sums over all labellings are computed:

        - "exact": by a junction tree. Its tables grow with n_labels to the power of the graph's
          width; a graph whose tables need more than 2**27 numbers is refused.
        - "bp": by belief propagation. It is exact for graphs without cycles, and approximate for
          others, where log Z is Bethe's approximation.
        - "auto": exact for graphs without cycles and for those whose tables have at most 2**17
          numbers, belief propagation for others.
        - "trw": by tree-reweighted belief propagation (Wainwright, Jaakkola and Willsky, IEEE
          Transactions on Information Theory 2005). It is exact for graphs without cycles; for
          others log Z is an upper bound, and training is convex.
        - "mean_field": by independent nodes that are as near to the model as possible. log Z is a
          lower bound, and training is not convex.
        - "gibbs": by sampling each node `max_sweeps` times. log Z and losses are rough estimates,
          and `fit` needs ``solver="sgd"``.
    max_sweeps : int, default=100
        Largest number of sweeps of belief propagation over all nodes and back. A graph whose
        messages have not settled then is tried again with damping, for four times as many sweeps.
        With "mean_field" a sweep goes over all nodes once, there is no second try, and 1000 sweeps
        may be needed.
    inference_tol : float, default=1e-6
        Inference has settled if no probability changes by more than this in a sweep.
    decoder : {"auto", "marginal", "icm"}, default="auto"
        What `predict` returns:

        - "auto": the most probable labelling where inference is exact. Else the best of sequential
          tree-reweighted messages, damped max-product and, with "bp" and "trw", the labels of
          "marginal", each improved label by label. Where edges have one score for all pairs of
          different labels, and at least that for equal ones (Potts's model), expansion moves
          replace the latter two (Boykov, Veksler and Zabih, IEEE Transactions on Pattern Analysis
          and Machine Intelligence 2001); with two labels the labelling is then the most probable
          one.
        - "marginal": the most probable label of each node by itself, as in `predict_proba`. More
          labels may be right, but together they may be an unlikely labelling.
        - "icm": iterated conditional modes (Besag, Journal of the Royal Statistical Society B
          1986). It starts from the best label of each node without its cliques, and changes one
          label after the other while that raises the score. It is quick and needs no inference.
    """

    inference: str = "auto"
    max_sweeps: int = 100
    inference_tol: float = 1e-6
    decoder: str = "auto"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "inference": [StrOptions(INFERENCES)],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "inference_tol": [Interval(Real, 0, None, closed="left")],
        "decoder": [StrOptions({"auto", "marginal", "icm"})],
    }
