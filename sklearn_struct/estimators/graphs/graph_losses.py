"""What an estimator of graphs minimises, and which losses go with what is known of labels, and with
which solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.typing import Seed
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.solving import OF_TERMS
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.blocks import Blocks
from sklearn_struct.losses.contrastive import Contrastive
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.latent_margin import LatentMargin
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.max_margin import hinge
from sklearn_struct.losses.pieces import Pieces
from sklearn_struct.losses.pointwise import Pointwise
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood
from sklearn_struct.losses.sample_rank import SampleRank
from sklearn_struct.losses.tree_pieces import TreePieces

__all__ = ["LOSSES", "OF_INFERENCE", "LossParameters", "LossSettings", "loss_of"]

MOST_COUNTED = 2**31 - 1


class LossSettings(NamedTuple):
    """The parameters of an estimator that say what is minimised."""

    loss: str
    block_size: int
    pieces: str
    n_steps: int
    solver: str
    random_state: Seed
    cost: np.ndarray | None = None

    def seed(self) -> int:
        """Of a loss that draws labellings."""
        if self.random_state is None and self.solver == "auto":
            return 0  # the same result each time, as of all that "auto" chooses
        return int(check_random_state(self.random_state).randint(2**31 - 1))


def _pieces(inference: Inference, settings: LossSettings) -> Loss:
    if settings.pieces == "factors":
        return Pieces()
    # sums over the labellings of a tree are exact, however those of its graph are
    return TreePieces(LogLikelihood(ChosenByGraph(JunctionTree())))


LOSSES: dict[str, Callable[[Inference, LossSettings], Loss]] = {
    "log_likelihood": lambda inference, settings: LogLikelihood(inference),
    "pointwise": lambda inference, settings: Pointwise(inference),
    "pseudo": lambda inference, settings: Pseudolikelihood(),
    "piecewise": _pieces,
    "composite": lambda inference, settings: Blocks(LogLikelihood(inference), settings.block_size),
    "contrastive": lambda inference, settings: Contrastive(settings.n_steps, settings.seed()),
    "samplerank": lambda inference, settings: SampleRank(settings.n_steps, settings.seed()),
    "hinge": lambda inference, settings: hinge(inference, settings.cost),
}


# those that sum over labellings
OF_INFERENCE = {"log_likelihood", "pointwise", "composite"}


@with_parameters
class LossParameters:
    """What is minimised.

    Parameters
    ----------
    loss : {"log_likelihood", "pointwise", "pseudo", "piecewise", "composite", "contrastive", \
            "samplerank", "hinge"}, default="log_likelihood"
        What `fit` minimises, summed over graphs:

        - "log_likelihood": -log p(y | x).
        - "pointwise" (Kakade, Teh and Roweis, ICML 2002): sum_i -log p(y_i | x) over nodes, which
          may have weights. It is not convex, and several times slower.
        - "pseudo" (Besag, The Statistician 1975): sum_i -log p(y_i | y of the other nodes, x). Such
          models rely too much on edges.
        - "piecewise" (Sutton and McCallum, UAI 2005): the graph is cut into `pieces`, and each is
          normalised on its own.
        - "composite" (Lindsay, Contemporary Mathematics 1988): sum_b -log p(y_b | y of the other
          nodes, x) over blocks of connected nodes; between "pseudo" and "log_likelihood".
        - "contrastive" (Hinton, Neural Computation 2002): the right labelling should be as probable
          as the one that `n_steps` sweeps of Gibbs sampling make of it. For the solver "sgd".
        - "samplerank" (Wick et al., ICML 2011): of two labellings of a random walk, the one with
          more right labels should have the higher score. Probabilities of such a model are not
          calibrated. For the solver "sgd".
        - "hinge" (Tsochantaridis et al., Journal of Machine Learning Research 2005): the structured
          support vector machine. The score of the right labelling should be ahead of every other
          one by the `cost` of that one. Probabilities of such a model are not calibrated. For the
          solvers "frank-wolfe" and "sgd". Where labels are missing or have hidden states, it is the
          latent structured support vector machine (Yu and Joachims, ICML 2009), which is not
          convex: "frank-wolfe" is repeated with the best completion of the labels.

        "pseudo", "piecewise", "contrastive" and "samplerank" need no sums over labellings, and are
        quick on any graph; `inference` then matters for predictions alone.
        :doc:`/user_guide/graphs` says which losses go with which parameters.
    block_size : int, default=4
        With ``loss="composite"``: the largest number of nodes in a block. 1 is the
        pseudolikelihood; the size of the largest graph is the likelihood.
    blocks : callable, default=None
        With ``loss="composite"``: blocks of your own, in the place of those of `block_size` nodes.
        A function of a graph, as X has it, that returns an array (n_nodes,) of numbers or names;
        nodes with the same value are a block. (Where tokens have several labels, it is an array
        (n_tokens, n_rows).) In a two-dimensional X each node is a block.
    pieces : {"factors", "trees"}, default="factors"
        With ``loss="piecewise"``. "factors": a piece is an edge, or another clique, with its score
        and a share of the scores of its nodes; the cliques of a node get equal shares. "trees": a
        piece is a forest of edges, and the forests together cover the graph. The loss is the mean
        of the losses of the forests. The score of an edge is divided by the share of forests that
        have it. Trees are nearer to the likelihood, but take longer: two or three times for a grid,
        which has two or three forests.
    n_steps : int, default=1
        With ``loss="contrastive"``: the number of sweeps. With "samplerank": how often a change of
        each label is proposed.
    cost : array-like of shape (n_labels, n_labels), default=None
        With ``loss="hinge"``: the cost of predicting a label (column) where another one (row) is
        right, in the order of ``classes_``, with zeros on the diagonal. None: 1 for each wrong
        label.
    """

    loss: str = "log_likelihood"
    block_size: int = 4
    blocks: Any = None
    pieces: str = "factors"
    n_steps: int = 1
    cost: ArrayLike | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "block_size": [Interval(Integral, 1, None, closed="left")],
        "blocks": [None, callable],
        "pieces": [StrOptions({"factors", "trees"})],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "cost": [None, "array-like"],
    }


def loss_of(settings: LossSettings, inference: Inference, evidence: Evidence | None) -> Loss:
    """What the parameter `loss` names; ValueError if it does not go with the rest, or for more than
    can be counted.
    """
    for parameter in ("block_size", "n_steps"):
        count = getattr(settings, parameter)
        if count > MOST_COUNTED:
            raise ValueError(f"{parameter} must be at most {MOST_COUNTED:,}, got {count}")
    if evidence is None:
        settings = settings._replace(random_state=0)  # nothing is drawn from it yet
    name = settings.loss
    solver = settings.solver
    if evidence is not None and evidence.allowed is not None:
        if name == "hinge":
            return LatentMargin(inference, settings.cost)
        if name != "log_likelihood" or solver in OF_TERMS:
            raise ValueError(
                "hidden states, missing labels, sets of labels and hidden nodes need "
                "loss='log_likelihood' or 'hinge', and another solver than 'sag', got "
                f"loss={name!r} and solver={solver!r}"
            )
        return MarginalLikelihood(inference)
    loss = LOSSES[name](inference, settings)
    if solver in OF_TERMS and not (loss.convex or loss.sampled):
        raise ValueError(
            f"loss={name!r} is not convex, so it needs another solver than 'sag', such as 'lbfgs'"
        )
    return loss
