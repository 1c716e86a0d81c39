"""What scores of chains and of segments have in common: how they are cut into blocks, how tables of
pairs are read, and checks of numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from numbers import Integral
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np

from sklearn_struct.compiled.number_checks import n_beyond
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import keep_freed, reserve
from sklearn_struct.containers.structures import Block, Family, Potentials, Structure, n_columns
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.segments.segmentations import Segmentations
from sklearn_struct.potentials.forms import Form, Scores, as_numbers

__all__ = [
    "GivenBlocks",
    "are_usual",
    "check_n_jobs",
    "for_kernels",
    "look_up",
    "read_tables",
    "steps_of",
    "table_for_kernels",
]

Result = TypeVar("Result")
Work: TypeAlias = Callable[[Potentials, Block], Result]

# so many scores can be added up: Viterbi adds those of eight tokens and pairs, and of both ends
TERMS = 64
NUMBERS = 100_000  # of a block, which stay in the processor's cache


@dataclass(frozen=True)
class GivenBlocks(ABC):
    """Scores of sequences, in the types of kernels; a subclass says what inference makes of them.

    ``scores`` (n_tokens, ..., K) are those of tokens, or of segments that begin with them.
    ``pairwise`` has a row for each step, or one that all share, and a column for each pair of
    labels.
    """

    scores: np.ndarray
    pairwise: np.ndarray
    is_shared: bool
    structure: Structure
    form: Form
    # how many tokens a block has at least, if there are so many
    least_tokens: ClassVar[int]
    # what a search for the n best keeps of each of them, for each label of each token
    bytes_of_rank: ClassVar[int]

    @property
    @abstractmethod
    def inference(self) -> Chain | Segmentations:
        """What searches and sums."""

    @abstractmethod
    def potentials(self, block: Block) -> Potentials:
        """The scores of a block; they are checked while they are in the processor's cache."""

    @abstractmethod
    def add_marginals(
        self,
        potentials: Potentials,
        block: Block,
        weight: np.ndarray,
        pairs: np.ndarray,
        proba: np.ndarray,
        log_Z: np.ndarray,
    ) -> None:
        """Write weighted marginals of a block into `proba`, which has the shape of the scores, and
        log Z; add the marginals of pairs to `pairs`, tables of the block.
        """

    @abstractmethod
    def is_dead(self) -> np.ndarray:
        """Whether scores of -inf forbid all labellings of a sequence."""

    @abstractmethod
    def no_labelling(self, i: int) -> str:
        """Words for why sequence i has no labelling."""

    @property
    def n_labels(self) -> int:
        """K."""
        K: int = self.scores.shape[-1]
        return K

    def blocks(self) -> list[Block]:
        """The blocks of sequences that functions work on."""
        return self._blocks

    @cached_property
    def _blocks(self) -> list[Block]:
        # of few labels more tokens: a call costs as much as hundreds of these
        n_tokens = max(self.least_tokens, NUMBERS // prod(self.scores.shape[1:]))
        return list(self.inference.blocks(self.structure, self.n_labels, n_tokens, n_blocks=4))

    def edges(self, block: Block) -> np.ndarray:
        """The tables of pairs of a block; those of single steps are checked."""
        if self.is_shared:
            return self.pairwise
        edge = self.pairwise[block.cliques[0]]
        if not are_usual(edge):
            look_up(edge, lambda row, k: _step(row, k, block, self.n_labels))
        return edge

    def tables(self, n: int) -> np.ndarray:
        """Zeros for n tables of pairs, if there is memory for them."""
        width = n_columns(self.n_labels, 2)
        reserve(8 * int(n) * width, "a table for each pair of neighbouring tokens")
        return np.zeros((int(n), width))

    def each_block(self, work: Work[Result], n_jobs: int | None) -> list[Result]:
        """Call ``work(potentials, block)`` for every block of sequences, on `n_jobs` threads."""
        cuts = self.blocks()
        if len(cuts) > 1:
            keep_freed(self.scores.nbytes)

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


def read_tables(pairwise: Scores, form: Form) -> tuple[bool, np.ndarray]:
    """Whether all steps share one table of pairs, and the tables."""
    is_shared = _is_table(pairwise)
    tables = as_numbers(pairwise, "pairwise") if is_shared else form.tables(pairwise)
    if not tables.ndim:
        raise InputTypeError(
            f"pairwise is one number, {tables}: write a table (n_labels, n_labels), of zeros where "
            "pairs have no scores"
        )
    return is_shared, tables


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
    if is_shared:
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
    """Whether no score is NaN, infinite or too large: one pass, which is cheap."""
    return n_beyond(scores.reshape(-1), _largest(scores.dtype)) == 0


def _largest(dtype: np.dtype) -> float:
    """The largest score: sums over all tokens must be numbers, too."""
    return float(np.finfo(dtype).max) / TERMS


def look_up(scores: np.ndarray, naming: Callable[[int, int], str]) -> None:
    """Raise NonFiniteError for the first score that is neither -inf nor a number of usual size."""
    limit = _largest(scores.dtype)
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


def _step(row: int, pair: int, block: Block, K: int) -> str:
    """Words for the score of a pair of labels at a step of a block."""
    bounds = block.structure.families[0].offsets
    i = int(np.searchsorted(bounds, row, side="right")) - 1
    t = row - bounds[i]
    return (
        f"sequence {block.examples.start + i}, tokens {t} and {t + 1}, labels {pair // K} and "
        f"{pair % K}: the score in pairwise"
    )
