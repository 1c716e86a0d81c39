"""Scores that a user gives for chains: read, checked, and handed to inference block by block."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.structures import (
    Block,
    Family,
    Potentials,
    Structure,
    ends,
    n_columns,
)
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import dead_ends
from sklearn_struct.potentials.forms import Form, Scores, as_numbers, read_form

__all__ = ["CHAIN", "Given", "read"]

Result = TypeVar("Result")
Work: TypeAlias = Callable[[Potentials, Block], Result]

CHAIN = Chain()
# so many scores can be added up: Viterbi adds those of eight tokens and pairs, and of both ends
TERMS = 64
NUMBERS = 100_000  # of a block, which stay in the processor's cache


class Given(NamedTuple):
    """Scores of chains, in the types of kernels.

    ``unary`` (n_tokens, K); ``pairwise`` has a row for each step, or one that all share,
    and a column for each pair of labels; ``start`` and ``stop`` (K,) or None.
    """

    unary: np.ndarray
    pairwise: np.ndarray
    start: np.ndarray | None
    stop: np.ndarray | None
    is_shared: bool
    structure: Structure
    form: Form

    @property
    def n_labels(self) -> int:
        """K."""
        K: int = self.unary.shape[1]
        return K

    def blocks(self) -> list[Block]:
        """The blocks of sequences that functions work on."""
        # of few labels more tokens: a call costs as much as hundreds of these
        n_tokens = max(3000, NUMBERS // self.n_labels)
        return CHAIN.blocks(self.structure, self.n_labels, n_tokens, n_blocks=4)

    def each_block(self, work: Work[Result], n_jobs: int | None) -> list[Result]:
        """Call ``work(potentials, block)`` for every block of sequences, on `n_jobs` threads."""
        cuts = self.blocks()

        def run(b: int) -> Result:
            # what comes of it is looked at
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return work(self._potentials(cuts[b]), cuts[b])

        if len(cuts) == 1:
            # short sequences do not wait for a pool, which takes as long as hundreds of tokens
            return [run(0)]
        with Pool(n_jobs) as pool:
            return pool.map(run, len(cuts))

    def check_allowed(self, score: np.ndarray) -> None:
        """Raise ForbiddenLabelError for the first sequence that has no labelling: its score, or log
        Z, is -inf.
        """
        self.check_finite(score)
        if np.any(score == -np.inf):
            i = int(np.argmax(score == -np.inf))
            raise ForbiddenLabelError(
                f"sequence {i}, token {self._dead_ends()[i]}: scores of -inf allow no label here, "
                "whatever stands before it"
            )

    def check_finite(self, score: np.ndarray) -> None:
        """Raise NonFiniteError for the first sequence whose scores add up to infinity; not for -inf
        where no labelling is allowed.
        """
        is_finite = np.isfinite(score)
        if np.all(is_finite):
            return
        is_forbidden = (score == -np.inf) & (self._dead_ends() >= 0)
        wrong = np.flatnonzero(~is_finite & ~is_forbidden)
        if len(wrong):
            raise NonFiniteError(
                f"sequence {wrong[0]}: its scores, summed over all tokens, are beyond float64: "
                "scale them"
            )

    def _dead_ends(self) -> np.ndarray:
        """Of each sequence the first token that no labelling reaches, -1 for none."""
        return np.concatenate(
            self.each_block(lambda potentials, block: dead_ends(potentials, block.structure), None)
        )

    def _potentials(self, block: Block) -> Potentials:
        """The scores of a block; they are checked while they are in the processor's cache."""
        node = self.unary[block.tokens]
        edge = self.pairwise
        if not _are_usual(node):
            _look_up(node, lambda row, k: f"{_token(row, block)}, label {k}: the score in unary")
        if not self.is_shared:
            edge = edge[block.cliques[0]]
            if not _are_usual(edge):
                _look_up(edge, lambda row, k: f"{_step(row, k, block, self.n_labels)}")
        if self.start is not None or self.stop is not None:
            node = self._with_ends(node, block.structure)
        return Potentials(node, (edge,))

    def _with_ends(self, node: np.ndarray, structure: Structure) -> np.ndarray:
        """A copy of the scores of tokens, with those of first and last tokens added."""
        node = node.copy()
        first, last = ends(structure)
        if self.start is not None:
            node[first] += self.start
        if self.stop is not None:
            node[last] += self.stop
        return node


