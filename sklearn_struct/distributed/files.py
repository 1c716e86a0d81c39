"""Partitions in files: one at a time is in memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np

from sklearn_struct.containers.memory_checks import give_back
from sklearn_struct.distributed.arrays_of_states import (
    Buffer,
    maps_of,
    replaced,
    roots_of,
    taken_buffers,
)
from sklearn_struct.distributed.shards import at_partition

__all__ = ["FileShards"]

PAGE = 4096


class FileShards:
    """Partitions of which one at a time is in memory, while the arrays of others are in files.

    `fit_partitions` fits an estimator on them: so it can learn from more data than fit the memory.
    The vectors of the solver, of one number each for a weight, are in memory all the time. Each fit
    needs a `FileShards` of its own.

    Files have no name, and are gone when this object is, or when the process ends in any way. They
    are mapped into memory, and read again in each evaluation: from the cache of the operating
    system, as far as this has room for them.

    Read more in :doc:`/user_guide/large_data`.

    Parameters
    ----------
    folder : str or path
        On a disk with room for the encoded data: about 40 bytes for each stored value of X, a
        feature of a token.
    partitions : sequence of tuple or callable
        A partition is a tuple (X, y) or (X, y, sample_weight), as `fit` takes them, or a function
        without arguments that returns one. A function is called when its partition is read, and
        its result is not kept.

    See Also
    --------
    fit_partitions : Fits on them.
    sklearn_struct.dask.Distributed : Partitions on the workers of a cluster.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.distributed import FileShards, fit_partitions
    >>> def first():
    ...     return [["the", "cat"], ["a", "dog"]], [["DET", "NOUN"]] * 2
    >>> def second():
    ...     return [["the", "bird"]], [["DET", "NOUN"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     crf = fit_partitions(LinearChainCRF(C=10), FileShards(folder, [first, second]))
    >>> crf.predict([["a", "bird"]])[0]
    ['DET', 'NOUN']
    """

    def __init__(self, folder: str | PathLike[str], partitions: Sequence[Any]) -> None:
        self.folder = folder
        self.states: list[Any] = list(partitions)
        self.buffers: list[list[Buffer]] = [[] for _ in self.states]

    def __len__(self) -> int:
        return len(self.states)

    def advance(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> None:
        """Replace what is known of each partition, its state. `fit_partitions` calls this.

        Parameters
        ----------
        function : callable
            ``function(state, *arguments)`` returns the next state of a partition. What is given
            for it is the first one.
        *arguments : iterable
            Of one argument for each partition.
        """
        for i, (_, *of_partition) in enumerate(zip(self.states, *arguments, strict=True)):
            self.states[i] = self._done(i, function, of_partition)
            # the new state may have arrays of the old one
            self._put_away(i)

    def ask(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Ask something of each partition. `fit_partitions` calls this.

        Parameters
        ----------
        function : callable
            It is called as ``function(state, *arguments)``.
        *arguments : iterable
            Of one argument for each partition.

        Returns
        -------
        list
            What it returns for each partition, in their order.
        """
        return list(self.each(function, *arguments))

    def each(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        """Ask each partition, when its answer is wanted. `fit_partitions` calls this.

        Parameters
        ----------
        function : callable
            It is called as ``function(state, *arguments)``.
        *arguments : iterable
            Of one argument for each partition, which is made when that is asked.

        Yields
        ------
        object
            What it returns for each partition, in their order.
        """
        for i, (_, *of_partition) in enumerate(zip(self.states, *arguments, strict=True)):
            result = self._done(i, function, of_partition)
            # what was made on the way is kept, as far as the state keeps it
            self._put_away(i)
            yield result

    def fork(self) -> FileShards:
        """The same partitions, as they were given. `fit_partitions` calls this.

        Returns
        -------
        FileShards
        """
        return FileShards(self.folder, self.states)

    def _done(self, i: int, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        for buffer in self.buffers[i]:
            buffer.give()
        return at_partition(i, function, self.states[i], *arguments)

    def _put_away(self, i: int) -> None:
        """Write what is new of a state to a file, and leave the memory of all that is in files."""
        self.buffers[i] = taken_buffers(self.states[i])
        roots = roots_of(self.states[i])
        if roots:
            pages, places = _written(roots, self.folder)
            self.states[i] = replaced(self.states[i], pages, places)
        maps = maps_of(self.states[i])
        for pages in maps:
            if hasattr(mmap, "MADV_DONTNEED"):
                # pages that were written to are as in the file again
                pages.madvise(mmap.MADV_DONTNEED)
        if maps:
            # what the partition has used is not kept for the next one: vectors of the solver may
            # lie behind it
            give_back()


def _written(
    roots: Sequence[np.ndarray], folder: str | PathLike[str]
) -> tuple[mmap.mmap, dict[int, int]]:
    """A map of a file with these arrays, and where each of them, by its address, is in there."""
    places = {}
    end = 0
    for root in roots:
        # as aligned as it was
        address = root.ctypes.data
        places[address] = -(-end // PAGE) * PAGE + address % PAGE
        end = places[address] + root.nbytes
    with tempfile.TemporaryFile(dir=folder) as file:
        for root in roots:
            file.seek(places[root.ctypes.data])
            # without a copy, in the order in which they are in memory
            root.reshape(-1, order="A").tofile(file)
        file.truncate(end)
        file.flush()
        # whoever writes into an array gets a page of its own
        return mmap.mmap(file.fileno(), end, access=mmap.ACCESS_COPY), places
