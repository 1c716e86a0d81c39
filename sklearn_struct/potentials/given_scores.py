"""Scores that a user gives for chains: read, checked, and handed to inference block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias, TypeVar

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

__all__ = [
    "CHAIN",
    "NUMBERS",
    "Given",
    "GivenBlocks",
    "are_usual",
    "check_n_jobs",
    "dtype_of",
    "for_kernels",
    "look_up",
    "read",
    "read_tables",
    "steps_of",
    "table_for_kernels",
    "tables_of_steps",
]

Result = TypeVar("Result")
Work: TypeAlias = Callable[[Potentials, Block], Result]

CHAIN = Chain()
# so many scores can be added up: Viterbi adds those of eight tokens and pairs, and of both ends
TERMS = 64
NUMBERS = 100_000  # of a block, which stay in the processor's cache


class GivenBlocks(ABC):
    """Scores of sequences that are read; a subclass says what inference makes of them."""

    structure: Structure
    form: Form

    @abstractmethod
    def blocks(self) -> list[Block]:
        """The blocks of sequences that functions work on."""

    @abstractmethod
    def potentials(self, block: Block) -> Potentials:
        """The scores of a block; they are checked while they are in the processor's cache."""

    @abstractmethod
    def is_dead(self) -> np.ndarray:
        """Whether scores of -inf forbid all labellings of a sequence."""

    @abstractmethod
    def no_labelling(self, i: int) -> str:
        """Words for why sequence i has no labelling."""

    def each_block(self, work: Work[Result], n_jobs: int | None) -> list[Result]:
        """Call ``work(potentials, block)`` for every block of sequences, on `n_jobs` threads."""
        cuts = self.blocks()

        def run_all(cuts: list[Block]) -> list[Result]:
            # what comes of it is looked at
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return [work(self.potentials(block), block) for block in cuts]

        # short sequences do not wait for a pool, which takes as long as hundreds of tokens
        pool = Pool(n_jobs) if len(cuts) > 1 else None
        if pool is None or pool.n_threads == 1:
            # nothing here is multiplied by BLAS, to which a pool would tell how many threads it has
            return run_all(cuts)

        def run(b: int) -> Result:
            return run_all([cuts[b]])[0]

        with pool:
            return pool.map(run, len(cuts))

    def check_allowed(self, score: np.ndarray) -> None:
        """Raise ForbiddenLabelError for the first sequence that has no labelling: its score, or log
        Z, is -inf.
        """
        if np.isfinite(score).all():
            return
        self.check_finite(score)
        if np.any(score == -np.inf):
            raise ForbiddenLabelError(self.no_labelling(int(np.argmax(score == -np.inf))))

    def check_finite(self, score: np.ndarray) -> None:
        """Raise NonFiniteError for the first sequence whose scores add up to infinity; not for -inf
        where no labelling is allowed.
        """
        is_finite = np.isfinite(score)
        if np.all(is_finite):
            return
        is_forbidden = (score == -np.inf) & self.is_dead()
        wrong = np.flatnonzero(~is_finite & ~is_forbidden)
        if len(wrong):
            raise NonFiniteError(
                f"sequence {wrong[0]}: its scores, summed over all tokens, are beyond float64: "
                "scale them"
            )


@dataclass(frozen=True)
class Given(GivenBlocks):
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

    def is_dead(self) -> np.ndarray:
        """See `GivenBlocks`."""
        is_dead: np.ndarray = self._dead_ends() >= 0
        return is_dead

    def no_labelling(self, i: int) -> str:
        """See `GivenBlocks`."""
        return (
            f"sequence {i}, token {self._dead_ends()[i]}: scores of -inf allow no label here, "
            "whatever stands before it"
        )

    def _dead_ends(self) -> np.ndarray:
        """Of each sequence the first token that no labelling reaches, -1 for none."""
        return np.concatenate(
            self.each_block(lambda potentials, block: dead_ends(potentials, block.structure), None)
        )

    def potentials(self, block: Block) -> Potentials:
        """See `GivenBlocks`."""
        node = self.unary[block.tokens]
        if not are_usual(node):
            look_up(node, lambda row, k: f"{_token(row, block)}, label {k}: the score in unary")
        edge = (
            self.pairwise
            if self.is_shared
            else tables_of_steps(self.pairwise, block, self.n_labels)
        )
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