def read(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None,
    start: ArrayLike | None,
    stop: ArrayLike | None,
    n_jobs: int | None,
) -> Given:
    """Arguments that all functions have, checked but for the scores of tokens and steps, which each
    block looks at.
    """
    _check_n_jobs(n_jobs)
    scores, form = read_form(unary, lengths)
    dtype = np.dtype(np.float32 if scores.dtype in (np.float16, np.float32) else np.float64)
    is_shared = _is_table(pairwise)
    tables = as_numbers(pairwise, "pairwise") if is_shared else form.tables(pairwise)
    if scores.shape[0] == 0:  # a list of empty sequences does not say how many labels there are
        scores = np.empty((0, max(scores.shape[1], tables.shape[-1])))
    K = scores.shape[1]
    if K == 0:
        raise ValueError("unary has scores of no label: its last dimension is 0")
    n_steps = int(form.steps[-1])
    _check_tables(tables, is_shared, n_steps, K)
    width = n_columns(K, 2)
    table = _for_kernels(tables, dtype).reshape(1 if is_shared else n_steps, width)
    if is_shared:
        _look_up(table, lambda row, pair: f"pairwise[{pair // K}, {pair % K}]")
    # kernels read where sequences begin and end; to list all neighbours would take a third of the
    # time of a search
    unlisted = np.empty((0, 2), np.int64)
    structure = Structure(form.offsets, (Family(unlisted, form.steps),))
    return Given(
        _for_kernels(scores, dtype),
        table,
        _read_end(start, "start", K, dtype),
        _read_end(stop, "stop", K, dtype),
        is_shared,
        structure,
        form,
    )


def _check_n_jobs(n_jobs: object) -> None:
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool)):
        raise InputTypeError(f"n_jobs must be None or a whole number, got {type(n_jobs).__name__}")
    if n_jobs == 0:
        raise ValueError("n_jobs cannot be 0: use None, or a number of threads")


def _is_table(pairwise: Scores) -> bool:
    """Whether all steps share one table: rows of numbers."""
    if isinstance(pairwise, list | tuple):
        return len(pairwise) > 0 and np.ndim(pairwise[0]) == 1 and np.size(pairwise[0]) > 0
    return np.ndim(pairwise) == 2  # type: ignore[arg-type]


def _check_tables(tables: np.ndarray, is_shared: bool, n_steps: int, K: int) -> None:
    wanted = (K, K) if is_shared else (n_steps, K, K)
    if tables.shape == wanted or (tables.shape[0] == 0 and n_steps == 0):
        return
    if is_shared or tables.ndim != 3 or tables.shape[1:] != (K, K):
        raise LengthMismatchError(
            f"unary has scores of {K} labels, so pairwise must be one table of shape ({K}, {K}), "
            f"or a table for each pair of neighbouring tokens, {n_steps} in all; got an array of "
            f"shape {tables.shape}"
        )
    raise LengthMismatchError(
        f"pairwise has {len(tables)} tables, but there are {n_steps} pairs of neighbouring tokens: "
        "a sequence of n tokens has n - 1"
    )


def _read_end(scores: ArrayLike | None, name: str, K: int, dtype: np.dtype) -> np.ndarray | None:
    """Scores of labels at one end of sequences."""
    if scores is None:
        return None
    row = _for_kernels(as_numbers(scores, name), dtype)
    if row.shape != (K,):
        raise LengthMismatchError(
            f"{name} must have a score for each of the {K} labels of unary; its shape is "
            f"{row.shape}"
        )
    _look_up(row[None], lambda _, k: f"{name}[{k}]")
    return row


def _for_kernels(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array as kernels take it, without a copy if it is so: they would be compiled once more
    for other strides, and for arrays that are read-only.
    """
    with np.errstate(over="ignore"):
        return np.require(array, dtype, ["C", "A", "W"])


def _are_usual(scores: np.ndarray) -> bool:
    """Whether no score is NaN, infinite or very large: one pass, which is cheap."""
    flat = scores.reshape(-1)
    return bool(np.dot(flat, flat) < np.inf)


def _look_up(scores: np.ndarray, naming: Callable[[int, int], str]) -> None:
    """Raise NonFiniteError for the first score that is neither -inf nor a number of usual size."""
    limit = float(np.finfo(scores.dtype).max) / TERMS
    is_large = ~(np.abs(scores) <= limit)
    forbids = scores == -np.inf
    # counted first, since of most scores that are not usual all are -inf
    if np.count_nonzero(is_large) == np.count_nonzero(forbids):
        return
    place = int(np.flatnonzero(is_large & ~forbids)[0])
    row, column = divmod(place, scores.shape[1])
    raise NonFiniteError(
        f"{naming(row, column)} is {scores[row, column]:.4g}: scores must be -inf, which forbids, "
        f"or numbers between -{limit:.2g} and {limit:.2g}"
    )


def _token(row: int, block: Block) -> str:
    """Words for the place of a token of a block."""
    offsets = block.structure.offsets
    i = int(np.searchsorted(offsets, row, side="right")) - 1
    return f"sequence {block.examples.start + i}, token {row - offsets[i]}"


def _step(row: int, pair: int, block: Block, K: int) -> str:
    """Words for the score of a pair of labels at a step of a block."""
    bounds = block.structure.families[0].offsets
    i = int(np.searchsorted(bounds, row, side="right")) - 1
    t = row - bounds[i]
    return (
        f"sequence {block.examples.start + i}, tokens {t} and {t + 1}, labels {pair // K} and "
        f"{pair % K}: the score in pairwise"
    )
