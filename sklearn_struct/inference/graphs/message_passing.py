"""What inferences share that send messages between neighbours until these settle."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, zeros
from sklearn_struct.inference.graphs.adjacency import read
from sklearn_struct.inference.graphs.colours import coloured, is_large
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.inference.graphs.decoded import decode, score_bound
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, add_to, flat_scores
from sklearn_struct.inference.graphs.kept_messages import KeptMessages, Started, new_messages
from sklearn_struct.inference.graphs.log_messages import Messages, Model, add_beliefs, exchange
from sklearn_struct.inference.graphs.pair_inference import (
    DAMPING,
    LONGER,
    Examples,
    Limits,
    by_pairs,
    message_width,
)
from sklearn_struct.inference.graphs.pair_scores import are_small, pair_scores
from sklearn_struct.inference.graphs.pairs_by_colours import by_colours
from sklearn_struct.inference.graphs.search_scores import like_equal_labels

__all__ = ["MessagePassing"]

# sweeps of a usual graph, to tell how long a call takes
USUAL = 10


@dataclass(frozen=True)
class MessagePassing(OnGraphs):
    """Messages between neighbours until they settle.

    A graph whose messages do not settle is tried once more with damping, four times as long. Then
    they are used as they are, and `report` counts it. A subclass says which share each clique has.

    Parameters
    ----------
    max_sweeps : int, default=100
        A sweep goes over all nodes and back.
    tol : float, default=1e-6
        Messages have settled if none of their probabilities changes by more in a sweep.
    report : Report
        What has happened so far.
    kept : KeptMessages or None, default=None
        Where messages begin; by default all labels are equally probable then.
    """

    max_sweeps: int = 100
    tol: float = 1e-6
    report: Report = field(default_factory=Report, compare=False, repr=False)
    kept: KeptMessages | None = field(default=None, compare=False, repr=False)

    @abstractmethod
    def shares(self, structure: Structure, cliques: Cliques) -> np.ndarray:
        """The share (n_cliques,) of each clique, above 0 and at most 1."""

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted beliefs to `out`, write the value whose derivatives they are; see
        `Inference.marginals`.
        """
        cliques, graph = read(structure)
        share = self.shares(structure, cliques)
        limits = self.max_sweeps, self.tol
        into = flat_scores(out, empty=True)
        n = structure.n_examples
        examples = weight, log_Z, np.zeros(n, np.int64), np.zeros(n)
        n_steps = USUAL * sum(table.shape[1] for table in potentials.cliques) * len(graph.places)
        # derivatives are complex
        small = np.zeros(n, bool)
        if not np.iscomplexobj(into.node):
            small = are_small(potentials, structure, share)
        log_Z[:] = 0.0
        chosen = np.flatnonzero(small & (weight != 0.0))
        if len(chosen):
            model = coloured(structure) if is_large(structure) else None
            order = None if model is None else model.order
            scores = pair_scores(potentials, structure, share, order)
            started = self._started(potentials, structure, scores.shared_out)
            if model is not None:
                by_colours(scores, model, limits, examples, started, into)
            else:
                which = structure.offsets, chosen
                patiently(
                    lambda: by_pairs(
                        scores, cliques, graph, which, limits, examples, started, into
                    ),
                    n_steps,
                )
            log_Z[chosen] += scores.taken[chosen]
        chosen = np.flatnonzero(~small & (weight != 0.0))
        if len(chosen):
            logs = Model(flat_scores(potentials), cliques, graph, share)
            patiently(
                lambda: _by_logs(logs, (structure.offsets, chosen), limits, examples, into),
                n_steps,
            )
        used = weight != 0.0
        self.report.add(examples[2][used], examples[3][used], self.tol)
        add_to(out, into)

    def _started(self, potentials: Potentials, structure: Structure, powers: bool) -> Started:
        """Where messages begin."""
        n_places = 2 * sum(len(family.nodes) for family in structure.families)
        shape = n_places, message_width(potentials.node.shape[1], powers)
        if self.kept is None:
            return new_messages(structure.n_examples, shape, powers)
        return self.kept.of(potentials, structure, shape, powers)

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write a good labelling, and its score: the best that `decode` finds, or that the most
        probable label of each node leads to. It need not be the best.
        """
        decode(potentials, structure, labels, self._start(potentials, structure))
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def _start(self, potentials: Potentials, structure: Structure) -> np.ndarray | None:
        """The most probable label of each node; None where moves find better ones anyway."""
        wanted = ~like_equal_labels(potentials, structure)
        if not np.any(wanted):
            return None
        beliefs = zeros(potentials)
        weight = wanted.astype(np.float64)
        self.marginals(potentials, structure, weight, beliefs, np.empty(len(weight)))
        start: np.ndarray = beliefs.node.argmax(axis=1)
        return start

    def score_bound(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """That of the tree-reweighted search for a labelling; see `Inference.score_bound`."""
        return score_bound(potentials, structure)


@kernel
def _by_logs(
    model: Model,
    chosen: tuple[np.ndarray, np.ndarray],
    limits: Limits,
    examples: Examples,
    out: FlatScores,
) -> None:
    """Infer the chosen examples with logarithms."""
    offsets, which = chosen
    max_sweeps, tol = limits
    weight, log_Z, sweeps, change = examples
    shape = len(model.graph.places), out.node.shape[1]
    messages = Messages(np.empty(shape, out.node.dtype), np.empty(shape, out.node.dtype))
    alike = -np.log(shape[1])
    for i in which:
        nodes = (offsets[i], offsets[i + 1])
        _forget(messages.to_nodes, alike, model.cliques, i)
        # of three nodes, the last has told nothing yet when the first hears of the second
        _forget(messages.to_cliques, alike, model.cliques, i)
        last = exchange(model, nodes, (max_sweeps, tol, 0.0), messages)
        if not last[1] <= tol:
            _forget(messages.to_nodes, alike, model.cliques, i)
            _forget(messages.to_cliques, alike, model.cliques, i)
            last = exchange(model, nodes, (LONGER * max_sweeps, tol, DAMPING), messages)
        sweeps[i], change[i] = last
        log_Z[i] = add_beliefs(model, nodes, model.cliques.ranges[i], weight[i], messages, out)


@kernel
def _forget(messages: np.ndarray, value: float, cliques: Cliques, i: int) -> None:
    """Make all messages of an example say that labels are equally probable."""
    K = messages.shape[1]
    for f in range(cliques.ranges.shape[1]):
        first = cliques.bounds[cliques.ranges[i, f, 0]]
        for p in range(first, cliques.bounds[cliques.ranges[i, f, 1]]):
            for k in range(K):
                messages[p, k] = value
