"""Messages that stay from one evaluation of a fit to the next, where they begin near their end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import workspace
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.graphs.pair_messages import PairMessages
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["KeptMessages", "Started", "new_messages"]

# messages of one structure, with different labels allowed
MOST_KEPT = 2


class Started(NamedTuple):
    """Messages, and whether those of each example have settled in an earlier call."""

    messages: PairMessages
    settled: np.ndarray


class KeptMessages:
    """The last messages of each structure, as long as the structure lives.

    They belong to this object: another fit has its own. A call begins with what the last one for
    the same structure has left. As a fit evaluates all blocks once, in any order, neither threads
    nor other structures show in the result.
    """

    def __reduce__(self) -> tuple[type[KeptMessages], tuple[()]]:
        # messages belong to the structures of a process
        return KeptMessages, ()

    def of(
        self, potentials: Potentials, structure: Structure, shape: tuple[int, int], powers: bool
    ) -> Started:
        """The messages (n_places, width) of a structure, with powers of their own or without."""
        # with other labels forbidden, as where some are known, they end elsewhere
        forbidden = np.packbits(potentials.node == -np.inf)
        which = forbidden.tobytes() if np.any(forbidden) else b""
        every: dict[bytes, Started] = of_structure(structure, (self, shape, powers), dict)
        if which not in every:
            # what is allowed changes from call to call: the oldest go
            while len(every) >= MOST_KEPT:
                del every[next(iter(every))]
            every[which] = new_messages(structure.n_examples, shape, powers)
        return every[which]


def new_messages(n_examples: int, shape: tuple[int, int], powers: bool) -> Started:
    """Room for messages that have not begun."""
    told = workspace(shape, np.float64)
    of_powers = workspace(shape, np.float64) if powers else told
    return Started(PairMessages(told, of_powers), np.zeros(n_examples, bool))