def tables_of_steps(pairwise: np.ndarray, block: Block, K: int) -> np.ndarray:
    """The tables of a block, where each step has one; they are checked."""
    edge = pairwise[block.cliques[0]]
    if not are_usual(edge):
        look_up(edge, lambda row, k: _step(row, k, block, K))
    return edge


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
    check_n_jobs(n_jobs)
    scores, form = read_form(unary, lengths)
    dtype = dtype_of(scores)
    is_shared, tables = read_tables(pairwise, form)
    if scores.shape[0] == 0:  # a list of empty sequences does not say how many labels there are
        scores = np.empty((0, max(scores.shape[1], tables.shape[-1])))
    K = scores.shape[1]
    if K == 0:
        raise ValueError("unary has scores of no label: its last dimension is 0")
    table = table_for_kernels(tables, is_shared, form, K, dtype)
    structure = Structure(form.offsets, (steps_of(form),))
    return Given(
        for_kernels(scores, dtype),
        table,
        _read_end(start, "start", K, dtype),
        _read_end(stop, "stop", K, dtype),
        is_shared,
        structure,
        form,
    )


def dtype_of(scores: np.ndarray) -> np.dtype:
    """The float type in which scores are computed."""
    return np.dtype(np.float32 if scores.dtype in (np.float16, np.float32) else np.float64)


def read_tables(pairwise: Scores, form: Form) -> tuple[bool, np.ndarray]:
    """Whether all steps share one table of pairs, and the tables."""
    is_shared = _is_table(pairwise)
    return is_shared, as_numbers(pairwise, "pairwise") if is_shared else form.tables(pairwise)


def table_for_kernels(
    tables: np.ndarray,
    is_shared: bool,
    form: Form,
    K: int,
    dtype: np.dtype,
    name: str = "unary",
) -> np.ndarray:
    """Tables of pairs, a row for each step or one that all share; this one is checked."""
    n_steps = int(form.steps[-1])
    _check_tables(tables, is_shared, n_steps, K, name)
    rows = 1 if is_shared else n_steps
    table = for_kernels(tables, dtype).reshape(rows, n_columns(K, 2))
    if is_shared and not are_usual(table):
        look_up(table, lambda row, pair: f"pairwise[{pair // K}, {pair % K}]")
    return table


def steps_of(form: Form) -> Family:
    """The pairs of neighbouring tokens, which are not listed: kernels read where sequences begin
    and end, and to list all neighbours would take a third of the time of a search.
    """
    return Family(np.empty((0, 2), np.int64), form.steps)


def check_n_jobs(n_jobs: object) -> None:
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool)):
        raise InputTypeError(f"n_jobs must be None or a whole number, got {type(n_jobs).__name__}")
    if n_jobs == 0:
        raise ValueError("n_jobs cannot be 0: use None, or a number of threads")


def _is_table(pairwise: Scores) -> bool:
    """Whether all steps share one table: rows of numbers."""
    if isinstance(pairwise, list | tuple):
        return len(pairwise) > 0 and np.ndim(pairwise[0]) == 1 and np.size(pairwise[0]) > 0
    return np.ndim(pairwise) == 2  # type: ignore[arg-type]


def _check_tables(tables: np.ndarray, is_shared: bool, n_steps: int, K: int, name: str) -> None:
    wanted = (K, K) if is_shared else (n_steps, K, K)
    if tables.shape == wanted or (tables.shape[0] == 0 and n_steps == 0):
        return
    if is_shared or tables.ndim != 3 or tables.shape[1:] != (K, K):
        raise LengthMismatchError(
            f"{name} has scores of {K} labels, so pairwise must be one table of shape ({K}, {K}), "
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
    row = for_kernels(as_numbers(scores, name), dtype)
    if row.shape != (K,):
        raise LengthMismatchError(
            f"{name} must have a score for each of the {K} labels of unary; its shape is "
            f"{row.shape}"
        )
    if not are_usual(row):
        look_up(row[None], lambda _, k: f"{name}[{k}]")
    return row


def for_kernels(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array as kernels take it, without a copy if it is so: they would be compiled once more
    for other strides, and for arrays that are read-only.
    """
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned and flags.writeable:
        return array
    with np.errstate(over="ignore"):
        return np.require(array, dtype, ["C", "A", "W"])


def are_usual(scores: np.ndarray) -> bool:
    """Whether no score is NaN, infinite or very large: one pass, which is cheap."""
    flat = scores.reshape(-1)
    return bool(np.dot(flat, flat) < np.inf)


def look_up(scores: np.ndarray, naming: Callable[[int, int], str]) -> None:
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
