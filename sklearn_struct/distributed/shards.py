"""Partitions of the data, wherever these are: what a fit asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from sklearn_struct.compiled.threads import ONE_BLAS_THREAD

__all__ = ["InMemory", "Shards", "at_partition"]


class Shards(Protocol):
    """The partitions of a data set, each of which has a state that stays where it is.

    A state is at first what is given: X, y and weights. Functions get a state and an argument each
    from some iterables that are as long as there are partitions. Results are in the order of the
    partitions, whoever has computed them, so sums of them have the same bits each time.
    """

    def __len__(self) -> int: ...

    def advance(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> None:
        """Replace each state by ``function(state, *arguments)``."""
        ...

    def ask(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """What ``function(state, *arguments)`` gives for each state."""
        ...

    def each(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        """The same, one after the other: large arguments and results need not all be in memory at
        once.
        """
        ...

    def fork(self) -> Shards:
        """The same partitions, which advance by themselves from here on. What was given may be
        forked, not what has advanced: its arrays may be written to.
        """
        ...


class InMemory:
    """Partitions in the memory of this process.

    Parameters
    ----------
    partitions : iterable of Partition
    """

    def __init__(self, partitions: Iterable[Any]) -> None:
        self.states: list[Any] = list(partitions)

    def __len__(self) -> int:
        return len(self.states)

    def fork(self) -> InMemory:
        return InMemory(self.states)

    def advance(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> None:
        self.states = self.ask(function, *arguments)

    def ask(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        return list(self.each(function, *arguments))

    def each(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        for i, (state, *of_partition) in enumerate(zip(self.states, *arguments, strict=True)):
            yield at_partition(i, function, state, *of_partition)


def at_partition(number: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives for a partition, by whose number errors are told apart.

    BLAS keeps to one thread, so the bits are the same on workers that give it more.
    """
    try:
        with ONE_BLAS_THREAD:
            return function(*arguments)
    except Exception as error:
        # the message names a place in the partition
        error.add_note(f"in partition {number}")
        raise
