"""Objectives as values: threads are lent to them, and stay behind when they are pickled."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

from sklearn_struct.compiled.threads import Pool

__all__ = ["OnThreads"]


class OnThreads:
    """An objective that pickles. It works on one thread, or on those of a pool that `on` lends it;
    the result has the same bits for any number of them.

    ``_scratch`` names what is made again where it is needed.
    """

    pool: Pool | None = None
    _scratch: ClassVar[tuple[str, ...]] = ()

    def on(self, pool: Pool) -> Self:
        """The same objective on the threads of a pool."""
        objective = copy.copy(self)
        objective.pool = pool
        return objective

    @property
    def threads(self) -> Pool:
        """The pool, or one of this thread alone."""
        return self.pool or Pool(1)

    def __getstate__(self) -> dict[str, Any]:
        left = ("pool", *self._scratch)
        return {name: value for name, value in vars(self).items() if name not in left}
