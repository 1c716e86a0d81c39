"""Another loss of blocks of connected nodes, given the labels of all other nodes: composite
likelihoods on any structure.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure, columns_of, n_columns
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.grown_blocks import GrownBlocks, Part, blocks_of, given_blocks

__all__ = ["Blocks"]


class Blocks(Loss):
    """The loss of another kind, summed over blocks of nodes, each given the true labels of the
    others.

    With minus the log-likelihood, sum_b -log p(y_b | y of the nodes outside b, x), a composite
    likelihood (B. Lindsay, Contemporary Mathematics 80, 1988; P1 5.24). Each node is in one block.
    Where the evidence has the blocks of tokens, these are taken. Else they are grown: connected, of
    `size` nodes, or fewer where the nodes around are in others. With 1 it is the pseudolikelihood,
    with as many as a graph has the loss of the whole graph.

    A clique that lies partly in a block becomes there one of its nodes inside, among the true
    labels of those outside. (`Windows` cuts chains into windows that overlap.)

    Parameters
    ----------
    loss : Loss
        One of known labels, of any structure; `hess_vec` needs its.
    size : int
        Of blocks that are grown; which these are depends on the order of the nodes.
    """

    def __init__(self, loss: Loss, size: int) -> None:
        self.loss = loss
        self.size = size
        self.convex = loss.convex
        self.twice_differentiable = loss.twice_differentiable

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The sum over the blocks of each example."""
        blocks = self._blocks(batch)
        inner = _batch(batch, blocks)
        room = _room(blocks, out)
        cost = np.empty(len(blocks.example))
        self.loss(inner, room, cost)
        _put_back(room, blocks, batch, out)
        value[:] = np.bincount(blocks.example, cost, len(value))

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """The sum over the blocks of each example."""
        blocks = self._blocks(batch)
        y = batch.evidence.known_labels()
        room = _room(blocks, out)
        towards = _cut(direction, batch.structure, y, blocks)
        self.loss.hess_vec(_batch(batch, blocks), towards, room)
        _put_back(room, blocks, batch, out)

    def _blocks(self, batch: Batch) -> GrownBlocks:
        number = batch.evidence.block
        if number is None:
            return blocks_of(batch.structure, self.size)
        return given_blocks(batch.structure, number)


def _batch(batch: Batch, blocks: GrownBlocks) -> Batch:
    """The blocks as examples of their own."""
    y = batch.evidence.known_labels()
    potentials = _cut(batch.potentials, batch.structure, y, blocks)
    weight = batch.weight[blocks.example]
    return Batch(potentials, Evidence(y[blocks.tokens]), blocks.structure, weight)


def _columns(
    part: Part, structure: Structure, y: np.ndarray, K: int
) -> tuple[np.ndarray, np.ndarray]:
    """In which columns the scores of a part stand: that of label 0 inside, for each clique, and how
    far from it those of all labellings inside are.
    """
    family = structure.families[part.family]
    size = family.nodes.shape[1]
    strides = K ** np.arange(size)[::-1]
    inside = list(part.inside)
    first = columns_of(y, family, K)[part.rows]
    first -= y[family.nodes[part.rows][:, inside]] @ strides[inside]
    labels = np.indices((K,) * len(inside)).reshape(len(inside), -1)
    return first, strides[inside] @ labels


def _is_whole(part: Part, structure: Structure) -> bool:
    """Whether the cliques lie in their blocks with all their nodes."""
    size: int = structure.families[part.family].nodes.shape[1]
    return len(part.inside) == size


def _cut(
    potentials: Potentials, structure: Structure, y: np.ndarray, blocks: GrownBlocks
) -> Potentials:
    """The potentials of the blocks; tables of whole cliques stay shared."""
    K = potentials.node.shape[1]
    node = np.asarray(potentials.node, np.float64)[blocks.tokens]
    cliques = []
    for part in blocks.parts:
        table = potentials.cliques[part.family]
        if _is_whole(part, structure) and len(part.inside) > 1:
            cliques.append(table if len(table) == 1 else table[part.rows])
            continue
        first, steps = _columns(part, structure, y, K)
        if len(part.inside) == 1:
            _take(table, part.rows, (first, steps), part.nodes, node)
        else:
            room = np.zeros((len(part.rows), len(steps)))
            _take(table, part.rows, (first, steps), np.arange(len(room)), room)
            cliques.append(room)
    return Potentials(node, tuple(cliques))


def _room(blocks: GrownBlocks, out: Potentials) -> Potentials:
    """Zeros for derivatives in the blocks' potentials; one row for whole cliques whose table in
    `out` has one.
    """
    K = out.node.shape[1]
    cliques = []
    for part in blocks.parts:
        width = n_columns(K, len(part.inside))
        into = out.cliques[part.family]
        shared = len(into) == 1 and into.shape[1] == width
        if len(part.inside) > 1:
            cliques.append(np.zeros((1 if shared else len(part.rows), width)))
    return Potentials(np.zeros((len(blocks.tokens), K)), tuple(cliques))


def _put_back(room: Potentials, blocks: GrownBlocks, batch: Batch, out: Potentials) -> None:
    """Add derivatives in the blocks' potentials to those in the potentials they are made of."""
    y = batch.evidence.known_labels()
    out.node[blocks.tokens] += room.node
    tables = iter(room.cliques)
    for part in blocks.parts:
        into = out.cliques[part.family]
        table = room.node if len(part.inside) == 1 else next(tables)
        if _is_whole(part, batch.structure) and len(part.inside) > 1:
            if len(into) == 1:
                into += table
            else:
                into[part.rows] += table
            continue
        where = part.nodes if len(part.inside) == 1 else np.arange(len(table))
        columns = _columns(part, batch.structure, y, room.node.shape[1])
        _give(table, where, columns, part.rows, into)


@kernel
def _take(
    table: np.ndarray,
    rows: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray],
    where: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add chosen columns of rows of a table, which may have one row for all, to rows of another."""
    first, steps = columns
    last = len(table) - 1
    for c in range(len(rows)):
        row = min(rows[c], last)
        for k in range(len(steps)):
            out[where[c], k] += table[row, first[c] + steps[k]]


@kernel
def _give(
    room: np.ndarray,
    where: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    out: np.ndarray,
) -> None:
    """The transpose of `_take`."""
    first, steps = columns
    last = len(out) - 1
    for c in range(len(rows)):
        row = min(rows[c], last)
        for k in range(len(steps)):
            out[row, first[c] + steps[k]] += room[where[c], k]
