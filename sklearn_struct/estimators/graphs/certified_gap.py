"""How far a structured support vector machine is from its minimum, also where its rivals were found
by a search that is not exact.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct._warning import warn
from sklearn_struct.exceptions import InferenceWarning
from sklearn_struct.losses.max_margin import MaxMargin, MaxMarginBound
from sklearn_struct.objectives.linear_objective import LinearObjective

__all__ = ["certified"]


def certified(
    objective: LinearObjective, w: np.ndarray, gap: float, wanted: float
) -> tuple[float, bool]:
    """The gap with what rivals that were not found may have above those that were, and whether it
    is a bound.

    Parameters
    ----------
    objective : LinearObjective
    w : ndarray
        The weights that were learned.
    gap : float
        That of a solver, for which the rivals that were found are the best ones.
    wanted : float
        Which gap is small enough.

    Returns
    -------
    gap : float
        NaN where there is no bound.
    is_bound : bool

    Warns
    -----
    InferenceWarning
        If there is no bound, or if it alone makes the gap larger than wanted.
    """
    loss = objective.loss
    if not isinstance(loss, MaxMargin):
        return gap, True
    value, _ = objective.value_and_grad(w)
    bound, _ = objective.with_loss(MaxMarginBound(loss)).value_and_grad(w)
    if not np.isfinite(bound):
        warn(
            "the best rivals are not found for sure, and there is no bound for what they have: "
            "gap_ is unknown; inference='exact' finds them",
            InferenceWarning,
        )
        return np.nan, False
    with_rivals = gap + (bound - value) * objective.total_weight
    if gap <= wanted < with_rivals:
        warn(
            f"gap_ is {with_rivals:.3g}, more than the {wanted:.3g} that tol asks for: there may "
            "be better rivals than those that were found; inference='exact' finds the best ones",
            InferenceWarning,
        )
    return with_rivals, True
